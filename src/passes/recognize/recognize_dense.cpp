// Products with what comes after them, and three of one input.
#include "ir/kinds.h"
#include "ir/unify_names.h"
#include "ops/axes.h"
#include "passes/recognize/recognize.h"
#include "passes/rewriting/match.h"
#include "passes/rewriting/uniform.h"
#include "tenon/nn.h"

namespace tenon::passes {
namespace {

using namespace match;

/// x[..., in] times w[in, out] or, turned, w[out, in].
struct Projection {
  Value x;
  Value w;
  bool turned = false;
};

std::optional<Projection> projection(const Value& value) {
  const auto* product = value.node().as<Contract>();
  if (product == nullptr || !product->lhs_batch.empty() || product->lhs_contract.size() != 1) {
    return std::nullopt;
  }
  const Value& x = value.node().inputs[0];
  const Value& w = value.node().inputs[1];
  const bool fits =
      is_float(x.dtype()) && value.dtype() == x.dtype() && w.rank() == 2 && product->lhs_contract[0] == x.rank() - 1;
  return fits ? std::optional(Projection{.x = x, .w = w, .turned = product->rhs_contract[0] == 1}) : std::nullopt;
}

/// The name of the row when `value` is a map that may end a dense layer.
std::optional<std::string_view> activation(const Value& value) {
  const auto* map = value.node().as<Map>();
  const bool fits = map != nullptr && map->fn->arity == 1 && map->fn->result == ResultRule::same;
  return fits ? std::optional(map->fn->name) : std::nullopt;
}

struct Layer {
  Projection projection;
  Value bias = {};
};

std::optional<Layer> layer(const Value& value) {
  if (const auto plain = projection(value)) {
    return Layer{.projection = *plain};
  }
  for (const auto& [product, addend] : commuted(value, "add")) {
    const auto plain = projection(product);
    const auto bias = plain ? parameter(addend, {value.rank() - 1}) : std::nullopt;
    if (bias) {
      return Layer{.projection = *plain, .bias = *bias};
    }
  }
  return std::nullopt;
}

/// A value of [..., heads, seq, depth] that is [..., seq, heads * depth] split.
struct Split {
  Value whole;
  int64_t heads = 0;
};

std::optional<Split> split_heads(const Value& value) {
  const auto* moved = value.node().as<Transpose>();
  const auto* divided = moved != nullptr ? value.node().inputs[0].node().as<Reshape>() : nullptr;
  if (divided == nullptr || value.rank() < 3) {
    return std::nullopt;
  }
  const Value& whole = value.node().inputs[0].node().inputs[0];
  const int rank = value.rank();
  Axes order = other_axes(rank, {});
  std::swap(order[order.size() - 3], order[order.size() - 2]);
  const std::optional<int64_t> heads = value.extent(-3).constant();
  if (moved->axes != order || whole.rank() != rank - 1 || !heads) {
    return std::nullopt;
  }
  for (int i = 0; i < rank - 2; ++i) {
    if (whole.extent(i) != divided->to[static_cast<size_t>(i)].extent()) {
      return std::nullopt;
    }
  }
  return Split{.whole = whole, .heads = *heads};
}

/// x, w and bias (or none) when `value` is a dense layer without activation, or a bare product.
std::optional<std::vector<Value>> dense_parts(const Value& value) {
  if (const auto plain = projection(value); plain && !plain->turned) {
    return std::vector{plain->x, plain->w, Value()};
  }
  const auto* call = value.node().as<Call>();
  std::vector<Value> parts = value.node().inputs;
  if (call == nullptr || parts.size() < 2 || parts.size() > 3) {
    return std::nullopt;
  }
  parts.resize(3);
  // The builder says what a dense layer looks like.
  const UnifyNames lenient;
  const bool is_dense = call->body.name() == "dense" && dense(parts[0], parts[1], parts[2]) == value;
  return is_dense ? std::optional(parts) : std::nullopt;
}

}  // namespace

std::optional<Recognized> find_dense(const Value& result) {
  const std::optional<std::string_view> name = activation(result);
  const std::optional<Layer> found = layer(name ? result.node().inputs[0] : result);
  if (!found || (!name && !found->bias)) {
    return std::nullopt;
  }
  std::vector<Value> operands{found->projection.x, found->projection.w};
  if (found->bias) {
    operands.push_back(found->bias);
  }
  return Recognized{.operands = operands,
                    .build = [turned = found->projection.turned, name = name.value_or(""),
                              shape = result.shape()](const std::vector<Value>& v) {
                      const Value w = turned ? transpose(v[1]) : v[1];
                      const Value bias = v.size() == 3 ? parameter_along(v[2], shape, {shape.rank() - 1}) : Value();
                      return dense(v[0], w, bias, name);
                    }};
}

/// Attention whose queries, keys and values are three projections of one value.
std::optional<Recognized> find_qkv(const Value& result) {
  const auto* call = result.node().as<Call>();
  if (call == nullptr || call->body.name() != "attention") {
    return std::nullopt;
  }
  const std::vector<Value>& given = result.node().inputs;
  std::vector<Value> operands;
  std::vector<int64_t> heads;
  size_t biases = 0;
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<Split> split = split_heads(given[i]);
    const auto parts = split ? dense_parts(split->whole) : std::nullopt;
    if (!parts || (i > 0 && (*parts)[0] != operands[0])) {
      return std::nullopt;
    }
    operands.insert(operands.end(), parts->begin() + (i == 0 ? 0 : 1), parts->end());
    heads.push_back(split->heads);
    biases += (*parts)[2] ? 1U : 0U;
  }
  if (heads[1] != heads[2] || biases % 3 != 0) {
    return std::nullopt;
  }
  std::erase(operands, Value());
  const bool biased = biases == 3;
  const size_t own = operands.size();
  operands.insert(operands.end(), given.begin() + 3, given.end());
  return Recognized{.operands = operands, .build = [=, body = call->body](const std::vector<Value>& v) {
                      const size_t step = biased ? 2 : 1;
                      std::vector<Value> bias;
                      for (size_t i = 0; i < 3 && biased; ++i) {
                        bias.push_back(v[2 + i * step]);
                      }
                      const Qkv qkv = qkv_dense(v[0], {v[1], v[1 + step], v[1 + 2 * step]}, bias, heads[0], heads[1]);
                      std::vector<Value> all;
                      for (const Value& each : {qkv.q, qkv.k, qkv.v}) {
                        const auto same = relabelled(each, body.inputs()[all.size()].shape());
                        all.push_back(same ? *same : each);
                      }
                      all.insert(all.end(), v.begin() + static_cast<std::ptrdiff_t>(own), v.end());
                      return tenon::call(body, all).front();
                    }};
}

}  // namespace tenon::passes
