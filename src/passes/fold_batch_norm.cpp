#include "passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/pool.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "passes/fold_constants.h"
#include "passes/rewriting/match.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/users.h"
#include "passes/rewriting/weights.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

using Numbers = std::vector<double>;

constexpr int64_t kElementsAtOnce = 1 << 14;  // of an array that threads share

/// The rows of the scalar table that scale and shift.
struct Rows {
  const ScalarFn* add = &scalar_fn("add");
  const ScalarFn* sub = &scalar_fn("sub");
  const ScalarFn* mul = &scalar_fn("mul");
  const ScalarFn* div = &scalar_fn("div");
};

/// A product, and what is added to each channel along `axis`; no bias when `axis` is -1.
struct Biased {
  WeightedProduct product;
  int axis = -1;
  Numbers bias = {};
};

/// A constant that differs along one axis of what it is spread over, or along none.
struct PerChannel {
  int axis = -1;
  Numbers numbers = {};
};

bool is_wide(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::f64; }

Numbers numbers_of(const Array& array) {
  Numbers result;
  for (int64_t i = 0; i < array.size(); ++i) {
    result.push_back(array.at(i));
  }
  return result;
}

std::optional<PerChannel> per_channel(const Value& value) {
  const match::Seen seen = match::look(value);
  const auto* known = seen.value.node().as<Constant>();
  if (known == nullptr || known->value.size() == 0) {
    return std::nullopt;
  }
  PerChannel result;
  for (int i = 0; i < seen.value.rank(); ++i) {
    if (seen.value.extent(i) != Extent(1)) {
      if (result.axis != -1) {
        return std::nullopt;
      }
      result.axis = seen.places[static_cast<size_t>(i)];
    }
  }
  result.numbers = numbers_of(known->value);
  const bool finite = std::ranges::all_of(result.numbers, [](double x) { return std::isfinite(x); });
  return finite ? std::optional(result) : std::nullopt;
}

std::optional<WeightedProduct> as_product(const Value& value) {
  return is_wide(value.dtype()) ? as_weighted_product(value) : std::nullopt;
}

/// The elements of `array` times a factor for each position along `axis`, or one factor for all.
Array scaled(const Array& array, int axis, const Numbers& factors) {
  int64_t inner = 1;
  for (int i = array.rank() - 1; i > axis && axis >= 0; --i) {
    inner *= array.dims()[static_cast<size_t>(i)];
  }
  Array result = Array::uninitialized(array.dtype(), array.dims());
  const auto count = std::ssize(factors);
  const auto scale = [&](auto from, auto to) {
    using T = typename decltype(to)::value_type;
    const auto rows = [&](int64_t begin, int64_t end, int /*worker*/) {
      for (int64_t row = begin; row < end; ++row) {
        const double factor = factors[static_cast<size_t>(row % count)];
        for (auto i = static_cast<size_t>(row * inner); i < static_cast<size_t>((row + 1) * inner); ++i) {
          to[i] = static_cast<T>(static_cast<double>(from[i]) * factor);
        }
      }
    };
    Pool::shared().parallel_for(result.size() / inner, std::max<int64_t>(kElementsAtOnce / inner, 1), rows);
  };
  if (result.size() == 0) return result;
  if (array.dtype() == Dtype::f32) {
    scale(array.values<float>(), result.mutable_values<float>());
  } else {
    scale(array.values<double>(), result.mutable_values<double>());
  }
  return result;
}

/// Element by element; one number stands for all.
Numbers combined(const Numbers& a, const Numbers& b, const std::function<double(double, double)>& f) {
  Numbers result;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    result.push_back(f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  }
  return result;
}

Value with_bias(const Value& product, int axis, const Numbers& bias) {
  if (bias.empty()) {
    return product;
  }
  const bool one = bias.size() == 1;
  const Array wide = Array::from<double>(one ? std::vector<int64_t>{} : std::vector<int64_t>{std::ssize(bias)}, bias);
  const Value addend = constant(wide.cast(product.dtype()));
  return product + broadcast(addend, product.shape().axes(), one ? Axes{} : Axes{axis});
}

class Folder {
 public:
  explicit Folder(const Graph& graph) : users_(graph) {}

  std::optional<std::vector<Value>> operator()(const Node& node, const std::vector<Value>& operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!is_read_once(node.inputs[i])) {
        shared_.insert_or_assign(operands[i], true);
      }
    }
    std::optional<Value> result;
    if (const auto* map = node.as<Map>()) {
      result = folded(*map, operands);
    } else if (const auto* call = node.as<Call>()) {
      result = folded(call->body, operands);
    }
    return result && result->shape() == node.shapes[0] ? std::optional(std::vector{*result}) : std::nullopt;
  }

 private:
  /// Weights that two products share are read twice through one node too.
  bool is_read_once(const Value& value) const { return users_.is_sole(value.node()); }

  std::optional<Biased> as_biased(const Value& value) const {
    if (shared_.contains(value)) {
      return std::nullopt;
    }
    if (const std::optional<WeightedProduct> product = as_product(value)) {
      const Value& weights = value.node().inputs[product->weights];
      return shared_.contains(weights) ? std::nullopt : std::optional(Biased{*product});
    }
    const auto* map = value.node().as<Map>();
    if (map == nullptr || map->fn != rows_.add) {
      return std::nullopt;
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      std::optional<Biased> inner = as_biased_product(value.node().inputs[side]);
      const std::optional<PerChannel> bias = per_channel(value.node().inputs[1 - side]);
      if (inner && bias && fits(*bias, inner->product)) {
        inner->axis = bias->axis;
        inner->bias = bias->numbers;
        return inner;
      }
    }
    return std::nullopt;
  }

  std::optional<Biased> as_biased_product(const Value& value) const {
    return as_product(value) ? as_biased(value) : std::nullopt;
  }

  static bool fits(const PerChannel& numbers, const WeightedProduct& product) {
    return numbers.axis == -1 || product.axis_of_weights[static_cast<size_t>(numbers.axis)] >= 0;
  }

  std::optional<Value> folded(const Map& map, const std::vector<Value>& operands) const {
    const bool scales = map.fn == rows_.mul || map.fn == rows_.div;
    if (!scales && map.fn != rows_.add && map.fn != rows_.sub) {
      return std::nullopt;
    }
    const bool commutes = map.fn == rows_.mul || map.fn == rows_.add;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      std::optional<Biased> biased = side == 0 || commutes ? as_biased(operands[side]) : std::nullopt;
      std::optional<PerChannel> by = per_channel(operands[1 - side]);
      if (!biased || !by || !fits(*by, biased->product)) {
        continue;
      }
      const bool one_axis = biased->axis == -1 || by->axis == -1 || biased->axis == by->axis;
      if (!one_axis) {
        continue;
      }
      return scales ? rescaled(*biased, *by, map.fn == rows_.div) : shifted(*biased, *by, map.fn == rows_.sub);
    }
    return std::nullopt;
  }

  static std::optional<Value> rescaled(const Biased& biased, const PerChannel& by, bool divides) {
    Numbers factors = by.numbers;
    if (divides) {
      std::ranges::transform(factors, factors.begin(), [](double x) { return 1 / x; });
      if (!std::ranges::all_of(factors, [](double x) { return std::isfinite(x); })) {
        return std::nullopt;
      }
    }
    const WeightedProduct& product = biased.product;
    const Node& node = product.value.node();
    const int axis = by.axis == -1 ? -1 : product.axis_of_weights[static_cast<size_t>(by.axis)];
    std::vector<Value> operands = node.inputs;
    Value& weights = operands[product.weights];
    weights = constant(scaled(weights.node().as<Constant>()->value, axis, factors));
    const Numbers bias = biased.bias.empty() ? Numbers{} : combined(biased.bias, factors, std::multiplies<>());
    const Value scaled_product = [&] {
      const Place place(node.place);  // it is still what the user calls so
      return make(node.op, operands);
    }();
    return with_bias(scaled_product, std::max(biased.axis, by.axis), bias);
  }

  static std::optional<Value> shifted(const Biased& biased, const PerChannel& by, bool subtracts) {
    if (biased.bias.empty() && !subtracts) {
      return std::nullopt;  // this is the form that things fold into
    }
    const Numbers before = biased.bias.empty() ? Numbers{0} : biased.bias;
    const Numbers bias =
        subtracts ? combined(before, by.numbers, std::minus<>()) : combined(before, by.numbers, std::plus<>());
    return with_bias(biased.product.value, std::max(biased.axis, by.axis), bias);
  }

  /// A composite of a product and constants, when all of its body folds.
  std::optional<Value> folded(const Graph& body, const std::vector<Value>& operands) {
    const auto is_constant = [](const Value& value) { return value.node().as<Constant>() != nullptr; };
    if (body.outputs().size() != 1 || operands.size() < 2 || !as_biased(operands[0]) ||
        !std::all_of(operands.begin() + 1, operands.end(), is_constant)) {
      return std::nullopt;
    }
    std::unordered_map<Value, Value> known;
    for (size_t i = 0; i < operands.size(); ++i) {
      known.emplace(body.inputs()[i], operands[i]);
    }
    const auto rule = [&](const Node& node, const std::vector<Value>& inner) -> std::optional<std::vector<Value>> {
      if (auto constant = fold_constant_node(node, inner)) {
        return constant;
      }
      const auto* map = node.as<Map>();
      const std::optional<Value> result = map != nullptr ? folded(*map, inner) : std::nullopt;
      return result ? std::optional(std::vector{*result}) : std::nullopt;
    };
    const Value result = rewrite_values({body.outputs()[0].value}, std::move(known), rule).front();
    return as_biased(result) ? std::optional(result) : std::nullopt;
  }

  Users users_;
  Rows rows_;
  std::unordered_map<Value, bool> shared_;  // of the new graph's values
};

}  // namespace

Graph fold_batch_norm(Graph graph) { return rewrite(graph, Folder(graph)); }

}  // namespace tenon::passes
