#include "cli/bench/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/print/json.h"
#include "cli/print/terminal.h"

namespace tenon::cli {
namespace {

double largest_finite(Dtype dtype) {
  return dtype == f16    ? 0x1.ffcp15
         : dtype == bf16 ? 0x1.fep127
         : dtype == f32  ? 0x1.fffffep127
                         : std::numeric_limits<double>::max();
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Whether an infinity is what `exact` rounds to, or so near to it that its error is allowed.
bool is_right_overflow(double got, double exact, double most, double tolerance) {
  return std::isinf(got) && std::signbit(got) == std::signbit(exact) && std::fabs(exact) >= most * (1 - tolerance);
}

std::string remarks(const Difference& difference) {
  std::string text;
  if (difference.mismatched > 0) text += fmt::format(", {} infinite or NaN on one side", difference.mismatched);
  if (difference.overflowed > 0) text += fmt::format(", {} overflow on the way", difference.overflowed);
  if (difference.is_comparable() && !difference.is_near() && difference.is_rounding) {
    text += ", by roundings on the way";
    if (difference.lost > 0) text += fmt::format(", which leave nothing of {} elements", difference.lost);
  }
  if (difference.both_nan > 0) text += fmt::format(", {} NaN on both sides", difference.both_nan);
  return text;
}

}  // namespace

Difference compare(const std::string& output, const std::string& against, const Array& got, const Array& wanted,
                   double tolerance, const Array* narrow) {
  Difference difference{.output = output, .against = against, .tolerance = tolerance};
  if (got.dims() != wanted.dims()) {
    difference.misfit =
        fmt::format("sizes ({}) instead of ({})", fmt::join(got.dims(), ", "), fmt::join(wanted.dims(), ", "));
    return difference;
  }
  const double most = largest_finite(got.dtype());
  double scale = 0;
  double sum = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double a = got.at(i);
    const double b = wanted.at(i);
    if (is_right_overflow(a, b, most, tolerance)) {
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) {
      difference.both_nan += std::isnan(a) && std::isnan(b) ? 1 : 0;
      const bool same = is_same(a, b);
      const bool overflows = !same && !std::isfinite(a) && narrow != nullptr && is_same(a, narrow->at(i));
      difference.overflowed += overflows ? 1 : 0;
      difference.mismatched += same || overflows ? 0 : 1;
      continue;
    }
    const double error = std::fabs(a - b);
    difference.largest = std::max(difference.largest, error);
    scale = std::max(scale, std::min(std::fabs(b), most));
    sum += error;
  }
  difference.relative = difference.largest == 0 ? 0 : difference.largest / scale;
  difference.mean = got.size() == 0 ? 0 : sum / static_cast<double>(got.size());
  return difference;
}

void print_text(const std::string& model, const Bindings& bindings, const ProductRounding& allowed,
                const std::vector<Difference>& differences) {
  fmt::print("{}{}{}{}{}\n", bold(printable(model)), bindings.empty() ? "" : " at ", bindings.to_string(),
             allowed.rounds() ? "; tolerances allow for " : "", allowed.to_string());
  fmt::print("  {:<20} {:<12} {:>11} {:>11} {:>11} {:>11}\n", "output", "against", "largest", "relative", "mean",
             "tolerance");
  for (const Difference& each : differences) {
    if (!each.misfit.empty()) {
      fmt::print("  {:<20} {:<12} {}  {}\n", each.output, each.against, each.misfit, red("differs"));
      continue;
    }
    fmt::print("  {:<20} {:<12} {:>11.2e} {:>11.2e} {:>11.2e} {:>11.0e}  {}{}\n", each.output, each.against,
               each.largest, each.relative, each.mean, each.tolerance, each.ok() ? green("ok") : red("differs"),
               remarks(each));
  }
}

void print_json(const std::string& model, const Bindings& bindings, const ProductRounding& products,
                const std::vector<Difference>& differences, bool ok) {
  Json list = Json::array();
  for (const Difference& each : differences) {
    list.push(Json::object()
                  .set("output", each.output)
                  .set("against", each.against)
                  .set("ok", each.ok())
                  .set("largest_error", each.largest)
                  .set("relative_error", each.relative)
                  .set("mean_error", each.mean)
                  .set("mismatched", each.mismatched)
                  .set("overflowed", each.overflowed)
                  .set("both_nan", each.both_nan)
                  .set("tolerance", each.tolerance)
                  .set("by_rounding", each.is_rounding)
                  .set("lost", each.lost)
                  .set("misfit", each.misfit));
  }
  Json::object()
      .set("model", model)
      .set("bindings", bindings.to_string())
      .set("ok", ok)
      .set("rounding", products.to_string())
      .set("outputs", list)
      .print();
}

}  // namespace tenon::cli
