// Conditionals and loops.
#include <limits>

#include "base/fail.h"
#include "onnx/import/importer.h"
#include "onnx/import/registry.h"
#include "tenon/control.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// More trips than any loop that ends on its own makes.
constexpr int64_t kMostTrips = int64_t{1} << 31;

std::vector<Value> to_values(const Items& items, std::string_view what) {
  std::vector<Value> values;
  for (const Item& item : items) {
    if (!item.value) {
      fail("{} that is a sequence is not supported", what);
    }
    values.push_back(item.value);
  }
  return values;
}

Value as_flag(const Value& x) { return x.rank() == 0 ? x : reshape(x, {}); }

Items to_items(const std::vector<Value>& values) { return {values.begin(), values.end()}; }

Results if_else(const NodeCall& call) {
  const Value condition = as_flag(call.x(0));
  if (const std::optional<std::vector<Extent>> known = call.known_extents(condition)) {
    const bool holds = known->at(0) != Extent(0);
    return call.importer().run_body(call.graph_attribute(holds ? "then_branch" : "else_branch"), {});
  }
  const auto branch = [&](std::string_view name) {
    return [&call, name](const std::vector<Value>&) {
      return to_values(call.importer().run_body(call.graph_attribute(name), {}), "a result of If");
    };
  };
  return if_then_else(condition, branch("then_branch"), branch("else_branch"));
}

/// Shapes that a body changes are told here, in the model's words.
void require_same_shapes(const std::vector<Value>& before, const std::vector<Value>& after) {
  if (before.size() != after.size()) {
    fail("the body gives {} carried values, must give {}", after.size(), before.size());
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].dtype() != after[i].dtype() || before[i].rank() != after[i].rank()) {
      fail("carried value {} is {} before an iteration and {} behind it", i, before[i].shape().to_string(),
           after[i].shape().to_string());
    }
  }
}

struct LoopParts {
  Items carried;
  std::vector<Value> stacked;
  std::optional<Value> go_on;  // nothing: it always goes on, or never
  bool ends = false;           // never
};

LoopParts run_loop_body(const NodeCall& call, const Value& iteration, const std::vector<Value>& carried) {
  Items inputs = {iteration, scalar(Dtype::boolean, 1)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  const Items results = call.importer().run_body(call.graph_attribute("body"), inputs);
  if (results.size() < carried.size() + 1) {
    fail("the body gives {} results for {} carried values", results.size(), carried.size());
  }
  const auto middle = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
  LoopParts parts{.carried = Items(results.begin() + 1, middle), .stacked = {}, .go_on = {}, .ends = false};
  parts.stacked = to_values(Items(middle, results.end()), "a result of Loop");
  const Value condition = as_flag(to_values({results[0]}, "a condition")[0]);
  const std::optional<std::vector<Extent>> known = call.known_extents(condition);
  if (known) {
    parts.ends = known->at(0) == Extent(0);
  } else {
    parts.go_on = condition;
  }
  require_same_shapes(carried, to_values(parts.carried, "a carried value"));
  return parts;
}

/// Whether a loop makes its first trip, where the import knows.
std::optional<bool> begins(const NodeCall& call) {
  if (!call.has(1)) {
    return true;
  }
  const std::optional<std::vector<Extent>> first = call.known_extents(as_flag(call.x(1)));
  return first ? std::optional(first->at(0) != Extent(0)) : std::nullopt;
}

/// A loop of a number of trips, with its stacks behind the carried values.
std::vector<Value> counted_loop(const NodeCall& call, const Extent& trips, const std::vector<Value>& initial) {
  ScanStep result =
      scan(trips, initial, {},
           [&](const Value& iteration, const std::vector<Value>& carried, const std::vector<Value>&) -> ScanStep {
             LoopParts parts = run_loop_body(call, iteration, carried);
             return {.carried = to_values(parts.carried, "a carried value"), .stacked = std::move(parts.stacked)};
           });
  std::vector<Value> results = std::move(result.carried);
  results.insert(results.end(), result.stacked.begin(), result.stacked.end());
  return results;
}

std::vector<Value> conditional_loop(const NodeCall& call, const Extent& trips, const std::vector<Value>& initial) {
  return while_loop(trips, initial, [&](const Value& iteration, const std::vector<Value>& carried) -> WhileStep {
    const LoopParts parts = run_loop_body(call, iteration, carried);
    return {.go_on = parts.go_on.value_or(scalar(Dtype::boolean, 1)),
            .carried = to_values(parts.carried, "a carried value")};
  });
}

/// The first run of the body asks how it ends, and a second one builds the loop that this needs.
Results loop_of(const NodeCall& call) {
  const std::optional<bool> begun = begins(call);
  const std::vector<Value> initial = call.tensors(2);
  if (begun == false) {
    return counted_loop(call, 0, initial);
  }
  std::vector<Value> stand_ins;
  for (const Value& value : initial) {
    stand_ins.push_back(input("carried", value.shape()));
  }
  const LoopParts probe = run_loop_body(call, input("iteration", Shape(Dtype::i64, {})), stand_ins);
  if (!begun && !probe.stacked.empty()) {
    call.fail_unknown(call.x(1), "whether the loop begins");
  }
  if (probe.go_on && !probe.stacked.empty()) {
    fail(
        "a loop that ends by a condition and stacks results has a size that depends on values, which is not supported");
  }
  const Extent most = call.has(0) ? call.extent(0) : Extent(kMostTrips);
  const Extent trips = probe.ends ? min(most, 1) : most;
  const auto loop_over = [&](const std::vector<Value>& carried) {
    return probe.go_on ? conditional_loop(call, trips, carried) : counted_loop(call, trips, carried);
  };
  if (begun) {
    return loop_over(initial);
  }
  return if_then_else(
      as_flag(call.x(1)), loop_over, [](const std::vector<Value>& carried) { return carried; }, initial);
}

struct ScanAxes {
  std::vector<int64_t> axes, reversed;
};

int64_t at_or(const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
  return i < list.size() ? list[i] : otherwise;
}

/// `values` with the scanned axis first and in the order of the scan, and back.
Value axis_first(const Value& x, int64_t axis, bool reversed) {
  const int from = x.shape().normalize_axis(static_cast<int>(axis));
  Axes order = {from};
  for (int i = 0; i < x.rank(); ++i) {
    if (i != from) {
      order.push_back(i);
    }
  }
  const Value moved = from == 0 ? x : transpose(x, order);
  return reversed ? flip(moved, {0}) : moved;
}

Value axis_back(const Value& x, int64_t axis, bool reversed) {
  const Value ordered = reversed ? flip(x, {0}) : x;
  const int to = x.shape().normalize_axis(static_cast<int>(axis));
  Axes order;
  for (int i = 1; i < x.rank(); ++i) {
    order.push_back(i);
  }
  order.insert(order.begin() + to, 0);
  return to == 0 ? ordered : transpose(ordered, order);
}

/// One scan over values without a batch.
std::vector<Value> scan_once(const NodeCall& call, const std::vector<Value>& states, const std::vector<Value>& scanned,
                             const ScanAxes& in, const ScanAxes& out) {
  std::vector<Value> ordered;
  for (size_t i = 0; i < scanned.size(); ++i) {
    ordered.push_back(axis_first(scanned[i], at_or(in.axes, i, 0), at_or(in.reversed, i, 0) != 0));
  }
  const ScanStep result =
      scan(states, ordered,
           [&](const Value&, const std::vector<Value>& carried, const std::vector<Value>& elements) -> ScanStep {
             Items inputs = to_items(carried);
             inputs.insert(inputs.end(), elements.begin(), elements.end());
             std::vector<Value> results =
                 to_values(call.importer().run_body(call.graph_attribute("body"), inputs), "a result of Scan");
             if (results.size() < carried.size()) {
               fail("the body gives {} results for {} states", results.size(), carried.size());
             }
             const auto middle = results.begin() + static_cast<std::ptrdiff_t>(carried.size());
             require_same_shapes(carried, {results.begin(), middle});
             return {.carried = {results.begin(), middle}, .stacked = {middle, results.end()}};
           });
  std::vector<Value> results = result.carried;
  for (size_t i = 0; i < result.stacked.size(); ++i) {
    results.push_back(axis_back(result.stacked[i], at_or(out.axes, i, 0), at_or(out.reversed, i, 0) != 0));
  }
  return results;
}

size_t scanned_count(const NodeCall& call, size_t operands) {
  const int64_t count = call.attribute("num_scan_inputs");
  if (count < 1 || static_cast<size_t>(count) > operands) {
    fail("num_scan_inputs is {} of {} inputs", count, operands);
  }
  return static_cast<size_t>(count);
}

Results scan_of(const NodeCall& call) {
  const std::vector<Value> operands = call.tensors();
  const auto middle = operands.end() - static_cast<std::ptrdiff_t>(scanned_count(call, operands.size()));
  return scan_once(call, {operands.begin(), middle}, {middle, operands.end()},
                   {call.list_attribute("scan_input_axes"), call.list_attribute("scan_input_directions")},
                   {call.list_attribute("scan_output_axes"), call.list_attribute("scan_output_directions")});
}

/// Opset 8: a batch before everything, each element of it on its own.
Results batched_scan(const NodeCall& call) {
  if (call.has(0)) {
    fail("sequence lengths of a scan are not supported");
  }
  const std::vector<Value> operands = call.tensors(1);
  constexpr int64_t largest_batch = 256;
  const size_t count = scanned_count(call, operands.size());
  std::vector<std::vector<Value>> elements;
  for (const Value& operand : operands) {
    const std::optional<int64_t> batch = operand.rank() == 0 ? std::nullopt : operand.extent(0).constant();
    if (!batch || *batch < 1 || *batch > largest_batch) {
      fail("a scan of opset 8 needs a known batch of up to {}, not {}", largest_batch, operand.shape().to_string());
    }
    elements.push_back(unstack(operand, 0));
  }
  std::vector<std::vector<Value>> results;
  for (size_t b = 0; b < elements[0].size(); ++b) {
    std::vector<Value> of_element;
    for (const std::vector<Value>& list : elements) {
      if (list.size() != elements[0].size()) {
        fail("batches of {} and {} are given", elements[0].size(), list.size());
      }
      of_element.push_back(list[b]);
    }
    const auto middle = of_element.end() - static_cast<std::ptrdiff_t>(count);
    results.push_back(scan_once(call, {of_element.begin(), middle}, {middle, of_element.end()},
                                {{}, call.list_attribute("directions")}, {}));
  }
  std::vector<Value> stacked;
  for (size_t i = 0; !results.empty() && i < results[0].size(); ++i) {
    std::vector<Value> parts;
    for (const std::vector<Value>& result : results) {
      parts.push_back(result[i]);
    }
    stacked.push_back(stack(parts, 0));
  }
  return stacked;
}

}  // namespace

std::vector<OperatorEntry> control_operators() {
  return {
      {"", "If", 1, if_else},
      {"", "Loop", 1, loop_of},
      {"", "Scan", 8, batched_scan},
      {"", "Scan", 9, scan_of},
  };
}

}  // namespace tenon::importer
