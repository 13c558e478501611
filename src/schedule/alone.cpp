#include "schedule/alone.h"

#include <fmt/format.h>

#include "base/fail.h"
#include "ops/builders/few_bits.h"
#include "schedule/nest/kind_roles.h"

namespace tenon::schedule {
namespace {

std::string counted_kernels(int count) { return fmt::format("{} {}", count, count == 1 ? "kernel" : "kernels"); }

Extent flops_of(const Program& program) {
  Extent flops = 0;
  for (const Step& step : program.steps) {
    flops += step.flops;
  }
  return flops;
}

/// A program that gives what it takes.
Program identity(const Node& node) {
  Program program{.name = std::string(op_name(node.op)),
                  .inputs = {},
                  .outputs = {},
                  .buffers = {},
                  .constants = {},
                  .kernels = {},
                  .facts = {},
                  .steps = {}};
  for (size_t i = 0; i < node.shapes.size(); ++i) {
    const Shape& shape = node.shapes[i];
    const int buffer = static_cast<int>(i);
    std::vector<Extent> strides(shape.axes().size(), 1);
    for (size_t axis = strides.size(); axis-- > 1;) {
      strides[axis - 1] = strides[axis] * shape.extent(static_cast<int>(axis));
    }
    program.buffers.push_back(
        {.dtype = shape.dtype(), .elements = shape.element_count(), .memory = Memory::input, .source = buffer});
    program.inputs.push_back({.name = fmt::format("x{}", i), .shape = shape, .buffer = buffer});
    program.outputs.push_back(
        {.name = fmt::format("y{}", i), .shape = shape, .buffer = buffer, .offset = 0, .strides = std::move(strides)});
  }
  return program;
}

struct Describe {
  Step& step;
  const Node& node;
  const ScheduleBody& schedule_body;

  void operator()(const Sort& op) const { set_routine(SortRoutine{.axis = op.axis, .descending = op.descending}); }

  void operator()(const Scan& op) const {
    set_routine(ScanRoutine{.op = op.op, .axis = op.axis, .exclusive = op.exclusive, .reverse = op.reverse});
  }

  void operator()(const Scatter& op) const {
    set_routine(ScatterRoutine{
        .op = op.op, .axes = op.axes, .x_batch = op.x_batch, .index_batch = op.index_batch, .place = node.place});
  }

  void operator()(const Positions& op) const {
    TENON_CHECK(op.axis.is_anonymous(), "axis {} is bound inside of a program", op.axis.to_string());
    set_routine(PositionsRoutine{});
  }

  void operator()(const If& op) const {
    std::vector<Program> bodies = scheduled({&op.then_body, &op.else_body});
    step.label = fmt::format("if: {} or {}", launch_count(bodies[0]), counted_kernels(launch_count(bodies[1])));
    step.flops = max(flops_of(bodies[0]), flops_of(bodies[1]));
    step.what = ControlStep{.control = BranchControl{}, .bodies = std::move(bodies)};
  }

  void operator()(const Loop& op) const {
    std::vector<Program> bodies = scheduled({&op.body});
    step.label = fmt::format("loop of {}{} {}: {}", op.conditional ? "at most " : "", op.trips.to_string(),
                             op.trips == Extent(1) ? "trip" : "trips", counted_kernels(launch_count(bodies[0])));
    step.flops = op.trips * flops_of(bodies[0]);
    step.what = ControlStep{
        .control =
            LoopControl{.trips = op.trips, .carried = op.carried, .scanned = op.scanned, .conditional = op.conditional},
        .bodies = std::move(bodies)};
  }

  void operator()(const Call& op) const {
    if (const auto routine = few_bits_routine(op.body)) {
      set_routine(*routine);
      step.label = op.body.name();
      return;
    }
    std::vector<Program> bodies = scheduled({&op.body}, false);
    step.label = fmt::format("{}: {}", op.body.name(), counted_kernels(launch_count(bodies[0])));
    step.flops = flops_of(bodies[0]);
    step.what = ControlStep{.control = CallControl{}, .bodies = std::move(bodies)};
  }

  void operator()(const Barrier&) const {
    step.what = ControlStep{.control = CallControl{}, .bodies = {identity(node)}};
  }

  template <class Kind>
    requires(!AloneKind<Kind>)
  void operator()(const Kind& op) const {
    TENON_CHECK(false, "{} is no step of its own", op_name(op));
  }

  void set_routine(LibraryRoutine routine) const {
    RoutineStep call{.routine = std::move(routine), .shapes = {}};
    for (const Value& operand : node.inputs) {
      call.shapes.push_back(operand.shape());
    }
    call.shapes.insert(call.shapes.end(), node.shapes.begin(), node.shapes.end());
    step.what = std::move(call);
  }

  /// What a body takes over is the loop's to decide.
  std::vector<Program> scheduled(std::initializer_list<const Graph*> graphs, bool optimized = true) const {
    std::vector<Program> bodies;
    for (const Graph* graph : graphs) {
      bodies.push_back(schedule_body(*graph, optimized));
      for (ProgramOutput& output : bodies.back().outputs) {
        output.aliases = -1;
      }
    }
    return bodies;
  }
};

}  // namespace

void describe_alone(Step& step, const Node& node, const ScheduleBody& schedule_body) {
  std::visit(Describe{.step = step, .node = node, .schedule_body = schedule_body}, node.op);
}

}  // namespace tenon::schedule
