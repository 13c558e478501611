#include "cli/partition/partition_why.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "cli/explain/numbered_steps.h"
#include "compiler/lowered.h"
#include "ir/node.h"

namespace tenon::cli {
namespace {

using partition::Operator;
using partition::WorkGraph;

template <class Test>
std::vector<int> operators_where(const WorkGraph& work, const Test& test) {
  std::vector<int> found;
  for (size_t i = 0; i < work.operators.size(); ++i) {
    if (test(i)) {
      found.push_back(static_cast<int>(i));
    }
  }
  return found;
}

bool computes(const compiler::LoweredStep& step, const Operator& op) {
  return std::ranges::any_of(step.nodes, [&](const Node* node) {
    const auto* const call = node->as<Call>();
    return node->place == op.place &&
           (op_name(node->op) == op.kind || (call != nullptr && call->body.name() == op.kind));
  });
}

/// Several operators may have one name in the model, of which a step computes some.
bool is_of_another_step(const std::vector<compiler::LoweredStep>& steps, size_t step, const Operator& op) {
  return !computes(steps[step], op) &&
         std::ranges::any_of(steps, [&](const compiler::LoweredStep& other) { return computes(other, op); });
}

/// What a step of the compiled model computes, by the names that the model has for it.
std::vector<int> operators_of_step(const PartitionModel& model, const std::string& word) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) {
    fail("`--why {}`: what is inside of a step is one operator here: name step {}", word,
         word.substr(0, word.find('.')));
  }
  if (!model.step_of.empty()) {
    return operators_where(model.work, [&](size_t i) { return model.step_of[i] + 1 == number; });
  }
  CompileReport report;
  const compiler::Lowered lowered = compiler::lower(model.model.graph, {}, report);
  const std::vector<compiler::LoweredStep> steps = lowered.steps();
  if (number < 1 || number > steps.size()) {
    fail("`--why`: there is no step {}; `tenon explain` shows {} of `{}`", word,
         steps.size() == 1 ? "one step" : fmt::format("steps 1 to {}", steps.size()), model.model.graph.name());
  }
  const std::vector<std::string>& nodes = steps[number - 1].step.nodes;
  std::vector<int> found = operators_where(model.work, [&](size_t i) {
    const Operator& op = model.work.operators[i];
    return std::ranges::find(nodes, op.place) != nodes.end() && !is_of_another_step(steps, number - 1, op);
  });
  if (found.empty()) {
    fail(
        "`--why {}`: step {} is {}, for which the model has no names: name operators of the plan, such as `{}`, or "
        "take the steps as operators by `--fuse compiler`",
        word, word, steps[number - 1].step.label, model.work.operators.front().name);
  }
  return found;
}

std::vector<int> asked_for(const PartitionModel& model, const std::string& word) {
  const WorkGraph& work = model.work;
  const auto by_name = operators_where(work, [&](size_t i) { return work.operators[i].name == word; });
  if (!by_name.empty()) {
    return by_name;
  }
  if (is_step_number(word)) {
    return operators_of_step(model, word);
  }
  const auto by_place =
      operators_where(work, [&](size_t i) { return !word.empty() && work.operators[i].place == word; });
  if (!by_place.empty()) {
    return by_place;
  }
  const auto by_kind = operators_where(work, [&](size_t i) { return work.operators[i].kind == word; });
  return by_kind.size() == 1 ? by_kind : std::vector<int>{work.find(word)};
}

bool reads(const WorkGraph& work, int reader, int producer) {
  const std::vector<int>& made = work.operators[static_cast<size_t>(producer)].writes;
  return std::ranges::any_of(work.operators[static_cast<size_t>(reader)].reads, [&](const partition::Read& read) {
    return std::ranges::find(made, read.tensor) != made.end();
  });
}

/// Two of which one reads the other; else the first two that differ.
std::pair<int, int> pair_of(const WorkGraph& work, const std::vector<int>& first, const std::vector<int>& second) {
  std::pair<int, int> chosen{first.front(), second.front()};
  for (const int a : first) {
    for (const int b : second) {
      if (reads(work, a, b) || reads(work, b, a)) {
        return {a, b};
      }
      if (chosen.first == chosen.second) {
        chosen = {a, b};
      }
    }
  }
  return chosen;
}

/// What a word stands for, where that is not the operator's own name.
std::string meaning(const WorkGraph& work, const std::string& word, const std::vector<int>& found) {
  std::vector<std::string> names;
  for (const int i : found) {
    names.push_back(work.operators[static_cast<size_t>(i)].name);
  }
  return names == std::vector{word}
             ? ""
             : fmt::format("{} is {}\n", is_step_number(word) ? "step " + word : word, fmt::join(names, ", "));
}

}  // namespace

PartitionWhy partition_why(const PartitionModel& model, const partition::Plan& plan, const std::string& first,
                           const std::string& second) {
  const std::vector<int> of_first = asked_for(model, first);
  const std::vector<int> of_second = asked_for(model, second);
  const auto [a, b] = pair_of(model.work, of_first, of_second);
  PartitionWhy why{.first = model.work.operators[static_cast<size_t>(a)].name,
                   .second = model.work.operators[static_cast<size_t>(b)].name,
                   .text = {}};
  why.text = meaning(model.work, first, of_first) + meaning(model.work, second, of_second) +
             partition::why(model.work, plan, why.first, why.second);
  return why;
}

Json why_json(const PartitionWhy& why) {
  return Json::object().set("first", why.first).set("second", why.second).set("why", why.text);
}

}  // namespace tenon::cli
