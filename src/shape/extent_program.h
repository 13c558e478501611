// Extents compiled to a flat list of integer operations: how sizes are computed for each new binding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/extent.h"

namespace tenon {

/// Computes a list of extents from the values of an ordered list of names. Common subexpressions are computed once.
/// Instruction i writes register i, so the caller provides register_count() registers and reads results from
/// registers[result(i)]. Immutable after construction: any number of threads may run it at once.
class ExtentProgram {
 public:
  enum class Op : uint8_t {
    constant,  // value
    name,      // names[a]
    add,       // a + b
    offset,    // a + value
    multiply,  // a * b
    scale,     // a * value
    floordiv,  // a floordiv b
    min,
    max,
  };

  struct Instruction {
    Op op = Op::constant;
    uint32_t a = 0;
    uint32_t b = 0;
    int64_t value = 0;

    friend bool operator==(const Instruction&, const Instruction&) = default;
  };

  enum class Outcome : uint8_t { ok, overflow, division_by_zero };

  struct Status {
    Outcome outcome = Outcome::ok;
    size_t extent = 0;  // the first extent that needs the operation at fault

    bool ok() const { return outcome == Outcome::ok; }
    friend bool operator==(const Status&, const Status&) = default;
  };

  ExtentProgram() = default;
  /// Error when an extent uses a name that is not in the list or the list repeats a name.
  ExtentProgram(std::span<const std::string> names, std::span<const Extent> extents);

  /// Gives the values, and the failures, of Extent::evaluate. Needs one value for each name and at least
  /// register_count() registers; allocates nothing. After a failure the registers hold nothing of use.
  Status run(std::span<const int64_t> names, std::span<int64_t> registers) const noexcept;

  size_t register_count() const { return instructions_.size(); }
  size_t result_count() const { return results_.size(); }
  size_t result(size_t extent) const { return results_[extent]; }

  std::span<const Instruction> instructions() const { return instructions_; }
  std::string to_string() const;  ///< one instruction a line, for dumps

 private:
  size_t name_count_ = 0;
  std::vector<Instruction> instructions_;
  std::vector<uint32_t> owners_;  // the first extent that needs each instruction
  std::vector<uint32_t> results_;
};

}  // namespace tenon
