// The closed set of structural kinds: plain data, no meaning. What a kind means is in ops/<kind>.cpp.
// A kind's fields() are its identity, its text form and its hash; nothing else may tell two nodes of a kind apart.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/field.h"
#include "kernel/program/routine.h"
#include "kernel/scalar/reduce_op.h"
#include "kernel/scalar/scalar_fn.h"
#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon {

/// A parameter of a graph. `id` makes every one unique; it is identity, but not structure. `attached` belongs to who
/// made the input, who may keep there what must live as long as the node does; nobody else looks at it.
struct Input {
  std::string name;
  Shape shape;
  uint64_t id = 0;
  std::shared_ptr<void> attached = {};

  static constexpr KindInfo info{"input", ""};
  static constexpr auto fields() { return std::tuple{Field{"name", &Input::name}, Field{"shape", &Input::shape}}; }
};

/// Data known when the graph is made.
struct Constant {
  Array value;

  static constexpr KindInfo info{"constant", ""};
  static constexpr auto fields() { return std::tuple{Field{"value", &Constant::value}}; }
};

/// start + step * (index along `axis`); with rank 0 just `start`, which makes an extent a value.
struct Iota {
  Shape shape;
  int axis = 0;
  Extent start = 0;
  Extent step = 1;

  static constexpr KindInfo info{"iota", ""};
  static constexpr auto fields() {
    return std::tuple{Field{"shape", &Iota::shape}, Field{"axis", &Iota::axis}, Field{"start", &Iota::start},
                      Field{"step", &Iota::step}};
  }
};

/// Uniform random bits, a pure function of `key` and `counter` (u64 scalars) and the position; dtype u32 or u64.
struct Random {
  Shape shape;

  static constexpr KindInfo info{"random", "key counter"};
  static constexpr auto fields() { return std::tuple{Field{"shape", &Random::shape}}; }
};

/// One row of the scalar table over operands of one shape.
struct Map {
  const ScalarFn* fn = nullptr;
  Dtype dtype = Dtype::f32;  // of the result

  static constexpr KindInfo info{"map", "x..."};
  static constexpr auto fields() { return std::tuple{Field{"fn", &Map::fn}, Field{"dtype", &Map::dtype}}; }
};

/// Combine the elements along `axes`, which disappear. argmax and argmin take one axis and give i64 positions.
struct Reduce {
  ReduceOp op = ReduceOp::sum;
  std::vector<int> axes;

  static constexpr KindInfo info{"reduce", "x"};
  static constexpr auto fields() { return std::tuple{Field{"op", &Reduce::op}, Field{"axes", &Reduce::axes}}; }
};

/// Sum of products over the contracted axes. The result has the batch axes, then the free axes of lhs, then of rhs.
struct Contract {
  std::vector<int> lhs_batch, rhs_batch;        // paired
  std::vector<int> lhs_contract, rhs_contract;  // paired
  Dtype dtype = Dtype::f32;                     // of the result; i8 operands may give i32

  static constexpr KindInfo info{"contract", "lhs rhs"};
  static constexpr auto fields() {
    return std::tuple{Field{"lhs_batch", &Contract::lhs_batch}, Field{"rhs_batch", &Contract::rhs_batch},
                      Field{"lhs_contract", &Contract::lhs_contract}, Field{"rhs_contract", &Contract::rhs_contract},
                      Field{"dtype", &Contract::dtype}};
  }
};

/// Combine the elements of each position of a sliding window, by sum, product, max or min; all lists have one entry for
/// each axis. Padding counts as the identity of the operation; it may be negative: it crops.
struct Window {
  ReduceOp op = ReduceOp::sum;
  std::vector<int64_t> size, stride, dilation;
  std::vector<Extent> low, high;  // padding

  static constexpr KindInfo info{"window", "x"};
  static constexpr auto fields() {
    return std::tuple{Field{"op", &Window::op},         Field{"size", &Window::size},
                      Field{"stride", &Window::stride}, Field{"dilation", &Window::dilation},
                      Field{"low", &Window::low},       Field{"high", &Window::high}};
  }
};

/// Convolution of x[batch, channel, position...] with w[out channel, channel / groups, offset...]; lists have one entry
/// for each position axis. x_dilation puts zeros between elements of x, which makes transposed convolutions and both
/// gradients of a convolution the same kind. Padding may be negative: it crops.
struct Conv {
  std::vector<int64_t> stride, x_dilation, w_dilation;
  std::vector<Extent> low, high;
  int64_t groups = 1;
  Dtype dtype = Dtype::f32;  // of the result, as in Contract

  static constexpr KindInfo info{"conv", "x w"};
  static constexpr auto fields() {
    return std::tuple{Field{"stride", &Conv::stride},
                      Field{"x_dilation", &Conv::x_dilation},
                      Field{"w_dilation", &Conv::w_dilation},
                      Field{"low", &Conv::low},
                      Field{"high", &Conv::high},
                      Field{"groups", &Conv::groups},
                      Field{"dtype", &Conv::dtype}};
  }
};

// The six views: each element of the result is an element of the operand, or a fill value.

/// The same elements in row-major order under other axes.
struct Reshape {
  std::vector<Axis> to;

  static constexpr KindInfo info{"reshape", "x"};
  static constexpr auto fields() { return std::tuple{Field{"to", &Reshape::to}}; }
};

/// Axis i of the result is axis axes[i] of the operand.
struct Transpose {
  std::vector<int> axes;

  static constexpr KindInfo info{"transpose", "x"};
  static constexpr auto fields() { return std::tuple{Field{"axes", &Transpose::axes}}; }
};

/// Repeat along axes: operand axis i lands on result axis axes[i] and has its extent or 1.
struct Broadcast {
  std::vector<Axis> to;
  std::vector<int> axes;

  static constexpr KindInfo info{"broadcast", "x"};
  static constexpr auto fields() { return std::tuple{Field{"to", &Broadcast::to}, Field{"axes", &Broadcast::axes}}; }
};

/// Element i along an axis is element start + i * step of the operand; steps are positive.
struct Slice {
  std::vector<Extent> start;
  std::vector<Extent> size;
  std::vector<int64_t> step;

  static constexpr KindInfo info{"slice", "x"};
  static constexpr auto fields() {
    return std::tuple{Field{"start", &Slice::start}, Field{"size", &Slice::size}, Field{"step", &Slice::step}};
  }
};

enum class PadMode : uint8_t { constant, edge, reflect, wrap };

/// `low` elements before and `high` after along each axis, none negative. `fill` counts in constant mode alone.
struct Pad {
  std::vector<Extent> low;
  std::vector<Extent> high;
  PadMode mode = PadMode::constant;
  Array fill;  // rank 0, the operand's dtype

  static constexpr KindInfo info{"pad", "x"};
  static constexpr auto fields() {
    return std::tuple{Field{"low", &Pad::low}, Field{"high", &Pad::high}, Field{"mode", &Pad::mode},
                      Field{"fill", &Pad::fill}};
  }
};

/// Reverse along axes.
struct Flip {
  std::vector<int> axes;

  static constexpr KindInfo info{"flip", "x"};
  static constexpr auto fields() { return std::tuple{Field{"axes", &Flip::axes}}; }
};

using View = std::variant<Reshape, Transpose, Broadcast, Slice, Pad, Flip>;

/// Operands one after the other along `axis`.
struct Concat {
  int axis = 0;

  static constexpr KindInfo info{"concat", "x..."};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Concat::axis}}; }
};

/// Pick elements of x: operand 1+i holds positions along axes[i] (negative ones count from the end). The result has the
/// batch axes, then the other axes of the indices, then the other axes of x.
struct Gather {
  std::vector<int> axes;
  std::vector<int> x_batch, index_batch;  // paired

  static constexpr KindInfo info{"gather", "x index..."};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &Gather::axes}, Field{"x_batch", &Gather::x_batch},
                      Field{"index_batch", &Gather::index_batch}};
  }
};

/// x with `update` written at positions: operand 2+i holds positions along axes[i], as in Gather, whose result has the
/// shape of `update`. Updates of one place apply in row-major order, so the last `set` wins.
struct Scatter {
  ScatterOp op = ScatterOp::set;
  std::vector<int> axes;
  std::vector<int> x_batch, index_batch;  // paired

  static constexpr KindInfo info{"scatter", "x update index..."};
  static constexpr auto fields() {
    return std::tuple{Field{"op", &Scatter::op}, Field{"axes", &Scatter::axes}, Field{"x_batch", &Scatter::x_batch},
                      Field{"index_batch", &Scatter::index_batch}};
  }
};

/// `base` with the part that `path` sees replaced by `value`. The path holds views that lose nothing: no pad, no
/// broadcast.
struct Update {
  std::vector<View> path;

  static constexpr KindInfo info{"update", "base value"};
  static constexpr auto fields() { return std::tuple{Field{"path", &Update::path}}; }
};

/// All operands ordered along `axis` by the first one; stable; NaN comes last in ascending order, first in descending.
struct Sort {
  int axis = 0;
  bool descending = false;

  static constexpr KindInfo info{"sort", "key value..."};
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &Sort::axis}, Field{"descending", &Sort::descending}};
  }
};

/// Running sum, product, max or min along `axis`; exclusive leaves the element itself out, reverse runs from the end.
struct Scan {
  ReduceOp op = ReduceOp::sum;
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;

  static constexpr KindInfo info{"scan", "x"};
  static constexpr auto fields() {
    return std::tuple{Field{"op", &Scan::op}, Field{"axis", &Scan::axis}, Field{"exclusive", &Scan::exclusive},
                      Field{"reverse", &Scan::reverse}};
  }
};

/// Where the true elements of x (bool, of any shape) are: i64[axis] in ascending row-major order, and their number,
/// i64[]. The axis is a name that nothing else binds: it gets its size when the node has run, at most the element count
/// of x. An anonymous axis has that element count; what lies behind the number of positions is then unspecified.
struct Positions {
  Axis axis = Axis::anonymous();

  static constexpr KindInfo info{"positions", "x"};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Positions::axis}}; }
};

/// One of two bodies over the operands after the condition (bool scalar); both give the same shapes.
struct If {
  Graph then_body;
  Graph else_body;

  static constexpr KindInfo info{"if", "condition x..."};
  static constexpr auto fields() {
    return std::tuple{Field{"then_body", &If::then_body}, Field{"else_body", &If::else_body}};
  }
};

/// `trips` runs of a body. Operands: `carried` values, then `scanned` values whose first axis has `trips` elements,
/// then values that stay the same. The body takes the iteration (i64 scalar), the carried values, an element of each
/// scanned one, and the rest; it gives the carried values anew, in the same shapes, then values to be stacked along a
/// new first axis. The node's outputs are the last carried values and the stacks. When `conditional`, the body's first
/// output is a bool scalar that says whether to go on, `trips` is an upper bound, and nothing is stacked.
struct Loop {
  Graph body;
  Extent trips = 0;
  int carried = 0;
  int scanned = 0;
  bool conditional = false;

  static constexpr KindInfo info{"loop", "x..."};
  static constexpr auto fields() {
    return std::tuple{Field{"body", &Loop::body}, Field{"trips", &Loop::trips}, Field{"carried", &Loop::carried},
                      Field{"scanned", &Loop::scanned}, Field{"conditional", &Loop::conditional}};
  }
};

/// A composite: a named operation that carries its meaning as a graph over its operands.
struct Call {
  Graph body;

  static constexpr KindInfo info{"call", "x..."};
  static constexpr auto fields() { return std::tuple{Field{"body", &Call::body}}; }
};

/// A number that no other call gives.
uint64_t fresh_barrier_id();

/// The identity, never merged, moved across or looked through. `id` makes every one unique.
struct Barrier {
  uint64_t id = fresh_barrier_id();

  static constexpr KindInfo info{"barrier", "x..."};
  static constexpr auto fields() { return std::tuple{}; }
};

using AnyKind =
    std::variant<Input, Constant, Iota, Random, Map, Reduce, Window, Contract, Conv, Reshape, Transpose, Broadcast,
                 Slice, Pad, Flip, Concat, Gather, Scatter, Update, Sort, Scan, Call, If, Loop, Barrier, Positions>;

/// One of the kinds. Copies and destruction are compiled once, not in every source that makes a node.
struct Op : AnyKind {
  using AnyKind::AnyKind;
  Op();
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();
};

/// The spellings of an enumeration that is a field, in the order of its values.
constexpr std::array<std::string_view, 4> spellings(PadMode) { return {"constant", "edge", "reflect", "wrap"}; }

/// The view inside `op`, widened; nothing when op is no view.
std::optional<View> as_view(const Op& op);
Op as_op(const View& view);

/// Same kind and fields. What makes inputs and barriers unique is not looked at.
bool same_structure(const Op& a, const Op& b);
uint64_t hash_structure(const Op& op);

}  // namespace tenon
