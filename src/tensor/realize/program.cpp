#include "tensor/realize/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "compiler/lowered.h"
#include "tensor/record/user_lines.h"

namespace tenon::tensors {
namespace {

bool may_fail(const tenon::Program& program, const Step& step) {
  const auto* launch = std::get_if<LaunchStep>(&step.what);
  return launch == nullptr || std::ranges::any_of(launch->parts, [&](const LaunchPart& part) {
           return program.facts[static_cast<size_t>(part.kernel)].may_fail();
         });
}

/// Where the steps begin that run interleaved with this one.
int first_beside(const tenon::Program& program, int step) {
  for (const Region& region : program.regions) {
    if (region.first <= step && step < region.first + region.count) {
      return region.first;
    }
  }
  return step;
}

std::vector<int> first_writes(const compiler::Lowered& lowered) {
  if (lowered.segments.size() != 1) {
    return std::vector<int>(lowered.given.outputs().size(), -1);
  }
  const tenon::Program& program = lowered.segments[0].program;
  const auto steps = static_cast<int>(program.steps.size());
  std::vector<int> result;
  for (const ProgramOutput& output : program.outputs) {
    int first = 0;
    while (first < steps && std::ranges::find(program.steps[static_cast<size_t>(first)].writes, output.buffer) ==
                                program.steps[static_cast<size_t>(first)].writes.end()) {
      ++first;
    }
    first = first_beside(program, first);
    const bool fails_later = std::any_of(program.steps.begin() + first, program.steps.end(),
                                         [&](const Step& step) { return may_fail(program, step); });
    result.push_back(fails_later ? -1 : first);
  }
  return result;
}

int64_t constant_bytes(const tenon::Program& program) {
  int64_t bytes = 0;
  for (const Array& constant : program.constants) {
    bytes += static_cast<int64_t>(constant.byte_count());
  }
  for (const Step& step : program.steps) {
    for (const tenon::Program& body : bodies_of(step)) {
      bytes += constant_bytes(body);
    }
  }
  return bytes;
}

}  // namespace

Graph graph_of(const Pending& plain, const std::vector<int>& aliases) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < plain.leaves().size(); ++i) {
    inputs.push_back(plain.leaf(i));
  }
  return graph_of(plain, std::move(inputs), aliases);
}

Graph graph_of(const Pending& plain, std::vector<Value> inputs, const std::vector<int>& aliases) {
  std::vector<Output> outputs;
  for (size_t i = 0; i < plain.roots().size(); ++i) {
    outputs.push_back({.name = fmt::format("y{}", i), .value = plain.at(plain.roots()[i]), .aliases = aliases[i]});
  }
  return {"tensors", std::move(inputs), std::move(outputs)};
}

std::shared_ptr<Program> compile_program(const Graph& graph, const std::vector<int>& aliases,
                                         const CompileOptions& options) {
  CompileReport report;
  compiler::Lowered lowered = compiler::lower(graph, options, report);
  std::vector<int> writes = first_writes(lowered);
  int64_t bytes = 0;
  for (const compiler::LoweredSegment& segment : lowered.segments) {
    bytes += constant_bytes(segment.program);
  }
  auto kept = keeps_lines() ? std::make_shared<const compiler::Lowered>(lowered) : nullptr;
  auto program = std::make_shared<Program>(
      Program{.graph = {},
              .executable = compiler::compile(std::move(lowered), compiler::code_choice(options), report),
              .aliases = aliases,
              .first_write = std::move(writes),
              .constant_bytes = bytes,
              .lowered = std::move(kept)});
  for (const StepReport& step : program->executable.steps()) {
    program->kernels += step.kind != StepKind::control;
  }
  return program;
}

}  // namespace tenon::tensors
