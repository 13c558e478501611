// Loops: counted where sizes say how many trips they make, else ended by a condition, else one trip after another.
#include <algorithm>
#include <exception>

#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/import/registry.h"
#include "onnx/operators/bodies.h"
#include "onnx/operators/loop_trips.h"
#include "tenon/control.h"
#include "tenon/indexing.h"
#include "tenon/selection.h"

namespace tenon::importer {
namespace {

/// More trips than any loop that ends on its own makes.
constexpr int64_t kMostTrips = int64_t{1} << 31;
/// Trips that are written out one by one, and nodes of all of them.
constexpr int64_t kMostWrittenOut = 256;
constexpr int64_t kMostNodesWrittenOut = 20'000;
/// Trips whose results are kept while nobody knows how many there will be.
constexpr int64_t kMostKept = int64_t{1} << 20;

struct LoopParts {
  std::vector<Value> carried;
  std::vector<Value> stacked;
  std::optional<Value> go_on;  // nothing: it always goes on, or never
  bool ends = false;           // never
};

LoopParts run_loop_body(const NodeCall& call, const Value& iteration, const std::vector<Value>& carried) {
  Items inputs = {iteration, scalar(Dtype::boolean, 1)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  const Items results = call.importer().run_body(call.graph_attribute("body"), inputs, iteration);
  if (results.size() < carried.size() + 1) {
    refuse("the body gives {} results for {} carried values", results.size(), carried.size());
  }
  const auto middle = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
  LoopParts parts;
  parts.carried = to_values(Items(results.begin() + 1, middle), "a carried value");
  parts.stacked = to_values(Items(middle, results.end()), "a result of Loop");
  const Value condition = as_flag(to_values({results[0]}, "a condition")[0]);
  if (const std::optional<std::vector<Extent>> known = call.known_extents(condition)) {
    parts.ends = known->at(0) == Extent(0);
  } else {
    parts.go_on = condition;
  }
  require_same_shapes(carried, parts.carried);
  return parts;
}

/// Error where a trip makes a carried value larger: loops keep shapes, unless they are written out.
void require_no_growth(const NodeCall& call, const std::vector<Value>& before, const std::vector<Value>& after) {
  for (size_t i = 0; i < before.size(); ++i) {
    for (int axis = 0; axis < before[i].rank(); ++axis) {
      const Extent& had = before[i].extent(axis);
      const Extent& has = after[i].extent(axis);
      const std::vector<std::string> names = has.names();
      const bool is_made_of_it = std::ranges::any_of(
          had.names(), [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
      if (had != has && (compare(had, has) == Comparison::different || is_made_of_it)) {
        if (call.has(0) && !call.known_extents(call.x(0))) {
          call.fail_unknown(call.x(0), "how many trips a loop makes whose values change their shapes");
        }
        refuse("carried value {} is {} before an iteration and {} behind it", i, before[i].shape().to_string(),
               after[i].shape().to_string());
      }
    }
  }
}

Value as_value(bool set) { return scalar(Dtype::boolean, set ? 1 : 0); }

/// What is known of when a loop begins and ends, beside what its body is like.
struct LoopPlan {
  std::vector<Value> initial;
  std::vector<Shape> stacks;       // of one trip
  Extent trips = kMostTrips;       // at most
  std::vector<Value> begins = {};  // flags that decide before the first trip; all must be set
  std::optional<Value> most = {};  // a number of trips that is known when run only
  bool conditional = false;        // the body says whether to go on, beyond what `trips` says
};

/// A loop of a number of trips, with its stacks behind the carried values.
std::vector<Value> counted_loop(const NodeCall& call, const Extent& trips, const std::vector<Value>& initial) {
  ScanStep result =
      scan(trips, initial, {},
           [&](const Value& iteration, const std::vector<Value>& carried, const std::vector<Value>&) -> ScanStep {
             LoopParts parts = run_loop_body(call, iteration, carried);
             return {.carried = std::move(parts.carried), .stacked = std::move(parts.stacked)};
           });
  std::vector<Value> results = std::move(result.carried);
  results.insert(results.end(), result.stacked.begin(), result.stacked.end());
  return results;
}

/// A loop that a condition ends. Its carried values are followed by a table of `trips` rows for each stack, and by how
/// many trips were made.
std::vector<Value> conditional_loop(const NodeCall& call, const LoopPlan& plan, const std::vector<Value>& initial) {
  const size_t count = plan.initial.size();
  return while_loop(plan.trips, initial, [&](const Value& iteration, const std::vector<Value>& all) -> WhileStep {
    const std::vector<Value> carried(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    LoopParts parts = run_loop_body(call, iteration, carried);
    Value go_on = parts.go_on.value_or(as_value(!parts.ends));
    if (plan.most) {
      go_on = logical_and(go_on, lt(iteration + 1, *plan.most));
    }
    std::vector<Value> next = std::move(parts.carried);
    for (size_t i = 0; i < plan.stacks.size(); ++i) {
      const Value place = reshape(iteration, {1, 1});
      next.push_back(scatter_nd(all[count + i], place, expand_dims(parts.stacked[i], {0})));
    }
    if (!plan.stacks.empty()) {
      next.push_back(iteration + 1);
    }
    return {.go_on = go_on, .carried = std::move(next)};
  });
}

/// The first rows of each table, as many as trips were made.
void cut_stacks(std::vector<Value>& results, const LoopPlan& plan) {
  if (plan.stacks.empty()) {
    return;
  }
  const Value made = results.back();
  results.pop_back();
  const Value is_made = lt(iota(shape(Dtype::i64, plan.trips)), made);
  const Value rows = positions(is_made).positions;
  for (size_t i = plan.initial.size(); i < results.size(); ++i) {
    results[i] = take(results[i], rows, 0);
  }
}

std::vector<Value> loop_until(const NodeCall& call, const LoopPlan& plan) {
  std::vector<Value> initial = plan.initial;
  if (!plan.stacks.empty()) {
    if (const std::optional<int64_t> number = plan.trips.constant(); number && *number > kMostKept) {
      refuse("a loop that only values end stacks results: how many trips it makes at most must be known, and not be {}",
             *number);
    }
    for (const Shape& shape : plan.stacks) {
      std::vector<Axis> axes = shape.axes();
      axes.insert(axes.begin(), plan.trips);
      initial.push_back(full(Shape(shape.dtype(), axes), 0));
    }
    initial.push_back(constant(Array::from<int64_t>({}, {0})));
  }
  std::vector<Value> results;
  if (plan.begins.empty()) {
    results = conditional_loop(call, plan, initial);
  } else {
    Value begins = plan.begins[0];
    for (size_t i = 1; i < plan.begins.size(); ++i) {
      begins = logical_and(begins, plan.begins[i]);
    }
    results = if_then_else(
        begins, [&](const std::vector<Value>& values) { return conditional_loop(call, plan, values); },
        [](const std::vector<Value>& values) { return values; }, initial);
  }
  cut_stacks(results, plan);
  return results;
}

/// Whether a number of trips is more than a way to say that there is none.
bool is_bound(const Extent& trips) {
  const std::optional<int64_t> number = trips.constant();
  return !number || *number < kMostTrips - 1;
}

/// Reads off when the loop begins and ends; the probe runs the body once for that.
struct LoopReading {
  LoopPlan plan;
  bool by_values = false;  // whether only a run knows how many trips there are
};

LoopReading read_loop(const NodeCall& call) {
  LoopReading reading;
  LoopPlan& plan = reading.plan;
  KnownValues& known = call.importer().known();
  plan.initial = call.tensors(2);

  std::optional<SizeCondition> begin_by_sizes;
  if (call.has(1)) {
    const Value first = as_flag(call.x(1));
    if (const std::optional<std::vector<Extent>> begins = call.known_extents(first)) {
      if (begins->at(0) == Extent(0)) {
        plan.trips = 0;
        return reading;
      }
    } else {
      begin_by_sizes = size_condition(known, first);
      plan.begins.push_back(first);
    }
  }
  if (call.has(0)) {
    const std::optional<std::vector<Extent>> most = call.known_extents(call.x(0));
    if (most && most->size() == 1) {
      plan.trips = simplify(max(most->front(), 0));
    } else {
      plan.most = cast(reshape(call.x(0), {}), Dtype::i64);
      plan.begins.push_back(gt(*plan.most, 0));
    }
  }

  std::vector<Value> stand_ins;
  for (const Value& value : plan.initial) {
    stand_ins.push_back(input("carried", value.shape()));
  }
  const Value iteration = input("iteration", Shape(Dtype::i64, {}));
  const LoopNames names(known, iteration, stand_ins);
  const LoopParts probe = call.importer().probed([&] { return run_loop_body(call, iteration, stand_ins); });
  require_no_growth(call, stand_ins, probe.carried);
  for (const Value& stack : probe.stacked) {
    plan.stacks.push_back(stack.shape());
  }

  plan.conditional = probe.go_on.has_value();
  if (probe.ends) {
    plan.trips = simplify(min(plan.trips, 1));
  }
  std::optional<Extent> by_sizes;
  const std::optional<SizeCondition> ends =
      probe.go_on ? names.condition(*probe.go_on, plan.initial, probe.carried) : std::nullopt;
  if (ends) {
    by_sizes = begin_by_sizes ? names.trips(*ends, *begin_by_sizes) : names.trips(*ends);
    plan.conditional = !by_sizes;
  } else if (!probe.go_on && begin_by_sizes) {
    by_sizes = indicator(*begin_by_sizes);
    by_sizes = by_sizes ? std::optional(*by_sizes * plan.trips) : std::nullopt;
  }
  if (by_sizes) {
    plan.trips = is_bound(plan.trips) ? simplify(min(plan.trips, *by_sizes)) : *by_sizes;
    if (begin_by_sizes) {
      plan.begins.erase(plan.begins.begin());
    }
  }
  reading.by_values = plan.conditional || !plan.begins.empty() || plan.most;
  return reading;
}

/// The trips that the loop makes at most where sizes alone decide them.
std::optional<Extent> trips_by_sizes(const NodeCall& call) {
  const std::optional<std::vector<Extent>> most = call.has(0) ? call.known_extents(call.x(0)) : std::nullopt;
  return most && most->size() == 1 ? std::optional(most->front()) : std::nullopt;
}

/// How many trips could be written out, should nothing else do: those that are known, at least at the sizes that the
/// model is read for.
std::optional<int64_t> short_trips(const NodeCall& call) {
  const std::optional<Extent> most = trips_by_sizes(call);
  const std::optional<int64_t> trips = most ? call.importer().told(*most) : std::nullopt;
  const bool is_short =
      trips && *trips <= kMostWrittenOut && *trips * call.graph_attribute("body").node_size() <= kMostNodesWrittenOut;
  return is_short ? trips : std::nullopt;
}

/// What the body gives in its first trip, as if it had not been read.
Items first_trip(const NodeCall& call, const Items& carried) {
  const Value none = constant(Array::from<int64_t>({}, {0}));
  Items inputs = {none, as_value(true)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return call.importer().probed([&] { return call.importer().run_body(call.graph_attribute("body"), inputs, none); });
}

/// A stack of no trips: as many axes as one trip would give.
Value empty_stack(const NodeCall& call, size_t i, const Items& carried) {
  const Items results = first_trip(call, carried);
  const Value one = to_values({results.at(1 + carried.size() + i)}, "a stacked result of Loop")[0];
  std::vector<Axis> axes = one.shape().axes();
  axes.insert(axes.begin(), Axis(0));
  return full(Shape(one.dtype(), axes), 0);
}

/// One trip after another, for bodies whose values change shape, or whose iteration must be a number.
Results written_out(const NodeCall& call) {
  const std::optional<int64_t> known = short_trips(call);
  if (!known) {
    refuse("a loop whose values change their shapes must make a number of trips that is known, at most {}",
           kMostWrittenOut);
  }
  const int64_t trips = *known;
  if (const Extent counted = *trips_by_sizes(call); !counted.is_constant()) {  // runs at other sizes would make others
    call.importer().assume({.kind = Constraint::Kind::equal,
                            .lhs = counted,
                            .rhs = trips,
                            .needed_by = call.type(),
                            .place = call.node().name()},
                           "the loop is written out for the sizes that were given");
  }
  const proto::GraphProto& body = call.graph_attribute("body");
  Items carried;
  for (size_t i = 2; i < call.count(); ++i) {
    carried.push_back(call.item(i));
  }
  std::vector<std::vector<Value>> stacks(static_cast<size_t>(body.output_size()) - 1 - carried.size());
  Value condition = call.has(1) ? as_flag(call.x(1)) : as_value(true);
  for (int64_t trip = 0; trip < trips; ++trip) {
    const std::optional<std::vector<Extent>> goes_on = call.known_extents(condition);
    if (!goes_on) {
      call.fail_unknown(condition, "whether a loop whose values change their shapes goes on");
    }
    if (goes_on->at(0) == Extent(0)) {
      break;
    }
    const Value iteration = constant(Array::from<int64_t>({}, {trip}));
    Items inputs = {iteration, condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const Items results = call.importer().run_body(body, inputs, iteration);
    condition = as_flag(to_values({results[0]}, "a condition")[0]);
    const auto middle = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
    carried.assign(results.begin() + 1, middle);
    const std::vector<Value> kept = to_values(Items(middle, results.end()), "a stacked result of Loop");
    for (size_t i = 0; i < kept.size(); ++i) {
      stacks[i].push_back(kept[i]);
    }
  }
  const Items last = carried;
  for (size_t i = 0; i < stacks.size(); ++i) {
    carried.emplace_back(stacks[i].empty() ? empty_stack(call, i, last) : stack(stacks[i], 0));
  }
  return carried;
}

Results loop_as_one(const NodeCall& call) {
  const LoopReading reading = read_loop(call);
  if (!reading.by_values) {
    return counted_loop(call, reading.plan.trips, reading.plan.initial);
  }
  if (!reading.plan.stacks.empty() && !is_bound(reading.plan.trips)) {
    if (reading.plan.most) {
      call.fail_unknown(call.x(0), "how many trips a loop makes that stacks results");
    }
    if (!reading.plan.begins.empty()) {
      call.fail_unknown(call.x(1), "whether the loop begins");
    }
  }
  return loop_until(call, reading.plan);
}

/// Where a trip can be read though the loop cannot: what would let all trips be read.
void advise_fewer_trips(const NodeCall& call) {
  const std::optional<Extent> most = trips_by_sizes(call);
  const std::vector<Value> initial = call.tensors(2);
  if (most && call.importer().attempted([&] { return first_trip(call, {initial.begin(), initial.end()}); })) {
    call.importer().advise(fmt::format("the loop makes {} trips{}; up to {} can be read one by one", most->to_string(),
                                       most->is_constant() ? "" : ", of sizes that can be given when the model is read",
                                       kMostWrittenOut));
  }
}

Results loop_of(const NodeCall& call) {
  bool has_sequences = false;
  for (size_t i = 2; i < call.count(); ++i) {
    has_sequences = has_sequences || call.item(i).sequence != nullptr;
  }
  if (has_sequences) {
    return written_out(call);
  }
  if (!short_trips(call)) {
    try {
      return loop_as_one(call);
    } catch (const Refused&) {
      advise_fewer_trips(call);
      throw;
    }
  }
  std::exception_ptr refusal;
  const std::optional<Results> as_one = call.importer().attempted([&] { return loop_as_one(call); }, &refusal);
  if (as_one) {
    return *as_one;
  }
  const std::optional<Results> unrolled = call.importer().attempted([&] { return written_out(call); });
  if (!unrolled) {
    std::rethrow_exception(refusal);
  }
  return *unrolled;
}

}  // namespace

std::vector<OperatorEntry> loop_operators() { return {{"", "Loop", 1, loop_of}}; }

}  // namespace tenon::importer
