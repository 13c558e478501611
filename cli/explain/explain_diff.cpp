#include "cli/explain/explain_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/fail.h"
#include "cli/print/page.h"
#include "cli/print/units.h"
#include "report/explain_page.h"
#include "tenon/extent.h"

namespace tenon::cli {
namespace {

/// The sum of a figure over steps of a group; nothing where one lacks it, or where there are none.
std::optional<double> sum(const std::vector<ReadStep>& steps, const std::vector<size_t>& which,
                          std::optional<double> ReadStep::* figure) {
  std::optional<double> all;
  for (const size_t i : which) {
    if (!(steps[i].*figure)) {
      return std::nullopt;
    }
    all = all.value_or(0) + *(steps[i].*figure);
  }
  return all;
}

/// "3, 5 to 7"; a dash for none. Counted from 1.
std::string numbers_text(const std::vector<size_t>& steps) {
  std::string text;
  for (size_t i = 0; i < steps.size();) {
    size_t last = i;
    while (last + 1 < steps.size() && steps[last + 1] == steps[last] + 1) {
      ++last;
    }
    text += (i == 0 ? "" : ", ") + std::to_string(steps[i] + 1);
    text += last == i ? "" : fmt::format("{} {}", last == i + 1 ? "," : " to", steps[last] + 1);
    i = last + 1;
  }
  return text.empty() ? "-" : text;
}

/// What a group is about: the nodes that its steps came from, or their operators.
std::string about(const StepsDiff& diff, const StepGroup& group) {
  constexpr size_t kMostNodes = 3;
  constexpr size_t kMostText = 60;
  const bool of_a = !group.a.empty();
  const std::vector<ReadStep>& steps = of_a ? diff.a.program.steps : diff.b.program.steps;
  std::vector<std::string> nodes;
  std::string operators;
  for (const size_t i : of_a ? group.a : group.b) {
    operators += (operators.empty() ? "" : " | ") + steps[i].operators;
    for (const std::string& node : steps[i].nodes) {
      if (std::ranges::find(nodes, node) == nodes.end()) {
        nodes.push_back(node);
      }
    }
  }
  if (operators.size() > kMostText) {
    operators = operators.substr(0, operators.rfind(' ', kMostText)) + " ...";
  }
  std::string text;
  for (size_t i = 0; i < std::min(nodes.size(), kMostNodes); ++i) {
    text += (i == 0 ? "" : ", ") + nodes[i];
  }
  text += nodes.size() > kMostNodes ? fmt::format(" and {} more", nodes.size() - kMostNodes) : "";
  return text.empty() ? operators : fmt::format("{} ({})", text, operators);
}

std::string optional_text(const std::optional<double>& figure, std::string (*text)(double)) {
  return figure ? text(*figure) : "-";
}
std::string bytes_of(double bytes) { return bytes_text(static_cast<int64_t>(bytes)); }
std::string ratio_text(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b && *a > 0 ? fmt::format("{:.2f}", *b / *a) : "-";
}

/// The figures of a group, or of all.
struct Figures {
  std::optional<double> bytes_a, bytes_b, time_a, time_b;
};

Figures figures_of(const StepsDiff& diff, const StepGroup& group) {
  return {.bytes_a = sum(diff.a.program.steps, group.a, &ReadStep::bound_bytes),
          .bytes_b = sum(diff.b.program.steps, group.b, &ReadStep::bound_bytes),
          .time_a = sum(diff.a.program.steps, group.a, &ReadStep::microseconds),
          .time_b = sum(diff.b.program.steps, group.b, &ReadStep::microseconds)};
}

Figures all_figures(const StepsDiff& diff) {
  return {.bytes_a = diff.a.program.bytes(),
          .bytes_b = diff.b.program.bytes(),
          .time_a = diff.a.program.microseconds(),
          .time_b = diff.b.program.microseconds()};
}

/// What both sides say of one figure that is an expression: one text where they agree.
std::string both(const std::string& a, const std::string& b) { return a == b ? a : fmt::format("{} -> {}", a, b); }

/// A figure of some steps that is an expression of the axes: their sum. Files are read that other versions wrote, whose
/// expressions may be none; then there is no sum.
std::string expression_sum(const std::vector<ReadStep>& steps, const std::vector<size_t>& which,
                           std::string ReadStep::* figure) {
  try {
    Extent all = 0;
    for (const size_t i : which) {
      all += Extent::parse(steps[i].*figure);
    }
    return all.to_string();
  } catch (const Error&) {
    return "";
  }
}

/// What becomes of the bytes and operations of steps that were joined or split: at sizes, or as expressions.
std::string moved_note(const StepsDiff& diff, const StepGroup& group) {
  const std::vector<ReadStep>& a = diff.a.program.steps;
  const std::vector<ReadStep>& b = diff.b.program.steps;
  std::string note;
  const auto add = [&](std::string_view what, std::string ReadStep::* expression,
                       std::optional<double> ReadStep::* bound, std::string (*text)(double)) {
    const std::optional<double> from = sum(a, group.a, bound);
    const std::optional<double> to = sum(b, group.b, bound);
    const std::string both_sides =
        from && to ? both(text(*from), text(*to))
                   : both(expression_sum(a, group.a, expression), expression_sum(b, group.b, expression));
    note += both_sides.empty() ? "" : fmt::format("{}{} {}", note.empty() ? "" : "; ", what, both_sides);
  };
  add("reads", &ReadStep::bytes_read, &ReadStep::bound_read, bytes_of);
  add("writes", &ReadStep::bytes_written, &ReadStep::bound_written, bytes_of);
  add("FLOPs", &ReadStep::flops, &ReadStep::bound_flops, count_text);
  return note;
}

/// In what the sides of a group differ that is not to be seen in its figures.
std::string change_note(const StepsDiff& diff, const StepGroup& group) {
  if (group.change == StepChange::joined || group.change == StepChange::split ||
      group.change == StepChange::regrouped) {
    return moved_note(diff, group);
  }
  if (group.change != StepChange::changed) {
    return "";
  }
  const ReadStep& a = diff.a.program.steps[group.a[0]];
  const ReadStep& b = diff.b.program.steps[group.b[0]];
  std::string note;
  const auto add = [&](std::string_view what, const std::string& from, const std::string& to) {
    note += from == to ? "" : fmt::format("{}{}: {}", note.empty() ? "" : "; ", what, both(from, to));
  };
  add("kind", a.kind, b.kind);
  add("operators", a.operators, b.operators);
  add("reads", a.bytes_read, b.bytes_read);
  add("writes", a.bytes_written, b.bytes_written);
  add("FLOPs", a.flops, b.flops);
  return note;
}

/// Why the steps of the side that has more of them are not one: the boundary of each but the last.
std::vector<std::string> reasons(const StepsDiff& diff, const StepGroup& group) {
  if (group.change != StepChange::split && group.change != StepChange::joined) {
    return {};
  }
  const bool of_b = group.change == StepChange::split;
  const std::vector<ReadStep>& steps = of_b ? diff.b.program.steps : diff.a.program.steps;
  const std::vector<size_t>& which = of_b ? group.b : group.a;
  std::vector<std::string> lines;
  for (size_t i = 0; i + 1 < which.size(); ++i) {
    lines.push_back(fmt::format("step {} of {} ends: {}", which[i] + 1, of_b ? "B" : "A", steps[which[i]].boundary));
  }
  return lines;
}

std::map<StepChange, size_t> counts(const StepsDiff& diff) {
  std::map<StepChange, size_t> result;
  for (const StepGroup& group : diff.groups) {
    ++result[group.change];
  }
  return result;
}

std::string counts_text(const StepsDiff& diff) {
  std::string text;
  for (const auto& [change, count] : counts(diff)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(change));
  }
  return text.empty() ? "no steps" : text;
}

std::string side_line(std::string_view letter, const DiffSide& side) {
  const ReadProgram& program = side.program;
  std::string line =
      fmt::format("{}  {}: {} step{}", letter, side.title, program.steps.size(), program.steps.size() == 1 ? "" : "s");
  line += program.bytes() ? fmt::format(", {} read and written", bytes_of(*program.bytes())) : "";
  line += program.microseconds() ? fmt::format(", {}", time_text(*program.microseconds())) : "";
  line += program.arena_bytes ? fmt::format(", arena {}", bytes_of(*program.arena_bytes)) : "";
  return line + (program.bindings.empty() ? "" : fmt::format("; at {}", program.bindings));
}

}  // namespace

StepsDiff diff_steps(DiffSide a, DiffSide b) {
  std::vector<StepGroup> groups = match_steps(a.program.steps, b.program.steps);
  return {.a = std::move(a), .b = std::move(b), .groups = std::move(groups)};
}

std::string diff_text(const StepsDiff& diff) {
  std::string text = fmt::format("{}\n{}\n{}\n", side_line("A", diff.a), side_line("B", diff.b), counts_text(diff));
  const Figures all = all_figures(diff);
  const bool bound = all.bytes_a || all.bytes_b;
  size_t width = 1;
  for (const StepGroup& group : diff.groups) {
    width = group.change == StepChange::same
                ? width
                : std::max({width, numbers_text(group.a).size(), numbers_text(group.b).size()});
  }
  const auto row = [&](std::string_view what, const std::string& a, const std::string& b, const Figures& figures,
                       const std::string& note) {
    text += fmt::format("  {:<9}  {:>{}}  {:>{}}", what, a, width, b, width);
    if (bound) {
      text += fmt::format("  {:>9} {:>9}  {:>9} {:>9} {:>6}", optional_text(figures.bytes_a, bytes_of),
                          optional_text(figures.bytes_b, bytes_of), optional_text(figures.time_a, time_text),
                          optional_text(figures.time_b, time_text), ratio_text(figures.time_a, figures.time_b));
    }
    text += fmt::format("  {}\n", note);
  };
  if (std::ranges::all_of(diff.groups, [](const StepGroup& group) { return group.change == StepChange::same; })) {
    return text;
  }
  text += fmt::format(
      "  {:<9}  {:>{}}  {:>{}}{}\n", "steps", "A", width, "B", width,
      bound ? fmt::format("  {:>9} {:>9}  {:>9} {:>9} {:>6}", "bytes A", "bytes B", "time A", "time B", "B/A") : "");
  Figures same{.bytes_a = 0, .bytes_b = 0, .time_a = 0, .time_b = 0};
  const auto add = [](std::optional<double>& to, const std::optional<double>& figure) {
    to = to && figure ? std::optional(*to + *figure) : std::nullopt;
  };
  size_t same_count = 0;
  for (const StepGroup& group : diff.groups) {
    const Figures figures = figures_of(diff, group);
    if (group.change == StepChange::same) {
      ++same_count;
      add(same.bytes_a, figures.bytes_a);
      add(same.bytes_b, figures.bytes_b);
      add(same.time_a, figures.time_a);
      add(same.time_b, figures.time_b);
      continue;
    }
    row(name(group.change), numbers_text(group.a), numbers_text(group.b), figures, about(diff, group));
    if (const std::string note = change_note(diff, group); !note.empty()) {
      text += fmt::format("             {}\n", note);
    }
    for (const std::string& line : reasons(diff, group)) {
      text += fmt::format("             {}\n", line);
    }
  }
  if (same_count > 0) {
    row("same", std::to_string(same_count), std::to_string(same_count), same, "steps that are alike");
  }
  return text;
}

namespace {

Json side_json(const DiffSide& side) {
  Json json = Json::object();
  json.set("title", side.title).set("model", side.program.model).set("steps", side.program.steps.size());
  const auto set = [&](std::string_view key, const std::optional<double>& figure) {
    json.set(key, figure ? Json(*figure) : Json());
  };
  set("bytes", side.program.bytes());
  set("microseconds", side.program.microseconds());
  set("arena_bytes", side.program.arena_bytes);
  return json.set("bindings", side.program.bindings);
}

Json numbers_json(const std::vector<size_t>& steps) {
  Json json = Json::array();
  for (const size_t i : steps) {
    json.push(i + 1);
  }
  return json;
}

}  // namespace

Json diff_json(const StepsDiff& diff) {
  Json groups = Json::array();
  for (const StepGroup& group : diff.groups) {
    const Figures figures = figures_of(diff, group);
    Json json = Json::object();
    json.set("change", name(group.change)).set("a", numbers_json(group.a)).set("b", numbers_json(group.b));
    json.set("about", about(diff, group));
    const auto set = [&](std::string_view key, const std::optional<double>& figure) {
      if (figure) {
        json.set(key, *figure);
      }
    };
    set("bytes_a", figures.bytes_a);
    set("bytes_b", figures.bytes_b);
    set("microseconds_a", figures.time_a);
    set("microseconds_b", figures.time_b);
    if (const std::string note = change_note(diff, group); !note.empty()) {
      json.set("note", note);
    }
    if (const std::vector<std::string> lines = reasons(diff, group); !lines.empty()) {
      json.set("reasons", Json(lines));
    }
    groups.push(json);
  }
  return Json::object().set("a", side_json(diff.a)).set("b", side_json(diff.b)).set("groups", groups);
}

std::string diff_page(const StepsDiff& diff) {
  const auto has_a = [](const StepGroup& group) { return group.change != StepChange::same; };
  const Figures all = all_figures(diff);
  const auto most = [&](std::optional<double> a, std::optional<double> b) {
    return std::max({a.value_or(0), b.value_or(0), 1e-9});
  };
  double longest = 1e-9;
  for (const StepGroup& group : diff.groups) {
    const Figures figures = figures_of(diff, group);
    longest = std::max(longest, most(figures.time_a, figures.time_b));
  }
  const auto bar = [&](const std::optional<double>& time, double of) {
    return time ? html_bar(*time / of, time_text(*time)) : std::string("-");
  };
  std::string body = fmt::format(
      "{}<h1>{} and {}</h1><p class=\"lead\">{}</p><section class=\"scroll\"><table><tr><th></th><th>model</th>"
      "<th class=\"n\">steps</th><th class=\"n\">read and written</th><th>time</th><th class=\"n\">arena</th>"
      "<th>sizes</th></tr>",
      report::explain_style(), html_text(diff.a.title), html_text(diff.b.title), counts_text(diff));
  for (const auto& [letter, side] : {std::pair("A", &diff.a), std::pair("B", &diff.b)}) {
    body += fmt::format(
        "<tr><th>{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td>"
        "<td>{}</td></tr>",
        letter, html_text(side->title), side->program.steps.size(), optional_text(side->program.bytes(), bytes_of),
        bar(side->program.microseconds(), most(all.time_a, all.time_b)),
        optional_text(side->program.arena_bytes, bytes_of), html_text(side->program.bindings));
  }
  body +=
      "</table></section><section class=\"scroll\"><label><input type=\"checkbox\" id=\"all\"> also steps that are "
      "alike</label><table id=\"groups\"><tr><th>steps</th><th>A</th><th>B</th><th class=\"n\">bytes A</th>"
      "<th class=\"n\">bytes B</th><th>time A</th><th>time B</th><th class=\"n\">B/A</th><th></th></tr>";
  for (const StepGroup& group : diff.groups) {
    const Figures figures = figures_of(diff, group);
    std::string notes = html_text(about(diff, group));
    for (const std::string& line : reasons(diff, group)) {
      notes += "<br><small>" + html_text(line) + "</small>";
    }
    notes += "<br><small>" + html_text(change_note(diff, group)) + "</small>";
    body += fmt::format(
        "<tr{}><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td>"
        "<td class=\"n\">{}</td><td>{}</td></tr>\n",
        has_a(group) ? "" : " class=\"alike\" hidden", name(group.change), numbers_text(group.a), numbers_text(group.b),
        optional_text(figures.bytes_a, bytes_of), optional_text(figures.bytes_b, bytes_of),
        bar(figures.time_a, longest), bar(figures.time_b, longest), ratio_text(figures.time_a, figures.time_b), notes);
  }
  body += "</table></section>";
  return html_page(diff.a.title + " and " + diff.b.title, body, Json::object(),
                   "document.getElementById('all').addEventListener('change', e => { for (const r of "
                   "document.querySelectorAll('tr.alike')) r.hidden = !e.target.checked; });");
}

}  // namespace tenon::cli
