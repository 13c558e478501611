#include "shape/extent_program.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <unordered_map>

#include "base/fail.h"
#include "base/hash.h"
#include "shape/extent_walk.h"

namespace tenon {
namespace {

using Instruction = ExtentProgram::Instruction;
using Op = ExtentProgram::Op;

struct InstructionHash {
  size_t operator()(const Instruction& i) const noexcept {
    const uint64_t operands = (uint64_t{i.a} << 32) | i.b;
    const uint64_t h =
        combine_hash(combine_hash(static_cast<uint64_t>(i.op), operands), static_cast<uint64_t>(i.value));
    return static_cast<size_t>(h);
  }
};

/// Emits instead of computing; a value is the register that will hold it.
struct Compiler {
  using Value = uint32_t;

  std::unordered_map<std::string, uint32_t> names;
  std::unordered_map<Instruction, uint32_t, InstructionHash> known;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> owners;
  uint32_t extent = 0;

  Value emit(const Instruction& instruction) {
    const auto [entry, fresh] = known.emplace(instruction, static_cast<uint32_t>(instructions.size()));
    if (fresh) {
      instructions.push_back(instruction);
      owners.push_back(extent);
    }
    return entry->second;
  }

  // Operations that commute have one spelling.
  Value emit_symmetric(Op op, Value a, Value b) { return emit({op, std::min(a, b), std::max(a, b), 0}); }

  Value constant(int64_t value) { return emit({Op::constant, 0, 0, value}); }
  Value name(const std::string& axis) {
    const auto found = names.find(axis);
    if (found == names.end()) {
      throw Error(fmt::format("axis `{}` is not among the names of the program", axis));
    }
    return emit({Op::name, found->second, 0, 0});
  }
  Value add(Value a, Value b) { return emit_symmetric(Op::add, a, b); }
  Value offset(Value a, int64_t value) { return emit({Op::offset, a, 0, value}); }
  Value multiply(Value a, Value b) { return emit_symmetric(Op::multiply, a, b); }
  Value scale(Value a, int64_t value) { return emit({Op::scale, a, 0, value}); }
  Value floordiv(Value a, Value b) { return emit({Op::floordiv, a, b, 0}); }
  Value min(Value a, Value b) { return emit_symmetric(Op::min, a, b); }
  Value max(Value a, Value b) { return emit_symmetric(Op::max, a, b); }
};

}  // namespace

ExtentProgram::ExtentProgram(std::span<const std::string> names, std::span<const Extent> extents)
    : name_count_(names.size()) {
  Compiler compiler;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!compiler.names.emplace(names[i], static_cast<uint32_t>(i)).second) {
      fail("axis `{}` is named twice", names[i]);
    }
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    compiler.extent = static_cast<uint32_t>(i);
    try {
      results_.push_back(algebra::walk(extents[i], compiler));
    } catch (Error& error) {
      error.note(fmt::format("in extent `{}`", algebra::brief(extents[i])));
      throw;
    }
  }
  instructions_ = std::move(compiler.instructions);
  owners_ = std::move(compiler.owners);
}

ExtentProgram::Status ExtentProgram::run(std::span<const int64_t> names, std::span<int64_t> registers) const noexcept {
  assert(names.size() == name_count_ && registers.size() >= register_count());
  int64_t* const r = registers.data();
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& in = instructions_[i];
    bool overflow = false;
    switch (in.op) {
      case Op::constant: r[i] = in.value; break;
      case Op::name: r[i] = names[in.a]; break;
      case Op::add: overflow = __builtin_add_overflow(r[in.a], r[in.b], &r[i]); break;
      case Op::offset: overflow = __builtin_add_overflow(r[in.a], in.value, &r[i]); break;
      case Op::multiply: overflow = __builtin_mul_overflow(r[in.a], r[in.b], &r[i]); break;
      case Op::scale: overflow = __builtin_mul_overflow(r[in.a], in.value, &r[i]); break;
      case Op::floordiv: {
        const int64_t a = r[in.a];
        const int64_t b = r[in.b];
        if (b == 0) {
          return {Outcome::division_by_zero, owners_[i]};
        }
        if (b == -1 && a == std::numeric_limits<int64_t>::min()) {
          return {Outcome::overflow, owners_[i]};
        }
        r[i] = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
        break;
      }
      case Op::min: r[i] = std::min(r[in.a], r[in.b]); break;
      case Op::max: r[i] = std::max(r[in.a], r[in.b]); break;
    }
    if (overflow) [[unlikely]] {
      return {Outcome::overflow, owners_[i]};
    }
  }
  return {};
}

std::string ExtentProgram::to_string() const {
  constexpr std::array<std::string_view, 9> kWords = {"constant", "name",     "add", "offset", "multiply",
                                                      "scale",    "floordiv", "min", "max"};
  std::string text;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& in = instructions_[i];
    text += fmt::format("r{} = {}", i, kWords.at(static_cast<size_t>(in.op)));
    if (in.op == Op::name) {
      text += fmt::format(" {}", in.a);
    } else if (in.op != Op::constant) {
      text += fmt::format(" r{}", in.a);
    }
    if (in.op == Op::constant || in.op == Op::offset || in.op == Op::scale) {
      text += fmt::format(" {}", in.value);
    } else if (in.op != Op::name) {
      text += fmt::format(" r{}", in.b);
    }
    text += '\n';
  }
  return text;
}

}  // namespace tenon
