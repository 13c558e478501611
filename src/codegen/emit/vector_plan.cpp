#include "codegen/emit/vector_plan.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/fail.h"
#include "kernel/scalar/prim_cost.h"

namespace tenon::codegen {

using namespace loops;

namespace {

constexpr unsigned kMost = 4;  // vectors side by side

bool is_function(int cost) { return cost >= 10; }

/// What one pass over the body of a vectorised loop finds out.
class Survey {
 public:
  Survey(const Kernel& kernel, int axis)
      : kernel_(kernel), axis_(axis), varying_(kernel.values.size()), last_use_(kernel.values.size(), -1) {}

  void run(const Block& body) {
    number_uses(body);
    clock_ = 0;
    visit(body);
  }

  int cost = 0;
  int bits = 8;             // of the widest register
  int narrowest_bytes = 8;  // in memory
  int live = 0;             // vectors at one time, in units of 32 bits a lane
  bool calls_functions = false;
  bool accumulates = false;
  std::vector<Extent> run_time_strides;

 private:
  static int size_in_registers(Dtype dtype) {
    return dtype == Dtype::boolean ? 0 : static_cast<int>(byte_size(compute_dtype(dtype))) * 8;
  }
  static int units(Dtype dtype) { return std::max(1, size_in_registers(dtype) / 32); }

  bool varies(const Affine& at) const {
    return std::ranges::any_of(at.terms, [&](const Term& term) { return term.axis == axis_; });
  }
  bool varies(const std::vector<Bound>& bounds) const {
    return std::ranges::any_of(bounds, [&](const Bound& bound) { return varies(bound.index); });
  }
  bool varies(int value) const { return varying_[static_cast<size_t>(value)]; }

  void use(int value) { last_use_[static_cast<size_t>(value)] = clock_; }

  void use_operands(const Value& value) {
    if (const auto* load = std::get_if<Load>(&value.what)) {
      for (const Lookup& lookup : load->lookups)
        use(lookup.value);
    } else if (const auto* compute = std::get_if<Compute>(&value.what)) {
      for (const int operand : compute->operands)
        use(operand);
    }
  }

  void number_uses(const Block& block) {
    for (const Statement& statement : block) {
      ++clock_;
      if (const auto* define = std::get_if<Define>(&statement.what)) {
        use_operands(kernel_.values[static_cast<size_t>(define->value)]);
      } else if (const auto* store = std::get_if<Store>(&statement.what)) {
        use(store->value);
      } else if (const auto* accumulate = std::get_if<Accumulate>(&statement.what)) {
        const Accumulator& accumulator = kernel_.accumulators[static_cast<size_t>(accumulate->accumulator)];
        use(accumulator.input);
        if (accumulator.position >= 0) use(accumulator.position);
      } else {
        number_uses(std::get<loops::Loop>(statement.what).body);
        ++clock_;  // a value from outside of the loop lives to its end
      }
    }
  }

  void widen(Dtype dtype) { bits = std::max(bits, size_in_registers(dtype)); }

  void access(int buffer, const Affine& at) {
    narrowest_bytes =
        std::min(narrowest_bytes, static_cast<int>(byte_size(kernel_.buffers[static_cast<size_t>(buffer)].dtype)));
    const Extent stride = scale_of(at, axis_);
    if (!stride.is_constant() && std::ranges::find(run_time_strides, stride) == run_time_strides.end()) {
      run_time_strides.push_back(stride);
    }
  }

  bool define(const Value& value) {
    if (const auto* load = std::get_if<Load>(&value.what)) {
      const bool gathers = std::ranges::any_of(load->lookups, [&](const Lookup& each) { return varies(each.value); });
      if (!gathers && !varies(load->at) && !varies(load->inside)) return false;
      access(load->buffer, load->at);
      cost += gathers ? 8 : 1;
      widen(value.dtype);
      return true;
    }
    if (const auto* position = std::get_if<Position>(&value.what)) return varies(position->at);
    const auto& compute = std::get<Compute>(value.what);
    if (std::ranges::none_of(compute.operands, [&](int each) { return varies(each); })) return false;
    const int own = tenon::cost(compute.prim, compute.operand_dtype);
    cost += own;
    calls_functions |= is_function(own);
    widen(value.dtype);
    return true;
  }

  void hold(Dtype dtype, int until) { held_.push_back({units(dtype), until}); }

  void expire() {
    std::erase_if(held_, [&](const Held& each) { return each.until < clock_; });
    int now = accumulators_;
    for (const Held& each : held_)
      now += each.units;
    live = std::max(live, now);
  }

  void visit(const Block& block) {
    for (const Statement& statement : block) {
      ++clock_;
      if (const auto* made = std::get_if<Define>(&statement.what)) {
        const auto index = static_cast<size_t>(made->value);
        varying_[index] = define(kernel_.values[index]);
        if (varying_[index]) hold(kernel_.values[index].dtype, last_use_[index]);
      } else if (const auto* store = std::get_if<Store>(&statement.what)) {
        if (varies(store->at) || varies(store->inside) || varies(store->value)) access(store->buffer, store->at);
        cost += 1;
      } else if (const auto* accumulate = std::get_if<Accumulate>(&statement.what)) {
        const Accumulator& accumulator = kernel_.accumulators[static_cast<size_t>(accumulate->accumulator)];
        accumulates = true;
        widen(accumulator.dtype);
        const bool is_one_instruction = accumulator.op == ReduceOp::sum || accumulator.may_skip_nan;
        cost += is_one_instruction ? 1 : is_arg(accumulator.op) ? 8 : 3;
        accumulators_ += units(accumulator.dtype) * (is_arg(accumulator.op) ? 3 : 1);
      } else {
        const auto& inner = std::get<loops::Loop>(statement.what);
        visit(inner.body);
        ++clock_;
        define_results(inner);
      }
      expire();
    }
  }

  /// What loops inside this one accumulate is one result a lane.
  void define_results(const loops::Loop& inner) {
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      const auto* result = std::get_if<Result>(&kernel_.values[i].what);
      if (result != nullptr && std::ranges::find(inner.begins, result->accumulator) != inner.begins.end()) {
        varying_[i] = true;
        hold(kernel_.values[i].dtype, last_use_[i]);
      }
    }
  }

  struct Held {
    int units = 1;
    int until = 0;
  };

  const Kernel& kernel_;
  int axis_;
  std::vector<bool> varying_;
  std::vector<int> last_use_;
  std::vector<Held> held_;
  int accumulators_ = 0;
  int clock_ = 0;
};

/// How many vectors a step takes, by what one of them costs. Bodies are chains in which each instruction waits for the
/// one before: several independent vectors side by side hide that, and a processor does not see far enough ahead to
/// find them by itself in the next iterations of a long body. Of one function it does, but for the cores whose vectors
/// have 128 bits, which see some hundred instructions ahead: more vectors would be code to compile and no faster. A
/// short body that adds up waits for the sum so far, unless there are others. One that stores takes as long as its
/// stores, and a line of memory a step keeps the loop itself out of their way.
unsigned wanted_unroll(const Survey& survey, const Target& target, bool long_steps) {
  constexpr int kShort = 12;
  const int seen_ahead = target.vector_bits > 128 ? 40 : kShort;
  constexpr int kLong = 128;
  constexpr int kVeryLong = 256;
  constexpr int kLineBits = 512;
  if (survey.cost <= kShort) {
    if (survey.accumulates || long_steps) return kMost;
    return static_cast<unsigned>(std::max(1, kLineBits / target.vector_bits));
  }
  if (survey.cost <= seen_ahead) return 2;
  return survey.cost <= kLong ? kMost : survey.cost <= kVeryLong ? 2 : 1;
}

/// Never so many that values leave the registers.
unsigned choose_unroll(const Survey& survey, const Target& target, unsigned lanes, bool long_steps) {
  const int registers_per_unit = std::max(1, static_cast<int>(lanes) * 32 / target.vector_bits);
  const int live = std::max(1, survey.live * registers_per_unit + (survey.calls_functions ? 3 : 0));
  const int available = target.vector_registers - (survey.calls_functions ? 8 : 2);
  const unsigned wanted = wanted_unroll(survey, target, long_steps);
  unsigned unroll = 1;
  while (unroll < wanted && live * static_cast<int>(unroll) * 2 <= available)
    unroll *= 2;
  return unroll;
}

}  // namespace

bool has_masked_access(const Target& target, int bytes) {
  return target.vector_bits >= 512 || (target.vector_bits >= 256 && bytes >= 4);
}

Extent scale_of(const Affine& at, int axis) {
  for (const Term& term : at.terms) {
    if (term.axis == axis) return term.scale;
  }
  return 0;
}

VectorPlan plan_vector_loop(const Kernel& kernel, const loops::Loop& loop, const Target& target, bool fetches_parts) {
  Survey survey(kernel, loop.axis);
  survey.run(loop.body);
  VectorPlan plan;
  plan.lanes = static_cast<unsigned>(target.lanes(survey.bits));
  plan.masked_tail = has_masked_access(target, survey.narrowest_bytes);
  plan.run_time_strides = std::move(survey.run_time_strides);
  const std::optional<int64_t> extent = kernel.axes[static_cast<size_t>(loop.axis)].extent.constant();
  const bool one_step = extent && *extent <= int64_t{kMost} * plan.lanes;  // and no loop
  plan.unroll = choose_unroll(survey, target, plan.lanes, fetches_parts || one_step);
  if (extent) {
    const auto length = static_cast<unsigned>(std::clamp<int64_t>(*extent, 1, 1 << 16));
    if (length < plan.lanes) plan.lanes = plan.masked_tail ? std::bit_ceil(length) : std::bit_floor(length);
    while (plan.unroll > 1 && plan.lanes * plan.unroll > length)
      plan.unroll /= 2;
  }
  return plan;
}

int block_cost(const Kernel& kernel, const Block& block) {
  int cost = 0;
  for (const Statement& statement : block) {
    if (const auto* define = std::get_if<Define>(&statement.what)) {
      const auto* compute = std::get_if<Compute>(&kernel.values[static_cast<size_t>(define->value)].what);
      cost += compute != nullptr ? tenon::cost(compute->prim, compute->operand_dtype) : 1;
    } else if (const auto* inner = std::get_if<loops::Loop>(&statement.what)) {
      cost += 4 * block_cost(kernel, inner->body) + 4;
    } else {
      cost += 1;
    }
  }
  return cost;
}

}  // namespace tenon::codegen
