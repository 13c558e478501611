#include "explain_why.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_set>

#include "base/fail.h"
#include "ir/node.h"

namespace tenon::cli {
namespace {

using Nodes = std::unordered_set<const Node*>;
using schedule::FusionAttempt;

constexpr size_t kMostListed = 8;

std::string node_text(const Node& node) {
  return node.place.empty() ? std::string(op_name(node.op)) : fmt::format("{} ({})", node.place, op_name(node.op));
}

/// The first few of a group.
std::string group_text(const std::vector<const Node*>& nodes) {
  std::vector<std::string> texts;
  for (const Node* node : nodes) {
    texts.push_back(node_text(*node));
  }
  const size_t more = texts.size() > 3 ? texts.size() - 3 : 0;
  texts.resize(texts.size() - more);
  return fmt::format("{}{}", fmt::join(texts, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

struct Asked {
  Nodes nodes;
  std::set<int64_t> steps;  // that compute them
  std::string text;
};

/// A step by its number; else all nodes of one place; else the one node of that operator.
Asked asked_for(const compiler::Lowered& lowered, const std::string& word) {
  const std::vector<compiler::LoweredStep> steps = lowered.steps();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  if (is_number && (number < 1 || number > std::ssize(steps))) {
    fail("`--why`: there is no step {}; graph `{}` has steps 1 to {}", number, lowered.given.name(), steps.size());
  }
  Asked places;
  Asked operators;
  std::set<std::string> names;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Node* node : steps[i].nodes) {
      names.insert(node->place.empty() ? std::string(op_name(node->op)) : node->place);
      const bool is_place = is_number ? static_cast<int64_t>(i) + 1 == number : node->place == word;
      for (Asked* to : {is_place ? &places : nullptr, op_name(node->op) == word ? &operators : nullptr}) {
        if (to != nullptr) {
          to->nodes.insert(node);
          to->steps.insert(static_cast<int64_t>(i) + 1);
        }
      }
    }
  }
  Asked& found = places.nodes.empty() ? operators : places;
  if (found.nodes.empty()) {
    std::vector<std::string> some(names.begin(), names.end());
    some.resize(std::min(some.size(), kMostListed));
    fail("`--why {}`: no step has an operation of this name\n  its steps have {}{}", word, fmt::join(some, ", "),
         some.size() < names.size() ? ", ..." : "");
  }
  if (&found == &operators && found.nodes.size() > 1) {
    fail("`--why {}`: there are {} of them, in steps {}; name one by its step or its name in the model", word,
         found.nodes.size(), fmt::join(found.steps, ", "));
  }
  found.text = is_number ? fmt::format("step {} ({})", number, steps[static_cast<size_t>(number - 1)].step.label)
                         : fmt::format("{} (step {})", word, fmt::join(found.steps, ", "));
  return found;
}

bool has_any(const std::vector<const Node*>& group, const Nodes& nodes) {
  return std::ranges::any_of(group, [&](const Node* node) { return nodes.contains(node); });
}

Extent bytes_of(const Value& value) {
  return value.shape().element_count() * static_cast<int64_t>(byte_size(value.dtype()));
}

/// What one of `from` makes and one of `to` reads: stored once and loaded once.
Extent bytes_between(const Nodes& from, const Nodes& to) {
  std::vector<Value> counted;
  Extent bytes = 0;
  for (const Node* reader : to) {
    std::vector<Value> pending(reader->inputs.begin(), reader->inputs.end());
    while (!pending.empty()) {
      const Value value = pending.back();
      pending.pop_back();
      if (from.contains(&value.node()) && std::ranges::find(counted, value) == counted.end()) {
        counted.push_back(value);
        bytes += 2 * bytes_of(value);
      } else if (as_view(value.node().op)) {
        pending.push_back(value.node().inputs[0]);
      }
    }
  }
  return bytes;
}

/// What both read: loaded once instead of twice.
Extent bytes_shared(const Nodes& first, const Nodes& second) {
  std::vector<Value> counted;
  Extent bytes = 0;
  for (const Node* one : first) {
    for (const Value& value : one->inputs) {
      const bool in_both = std::ranges::any_of(
          second, [&](const Node* other) { return std::ranges::find(other->inputs, value) != other->inputs.end(); });
      if (in_both && !value.node().as<Constant>() && std::ranges::find(counted, value) == counted.end()) {
        counted.push_back(value);
        bytes += bytes_of(value);
      }
    }
  }
  return bytes;
}

}  // namespace

WhyApart why_apart(const compiler::Lowered& lowered, const std::vector<FusionAttempt>& attempts,
                   const std::string& first, const std::string& second) {
  const Asked a = asked_for(lowered, first);
  const Asked b = asked_for(lowered, second);
  WhyApart why{.first = a.text, .second = b.text, .findings = {}, .saved = {}};
  std::vector<int64_t> both;
  std::ranges::set_intersection(a.steps, b.steps, std::back_inserter(both));
  if (!both.empty()) {
    why.step = both[0];
    return why;
  }
  for (const FusionAttempt& attempt : attempts) {
    const bool tried = (has_any(attempt.first, a.nodes) && has_any(attempt.second, b.nodes)) ||
                       (has_any(attempt.first, b.nodes) && has_any(attempt.second, a.nodes));
    if (!tried || attempt.joined) {
      continue;
    }
    RuleFinding found{.rule = std::string(attempt.rule),
                      .first = group_text(attempt.first),
                      .second = group_text(attempt.second),
                      .finding = attempt.finding};
    const auto same = std::ranges::find_if(why.findings, [&](const RuleFinding& each) {
      return each.rule == found.rule && each.finding == found.finding;
    });
    if (same == why.findings.end()) {
      why.findings.push_back(std::move(found));
    }
  }
  Extent bytes = bytes_between(a.nodes, b.nodes) + bytes_between(b.nodes, a.nodes);
  if (bytes == Extent(0)) {
    bytes = bytes_shared(a.nodes, b.nodes);
  }
  why.saved = bytes == Extent(0) ? "" : bytes.to_string();
  return why;
}

std::string why_text(const WhyApart& why) {
  std::string text = fmt::format("{} and {}:\n", why.first, why.second);
  if (why.step > 0) {
    return text + fmt::format("  step {} has both\n", why.step);
  }
  for (const RuleFinding& each : why.findings) {
    text += fmt::format("  rule `{}` tried {} with {}: {}\n", each.rule, each.first, each.second, each.finding);
  }
  if (why.findings.empty()) {
    text +=
        "  no rule tries it: rules join what makes an operand with what reads it, and kernels that read the same "
        "array\n";
  }
  return text + (why.saved.empty()
                     ? "  one kernel would save no bytes: neither reads what the other makes, and they read "
                       "nothing in common\n"
                     : fmt::format("  one kernel would save {} bytes\n", why.saved));
}

Json why_json(const WhyApart& why) {
  Json findings = Json::array();
  for (const RuleFinding& each : why.findings) {
    findings.push(Json::object()
                      .set("rule", each.rule)
                      .set("first", each.first)
                      .set("second", each.second)
                      .set("finding", each.finding));
  }
  Json json = Json::object();
  json.set("first", why.first).set("second", why.second);
  return json.set("step", why.step > 0 ? Json(why.step) : Json())
      .set("findings", findings)
      .set("saved_bytes", why.saved);
}

int show_why(const Arguments& arguments, const compiler::Lowered& lowered, const schedule::AttemptLog& log) {
  const WhyApart why = why_apart(lowered, log.attempts(), *arguments.find("--why"), arguments.rest()[1]);
  if (arguments.has("--json")) {
    why_json(why).print();
  } else {
    fmt::print("{}", why_text(why));
  }
  return 0;
}

}  // namespace tenon::cli
