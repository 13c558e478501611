// The machines that graphs are compiled for.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon {

/// What every processor of a kind can do: the levels of x86-64, ARM64 (v8.0), and ARM64 with the arithmetic in f16 and
/// the dot products of bytes that v8.2 brought. `other`: no machine code is made for it.
enum class InstructionSet : uint8_t { other, x86_64, x86_64_v2, x86_64_v3, x86_64_v4, arm64, armv8_2 };

/// As people and files write it: "other", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "arm64", "armv8.2".
std::string_view name(InstructionSet set);

/// Instructions that some processors of a set have and others have not, as far as they change the code that is made.
enum class CpuFeature : uint8_t {
  avx,
  avx2,
  fma,
  f16c,
  avxvnni,
  avx512vnni,
  avx512vbmi,
  avx512vbmi2,
  avx512bf16,
  avx512fp16,
  amx_tile,
  amx_bf16,
  amx_int8,
  lse,
  fullfp16,
  rdm,
  dotprod,
  fp16fml,
  i8mm,
  bf16,
};

/// "avx512vnni", "amx-tile", "dotprod": as LLVM calls it.
std::string_view name(CpuFeature feature);

/// A processor whose cores are alike. Caches are bytes.
struct CpuMachine {
  InstructionSet instructions = InstructionSet::other;
  std::set<CpuFeature> features = {};  ///< beyond those that all processors of the set have
  int64_t sve_bits = 0;                ///< the length of the vectors of ARM's SVE; 0: there are none
  int64_t cores = 1;
  int64_t first_cache = int64_t{32} << 10;    ///< of a core, for data
  int64_t second_cache = int64_t{512} << 10;  ///< of a core, behind the first
  int64_t last_cache = 0;  ///< behind the second, shared by cores; 0: there is none, or it is not known

  /// Whether the set or the features have it.
  bool has(CpuFeature feature) const;

  friend bool operator==(const CpuMachine&, const CpuMachine&) = default;
};

/// A graphics processor. Memory and caches are bytes.
struct GpuMachine {
  std::string architecture = {};  ///< as code is made for it: "sm_80", "sm_90a"
  int64_t multiprocessors = 0;
  int64_t clock = 0;  ///< cycles a second, at most
  int64_t memory = 0;
  int64_t bandwidth = 0;            ///< bytes a second between the processor and its memory
  int64_t second_cache = 0;         ///< which all multiprocessors share
  int64_t shared_memory = 0;        ///< of a multiprocessor
  int64_t block_shared_memory = 0;  ///< that one block can have of it
  int64_t registers = 0;            ///< of 32 bits, of a multiprocessor
  int64_t threads = 0;              ///< that are resident on a multiprocessor
  int64_t ptx = 0;                  ///< version of PTX that its driver takes, times 10: 80 is 8.0

  friend bool operator==(const GpuMachine&, const GpuMachine&) = default;
};

/// All that kernels depend on beside their graph and the options: facts alone, so that equal machines get equal
/// kernels, whichever host makes them.
struct Machine {
  std::string name = "unnamed";
  std::variant<CpuMachine, GpuMachine> facts = {};

  bool is_gpu() const { return std::holds_alternative<GpuMachine>(facts); }
  /// The facts of a machine that is of this kind. Error: it is of the other.
  const CpuMachine& cpu() const;
  CpuMachine& cpu();
  const GpuMachine& gpu() const;
  GpuMachine& gpu();

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// This one, named "host": its processor's instructions as far as the system has switched them on, the cores that the
/// process may run on, and the caches that the system reports; those that it does not report are as above.
const Machine& this_machine();

/// "host" is this one. The others are usual machines:
///   x86-64-v2        4 cores, 32 KiB and 256 KiB of cache
///   x86-64-v3        8 cores, 32 KiB and 512 KiB (AVX2)
///   x86-64-v4       16 cores, 48 KiB and 2 MiB (AVX-512)
///   x86-64-v4-amx   the same with a matrix unit (AMX), as Xeons have since Sapphire Rapids
///   armv8.2         16 cores, 64 KiB and 1 MiB (NEON)
///   armv8.2-sve512  48 cores, 64 KiB and 512 KiB, with SVE of 512 bits, as A64FX
///   armv8.6         as armv8.2, with products of matrices of bytes and of bf16 (i8mm, bf16)
///   armv9           16 cores, 64 KiB and 2 MiB; as armv8.6 and with SVE of 128 bits, as Neoverse V2
///   sm_80, sm_86, sm_89, sm_90a    GPUs: A100 (80 GB), GeForce RTX 3090, L4, H100 (SXM)
/// An unknown name is an Error that lists them.
Machine machine_named(std::string_view name);
std::vector<std::string> machine_names();

/// A machine as text, a line `key = value` for each member; `#` begins a comment. A processor:
///   name = workstation
///   instructions = x86-64-v3
///   features = avxvnni         # may be left out: none
///   sve_bits = 128             # may be left out: 0
///   cores = 12
///   first_cache = 32 KiB       # a number of bytes, or of KiB or MiB
///   second_cache = 1 MiB
///   last_cache = 32 MiB        # may be left out: not known
/// A GPU has a key `architecture` and the other members of GpuMachine: `memory = 80 GiB`, `bandwidth = 2039 GB/s`,
/// `clock = 1410 MHz`.
/// Error, with the line: a key that there is not or that was given before, a value that it cannot have, or one missing.
Machine parse_machine(std::string_view text);
Machine load_machine(const std::string& path);  ///< Errors name the file, too
std::string to_text(const Machine& machine);    ///< members that may be left out and say nothing are left out

/// Error: a number that no machine has, such as no cores, or features that no processor of the set has.
void check_machine(const Machine& machine);

/// Work, in about one cheap operation on one element, below which a second thread costs more than it gives, on all
/// machines that were measured (docs/decisions/0015-threads-for-small-work.md).
inline constexpr int64_t kLeastSharedWork = 300'000;

/// Bytes of a row that stays in cache while a kernel goes over it several times.
inline constexpr int64_t kMostRowBytes = int64_t{1} << 20;

}  // namespace tenon
