#include "kernel/loop/loop_code.h"

#include <algorithm>
#include <unordered_map>

namespace tenon::loops {
namespace {

class Preparer {
 public:
  explicit Preparer(const Kernel& kernel)
      : kernel_(kernel), in_lanes_(kernel.values.size()), wide_(kernel.values.size()) {
    for (const Extent& extent : runtime_sizes(kernel)) {
      sizes_.emplace(extent, static_cast<int>(sizes_.size()));
    }
    zero_ = number(0);
  }

  Code run() && {
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
      code_.phases.push_back({.grid = phase.grid, .code = {}});
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
    push(AccumulateCode{accumulate.accumulator});
  }

  void add(const Loop& loop) {
    const bool vectorized = kernel_.axes[static_cast<size_t>(loop.axis)].vectorized;
    const size_t place = phase().size();
    push(LoopCode{.axis = loop.axis,
                  .vectorized = vectorized,
                  .begins = loop.begins,
                  .results = {},
                  .captures = {},
                  .unless = loop.unless});
    for (const int accumulator : loop.begins) {
      code_.accumulators[static_cast<size_t>(accumulator)].per_lane = lane_axis_ >= 0;
    }
    if (vectorized) {
      lane_axis_ = loop.axis;
      captures_.clear();
    }
    add(loop.body);
    if (vectorized) {
      lane_axis_ = -1;
    }
    auto& code = std::get<LoopCode>(phase()[place]);
    code.end = phase().size();
    if (vectorized) {
      code.captures = captures_;
    }
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      const auto* result = std::get_if<Result>(&kernel_.values[i].what);
      if (result != nullptr && std::ranges::find(loop.begins, result->accumulator) != loop.begins.end()) {
        code.results.emplace_back(result->accumulator, define(static_cast<int>(i)));
      }
    }
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

  std::vector<InstructionCode>& phase() { return code_.phases.back().code; }
  void push(InstructionCode code) { phase().push_back(std::move(code)); }

  /// A slot is 8 bytes, as wide as the widest element, for every lane that may be needed.
  void lay_out_frame() {
    const auto take = [&](bool wide) {
      const size_t place = code_.frame_bytes;
      code_.frame_bytes += 8 * static_cast<size_t>(wide ? kLanes : 1);
      return place;
    };
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      code_.registers.push_back(take(wide_[i]));
      code_.register_dtypes.push_back(compute_dtype(kernel_.values[i].dtype));
    }
    for (AccumulatorCode& accumulator : code_.accumulators) {
      accumulator.state = take(accumulator.per_lane);
      take(accumulator.per_lane);  // the positions
    }
  }

  const Kernel& kernel_;
  Code code_;
  std::unordered_map<Extent, int> sizes_;
  std::unordered_map<Extent, size_t> places_;
  size_t zero_ = 0;
  int lane_axis_ = -1;
  std::vector<int> captures_;   // of the vectorised loop that is open
  std::vector<bool> in_lanes_;  // values that were last defined inside a vectorised loop
  std::vector<bool> wide_;      // values defined or captured by one
};

}  // namespace

Code prepare(const Kernel& kernel) { return Preparer(kernel).run(); }

}  // namespace tenon::loops
