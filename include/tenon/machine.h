// The machines that graphs are compiled for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// What instructions a processor has. `host`: whatever this one is found to have. `armv8_2` is ARM64 with arithmetic in
/// f16 and dot products of bytes.
enum class InstructionSet : uint8_t { host, x86_64_v2, x86_64_v3, x86_64_v4, armv8_2 };

/// As people and files write it: "host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8.2".
std::string_view name(InstructionSet set);

/// All that kernels depend on beside their graph and the options. Caches are bytes, of one core; matrix products that
/// run ask for those of the machine that they run on.
struct Machine {
  std::string name = "host";
  InstructionSet instructions = InstructionSet::host;
  int64_t cores = 1;
  int64_t first_cache = int64_t{32} << 10;    ///< of data
  int64_t second_cache = int64_t{512} << 10;  ///< the one behind it

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// This one, as the system reports it; caches that it does not report are as above.
const Machine& this_machine();

/// "host" is this one. The others are usual machines with the instruction set of their name:
///   x86-64-v2   4 cores, 32 KiB and 256 KiB of cache
///   x86-64-v3   8 cores, 32 KiB and 512 KiB (AVX2)
///   x86-64-v4  16 cores, 48 KiB and 2 MiB (AVX-512)
///   armv8.2    16 cores, 64 KiB and 1 MiB (NEON)
/// An unknown name is an Error that lists them.
Machine machine_named(std::string_view name);
std::vector<std::string> machine_names();

/// A machine as text, a line `key = value` for each member; `#` begins a comment. All are given:
///   name = workstation
///   instructions = x86-64-v3
///   cores = 12
///   first_cache = 32 KiB       # a number of bytes, or of KiB or MiB
///   second_cache = 1 MiB
/// Error, with the line: a key that there is not or that was given before, a value that it cannot have, or one missing.
Machine parse_machine(std::string_view text);
Machine load_machine(const std::string& path);  ///< Errors name the file, too
std::string to_text(const Machine& machine);

/// Error: it has no cores, or caches of no size or of more than any machine has.
void check_machine(const Machine& machine);

/// Work, in about one cheap operation on one element, below which a second thread costs more than it gives, on all
/// machines that were measured (docs/decisions/0015-threads-for-small-work.md).
inline constexpr int64_t kLeastSharedWork = 300'000;

/// Bytes of a row that stays in cache while a kernel goes over it several times.
inline constexpr int64_t kMostRowBytes = int64_t{1} << 20;

}  // namespace tenon
