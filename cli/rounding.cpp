#include "rounding.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

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

double usual_bound(Dtype dtype) { return dtype == f64 ? 1e-10 : is_float(dtype) ? 1e-4 : 0; }

/// What the roundings on the way to a value can add up to.
struct Rounding {
  double chain = 0;     // epsilons of halves, along the chain where they are the most
  double coarsest = 0;  // epsilon
  double terms = 1;     // of the longest sum over what was rounded
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
          join(r, within);
        }
      }
      r.terms = r.chain > 0 ? std::max(r.terms, terms(*node)) : r.terms;
      const double e = rounds(*node) ? epsilon(node->shapes[0].dtype()) : 0;
      r.chain += e;
      r.coarsest = std::max(r.coarsest, e);
      of_[node] = r;
    }
  }

 private:
  static void join(Rounding& r, const Rounding& other) {
    r = {std::max(r.chain, other.chain), std::max(r.coarsest, other.coarsest), std::max(r.terms, other.terms)};
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

std::vector<double> rounding_bounds(const Graph& graph, const Bindings& bindings) {
  const Graph flat = passes::inline_calls(graph);
  Walk walk(bindings);
  walk.run(flat);
  std::vector<double> bounds;
  for (const Output& output : flat.outputs()) {
    const Rounding r = walk.of(output.value);
    const double halves = std::min(kMost, r.chain + r.coarsest * std::sqrt(r.terms));
    const Dtype dtype = output.value.dtype();
    bounds.push_back(is_float(dtype) && r.chain > 0 ? std::max(halves, usual_bound(dtype)) : usual_bound(dtype));
  }
  return bounds;
}

Graph with_roundings(const Graph& graph, uint64_t seed) {
  const Value key = constant(Array::full(u64, {}, static_cast<double>(seed)));
  int64_t number = 0;
  return passes::rewrite(
      passes::inline_calls(graph),
      [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
        const bool gives = node.as<If>() || node.as<Loop>();
        if (!rounds(node) && !gives) {
          return std::nullopt;
        }
        std::vector<Value> results = make_all(node.op, operands);
        for (Value& result : results) {
          if (is_float(result.dtype())) {
            const Value counter = constant(Array::full(u64, {}, static_cast<double>(++number)));
            const double most = half_step(result.dtype());
            result = result * (uniform(key, counter, result.shape(), -most, most) + 1.0);
          }
        }
        return results;
      });
}

}  // namespace tenon::cli
