// Conditionals and scans.
#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/import/registry.h"
#include "onnx/operators/bodies.h"
#include "tenon/control.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// Whether they differ in what an If cannot choose between when it runs.
bool differ(const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].rank() != b[i].rank() || a[i].dtype() != b[i].dtype()) {
      return true;
    }
    for (int axis = 0; axis < a[i].rank(); ++axis) {
      if (a[i].extent(axis) != b[i].extent(axis)) {
        return true;
      }
    }
  }
  return a.size() != b.size();
}

/// A branch that has to be chosen by sizes inside of one that a value chooses would ask for the sizes of both.
void require_no_decisions(const NodeCall& call, size_t before) {
  if (call.importer().branch_count() != before) {
    call.fail_unknown(call.x(0), "which branch is taken");
  }
}

Results if_else(const NodeCall& call) {
  const Value condition = as_flag(call.x(0));
  const auto run = [&call](bool holds) {
    return call.importer().run_body(call.graph_attribute(holds ? "then_branch" : "else_branch"), {});
  };
  const auto results_of = [&run](bool holds) { return to_values(run(holds), "a result of If"); };
  if (const std::optional<std::vector<Extent>> known = call.known_extents(condition)) {
    return run(known->at(0) != Extent(0));
  }
  const auto outcome = [&](bool holds) { return call.importer().attempted([&] { return results_of(holds); }); };
  // Whether one of the branches can be read where both together cannot.
  const auto are_apart = [&] {
    return call.importer().probed([&] {
      const std::optional<std::vector<Value>> yes = outcome(true);
      const std::optional<std::vector<Value>> no = outcome(false);
      return yes && no ? differ(*yes, *no) : yes || no;
    });
  };
  // What several comparisons of sizes come to, each of them decided.
  const auto decided = [&]() -> std::optional<bool> {
    const auto decide = [&](const SizeCondition& each) { return call.importer().decide(each, call.node()); };
    const auto known = call.importer().known().deciding(decide).extents(condition);
    return known ? std::optional(known->at(0) != Extent(0)) : std::nullopt;
  };
  const std::optional<SizeCondition> by_sizes = size_condition(call.importer().known(), condition);
  if (by_sizes || call.importer().probed(decided)) {
    const bool either = call.importer().probed([&] {
      const std::optional<std::vector<Value>> yes = outcome(true);
      const std::optional<std::vector<Value>> no = yes ? outcome(false) : std::nullopt;
      return yes && no && !differ(*yes, *no);
    });
    if (!either) {
      return run(by_sizes ? call.importer().decide(*by_sizes, call.node()) : *decided());
    }
  }
  const size_t decisions = call.importer().branch_count();
  const auto branch = [&](bool holds) {
    return [&results_of, holds](const std::vector<Value>&) { return results_of(holds); };
  };
  try {
    const std::vector<Value> results = if_then_else(condition, branch(true), branch(false));
    require_no_decisions(call, decisions);
    return results;
  } catch (const Refused&) {  // perhaps for sizes that only the other branch is for
    require_no_decisions(call, decisions);
    if (are_apart()) {
      call.fail_unknown(condition, "which branch is taken, which decides shapes,");
    }
    throw;
  }
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

/// Which element of how many a scan is for.
struct ScanElement {
  int64_t index = 0, count = 1;
};

/// One scan over values without a batch.
std::vector<Value> scan_once(const NodeCall& call, const std::vector<Value>& states, const std::vector<Value>& scanned,
                             const ScanAxes& in, const ScanAxes& out, const ScanElement& element = {}) {
  std::vector<Value> ordered;
  for (size_t i = 0; i < scanned.size(); ++i) {
    ordered.push_back(axis_first(scanned[i], at_or(in.axes, i, 0), at_or(in.reversed, i, 0) != 0));
  }
  const ScanStep result = scan(
      states, ordered,
      [&](const Value& iteration, const std::vector<Value>& carried, const std::vector<Value>& elements) -> ScanStep {
        Items inputs(carried.begin(), carried.end());
        inputs.insert(inputs.end(), elements.begin(), elements.end());
        const Value trip = element.count == 1 ? iteration : iteration * element.count + element.index;
        std::vector<Value> results =
            to_values(call.importer().run_body(call.graph_attribute("body"), inputs, trip), "a result of Scan");
        if (results.size() < carried.size()) {
          refuse("the body gives {} results for {} states", results.size(), carried.size());
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
    refuse("num_scan_inputs is {} of {} inputs", count, operands);
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
    refuse("sequence lengths of a scan are not supported");
  }
  const std::vector<Value> operands = call.tensors(1);
  constexpr int64_t largest_batch = 256;
  const size_t count = scanned_count(call, operands.size());
  std::vector<std::vector<Value>> elements;
  for (const Value& operand : operands) {
    const std::optional<int64_t> batch = operand.rank() == 0 ? std::nullopt : operand.extent(0).constant();
    if (!batch || *batch < 1 || *batch > largest_batch) {
      refuse("a scan of opset 8 needs a known batch of up to {}, not {}", largest_batch, operand.shape().to_string());
    }
    elements.push_back(unstack(operand, 0));
  }
  std::vector<std::vector<Value>> results;
  for (size_t b = 0; b < elements[0].size(); ++b) {
    std::vector<Value> of_element;
    for (const std::vector<Value>& list : elements) {
      if (list.size() != elements[0].size()) {
        refuse("batches of {} and {} are given", elements[0].size(), list.size());
      }
      of_element.push_back(list[b]);
    }
    const auto middle = of_element.end() - static_cast<std::ptrdiff_t>(count);
    results.push_back(scan_once(call, {of_element.begin(), middle}, {middle, of_element.end()},
                                {{}, call.list_attribute("directions")}, {},
                                {static_cast<int64_t>(b), static_cast<int64_t>(elements[0].size())}));
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
      {"", "If", 1, if_else, ElementUse::any},
      {"", "Scan", 8, batched_scan},
      {"", "Scan", 9, scan_of},
  };
}

}  // namespace tenon::importer
