#include "cli/bench/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/print/units.h"

namespace tenon::cli {
namespace {

constexpr double kPanelWidth = 460, kPanelHeight = 300, kPanelLeft = 70, kTop = 60, kGap = 40, kBottom = 50,
                 kLegendLine = 18;
constexpr const char* kColours[] = {"#1a73e8", "#d93025", "#188038", "#f9ab00",
                                    "#9334e6", "#12b5cb", "#e8710a", "#5f6368"};

std::string svg_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string{c};
  }
  return result;
}

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  double place(double value) const { return most > least ? (value - least) / (most - least) : 0.5; }
};

/// Round numbers that divide a range into a few parts: 1, 2 or 5 times a power of ten.
std::vector<double> ticks(const Range& range, bool logarithmic) {
  std::vector<double> result;
  if (logarithmic) {
    for (double power = std::ceil(range.least); power <= range.most + 1e-9; ++power) {
      result.push_back(power);
    }
    if (result.size() < 2) {
      result = {range.least, range.most};
    }
    return result;
  }
  const double rough = (range.most - range.least) / 5;
  if (!(rough > 0)) {
    return {range.least};
  }
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double factor = rough / power;
  const double step = power * (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10);
  for (double at = std::ceil(range.least / step) * step; at <= range.most + step * 1e-6; at += step) {
    result.push_back(at);
  }
  return result;
}

std::string panel_svg(const Panel& panel, double left) {
  const auto scale = [&](double y) { return panel.logarithmic ? std::log10(y) : y; };
  Range x;
  Range y;
  for (const Line& line : panel.lines) {
    for (const auto& [px, py] : line.points) {
      x.add(px);
      y.add(scale(py));
    }
  }
  if (!panel.logarithmic) {
    y.add(0);
  }
  const auto px = [&](double value) { return left + x.place(value) * kPanelWidth; };
  const auto py = [&](double value) { return kTop + kPanelHeight - y.place(value) * kPanelHeight; };
  std::string text = fmt::format("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n", left, kTop - 14,
                                 svg_escaped(panel.title));
  text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#9aa0a6\"/>\n", left,
                      kTop, kPanelWidth, kPanelHeight);
  for (const double tick : ticks(y, panel.logarithmic)) {
    text += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e8eaed\"/>\n", left,
                        left + kPanelWidth, py(tick));
    text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6, py(tick) + 4,
                        count_text(panel.logarithmic ? std::pow(10, tick) : tick));
  }
  for (const double tick : ticks(x, false)) {
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", px(tick),
                        kTop + kPanelHeight + 18, count_text(tick));
  }
  text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", left + kPanelWidth / 2,
                      kTop + kPanelHeight + 38, svg_escaped(panel.x_label));
  text += fmt::format("<text transform=\"translate({},{}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", left - 52,
                      kTop + kPanelHeight / 2, svg_escaped(panel.y_label));
  for (const Line& line : panel.lines) {
    const char* colour = kColours[static_cast<size_t>(line.colour) % std::size(kColours)];
    std::string points;
    for (const auto& [vx, vy] : line.points) {
      points += fmt::format("{:.1f},{:.1f} ", px(vx), py(scale(vy)));
      text +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", px(vx), py(scale(vy)), colour);
    }
    text += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"{}/>\n", points,
                        colour, line.dashed ? " stroke-dasharray=\"5 4\"" : "");
  }
  return text;
}

}  // namespace

std::string plot_svg(const std::string& title, const std::vector<Panel>& panels) {
  const double width = kGap + static_cast<double>(panels.size()) * (kPanelLeft + kPanelWidth) + kGap;
  const double legend = kTop + kPanelHeight + kBottom;
  const size_t lines = panels.empty() ? 0 : panels[0].lines.size();
  const double height = legend + static_cast<double>(lines) * kLegendLine + 20;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"Helvetica, sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"16\">{3}</text>\n",
      width, height, kPanelLeft, svg_escaped(title));
  for (size_t i = 0; i < panels.size(); ++i) {
    text += panel_svg(panels[i], kPanelLeft + static_cast<double>(i) * (kPanelLeft + kPanelWidth));
  }
  for (size_t i = 0; i < lines; ++i) {
    const Line& line = panels[0].lines[i];
    const double y = legend + 10 + static_cast<double>(i) * kLegendLine;
    text += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"2\"{4}/>\n"
        "<text x=\"{5}\" y=\"{6}\">{7}</text>\n",
        kPanelLeft, kPanelLeft + 28, y, kColours[static_cast<size_t>(line.colour) % std::size(kColours)],
        line.dashed ? " stroke-dasharray=\"5 4\"" : "", kPanelLeft + 36, y + 4, svg_escaped(line.name));
  }
  return text + "</svg>\n";
}

}  // namespace tenon::cli
