#include "schedule/alone.h"

#include <fmt/format.h>

#include "base/fail.h"

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

  void operator()(const Sort& op) const { step.library = SortRoutine{.axis = op.axis, .descending = op.descending}; }

  void operator()(const Scan& op) const {
    step.library = ScanRoutine{.op = op.op, .axis = op.axis, .exclusive = op.exclusive, .reverse = op.reverse};
  }

  void operator()(const Scatter& op) const {
    step.library = ScatterRoutine{
        .op = op.op, .axes = op.axes, .x_batch = op.x_batch, .index_batch = op.index_batch, .place = node.place};
  }

  void operator()(const Positions& op) const {
    TENON_CHECK(op.axis.is_anonymous(), "axis {} is bound inside of a program", op.axis.to_string());
    step.library = PositionsRoutine{};
  }

  void operator()(const If& op) const {
    step.control = BranchControl{};
    add_body(op.then_body);
    add_body(op.else_body);
    step.label =
        fmt::format("if: {} or {}", launch_count(step.bodies[0]), counted_kernels(launch_count(step.bodies[1])));
    step.flops = max(flops_of(step.bodies[0]), flops_of(step.bodies[1]));
  }

  void operator()(const Loop& op) const {
    step.control =
        LoopControl{.trips = op.trips, .carried = op.carried, .scanned = op.scanned, .conditional = op.conditional};
    add_body(op.body);
    step.label = fmt::format("loop of {}{} {}: {}", op.conditional ? "at most " : "", op.trips.to_string(),
                             op.trips == Extent(1) ? "trip" : "trips", counted_kernels(launch_count(step.bodies[0])));
    step.flops = op.trips * flops_of(step.bodies[0]);
  }

  void operator()(const Call& op) const {
    step.control = CallControl{};
    add_body(op.body, false);
    step.label = fmt::format("{}: {}", op.body.name(), counted_kernels(launch_count(step.bodies[0])));
    step.flops = flops_of(step.bodies[0]);
  }

  void operator()(const Barrier&) const {
    step.control = CallControl{};
    step.bodies.push_back(identity(node));
  }

  template <class Kind>
  void operator()(const Kind& op) const {
    TENON_CHECK(false, "{} is neither a loop nor a step of its own", op_name(op));
  }

  /// What a body takes over is the loop's to decide.
  void add_body(const Graph& body, bool optimized = true) const {
    step.bodies.push_back(schedule_body(body, optimized));
    for (ProgramOutput& output : step.bodies.back().outputs) {
      output.aliases = -1;
    }
  }
};

}  // namespace

void describe_alone(Step& step, const Node& node, const ScheduleBody& schedule_body) {
  std::visit(Describe{.step = step, .node = node, .schedule_body = schedule_body}, node.op);
}

}  // namespace tenon::schedule
