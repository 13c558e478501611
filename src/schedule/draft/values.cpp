#include "schedule/draft/values.h"

#include <bit>

#include "base/fail.h"
#include "base/hash.h"

namespace tenon::schedule {
namespace {

uint64_t hash_of(const loops::Load& load) {
  uint64_t h = combine_hash(static_cast<uint64_t>(load.buffer), hash(load.at));
  for (const loops::Bound& bound : load.inside) {
    h = combine_hash(h, hash(bound.index));
  }
  for (const loops::Lookup& lookup : load.lookups) {
    h = combine_hash(h, static_cast<uint64_t>(lookup.value));
  }
  return h;
}
uint64_t hash_of(const loops::Position& position) { return hash(position.at); }
uint64_t hash_of(const loops::Compute& compute) {
  uint64_t h = combine_hash(static_cast<uint64_t>(compute.prim), std::bit_cast<uint64_t>(compute.literal));
  for (const int operand : compute.operands) {
    h = combine_hash(h, static_cast<uint64_t>(operand));
  }
  return h;
}
uint64_t hash_of(const loops::Result& result) { return static_cast<uint64_t>(result.accumulator); }

uint64_t hash_of(const loops::Value& value) {
  const uint64_t seed = value.what.index() * 64 + static_cast<uint64_t>(value.dtype);
  return combine_hash(seed, std::visit([](const auto& what) { return hash_of(what); }, value.what));
}

/// Equal, and constants of equal bits: -0 is not 0, and a NaN is itself.
bool same(const loops::Value& a, const loops::Value& b) {
  const auto* x = std::get_if<loops::Compute>(&a.what);
  const auto* y = std::get_if<loops::Compute>(&b.what);
  if (x && y && x->prim == Prim::constant && y->prim == Prim::constant) {
    return a.dtype == b.dtype && std::bit_cast<uint64_t>(x->literal) == std::bit_cast<uint64_t>(y->literal);
  }
  return a == b;
}

}  // namespace

int KernelValues::add(loops::Value value, AxisSet depends) {
  std::vector<int>& candidates = by_hash_[hash_of(value)];
  for (const int candidate : candidates) {
    const auto at = static_cast<size_t>(candidate);
    if (depends_[at] == depends && same(kernel_.values[at], value)) {
      return candidate;
    }
  }
  const int id = static_cast<int>(kernel_.values.size());
  candidates.push_back(id);
  kernel_.values.push_back(std::move(value));
  depends_.push_back(depends);
  return id;
}

AxisSet KernelValues::axes(const std::vector<loops::Bound>& bounds) const {
  AxisSet set = 0;
  for (const loops::Bound& bound : bounds) {
    set |= axes_of(bound.index);
  }
  return set;
}

int KernelValues::load(loops::Load load, AxisSet also) {
  AxisSet depends = also | axes_of(load.at) | axes(load.inside);
  for (const loops::Lookup& lookup : load.lookups) {
    depends |= axes(lookup.value);
  }
  const Dtype stored = kernel_.buffers[static_cast<size_t>(load.buffer)].dtype;
  return add({.what = std::move(load), .dtype = compute_dtype(stored)}, depends);
}

int KernelValues::position(const loops::Affine& at) {
  return add({.what = loops::Position{at}, .dtype = Dtype::i64}, axes_of(at));
}

int KernelValues::constant(Dtype dtype, double literal) {
  return add(
      {.what = loops::Compute{.prim = Prim::constant, .operand_dtype = dtype, .operands = {}, .literal = literal},
       .dtype = dtype},
      0);
}

int KernelValues::compute(Prim prim, Dtype dtype, std::vector<int> operands) {
  AxisSet depends = 0;
  for (const int operand : operands) {
    depends |= axes(operand);
  }
  const Dtype operand_dtype = this->dtype(operands.back());
  return add({.what = loops::Compute{.prim = prim,
                                     .operand_dtype = compute_dtype(operand_dtype),
                                     .operands = std::move(operands),
                                     .literal = 0},
              .dtype = dtype},
             depends);
}

int KernelValues::cast(int value, Dtype to) { return dtype(value) == to ? value : compute(Prim::cast, to, {value}); }

int KernelValues::select(int condition, int yes, int no) {
  return compute(Prim::select, compute_dtype(dtype(yes)), {condition, yes, no});
}

int KernelValues::condition(const std::vector<loops::Bound>& bounds) {
  int all = -1;
  for (const loops::Bound& bound : bounds) {
    const int at = position(bound.index);
    const int low = compute(Prim::le, Dtype::boolean, {constant(Dtype::i64, 0), at});
    const int high = compute(Prim::lt, Dtype::boolean, {at, position(affine_constant(bound.size))});
    const int inside = compute(Prim::bit_and, Dtype::boolean, {low, high});
    all = all < 0 ? inside : compute(Prim::bit_and, Dtype::boolean, {all, inside});
  }
  return all;
}

int KernelValues::run(const ScalarProgram& program, const std::vector<int>& arguments) {
  std::vector<int> registers;
  registers.reserve(program.code.size());
  for (const ScalarInstruction& in : program.code) {
    if (in.prim == Prim::argument) {
      registers.push_back(arguments[static_cast<size_t>(in.a)]);
    } else if (in.prim == Prim::constant) {
      registers.push_back(constant(in.dtype, in.literal));
    } else {
      std::vector<int> operands;
      for (const int source : {in.a, in.b, in.c}) {
        if (source >= 0) {
          operands.push_back(registers[static_cast<size_t>(source)]);
        }
      }
      registers.push_back(compute(in.prim, in.dtype, std::move(operands)));
    }
  }
  TENON_CHECK(program.results.size() == 1);
  return registers[static_cast<size_t>(program.results[0])];
}

int KernelValues::result(int accumulator, Dtype dtype, AxisSet depends) {
  return add({.what = loops::Result{accumulator}, .dtype = dtype}, depends);
}

void KernelValues::substitute(int axis, const loops::Affine& by) {
  const auto replace = [&](loops::Affine& at) { at = schedule::substitute(at, axis, by); };
  by_hash_.clear();
  for (size_t i = 0; i < kernel_.values.size(); ++i) {
    loops::Value& value = kernel_.values[i];
    if (auto* load = std::get_if<loops::Load>(&value.what)) {
      replace(load->at);
      for (loops::Bound& bound : load->inside) {
        replace(bound.index);
      }
    } else if (auto* position = std::get_if<loops::Position>(&value.what)) {
      replace(position->at);
    }
    if (contains(depends_[i], axis)) {
      depends_[i] = (depends_[i] & ~axis_bit(axis)) | axes_of(by);
    }
    by_hash_[hash_of(value)].push_back(static_cast<int>(i));
  }
}

}  // namespace tenon::schedule
