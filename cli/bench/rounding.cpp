#include "cli/bench/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "ir/node.h"
#include "ir/walk.h"
#include "ops/macs.h"
#include "ops/make.h"
#include "passes/inline_calls.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/random.h"

namespace tenon::cli {
namespace {

constexpr double kMost = 0.5;  // beyond that nothing would be checked

double epsilon(Dtype dtype) { return dtype == f16 ? 0x1p-10 : dtype == bf16 ? 0x1p-7 : 0; }

double half_step(Dtype dtype) { return dtype == f64 ? 0x1p-53 : dtype == f32 ? 0x1p-24 : epsilon(dtype) / 2; }

bool rounds(const Node& node) {
  return node.as<Map>() || node.as<Reduce>() || node.as<Contract>() || node.as<Conv>() || node.as<Window>() ||
         node.as<Scan>() || node.as<Scatter>();
}

/// By what a number may be off relative to it, or of i8 to the largest of its column: two half steps, for a product of
/// two numbers that were rounded.
double epsilon(Precision precision) {
  return precision == Precision::f32 ? 0 : precision == Precision::bf16 ? epsilon(bf16) : epsilon(f16);
}
/// Numbers of four bits are off by half of a 8th of the largest of their block at most.
double weight_epsilon(std::optional<WeightFormat> weights) {
  return !weights ? 0 : *weights == kFourBits ? 0.125 : *weights == f16 ? epsilon(f16) : epsilon(bf16);
}

/// A product whose operands may be rounded.
bool is_f32_product(const Node& node) {
  return (node.as<Contract>() || node.as<Conv>()) && node.inputs[0].dtype() == f32;
}

double usual_bound(Dtype dtype) { return dtype == f64 ? 1e-10 : is_float(dtype) ? 1e-4 : 0; }

/// What the roundings on the way to a value can add up to.
struct Rounding {
  double chain = 0;     // epsilons of halves, along the chain where they are the most
  double coarsest = 0;  // epsilon
  double terms = 1;     // of the longest sum over what was rounded
  double products = 0;  // the longest chain of products
};

class Walk {
 public:
  explicit Walk(const Bindings& bindings) : bindings_(bindings) {}

  Rounding of(const Value& value) const {
    const auto found = of_.find(&value.node());
    return found == of_.end() ? Rounding() : found->second;
  }

  void run(const Graph& graph) {
    for (const Node* node : graph.nodes()) {
      Rounding r;
      for (const Value& operand : node->inputs) {
        join(r, of(operand));
      }
      for (const Graph& body : called_graphs(*node)) {
        Walk inside(bindings_);
        inside.run(body);
        for (const Output& output : body.outputs()) {
          Rounding within = inside.of(output.value);
          within.chain = trips(*node) * within.chain + r.chain;
          within.products = trips(*node) * within.products + r.products;
          join(r, within);
        }
      }
      r.terms = r.chain > 0 ? std::max(r.terms, terms(*node)) : r.terms;
      const double e = rounds(*node) ? epsilon(node->shapes[0].dtype()) : 0;
      r.chain += e;
      r.coarsest = std::max(r.coarsest, e);
      r.products += is_f32_product(*node) ? 1 : 0;
      of_[node] = r;
    }
  }

 private:
  static void join(Rounding& r, const Rounding& other) {
    r = {std::max(r.chain, other.chain), std::max(r.coarsest, other.coarsest), std::max(r.terms, other.terms),
         std::max(r.products, other.products)};
  }

  double elements(const Shape& shape) const { return static_cast<double>(evaluate(shape.element_count(), bindings_)); }

  double trips(const Node& node) const {
    const auto* loop = node.as<Loop>();
    return loop == nullptr ? 1 : static_cast<double>(evaluate(loop->trips, bindings_));
  }

  /// How many numbers one element of the result adds up.
  double terms(const Node& node) const {
    const double results = std::max(1.0, elements(node.shapes[0]));
    if (node.as<Conv>()) {
      const Shape& weight = node.inputs[1].shape();
      return elements(weight) / std::max(1.0, static_cast<double>(evaluate(weight.extent(0), bindings_)));
    }
    if (node.as<Contract>()) {
      return static_cast<double>(evaluate(macs(node), bindings_)) / results;
    }
    if (node.as<Reduce>()) {
      return elements(node.inputs[0].shape()) / results;
    }
    if (const auto* window = node.as<Window>()) {
      double terms = 1;
      for (const int64_t size : window->size) {
        terms *= static_cast<double>(size);
      }
      return terms;
    }
    const auto* scan = node.as<Scan>();
    return scan == nullptr ? 1 : static_cast<double>(evaluate(node.shapes[0].extent(scan->axis), bindings_));
  }

  const Bindings& bindings_;
  std::unordered_map<const Node*, Rounding> of_;
};

}  // namespace

std::string ProductRounding::to_string() const {
  std::string text;
  if (precision != Precision::f32) text += fmt::format("products of {}", name(precision));
  if (weights) text += fmt::format("{}weights of {}", text.empty() ? "" : " and ", name(*weights));
  return text;
}

std::vector<double> rounding_bounds(const Graph& graph, const Bindings& bindings, const ProductRounding& products) {
  constexpr double kDeviations = 4;
  const double operand = std::max(epsilon(products.precision), weight_epsilon(products.weights));
  const Graph flat = passes::inline_calls(graph);
  Walk walk(bindings);
  walk.run(flat);
  std::vector<double> bounds;
  for (const Output& output : flat.outputs()) {
    const Rounding r = walk.of(output.value);
    const double halves = std::min(kMost, r.chain + r.coarsest * std::sqrt(r.terms));
    const Dtype dtype = output.value.dtype();
    const double own = is_float(dtype) && r.chain > 0 ? std::max(halves, usual_bound(dtype)) : usual_bound(dtype);
    const double of_products = is_float(dtype) ? kDeviations * operand * std::sqrt(r.products) : 0;
    bounds.push_back(of_products > 0 ? std::min(kMost, own + of_products) : own);
  }
  return bounds;
}

namespace {

/// Off at random, by at most so much of it, or of `scale`. Each has a number of its own.
class Noise {
 public:
  explicit Noise(uint64_t seed) : key_(constant(Array::full(u64, {}, static_cast<double>(seed)))) {}

  Value relative(const Value& x, double most) { return x * (random(x, most) + 1.0); }

  /// As a scale for all of the constant rounds it.
  Value of_largest(const Value& x, double most) {
    std::vector<int> axes(static_cast<size_t>(x.shape().rank()));
    std::iota(axes.begin(), axes.end(), 0);
    return x + reduce_max(abs(x), axes) * random(x, most);
  }

 private:
  Value random(const Value& x, double most) {
    const Value counter = constant(Array::full(u64, {}, static_cast<double>(++number_)));
    return uniform(key_, counter, x.shape(), -most, most);
  }

  Value key_;
  int64_t number_ = 0;
};

/// The nodes whose values inputs decide, or chance does.
std::unordered_set<const Node*> varying(const Graph& graph) {
  std::unordered_set<const Node*> result;
  for (const Node* node : graph.nodes()) {
    const bool varies = node->as<Input>() != nullptr || std::ranges::any_of(node->inputs, [&](const Value& operand) {
                          return result.contains(&operand.node());
                        });
    if (varies) result.insert(node);
  }
  return result;
}

}  // namespace

Graph with_roundings(const Graph& graph, uint64_t seed, const ProductRounding& products) {
  const Graph flat = passes::inline_calls(graph);
  const std::unordered_set<const Node*> varies = varying(flat);
  Noise noise(seed);
  const auto rounded = [&](const Value& given, const Value& operand) {
    const double step = epsilon(products.precision) / 2;
    Value result = step > 0 ? noise.relative(operand, step) : operand;
    if (!products.weights || varies.contains(&given.node())) {
      return result;
    }
    const double weight_step = weight_epsilon(products.weights) / 2;
    return products.weights->dtype == i8 ? noise.of_largest(result, weight_step) : noise.relative(result, weight_step);
  };
  return passes::rewrite(
      flat, [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
        const bool gives = node.as<If>() || node.as<Loop>();
        if (!rounds(node) && !gives) {
          return std::nullopt;
        }
        std::vector<Value> given = operands;
        if (products.rounds() && is_f32_product(node)) {
          for (size_t i = 0; i < 2; ++i) {
            given[i] = rounded(node.inputs[i], operands[i]);
          }
        }
        std::vector<Value> results = make_all(node.op, given);
        for (Value& result : results) {
          if (is_float(result.dtype())) {
            result = noise.relative(result, half_step(result.dtype()));
          }
        }
        return results;
      });
}

}  // namespace tenon::cli
