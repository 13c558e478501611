#include "cli/explain/explain_why.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/fail.h"
#include "cli/explain/asked.h"
#include "cli/explain/numbered_steps.h"
#include "cli/explain/shared_bytes.h"
#include "cli/print/terminal.h"
#include "ir/node.h"
#include "ir/walk.h"
#include "schedule/fuse/named.h"

namespace tenon::cli {
namespace {

using schedule::FusionAttempt;

/// The first few of a group.
std::string group_text(const std::vector<const Node*>& nodes) {
  std::vector<std::string> texts;
  for (const Node* node : nodes) {
    texts.push_back(schedule::named(*node));
  }
  const size_t more = texts.size() > 3 ? texts.size() - 3 : 0;
  texts.resize(texts.size() - more);
  return fmt::format("{}{}", fmt::join(texts, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

bool has_any(const std::vector<const Node*>& group, const Nodes& nodes) {
  return std::ranges::any_of(group, [&](const Node* node) { return nodes.contains(node); });
}

/// All that the steps of `asked` compute: one kernel in their place would have all of it, not only what was asked for.
Nodes of_steps(const std::vector<NumberedStep>& steps, const Asked& asked) {
  Nodes nodes = asked.nodes;
  for (const size_t i : asked.steps) {
    const auto& computed = steps[i].nodes;
    nodes.insert(computed.begin(), computed.end());
  }
  return nodes;
}

/// Steps of one program, the first of `a` and `b` of which one reads what the other makes.
std::optional<std::pair<size_t, size_t>> connected_steps(const std::vector<NumberedStep>& steps, const Asked& a,
                                                         const Asked& b, const Nodes& placed) {
  for (const size_t of_a : a.steps) {
    for (const size_t of_b : b.steps) {
      const size_t first = std::min(of_a, of_b);
      const size_t second = std::max(of_a, of_b);
      const Nodes makes(steps[first].nodes.begin(), steps[first].nodes.end());
      const Nodes reads(steps[second].nodes.begin(), steps[second].nodes.end());
      Nodes through;
      if (&steps[first].program == &steps[second].program &&
          bytes_between(makes, reads, placed, through) != Extent(0)) {
        return std::pair{first, second};
      }
    }
  }
  return std::nullopt;
}

bool tried(const FusionAttempt& attempt, const Nodes& a, const Nodes& b) {
  return (has_any(attempt.first, a) && has_any(attempt.second, b)) ||
         (has_any(attempt.first, b) && has_any(attempt.second, a));
}

/// Whether the two are in kernels that one launch runs side by side, none of which has both.
bool are_side_by_side(const std::vector<FusionAttempt>& attempts, const Nodes& a, const Nodes& b) {
  std::vector<const std::vector<const Node*>*> of_a;
  std::vector<const std::vector<const Node*>*> of_b;
  for (const FusionAttempt& attempt : attempts) {
    if (attempt.rule != schedule::kSideBySideRule || !attempt.joined) {
      continue;
    }
    for (const std::vector<const Node*>* kernel : {&attempt.first, &attempt.second}) {
      const bool has_a = has_any(*kernel, a);
      const bool has_b = has_any(*kernel, b);
      if (has_a && has_b) {
        return false;
      }
      (has_a ? of_a : of_b).push_back(kernel);
      if (!has_a && !has_b) {
        of_b.pop_back();
      }
    }
  }
  return !of_a.empty() && !of_b.empty();
}

/// What is said of running two steps of one program tile by tile.
RuleFinding of_tiles(const NumberedStep& first, const NumberedStep& second) {
  RuleFinding found{
      .rule = "tile by tile", .first = "step " + first.number, .second = "step " + second.number, .finding = {}};
  for (size_t i = first.at; i < second.at; ++i) {
    if (const std::string& why = first.program.steps[i].region_end; !why.empty()) {
      found.finding = i == first.at ? why
                                    : fmt::format("what runs with step {} ends with step {}: {}", first.number,
                                                  first.number_of(i), why);
      return found;
    }
  }
  found.finding = first.program.pipelines.on
                      ? "two kernels that may run tile by tile, where sizes make it pay: tiles of what is between them "
                        "stay in cache"
                      : "they could, and running tile by tile is switched off";
  return found;
}

std::string why_untried(const std::vector<NumberedStep>& steps, const Asked& a, const Asked& b) {
  for (const Asked* each : {&a, &b}) {
    for (const size_t i : each->steps) {
      if (!std::holds_alternative<LaunchStep>(steps[i].step().what)) {
        return fmt::format("step {} (`{}`) is no loop over elements, and rules join such loops", steps[i].number,
                           steps[i].step().label);
      }
    }
  }
  const NumberedStep& of_a = steps[*a.steps.begin()];
  const NumberedStep& of_b = steps[*b.steps.begin()];
  if (&of_a.program != &of_b.program) {
    for (const NumberedStep* each : {&of_a, &of_b}) {
      if (!each->within.empty()) {
        return fmt::format("step {} is in a body that step {} runs, and rules join what runs in one program",
                           each->number, each->within);
      }
    }
    return "the steps of the one give sizes that those of the other need before they can run";
  }
  return "rules join what makes an operand with what reads it, and kernels that read the same array";
}

/// Whether a step of the one runs the other, in a body.
std::optional<std::string> outer_of_both(const std::vector<NumberedStep>& steps, const Asked& a, const Asked& b) {
  for (const auto& [outer, inner] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    for (const size_t i : outer->steps) {
      const std::string inside = steps[i].number + '.';
      if (std::ranges::any_of(inner->steps, [&](size_t k) { return steps[k].number.starts_with(inside); })) {
        return steps[i].number;
      }
    }
  }
  return std::nullopt;
}

void add_findings(WhyApart& why, const std::vector<FusionAttempt>& attempts, const Nodes& a, const Nodes& b) {
  for (const FusionAttempt& attempt : attempts) {
    if (attempt.joined || !tried(attempt, a, b)) {
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
}

}  // namespace

WhyApart why_apart(const compiler::Lowered& lowered, const std::vector<FusionAttempt>& attempts,
                   const std::string& first, const std::string& second) {
  const std::vector<NumberedStep> steps = numbered_steps(lowered);
  const Asked a = asked_for(lowered, steps, attempts, first);
  const Asked b = asked_for(lowered, steps, attempts, second);
  if (a.nodes == b.nodes && a.steps == b.steps) {
    fail("`--why {} {}` names the same twice; it takes two steps or operators", first, second);
  }
  WhyApart why{.first = a.text, .second = b.text};
  std::vector<size_t> both;
  std::ranges::set_intersection(a.steps, b.steps, std::back_inserter(both));
  if (const auto outer = outer_of_both(steps, a, b)) {
    why.together = fmt::format("step {} runs the other in its body", *outer);
    why.step = *outer;
    return why;
  }
  if (!both.empty()) {
    why.step = steps[both[0]].number;
    why.together = fmt::format(
        "step {} has both{}", why.step,
        are_side_by_side(attempts, a.nodes, b.nodes) ? ", in two kernels that one launch runs side by side" : "");
    return why;
  }
  const bool is_placed = std::ranges::any_of(attempts, [&](const FusionAttempt& attempt) {
    return attempt.rule == schedule::kConcatRule && attempt.joined && tried(attempt, a.nodes, b.nodes);
  });
  if (is_placed) {
    why.together = "the concat takes no step: its operands are written in their places in the result";
    return why;
  }
  add_findings(why, attempts, a.nodes, b.nodes);
  const Nodes placed = placed_concats(attempts);
  const Nodes all_of_a = of_steps(steps, a);
  const Nodes all_of_b = of_steps(steps, b);
  Nodes of_a;
  Nodes of_b;
  Extent bytes = bytes_between(all_of_a, all_of_b, placed, of_a) + bytes_between(all_of_b, all_of_a, placed, of_b);
  add_findings(why, attempts, of_a, b.nodes);  // the one writes to a concat, and the other reads that
  add_findings(why, attempts, of_b, a.nodes);
  if (why.findings.empty() && !a.steps.empty() && !b.steps.empty()) {
    why.untried = why_untried(steps, a, b);
  }
  const bool is_read = bytes != Extent(0);
  if (!is_read) {
    bytes = bytes_shared(all_of_a, all_of_b);
  }
  why.saved = bytes == Extent(0) ? "" : bytes.to_string();
  why.shared = !is_read;
  if (const auto connected = connected_steps(steps, a, b, placed)) {
    why.findings.push_back(of_tiles(steps[connected->first], steps[connected->second]));
  }
  return why;
}

std::string why_text(const WhyApart& why) {
  std::string text = fmt::format("{} and {}:\n", why.first, why.second);
  if (!why.together.empty()) {
    return text + fmt::format("  {}\n", why.together);
  }
  if (!why.untried.empty()) {
    text +=
        fmt::format("  no rule {}: {}\n", why.findings.empty() ? "tries it" : "makes one kernel of them", why.untried);
  }
  for (const RuleFinding& each : why.findings) {
    text += fmt::format("  rule `{}` tried {} with {}: {}\n", each.rule, each.first, each.second, each.finding);
  }
  if (why.saved.empty()) {
    return text +
           "  one kernel would save no bytes: neither reads what the other makes, and they read nothing in common\n";
  }
  return text + fmt::format("  one kernel would save {} bytes{}\n", why.saved,
                            why.shared ? ", if it loaded once what both read" : "");
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
  const auto text = [](const std::string& words) { return words.empty() ? Json() : Json(words); };
  Json json = Json::object();
  json.set("first", why.first).set("second", why.second);
  return json.set("step", why.step.empty() ? Json() : Json(why.step))
      .set("together", text(why.together))
      .set("findings", findings)
      .set("untried", text(why.untried))
      .set("saved_bytes", why.saved)
      .set("saved_of", why.saved.empty() ? Json() : Json(why.shared ? "what both read" : "what one makes"));
}

int show_why(const Arguments& arguments, const compiler::Lowered& lowered, const MergedNames& merged,
             const schedule::AttemptLog& log) {
  const std::string first = *arguments.find("--why");
  const std::string& second = arguments.rest()[1];
  for (const std::string* word : {&first, &second}) {
    if (const auto maker = merged.find(*word); maker != merged.end() && !has_place(lowered, *word)) {
      fail("`--why {}`: it gives what `{}` gives, and nothing is computed for it: ask for that", *word, maker->second);
    }
  }
  const WhyApart why = why_apart(lowered, log.attempts(), first, second);
  if (arguments.has("--json")) {
    why_json(why).print();
  } else {
    fmt::print("{}", printable_lines(why_text(why)));
  }
  return 0;
}

}  // namespace tenon::cli
