#include "ops/gradient/gradient.h"
#include "tenon/indexing.h"

namespace tenon {
namespace {

/// The places of a scatter, to read and to write.
struct Places {
  std::vector<Value> indices;
  GatherAxes axes;

  Value read(const Value& x) const { return gather(x, indices, axes); }
  Value write(const Value& x, const Value& update, std::string_view op) const {
    return scatter(x, update, indices, axes, op);
  }
};

/// Where an update is the last of its place, by sending the updates' numbers the same way.
Value is_last(const Places& places, const Value& x, const Value& update) {
  const Value count = iota(shape(Dtype::i64, Axis(update.shape().element_count())));
  const Value number = reshape(count, update.shape().axes());
  const Value winner = places.write(full(x.shape().with_dtype(Dtype::i64), -1), number, "set");
  return eq(places.read(winner), number);
}

Gradients of_set(const Places& places, const Value& x, const Value& update, const Value& g) {
  const Value kept = places.write(g, zeros_like(update), "set");
  return {kept, select(is_last(places, x, update), places.read(g), zeros_like(update))};
}

/// A product's derivative for one factor is the product of the others: divided out where no factor is 0, the product of
/// the rest for the only 0, and 0 beside another 0.
Gradients of_product(const Places& places, const Value& x, const Value& update, const Value& g) {
  const auto is_zero = [](const Value& v) { return eq(v, 0); };
  const auto or_one = [&](const Value& v) { return select(is_zero(v), full(v.shape(), 1), v); };
  const Value rest = places.write(or_one(x), or_one(update), "mul");
  const Value zeros = places.write(cast(is_zero(x), x.dtype()), cast(is_zero(update), x.dtype()), "add");
  const auto share = [&](const Value& factor, const Value& product, const Value& zero_count, const Value& upper) {
    const Value others = select(is_zero(factor), product, product / or_one(factor));
    return select(eq(zero_count, cast(is_zero(factor), x.dtype())), upper * others, zeros_like(factor));
  };
  return {share(x, rest, zeros, g), share(update, places.read(rest), places.read(zeros), places.read(g))};
}

/// All that reached the extreme share the gradient evenly.
Gradients of_extreme(const Places& places, const Value& x, const Value& update, const Value& y, const Value& g) {
  const Value x_wins = eq(x, y);
  const Value update_wins = eq(update, places.read(y));
  const Value winners = places.write(cast(x_wins, x.dtype()), cast(update_wins, x.dtype()), "add");
  const Value part = g / max(winners, 1);
  return {select(x_wins, part, zeros_like(x)), select(update_wins, places.read(part), zeros_like(update))};
}

}  // namespace

Gradients gradient(const Scatter& op, const Node& node, const std::vector<Value>& outputs) {
  const Value& x = node.inputs[0];
  const Value& update = node.inputs[1];
  const Value& g = outputs[0];
  Gradients result(node.inputs.size());
  if (!g || !is_float(x.dtype())) {
    return result;
  }
  const Places places{{node.inputs.begin() + 2, node.inputs.end()}, {op.axes, op.x_batch, op.index_batch}};
  const auto both = [&]() -> Gradients {
    switch (op.op) {
      case ScatterOp::set: return of_set(places, x, update, g);
      case ScatterOp::add: return {g, places.read(g)};
      case ScatterOp::mul: return of_product(places, x, update, g);
      case ScatterOp::max:
      case ScatterOp::min: break;
    }
    return of_extreme(places, x, update, Value(&node, 0), g);
  }();
  result[0] = both[0];
  result[1] = both[1];
  return result;
}

}  // namespace tenon
