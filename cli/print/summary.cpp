#include "cli/print/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::cli {
namespace {

constexpr int64_t kShown = 4;

}  // namespace

Summary::Summary(const Array& array) : size(array.size()) {
  double sum = 0;
  least = std::numeric_limits<double>::infinity();
  most = -least;
  for (int64_t i = 0; i < size; ++i) {
    const double value = array.at(i);
    if (i < kShown) {
      first.push_back(value);
    }
    if (std::isnan(value)) {
      ++nan;
      continue;
    }
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  mean = sum / static_cast<double>(size - nan);
}

std::string Summary::to_string() const {
  if (size == 0) {
    return "no elements";
  }
  const std::string bad = nan == 0 ? "" : fmt::format("{} NaN, ", nan);
  if (nan == size) {
    return "all NaN";
  }
  std::string shown;
  for (const double value : first) {
    shown += fmt::format("{}{:.6g}", shown.empty() ? "" : " ", value);
  }
  return fmt::format("{}min {:.5g}, max {:.5g}, mean {:.5g}; {}{}", bad, least, most, mean, shown,
                     size > kShown ? " ..." : "");
}

Json Summary::to_json() const {
  Json json = Json::object().set("size", size).set("nan", nan);
  if (nan < size) {
    json.set("min", least).set("max", most).set("mean", mean);
  }
  return json.set("first", first);
}

}  // namespace tenon::cli
