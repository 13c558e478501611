#include "kernel/loop/loop_code.h"

#include <algorithm>
#include <unordered_map>

#include "kernel/loop/loop_threads.h"

namespace tenon::loops {
namespace {

class Preparer {
 public:
  explicit Preparer(const Kernel& kernel)
      : kernel_(kernel),
        in_lanes_(kernel.values.size()),
        wide_(kernel.values.size()),
        threads_outside_(kernel.accumulators.size()) {
    for (const Extent& extent : runtime_sizes(kernel)) {
      sizes_.emplace(extent, static_cast<int>(sizes_.size()));
    }
    zero_ = number(0);
  }

  Code run() && {
    code_.name = kernel_.name;
    code_.most_threads = most_threads(kernel_);
    code_.has_blocks = std::ranges::any_of(kernel_.axes, [](const Axis& axis) {
      return axis.binding == Binding::threads || axis.binding == Binding::blocks;
    });
    code_.buffers = kernel_.buffers;
    for (const Axis& axis : kernel_.axes) {
      code_.axes.push_back({.extent = number(axis.extent),
                            .tile_of = axis.tile_of,
                            .total = axis.tile_of < 0 ? zero_ : number(axis.total)});
    }
    for (const Buffer& buffer : kernel_.buffers) {
      code_.scratch_elements.push_back(buffer.role == Role::scratch ? number(buffer.elements) : zero_);
    }
    for (const Accumulator& accumulator : kernel_.accumulators) {
      code_.accumulators.push_back({.what = accumulator});
    }
    for (const Phase& phase : kernel_.phases) {
      code_.phases.push_back({.grid = phase.grid, .threads = threads_of(kernel_, phase), .code = {}});
      add(phase.body);
    }
    lay_out_frame();
    return std::move(code_);
  }

 private:
  size_t number(const Extent& extent) {
    const auto [found, fresh] = places_.try_emplace(extent, code_.numbers.size());
    if (fresh) {
      const auto constant = extent.constant();
      code_.numbers.push_back(constant ? Number{.constant = *constant} : Number{.size = sizes_.at(extent)});
    }
    return found->second;
  }

  AffineCode affine(const Affine& affine) {
    AffineCode code{.base = number(affine.base), .terms = {}, .lane_scale = zero_};
    for (const Term& term : affine.terms) {
      code.terms.emplace_back(term.axis, number(term.scale));
      if (term.axis == lane_axis_) {
        code.lane_scale = number(term.scale);
      }
    }
    return code;
  }

  std::vector<BoundCode> bounds(const std::vector<Bound>& bounds) {
    std::vector<BoundCode> code;
    for (const Bound& bound : bounds) {
      code.push_back({.index = affine(bound.index), .size = number(bound.size)});
    }
    return code;
  }

  /// Inside a vectorised loop, a value from outside is captured by it.
  int use(int value) {
    const auto i = static_cast<size_t>(value);
    if (lane_axis_ >= 0 && !in_lanes_[i] && std::ranges::find(captures_, value) == captures_.end()) {
      captures_.push_back(value);
      wide_[i] = true;
    }
    return value;
  }

  int define(int value) {
    const auto i = static_cast<size_t>(value);
    in_lanes_[i] = lane_axis_ >= 0;
    wide_[i] = wide_[i] || in_lanes_[i];  // other loops may define it outside of lanes
    return value;
  }

  void add(const Block& block) {
    for (const Statement& statement : block) {
      std::visit([&](const auto& what) { add(what); }, statement.what);
    }
  }

  void add(const Define& define) {
    const Value& value = kernel_.values[static_cast<size_t>(define.value)];
    std::visit([&](const auto& what) { add(what, define.value); }, value.what);
  }

  void add(const Load& load, int target) {
    LoadCode code{.buffer = load.buffer, .at = affine(load.at), .inside = bounds(load.inside), .lookups = {}};
    for (const Lookup& lookup : load.lookups) {
      code.lookups.push_back({.value = use(lookup.value),
                              .stride = number(lookup.stride),
                              .size = number(lookup.size),
                              .site = lookup.site});
    }
    code.target = define(target);
    push(std::move(code));
  }

  void add(const Position& position, int target) {
    push(PositionCode{.at = affine(position.at), .target = define(target)});
  }

  void add(const Compute& compute, int target) {
    ScalarInstruction in{.prim = compute.prim,
                         .dtype = kernel_.values[static_cast<size_t>(target)].dtype,
                         .operand_dtype = compute.operand_dtype,
                         .literal = compute.literal};
    int* const slots[] = {&in.a, &in.b, &in.c};
    for (size_t i = 0; i < compute.operands.size(); ++i) {
      *slots[i] = use(compute.operands[i]);
    }
    push(ComputeCode{.instruction = in, .target = define(target)});
  }

  void add(const Result&, int) {}  // its loop defines it

  void add(const Store& store) {
    push(StoreCode{
        .buffer = store.buffer, .at = affine(store.at), .inside = bounds(store.inside), .value = use(store.value)});
  }

  void add(const Accumulate& accumulate) {
    const Accumulator& into = kernel_.accumulators[static_cast<size_t>(accumulate.accumulator)];
    use(into.input);
    if (into.position >= 0) {
      use(into.position);
    }
    AccumulateCode code{.accumulator = accumulate.accumulator, .part = {}};
    int64_t distance = 1;
    for (size_t i = thread_axes_.size(); i-- > threads_outside_[static_cast<size_t>(accumulate.accumulator)];) {
      code.part.emplace_back(thread_axes_[i], distance);
      distance *= thread_extent(kernel_, thread_axes_[i]);
    }
    push(std::move(code));
  }

  void add(const Loop& loop) {
    const Binding binding = kernel_.axes[static_cast<size_t>(loop.axis)].binding;
    const bool in_lanes = binding == Binding::lanes;
    const size_t place = phase().size();
    push(LoopCode{.axis = loop.axis,
                  .binding = binding,
                  .begins = begins(loop),
                  .results = {},
                  .captures = {},
                  .unless = loop.unless});
    if (loop.digit) {
      std::get<LoopCode>(phase()[place]).digit = {
          .of = affine(loop.digit->of), .apart = number(loop.digit->apart), .is_first = loop.digit->is_first};
    }
    if (in_lanes) {
      lane_axis_ = loop.axis;
      captures_.clear();
    } else if (binding == Binding::threads) {
      thread_axes_.push_back(loop.axis);
    }
    add(loop.body);
    if (in_lanes) {
      lane_axis_ = -1;
    } else if (binding == Binding::threads) {
      thread_axes_.pop_back();
    }
    auto& code = std::get<LoopCode>(phase()[place]);
    code.end = phase().size();
    if (in_lanes) {
      code.captures = captures_;
    }
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      const auto* result = std::get_if<Result>(&kernel_.values[i].what);
      if (result != nullptr && std::ranges::find(loop.begins, result->accumulator) != loop.begins.end()) {
        code.results.emplace_back(result->accumulator, define(static_cast<int>(i)));
      }
    }
  }

  std::vector<BeginCode> begins(const Loop& loop) {
    std::vector<BeginCode> code;
    for (const int accumulator : loop.begins) {
      const auto i = static_cast<size_t>(accumulator);
      code.push_back({.accumulator = accumulator, .parts = parts_of(kernel_, loop, accumulator)});
      AccumulatorCode& begun = code_.accumulators[i];
      begun.per_lane = lane_axis_ >= 0;
      begun.states = std::max(begun.states, begun.per_lane ? kLanes : code.back().parts);
      threads_outside_[i] = thread_axes_.size();
    }
    return code;
  }

  MatrixCode matrix(const Matrix& matrix) {
    return {
        .buffer = matrix.buffer, .at = affine(matrix.at), .row = number(matrix.row), .column = number(matrix.column)};
  }

  void add(const Product& product) {
    push(ProductCode{.types = types_of(kernel_, product),
                     .left = matrix(product.left),
                     .right = matrix(product.right),
                     .tile = matrix(product.tile),
                     .rows = product.rows,
                     .columns = product.columns,
                     .depth = product.depth,
                     .panel = product.panel,
                     .together = product.together,
                     .adds_after = product.adds_after});
  }

  void add(const Barrier&) { push(BarrierCode{}); }

  std::vector<InstructionCode>& phase() { return code_.phases.back().code; }
  void push(InstructionCode code) { phase().push_back(std::move(code)); }

  /// A slot is 8 bytes, as wide as the widest element: one for every lane or part that may be needed.
  void lay_out_frame() {
    const auto take = [&](int64_t slots) {
      const size_t place = code_.frame_bytes;
      code_.frame_bytes += 8 * static_cast<size_t>(slots);
      return place;
    };
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      code_.registers.push_back(take(wide_[i] ? kLanes : 1));
      code_.register_dtypes.push_back(compute_dtype(kernel_.values[i].dtype));
    }
    for (AccumulatorCode& accumulator : code_.accumulators) {
      accumulator.state = take(accumulator.states);
      take(accumulator.states);  // the positions
    }
  }

  const Kernel& kernel_;
  Code code_;
  std::unordered_map<Extent, int> sizes_;
  std::unordered_map<Extent, size_t> places_;
  size_t zero_ = 0;
  int lane_axis_ = -1;
  std::vector<int> captures_;            // of the vectorised loop that is open
  std::vector<bool> in_lanes_;           // values that were last defined inside a vectorised loop
  std::vector<bool> wide_;               // values defined or captured by one
  std::vector<int> thread_axes_;         // of the loops bound to threads that are open
  std::vector<size_t> threads_outside_;  // by accumulator: how many of them were open when it began
};

}  // namespace

Code prepare(const Kernel& kernel) { return Preparer(kernel).run(); }

}  // namespace tenon::loops
