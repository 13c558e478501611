#include "support/resident.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace bench {
namespace {

constexpr double kPictureWidth = 800;
constexpr double kHeight = 200;
constexpr double kMargin = 40;

std::string curve_svg(const ResidentCurve& curve, double top) {
  const double most = 1.1 * *std::ranges::max_element(curve.bytes);
  std::string points;
  for (size_t i = 0; i < curve.done.size(); ++i) {
    points += fmt::format("{:.1f},{:.1f} ", kMargin + kPictureWidth * curve.done[i] / curve.done.back(),
                          top + kHeight * (1 - curve.bytes[i] / most));
  }
  return fmt::format(
      "<text x=\"{0}\" y=\"{1}\">{2}: {3:.1f} MB at the end, {4:.0f} bindings</text>\n"
      "<rect x=\"{0}\" y=\"{5}\" width=\"{6}\" height=\"{7}\" fill=\"none\" stroke=\"#bbb\"/>\n"
      "<polyline points=\"{8}\" fill=\"none\" stroke=\"#2466a8\" stroke-width=\"1.5\"/>\n",
      kMargin, top - 6, curve.name, curve.bytes.back() / 1e6, curve.done.back(), top, kPictureWidth, kHeight, points);
}

}  // namespace

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void ResidentCurve::sample(double count) {
  done.push_back(count);
  bytes.push_back(resident_bytes());
}

double ResidentCurve::slope(size_t first) const {
  const auto count = static_cast<double>(done.size() - first);
  double mean_x = 0;
  double mean_y = 0;
  for (size_t i = first; i < done.size(); ++i) {
    mean_x += done[i] / count;
    mean_y += bytes[i] / count;
  }
  double xy = 0;
  double xx = 0;
  for (size_t i = first; i < done.size(); ++i) {
    xy += (done[i] - mean_x) * (bytes[i] - mean_y);
    xx += (done[i] - mean_x) * (done[i] - mean_x);
  }
  return xx == 0 ? 0 : xy / xx;
}

void write_svg(const std::string& path, const std::vector<ResidentCurve>& curves) {
  const double step = kHeight + 2 * kMargin;
  std::ofstream file(path);
  file << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"13\">\n",
      kPictureWidth + 2 * kMargin, step * static_cast<double>(curves.size()));
  for (size_t i = 0; i < curves.size(); ++i) {
    file << curve_svg(curves[i], kMargin + step * static_cast<double>(i));
  }
  file << "</svg>\n";
}

}  // namespace bench
