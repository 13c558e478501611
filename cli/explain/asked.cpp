#include "cli/explain/asked.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "base/fail.h"
#include "ir/node.h"
#include "ir/walk.h"

namespace tenon::cli {
namespace {

using schedule::FusionAttempt;

constexpr size_t kMostListed = 8;

/// Names of ONNX files may begin with a slash, which the page leaves out of modules' names.
std::string_view without_slash(std::string_view name) {
  return name.size() > 1 && name.starts_with('/') ? name.substr(1) : name;
}

bool is_named(const Node& node, const std::string& word) {
  const auto* const call = node.as<Call>();
  return without_slash(node.place) == without_slash(word) || op_name(node.op) == word ||
         (call != nullptr && call->body.name() == word);
}

using Test = std::function<bool(const Node*)>;

/// Whether one of a segment or a body is such, those of bodies inside of it included.
bool any_inside(const auto& part, const Test& test) {
  return std::ranges::any_of(part.graph.nodes(), test) || std::ranges::any_of(part.bodies, [&](const auto& of_step) {
           return std::ranges::any_of(of_step,
                                      [&](const schedule::ScheduledBody& body) { return any_inside(body, test); });
         });
}

/// A node that no step computes: a concat of which every part is written in its place. Error, which says what became of
/// the name, for any other.
Asked asked_of_none(const compiler::Lowered& lowered, const std::vector<FusionAttempt>& attempts,
                    const std::string& word) {
  Asked found;
  for (const FusionAttempt& attempt : attempts) {
    if (attempt.rule == schedule::kConcatRule && attempt.joined && is_named(*attempt.second[0], word)) {
      found.nodes.insert(attempt.second[0]);
    }
  }
  if (found.nodes.size() == 1) {
    found.text = fmt::format("{} (no step)", word);
    return found;
  }
  if (found.nodes.size() > 1) {
    fail("`--why {}`: there are {} of them; name one by its name in the model", word, found.nodes.size());
  }
  const auto names = [&](const Node* node) { return is_named(*node, word); };
  if (std::ranges::any_of(lowered.segments, [&](const auto& segment) { return any_inside(segment, names); })) {
    fail("`--why {}`: no step computes it: kernels read through views, and compute numbers where they need them", word);
  }
  const std::vector<Graph> given = reachable_graphs(lowered.given);
  if (std::ranges::any_of(given, [&](const Graph& graph) { return std::ranges::any_of(graph.nodes(), names); })) {
    fail("`--why {}`: the passes left nothing of it; `tenon explain --passes` lists them", word);
  }
  return found;
}

/// All steps but those of bodies, or those of the one body that the number is of.
std::string numbers_text(const std::vector<NumberedStep>& steps, const std::string& word) {
  const size_t dot = word.rfind('.');
  const std::string before = dot == std::string::npos ? "" : word.substr(0, dot + 1);
  std::vector<std::string> numbers;
  for (const NumberedStep& step : steps) {
    if (step.number.starts_with(before) && step.number.find('.', before.size()) == std::string::npos) {
      numbers.push_back(step.number);
    }
  }
  return numbers.empty()       ? numbers_text(steps, "1")
         : numbers.size() == 1 ? "one step" + (dot == std::string::npos ? "" : fmt::format(" there, {}", numbers[0]))
                               : fmt::format("steps {} to {}", numbers.front(), numbers.back());
}

/// Whether a place is in a module: `layers.0` has `layers.0.attention`, and `/b1` has `/b1/Conv`.
bool is_in(std::string_view place, std::string_view module) {
  place = without_slash(place);
  module = without_slash(module);
  return place.size() > module.size() && place.starts_with(module) &&
         (place[module.size()] == '.' || place[module.size()] == '/');
}

/// Those that begin as the word does first, then in their order.
std::vector<std::string> nearest(std::vector<std::string> names, std::string_view word) {
  const auto alike = [&](std::string_view name) {
    name = without_slash(name);
    const std::string_view asked = without_slash(word);
    return std::ranges::mismatch(name, asked).in1 - name.begin();
  };
  std::ranges::stable_sort(names, std::ranges::greater(), alike);
  names.resize(std::min(names.size(), kMostListed));
  return names;
}

}  // namespace

Asked asked_for(const compiler::Lowered& lowered, const std::vector<NumberedStep>& steps,
                const std::vector<FusionAttempt>& attempts, const std::string& word) {
  if (word.empty()) {
    fail("`--why`: an empty word names nothing; give a step, a node of the model or an operator");
  }
  const bool is_number = is_step_number(word);
  const auto numbered = std::ranges::find(steps, word, &NumberedStep::number);
  if (is_number && numbered == steps.end()) {
    fail("`--why`: there is no step {}; graph `{}` has {}", word, lowered.given.name(), numbers_text(steps, word));
  }
  Asked places;
  Asked modules;
  Asked operators;
  std::vector<std::string> names;  // in the order of steps
  std::set<std::string> known;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (is_number && &steps[i] == &*numbered) {
      places.steps.insert(i);  // also where it computes no node of the graph
    }
    for (const Node* node : steps[i].nodes) {
      const std::string name = node->place.empty() ? std::string(op_name(node->op)) : node->place;
      if (known.insert(name).second) {
        names.push_back(name);
      }
      const bool is_place = is_number ? &steps[i] == &*numbered : without_slash(node->place) == without_slash(word);
      for (Asked* to : {is_place ? &places : nullptr, is_in(node->place, word) ? &modules : nullptr,
                        op_name(node->op) == word ? &operators : nullptr}) {
        if (to != nullptr) {
          to->nodes.insert(node);
          to->steps.insert(i);
        }
      }
    }
  }
  if (places.steps.empty()) {
    places = std::move(modules);
  }
  if (places.steps.empty() && operators.nodes.empty()) {
    operators = asked_of_none(lowered, attempts, word);
  }
  Asked& found = places.steps.empty() ? operators : places;
  if (found.nodes.empty() && found.steps.empty()) {
    const std::vector<std::string> some = nearest(names, word);
    fail("`--why {}`: no step has an operation of this name{}", word,
         some.empty() ? "; `" + lowered.given.name() + "` has no steps"
                      : fmt::format("\n  its steps have {}{}", fmt::join(some, ", "),
                                    some.size() < names.size() ? ", ..." : ""));
  }
  const auto in_steps = [&] {
    std::vector<std::string> numbers;
    std::ranges::transform(found.steps, std::back_inserter(numbers), [&](size_t i) { return steps[i].number; });
    return fmt::format("step{} {}", found.steps.size() == 1 ? "" : "s", fmt::join(numbers, ", "));
  };
  if (&found == &operators && (found.nodes.size() > 1 || found.steps.size() > 1)) {
    fail("`--why {}`: there are {} of them, in {}; name one by its step or its name in the model", word,
         std::max(found.nodes.size(), found.steps.size()), in_steps());
  }
  if (found.text.empty()) {
    found.text = is_number ? fmt::format("step {} ({})", word, numbered->step().label)
                           : fmt::format("{} ({})", word, in_steps());
  }
  return found;
}

bool has_place(const compiler::Lowered& lowered, const std::string& place) {
  return std::ranges::any_of(lowered.segments, [&](const auto& segment) {
    return any_inside(segment, [&](const Node* node) { return node->place == place; });
  });
}

}  // namespace tenon::cli
