#include "cli/explain/numbered_steps.h"

#include <algorithm>
#include <cctype>

#include "kernel/program/step_text.h"

namespace tenon::cli {
namespace {

using schedule::ScheduledBody;

void add_bodies(std::vector<NumberedStep>& steps, const std::string& number, const Step& step,
                const std::vector<ScheduledBody>& scheduled) {
  const std::span<const Program> programs = bodies_of(step);
  // A body that Tenon made itself, such as that of a barrier, is of no graph.
  for (size_t b = 0; b < std::min(programs.size(), scheduled.size()); ++b) {
    for (size_t i = 0; i < programs[b].steps.size(); ++i) {
      const std::string inside = number_inside(number, programs.size(), b, i);
      steps.push_back(
          {.number = inside, .within = number, .program = programs[b], .at = i, .nodes = scheduled[b].nodes[i]});
      add_bodies(steps, inside, programs[b].steps[i], scheduled[b].bodies[i]);
    }
  }
}

}  // namespace

std::string NumberedStep::number_of(size_t other) const {
  const size_t dot = number.rfind('.');
  const std::string before = dot == std::string::npos ? "" : number.substr(0, dot + 1);
  return before + std::to_string(std::stoul(number.substr(before.size())) + other - at);
}

std::vector<NumberedStep> numbered_steps(const compiler::Lowered& lowered) {
  std::vector<NumberedStep> steps;
  size_t number = 0;
  for (const compiler::LoweredSegment& segment : lowered.segments) {
    for (size_t i = 0; i < segment.program.steps.size(); ++i) {
      steps.push_back({.number = std::to_string(++number),
                       .within = "",
                       .program = segment.program,
                       .at = i,
                       .nodes = segment.nodes[i]});
      add_bodies(steps, std::to_string(number), segment.program.steps[i], segment.bodies[i]);
    }
  }
  return steps;
}

bool is_step_number(const std::string& word) {
  const auto is_part = [](char c) { return c == '.' || std::isdigit(static_cast<unsigned char>(c)) != 0; };
  return !word.empty() && word.front() != '.' && std::ranges::all_of(word, is_part);
}

}  // namespace tenon::cli
