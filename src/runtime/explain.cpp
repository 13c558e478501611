#include "runtime/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "kernel/program/step_text.h"

namespace tenon {
namespace {

std::string counted(int64_t count, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", count, count == 1 ? singular : plural);
}

std::string port_lines(std::string_view word, const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports) {
    text += fmt::format("  {} {}: {}\n", word, port.name, port.shape.to_string());
  }
  return text;
}

std::string step_lines(const std::string& number, const StepReport& step, const std::string& indent = "  ") {
  std::string text = fmt::format("{}{}. {} {}\n", indent, number, name(step.kind), step.label);
  text += step.nodes.empty() ? "" : fmt::format("{}   from {}\n", indent, node_text(step.nodes));
  text += fmt::format("{}   reads {} bytes, writes {}", indent, step.bytes_read.to_string(),
                      step.bytes_written.to_string());
  if (step.parts > 1) {
    text += fmt::format("; {} parts side by side", step.parts);
  }
  if (step.phases > 1) {
    text += fmt::format("; {} phases", step.phases);
  }
  if (step.integer_products) {
    text += "; integer products";
  }
  text += '\n';
  if (!step.boundary.empty()) {
    text += fmt::format("{}   ends here: {}\n", indent, step.boundary);
  }
  for (size_t b = 0; b < step.bodies.size(); ++b) {
    const BodyReport& body = step.bodies[b];
    text += fmt::format("{}   in `{}`:\n", indent, body.name);
    for (size_t i = 0; i < body.steps.size(); ++i) {
      text += step_lines(number_inside(number, step.bodies.size(), b, i), body.steps[i], indent + "     ");
    }
  }
  return text;
}

/// The lines of a step of a region, which a bracket holds together.
std::string bracketed(const std::string& lines, const StepReport& step, int at) {
  std::string text;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin) + 1;
    const bool is_first = begin == 0 && at == step.region_first;
    text += (is_first ? "\u250c" : "\u2502") + lines.substr(begin + 1, end - begin - 1);
    begin = end;
  }
  if (at + 1 == step.region_first + step.region_steps) {
    text += fmt::format("\u2514 {} steps that may run tile by tile, to here{}{}\n", step.region_steps,
                        step.region_end.empty() ? "" : ": ", step.region_end);
  }
  return text;
}

}  // namespace

std::string_view name(StepKind kind) {
  switch (kind) {
    case StepKind::kernel: return "kernel";
    case StepKind::copy: return "copy";
    case StepKind::library: return "library";
    case StepKind::control: return "control";
  }
  return "";
}

std::string Executable::explain() const { return runtime::explain(*this, name()); }

}  // namespace tenon

namespace tenon::runtime {

std::string explain(const Executable& executable, std::string_view title) {
  const int copies = executable.copy_count();
  const auto count = [&](StepKind kind) { return std::ranges::count(executable.steps(), kind, &StepReport::kind); };
  const auto libraries = count(StepKind::library);
  const auto controls = count(StepKind::control);
  std::string text = fmt::format("{}: {}", title, counted(executable.kernel_count(), "kernel", "kernels"));
  text += copies > 0 ? fmt::format(", {} of them", counted(copies, "copy", "copies")) : "";
  text += libraries > 0 ? fmt::format(", {}", counted(libraries, "library step", "library steps")) : "";
  text += controls > 0 ? fmt::format(", {}", counted(controls, "control step", "control steps")) : "";
  text += '\n' + port_lines("in ", executable.inputs()) + port_lines("out", executable.outputs());
  for (const SegmentReport& segment : executable.segments()) {
    for (int i = segment.first_step; i < segment.first_step + segment.steps; ++i) {
      const StepReport& step = executable.steps()[static_cast<size_t>(i)];
      const std::string lines = step_lines(std::to_string(i + 1), step);
      text += step.region_steps > 1 ? bracketed(lines, step, i) : lines;
    }
    for (const auto& [name, most] : segment.binds) {
      text += fmt::format("  binds `{}` <= {}\n", name, most.to_string());
    }
  }
  return text;
}

}  // namespace tenon::runtime
