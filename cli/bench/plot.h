// Lines over sizes, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon::cli {

struct Line {
  std::string name;
  bool dashed = false;
  int colour = 0;
  std::vector<std::pair<double, double>> points;
};

/// One set of axes. The vertical one is logarithmic where `logarithmic`, and then takes positive values alone.
struct Panel {
  std::string title, x_label, y_label;
  bool logarithmic = false;
  std::vector<Line> lines;
};

/// Panels side by side, with a legend of the lines of the first.
std::string plot_svg(const std::string& title, const std::vector<Panel>& panels);

}  // namespace tenon::cli
