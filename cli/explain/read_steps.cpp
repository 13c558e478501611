#include "cli/explain/read_steps.h"

#include <algorithm>

#include "base/fail.h"
#include "base/json.h"

namespace tenon::cli {
namespace {

/// The member of an object; Error where there is none or it is no text.
std::string text_of(const JsonValue& object, std::string_view key, const std::string& what) {
  const JsonValue* const found = object.find(key);
  if (found == nullptr || found->text() == nullptr) {
    fail("{} is not what `tenon explain --json` prints: in line {} there is no text `{}`", what, object.line(), key);
  }
  return *found->text();
}

std::optional<double> number_of(const JsonValue* object, std::string_view key) {
  const JsonValue* const found = object == nullptr ? nullptr : object->find(key);
  return found == nullptr || found->number() == nullptr ? std::nullopt : std::optional(*found->number());
}

ReadStep read_step(const JsonValue& json, const std::string& what) {
  ReadStep step{.kind = text_of(json, "kind", what),
                .operators = text_of(json, "operators", what),
                .boundary = text_of(json, "boundary", what),
                .bytes_read = text_of(json, "bytes_read", what),
                .bytes_written = text_of(json, "bytes_written", what),
                .flops = text_of(json, "flops", what)};
  if (const JsonValue* const nodes = json.find("nodes"); nodes != nullptr && nodes->list() != nullptr) {
    for (const JsonValue& node : *nodes->list()) {
      if (node.text() != nullptr) {
        step.nodes.push_back(*node.text());
      }
    }
  }
  const JsonValue* const bound = json.find("bound");
  step.bound_read = number_of(bound, "bytes_read");
  step.bound_written = number_of(bound, "bytes_written");
  step.bound_flops = number_of(bound, "flops");
  if (step.bound_read && step.bound_written) {
    step.bound_bytes = *step.bound_read + *step.bound_written;
  }
  step.microseconds = number_of(bound, "microseconds");
  return step;
}

std::optional<double> sum_over(const std::vector<ReadStep>& steps, std::optional<double> ReadStep::* figure) {
  double all = 0;
  for (const ReadStep& step : steps) {
    if (!(step.*figure)) {
      return std::nullopt;
    }
    all += *(step.*figure);
  }
  return steps.empty() ? std::nullopt : std::optional(all);
}

}  // namespace

std::optional<double> ReadProgram::bytes() const { return sum_over(steps, &ReadStep::bound_bytes); }
std::optional<double> ReadProgram::microseconds() const { return sum_over(steps, &ReadStep::microseconds); }

ReadProgram read_program(std::string_view json, const std::string& what) {
  const JsonValue value = JsonValue::parse(json, what);
  const JsonValue* const steps = value.find("steps");
  if (steps == nullptr || steps->list() == nullptr) {
    fail("{} is not what `tenon explain --json` prints: it has no list `steps`", what);
  }
  ReadProgram program{.model = text_of(value, "model", what), .bindings = ""};
  if (const JsonValue* const bindings = value.find("bindings"); bindings != nullptr && bindings->text() != nullptr) {
    program.bindings = *bindings->text();
  }
  program.arena_bytes = number_of(value.find("memory"), "arena_bytes");
  for (const JsonValue& step : *steps->list()) {
    program.steps.push_back(read_step(step, what));
  }
  return program;
}

}  // namespace tenon::cli
