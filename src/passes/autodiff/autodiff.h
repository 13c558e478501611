// Reverse-mode differentiation: one walk from the results back, each node's own rule (ops/gradient/gradient.h) at every
// step. The public entry points are in tenon/autodiff.h; this is what they share with the rules of calls and control
// flow.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/gradient/gradient.h"

namespace tenon::passes {

/// Which of the nodes in `order` (operands before users) depend on `xs` through floats.
class Reach {
 public:
  Reach(std::span<const Node* const> order, std::span<const Value> xs);

  bool contains(const Value& value) const;
  /// The node has an operand that depends on xs.
  bool contains(const Node& node) const { return nodes_.contains(&node); }

 private:
  std::unordered_set<Value> xs_;
  std::unordered_set<const Node*> nodes_;
};

/// The gradients of `xs` from the gradients of `ys`, paired, some of which may be empty. Empty where nothing flows.
Gradients pull_back(std::span<const Value> ys, std::span<const Value> y_gradients, std::span<const Value> xs);

/// The name of an input.
const std::string& name_of(const Value& in);

/// `g` under the axes of `shape`, which differ in labels and in spellings of sizes that must be equal, at most.
Value conform(const Value& g, const Shape& shape);

/// The names of a graph's inputs or outputs, each once.
class FreshNames {
 public:
  void take(const std::string& name) { taken_.insert(name); }
  /// `name`, with underscores behind it until it is new.
  std::string make(std::string name);

 private:
  std::unordered_set<std::string> taken_;
};

/// A composite of this name keeps nothing but its operands for its gradient, which computes the rest again.
inline constexpr std::string_view kRecomputed = "checkpoint";

/// Gradients of composites' bodies, for whoever differentiates the same bodies again and again: while a GradientBodies
/// lives, those made on this thread are kept in it, up to a limit, and found there.
class GradientBodies {
 public:
  struct Made {
    Graph of;
    std::vector<Shape> shapes;        // of its results, as the caller sees them
    std::vector<bool> given, wanted;  // which results have gradients, which operands need them
    Graph body;
    std::vector<bool> used;  // which operands and gradients the body takes
  };

  /// What `make` gives, unless it was made before.
  Made find_or_make(const Graph& of, const std::vector<Shape>& shapes, const std::vector<bool>& given,
                    const std::vector<bool>& wanted, const std::function<Made()>& make);

  /// The one that is in use on this thread; null where none is.
  static GradientBodies*& current();

 private:
  std::unordered_multimap<uint64_t, Made> made_;
};

// The kinds that carry bodies; passes/autodiff/autodiff_control.cpp. `wanted` says which operands need a gradient.

using tenon::gradient;

/// A call of `<name>_gradient` on the operands it needs and the gradients of the outputs.
Gradients gradient(const Call& op, const Node& node, const std::vector<Value>& outputs,
                   const std::vector<bool>& wanted);
/// An `if` of the bodies' gradients.
Gradients gradient(const If& op, const Node& node, const std::vector<Value>& outputs, const std::vector<bool>& wanted);
/// A loop that runs again and keeps the carried values of each trip, then a loop over the trips in reverse.
Gradients gradient(const Loop& op, const Node& node, const std::vector<Value>& outputs,
                   const std::vector<bool>& wanted);

}  // namespace tenon::passes
