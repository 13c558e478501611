#include "rounds.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "base/read_file.h"
#include "json.h"

namespace tenon::cli {
namespace {

std::vector<double> logarithms(const std::vector<double>& times) {
  std::vector<double> result;
  std::ranges::transform(times, std::back_inserter(result), [](double time) { return std::log(time); });
  return result;
}

/// The middle of what pairs of rounds say, and what lies around it but for the ends that chance would give once in
/// twenty times; `deviation` is that of the rank.
Verdict around_the_middle(std::vector<double> values, double deviation, double margin) {
  std::ranges::sort(values);
  const double rank = static_cast<double>(values.size()) / 2 - 1.96 * deviation;
  const size_t at = rank < 2 ? 0 : static_cast<size_t>(rank) - 1;
  return {.ratio = std::exp((values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2),
          .low = std::exp(values[at]),
          .high = std::exp(values[values.size() - 1 - at]),
          .margin = margin};
}

const JsonValue& member(const JsonValue& object, std::string_view key, const std::string& path) {
  const JsonValue* const found = object.find(key);
  if (found == nullptr) {
    fail("`{}` is no file that `tenon bench --save` wrote: in line {} there is no `{}`", path, object.line(), key);
  }
  return *found;
}

}  // namespace

double Rounds::median() const {
  std::vector<double> sorted = medians;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

std::string saved_text(const SavedBench& bench) {
  Json points = Json::array();
  for (const Rounds& rounds : bench.points) {
    points.push(Json::object().set("bindings", rounds.bindings.to_string()).set("round_us", Json(rounds.medians)));
  }
  return Json::object().set("model", bench.model).set("code", bench.code).set("points", points).to_string() + '\n';
}

SavedBench read_saved(const std::string& path) {
  constexpr int64_t kMost = int64_t{64} << 20;
  const JsonValue json = JsonValue::parse(read_file(path, kMost), path);
  const std::string* const model = member(json, "model", path).text();
  const std::string* const code = member(json, "code", path).text();
  const JsonValue::List* const points = member(json, "points", path).list();
  if (model == nullptr || code == nullptr || points == nullptr) {
    fail("`{}` is no file that `tenon bench --save` wrote", path);
  }
  SavedBench bench{.model = *model, .code = *code};
  for (const JsonValue& point : *points) {
    const std::string* const bindings = member(point, "bindings", path).text();
    const JsonValue::List* const medians = member(point, "round_us", path).list();
    if (bindings == nullptr || medians == nullptr || medians->size() < 2) {
      fail("`{}`, line {}: a point has `bindings` and at least two numbers in `round_us`", path, point.line());
    }
    Rounds rounds{.bindings = Bindings::parse(*bindings)};
    for (const JsonValue& median : *medians) {
      if (median.number() == nullptr || !(*median.number() > 0)) {
        fail("`{}`, line {}: a time is a number above 0", path, median.line());
      }
      rounds.medians.push_back(*median.number());
    }
    bench.points.push_back(std::move(rounds));
  }
  return bench;
}

std::string_view Verdict::word() const {
  return high < 1 / (1 + margin) ? "faster" : low > 1 + margin ? "slower" : "same";
}

// By ranks, after Wilcoxon, Mann, Whitney, Hodges and Lehmann: a round that was disturbed counts as one, however much.
Verdict compare_rounds(const std::vector<double>& now, const std::vector<double>& before, bool paired) {
  const std::vector<double> a = logarithms(now);
  const std::vector<double> b = logarithms(before);
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  std::vector<double> values;
  if (paired) {
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t j = i; j < a.size(); ++j) {
        values.push_back((a[i] - b[i] + a[j] - b[j]) / 2);
      }
    }
    return around_the_middle(std::move(values), std::sqrt(n * (n + 1) * (2 * n + 1) / 24), 0.01);
  }
  for (const double x : a) {
    for (const double y : b) {
      values.push_back(x - y);
    }
  }
  return around_the_middle(std::move(values), std::sqrt(n * m * (n + m + 1) / 12), 0.03);
}

}  // namespace tenon::cli
