// The graph of a plan, laid out here: parts in layers, their operators in columns. It takes time in proportion to the
// graph, which Graphviz does not, and draws the graph that was cut and no other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/partition/partition_page.h"
#include "cli/print/page.h"

namespace tenon::cli {
namespace {

using partition::Plan;

constexpr const char* kPartColours[] = {"#e8f0fe", "#e6f4ea", "#fef7e0", "#fce8e6", "#f3e8fd", "#e4f7fb"};
/// Of operators, by role: products, depthwise, maps, rows, windows, moves, gathers, others.
constexpr const char* kRoleColours[] = {"#1a73e8", "#12b5cb", "#34a853", "#f9ab00",
                                        "#a142f4", "#9aa0a6", "#e8710a", "#d93025"};
constexpr double kOpWidth = 178, kOpHeight = 20, kOpGap = 8, kMargin = 10, kTitle = 16, kPartGap = 22, kStripGap = 40;
constexpr int kColumn = 14;  // operators above each other in a hull

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Layout {
  std::vector<Box> parts;
  std::vector<std::vector<Box>> operators;  // of each part
  double width = 0, height = 0;
};

/// The longest way to each part.
std::vector<int> levels(const Plan& plan) {
  std::vector<int> level(plan.parts.size(), 0);
  std::vector<std::vector<int>> from(plan.parts.size());
  for (const partition::Transfer& transfer : plan.transfers) {
    from[static_cast<size_t>(transfer.to)].push_back(transfer.from);
  }
  for (size_t p = 0; p < level.size(); ++p) {
    for (const int before : from[p]) {
      level[p] = std::max(level[p], level[static_cast<size_t>(before)] + 1);
    }
  }
  return level;
}

/// The hull around a part's operators, placed nowhere yet.
Box hull_size(const partition::Part& part) {
  const auto count = static_cast<int>(part.operators.size());
  const int columns = (count + kColumn - 1) / kColumn;
  return {.width = columns * (kOpWidth + kOpGap) + 2 * kMargin - kOpGap,
          .height = std::min(count, kColumn) * (kOpHeight + kOpGap) + kTitle + 2 * kMargin - kOpGap};
}

/// Rows of parts stand below each other in strips side by side: how tall these are, so that the whole is wider than
/// tall.
double strip_height(const Plan& plan, const std::vector<std::vector<size_t>>& rows) {
  constexpr double least = 640;
  constexpr double wider = 2;  // than tall
  double area = 0;
  for (const std::vector<size_t>& row : rows) {
    double width = kStripGap;
    double tallest = 0;
    for (const size_t p : row) {
      const Box box = hull_size(plan.parts[p]);
      width += box.width + kPartGap;
      tallest = std::max(tallest, box.height + kPartGap);
    }
    area += width * tallest;
  }
  return std::max(least, std::sqrt(area / wider));
}

Layout lay_out(const Plan& plan) {
  Layout layout;
  layout.parts.resize(plan.parts.size());
  layout.operators.resize(plan.parts.size());
  const std::vector<int> level = levels(plan);
  const int last = level.empty() ? 0 : *std::ranges::max_element(level);
  std::vector<std::vector<size_t>> rows(static_cast<size_t>(last) + 1);
  for (size_t p = 0; p < level.size(); ++p) {
    rows[static_cast<size_t>(level[p])].push_back(p);
  }
  const double tall = strip_height(plan, rows);
  double left = kMargin;
  double y = kMargin;
  for (const std::vector<size_t>& row : rows) {
    double tallest = 0;
    for (const size_t p : row) {
      tallest = std::max(tallest, hull_size(plan.parts[p]).height);
    }
    if (y > kMargin && y + tallest > tall) {  // on at the top, beside what is there
      left = layout.width + kStripGap;
      y = kMargin;
    }
    double x = left;
    for (const size_t p : row) {
      const auto count = static_cast<int>(plan.parts[p].operators.size());
      Box& box = layout.parts[p];
      box = hull_size(plan.parts[p]);
      box.x = x;
      box.y = y;
      for (int i = 0; i < count; ++i) {
        const int column = i / kColumn;
        layout.operators[p].push_back({x + kMargin + column * (kOpWidth + kOpGap),
                                       y + kTitle + kMargin + i % kColumn * (kOpHeight + kOpGap), kOpWidth, kOpHeight});
      }
      x += box.width + kPartGap;
    }
    layout.width = std::max(layout.width, x);
    y += tallest + kPartGap;
    layout.height = std::max(layout.height, y);
  }
  layout.width += 60;  // for edges that go around
  return layout;
}

/// From below one box to above another; one that passes others bends to the side.
std::string curve(const Box& from, const Box& to, bool leaves) {
  const double x1 = from.x + from.width / 2;
  const double y1 = from.y + from.height;
  const double x2 = to.x + to.width / 2;
  const double y2 = to.y;
  if (y2 < y1) {  // the next strip: over to it in between, and down from its top
    const double middle = to.x - kStripGap / 2;
    return fmt::format(
        "<path class=\"edge{}\" d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}S{:.0f} {:.0f} {:.0f} "
        "{:.0f}\"/>\n",
        leaves ? " cut" : "", x1, y1, x1, y1 + 30, middle, y1 + 30, middle, (y1 + y2) / 2, x2, y2 - 30, x2, y2);
  }
  const double far = std::fabs(y2 - y1) > 3 * (kOpHeight + kPartGap + kTitle) ? from.width / 2 + 30 : 0;
  const double bend = std::max(8.0, std::min(60.0, std::fabs(y2 - y1) / 2));
  return fmt::format("<path class=\"edge{}\" d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\"/>\n",
                     leaves ? " cut" : "", x1, y1, x1 + far, y1 + bend, x2 + far, y2 - bend, x2, y2);
}

/// Of a long name the end, in which neighbours differ.
std::string end_of(const std::string& place, size_t most) {
  return place.size() <= most ? place : "\u2026" + place.substr(place.size() - most);
}

/// Where each operator was drawn, the last time that it is computed before `part`.
struct Drawn {
  size_t part = 0;
  size_t place = 0;
};

}  // namespace

std::string plan_svg(const PartitionModel& model, const Plan& plan) {
  const Layout layout = lay_out(plan);
  std::string hulls;
  std::string boxes;  // of operators: over the edges, so that these cross no names
  std::string edges;
  std::vector<Drawn> drawn(model.work.operators.size());
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    const Box& box = layout.parts[p];
    hulls += fmt::format(
        "<g class=\"part\" data-part=\"{}\"><rect class=\"hull\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" rx=\"8\" fill=\"{}\" stroke=\"#9aa0a6\"/></g>\n",
        p, box.x, box.y, box.width, box.height, kPartColours[p % std::size(kPartColours)]);
    boxes +=
        fmt::format("<g class=\"part\" data-part=\"{}\"><text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"11\">{}</text>\n",
                    p, box.x + kMargin, box.y + 15, p + 1);
    for (size_t i = 0; i < plan.parts[p].operators.size(); ++i) {
      const auto index = static_cast<size_t>(plan.parts[p].operators[i]);
      const partition::Operator& op = model.work.operators[index];
      const Box& own = layout.operators[p][i];
      boxes += fmt::format(
          "<g class=\"op\"><title>{} ({}) {}</title><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
          "rx=\"4\" fill=\"white\" stroke=\"#bdc1c6\"/><path d=\"M{:.0f} {:.0f}v{:.0f}\" stroke=\"{}\" "
          "stroke-width=\"4\"/><text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"11\">{}<tspan class=\"place\" dx=\"6\" "
          "fill=\"#5f6368\">{}</tspan></text></g>\n",
          html_text(op.name), name(op.role), html_text(op.place), own.x, own.y, own.width, own.height, own.x + 3,
          own.y + 3, own.height - 6, kRoleColours[static_cast<size_t>(op.role)], own.x + 9, own.y + 14,
          html_text(op.name), html_text(end_of(op.place, 24 - std::min<size_t>(23, op.name.size()))));
      for (const partition::Read& read : op.reads) {
        const int producer = model.work.tensors[static_cast<size_t>(read.tensor)].producer;
        if (producer >= 0) {
          const Drawn& at = drawn[static_cast<size_t>(producer)];
          edges += curve(layout.operators[at.part][at.place], own, at.part != p);
        }
      }
      drawn[index] = {p, i};
    }
    boxes += "</g>\n";
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"system-ui, sans-serif\">\n{2}<g fill=\"none\" stroke=\"#80868b\">\n{3}</g>{4}</svg>\n",
      layout.width, layout.height, hulls, edges, boxes);
}

std::string role_legend() {
  std::string text;
  for (size_t i = 0; i < std::size(kRoleColours); ++i) {
    text += fmt::format("<span class=\"key\"><i style=\"background:{}\"></i>{}</span>", kRoleColours[i],
                        name(static_cast<partition::Role>(i)));
  }
  return text;
}

std::string plan_dot(const PartitionModel& model, const Plan& plan) {
  const auto quoted = [](const std::string& text) {
    std::string result;
    for (const char c : text) {
      result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return result;
  };
  std::string text = fmt::format(
      "digraph \"{}\" {{\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", "
      "fontsize=11];\n  edge [color=\"#5f6368\", arrowsize=0.6];\n",
      quoted(plan.model));
  std::string edges;
  std::vector<size_t> part_of(model.work.operators.size(), 0);
  const auto id = [](size_t part, size_t op) { return fmt::format("p{}_{}", part + 1, op); };
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    text += fmt::format(
        "  subgraph cluster_{} {{\n    label=\"{}\"; style=\"rounded,filled\"; fillcolor=\"{}\"; tooltip=\"{}\";\n",
        p + 1, p + 1, kPartColours[p % std::size(kPartColours)], quoted(plan.parts[p].why));
    for (const int index : plan.parts[p].operators) {
      const auto op = static_cast<size_t>(index);
      text += fmt::format("    {} [label=\"{}\"];\n", id(p, op), quoted(model.work.operators[op].name));
      for (const partition::Read& read : model.work.operators[op].reads) {
        const partition::WorkTensor& tensor = model.work.tensors[static_cast<size_t>(read.tensor)];
        if (tensor.producer >= 0) {
          const auto producer = static_cast<size_t>(tensor.producer);
          const bool leaves = part_of[producer] != p;
          edges += fmt::format("  {} -> {}{};\n", id(part_of[producer], producer), id(p, op),
                               leaves ? fmt::format(" [label=\"{}\"]", quoted(tensor.shape.to_string())) : "");
        }
      }
      part_of[op] = p;
    }
    text += "  }\n";
  }
  return text + edges + "}\n";
}

}  // namespace tenon::cli
