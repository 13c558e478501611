// Builders of conditionals and loops. Bodies are C++ functions that get stand-ins for values and build graphs from
// them; they run once, when the graph is built. A body may use values from outside: what it needs of them is passed
// into it. Axis names inside a body are those outside.
#pragma once

#include <functional>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

/// From stand-ins for the operands to results.
using Branch = std::function<std::vector<Value>(const std::vector<Value>& operands)>;

/// The results of one of two branches; both give the same number, dtypes and shapes. The condition is a bool scalar.
/// Constraints on sizes are those of both branches: a condition is known later than a size.
/// Only what a branch makes from its operands waits for the condition: what it makes from values outside alone is
/// computed in any case.
std::vector<Value> if_then_else(const Value& condition, const Branch& then_branch, const Branch& else_branch,
                                const std::vector<Value>& operands = {});

/// From the iteration (an i64 scalar) and the carried values to the carried values of the next, in the same shapes.
using LoopBody = std::function<std::vector<Value>(const Value& iteration, const std::vector<Value>& carried)>;

/// The carried values after `trips` runs of the body; those given for none.
std::vector<Value> loop(const Extent& trips, const std::vector<Value>& carried, const LoopBody& body);

struct WhileStep {
  Value go_on;  // bool scalar: whether to run the body again
  std::vector<Value> carried;
};
using WhileBody = std::function<WhileStep(const Value& iteration, const std::vector<Value>& carried)>;

/// As loop(), ending after the first run that says not to go on, at the latest after `max_trips`. Nothing is asked
/// before the first run.
std::vector<Value> while_loop(const Extent& max_trips, const std::vector<Value>& carried, const WhileBody& body);

struct ScanStep {
  std::vector<Value> carried;
  std::vector<Value> stacked;  // from a body: one element; from scan(): all, along a new first axis
};
using ScanBody = std::function<ScanStep(const Value& iteration, const std::vector<Value>& carried,
                                        const std::vector<Value>& elements)>;

/// A loop over the first axis, of `trips` elements, of the scanned values; stacks what each run gives.
ScanStep scan(const Extent& trips, const std::vector<Value>& carried, const std::vector<Value>& scanned,
              const ScanBody& body);
/// The first axis of the first scanned value says how many trips; there must be one.
ScanStep scan(const std::vector<Value>& carried, const std::vector<Value>& scanned, const ScanBody& body);

}  // namespace tenon
