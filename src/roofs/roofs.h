// The rates that nothing on this machine exceeds, as they were measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/machine.h"

namespace tenon::roofs {

/// What multiply-adds are made of: floats of 32 bits (narrower ones that are widened, too), of 64 bits, products of
/// bf16 and of eight-bit integers that are summed in 32 bits.
enum class Unit : uint8_t { f32, f64, bf16, i8 };
inline constexpr size_t kUnits = 4;
std::string_view name(Unit unit);

/// A place that bytes come from: "first cache", "second cache", "last cache", "memory".
struct Level {
  std::string name = {};
  int64_t bytes = 0;    // that it holds, of a thread where it is not shared; 0: any number
  bool shared = false;  // by all threads

  friend bool operator==(const Level&, const Level&) = default;
};

/// Rates of so many threads together.
struct Rates {
  int threads = 1;
  std::vector<double> operations = {};  // additions and multiplications a second, by Unit
  std::vector<double> bytes = {};       // a second, read and written together, by level

  friend bool operator==(const Rates&, const Rates&) = default;
};

struct Roofs {
  std::vector<Level> levels = {};  // the nearest first; the last is memory
  std::vector<Rates> rates = {};   // by threads, growing; the first of one thread

  /// At other numbers of threads: between the neighbours, and at most the last.
  double operations(Unit unit, int threads) const;
  double bandwidth(size_t level, int threads) const;
  /// Bytes that this level and those nearer hold together for so many threads; infinite of memory.
  double capacity(size_t level, int threads) const;
  /// Takes the higher of each rate: what was measured while others used the machine is too low.
  void raise_to(const Roofs& other);

  friend bool operator==(const Roofs&, const Roofs&) = default;
};

/// Measures this machine: about a second for a few cores, some for many. Takes no more than an eighth of the memory
/// that is free.
Roofs measure_roofs(const CpuMachine& machine);

/// The levels that a machine has.
std::vector<Level> levels_of(const CpuMachine& machine);

/// Text and back; nothing for text that is none.
std::string to_text(const Roofs& roofs);
std::optional<Roofs> parse_roofs(std::string_view text);

}  // namespace tenon::roofs
