// Estimates against measured times, as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/partition/partition_page.h"
#include "cli/print/page.h"
#include "cli/print/units.h"

namespace tenon::cli {
namespace {

constexpr double kWidth = 600, kHeight = 420, kLeft = 70, kBelow = 50, kAbove = 40;

/// Decades from the least to the most of both axes, which have the same scale.
struct Decades {
  int first = 0, last = 1;

  double x(double microseconds) const { return kLeft + at(microseconds) * (kWidth - kLeft - 36); }
  double y(double microseconds) const { return kHeight - kBelow - at(microseconds) * (kHeight - kBelow - kAbove); }
  double at(double microseconds) const { return (std::log10(microseconds) - first) / (last - first); }
};

double measured_us(const PartRun& part) { return part.in_whole >= 0 ? part.in_whole : part.microseconds; }

}  // namespace

std::string estimate_svg(const partition::Plan& plan, const PlanRun& run) {
  constexpr double least = 0.1;  // microseconds: steps without work are drawn at the edge
  double low = 1e9;
  double high = least;
  for (size_t i = 0; i < run.parts.size(); ++i) {
    for (const double each : {plan.parts[i].figures.seconds * 1e6, measured_us(run.parts[i])}) {
      low = std::min(low, std::max(each, least));
      high = std::max(high, each);
    }
  }
  Decades decades{.first = static_cast<int>(std::floor(std::log10(low))),
                  .last = static_cast<int>(std::ceil(std::log10(high)))};
  decades.last = std::max(decades.last, decades.first + 1);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n<text x=\"{2}\" y=\"20\" font-size=\"13\" fill=\"#202124\">{3}: {4} parts, ranks agree to "
      "{5:.2f}</text>\n",
      kWidth, kHeight, kLeft, html_text(plan.model), plan.parts.size(), run.rank);
  for (int decade = decades.first; decade <= decades.last; ++decade) {
    const double value = std::pow(10, decade);
    text += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}\" stroke=\"#dadce0\"/>\n<text x=\"{0:.1f}\" "
        "y=\"{6}\" text-anchor=\"middle\" fill=\"#5f6368\">{7}</text><text x=\"{8}\" y=\"{9:.1f}\" "
        "text-anchor=\"end\" fill=\"#5f6368\">{7}</text>\n",
        decades.x(value), kHeight - kBelow, kAbove, kLeft, decades.y(value), kWidth - 36, kHeight - kBelow + 16,
        time_text(value), kLeft - 6, decades.y(value) + 4);
  }
  const double begin = std::pow(10, decades.first);
  const double end = std::pow(10, decades.last);
  const auto line = [&](double factor, std::string_view style) {  // measured = factor * estimated
    const double from = std::max(begin, begin / factor);
    const double to = std::min(end, end / factor);
    text += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" {}/>\n", decades.x(from), decades.y(from * factor),
                        decades.x(to), decades.y(to * factor), style);
  };
  line(1, "stroke=\"#5f6368\"");
  line(1.5, "stroke=\"#9aa0a6\" stroke-dasharray=\"4 4\"");
  line(1 / 1.5, "stroke=\"#9aa0a6\" stroke-dasharray=\"4 4\"");
  for (size_t i = 0; i < run.parts.size(); ++i) {
    const double estimated = std::max(least, plan.parts[i].figures.seconds * 1e6);
    const double measured = std::max(least, measured_us(run.parts[i]));
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#1a73e8\" fill-opacity=\"0.55\" "
        "data-part=\"{}\"><title>part "
        "{}: estimated {}, measured {}</title></circle>\n",
        decades.x(estimated), decades.y(measured), i, i + 1, time_text(estimated), time_text(measured));
  }
  return text + fmt::format(
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#5f6368\">estimated</text><text "
                    "transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\" "
                    "fill=\"#5f6368\">measured; dashed: a factor of 1.5</text></svg>\n",
                    (kLeft + kWidth) / 2, kHeight - 12, kHeight / 2);
}

}  // namespace tenon::cli
