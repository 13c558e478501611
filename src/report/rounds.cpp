#include "report/rounds.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "base/read_file.h"
#include "report/json.h"

namespace tenon::report {
namespace {

std::vector<double> logarithms(const std::vector<double>& times) {
  std::vector<double> result;
  std::ranges::transform(times, std::back_inserter(result), [](double time) { return std::log(time); });
  return result;
}

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The standard deviation of logarithms, from their quarters: a round that was disturbed counts as one, however much.
double scatter(std::vector<double> values) {
  constexpr double kDeviations = 1.349;  // between the quarters of a normal distribution
  std::ranges::sort(values);
  return (values[values.size() * 3 / 4] - values[values.size() / 4]) / kDeviations;
}

/// How fast the machine was, and how far its speed moved, as logarithms.
struct Speed {
  double time = 0;
  double scatter = 0;
};

/// From the reference beside rounds. Another process that takes its turn during the loop makes that many times longer:
/// this says nothing of runs shorter than the loop, whose medians leave out the few that were interrupted. Of these the
/// quarter of the loops that took least counts, which nobody interrupted. Runs that are longer are interrupted as the
/// loop is.
Speed speed_of(const Rounds& rounds) {
  std::vector<double> times = logarithms(rounds.references);
  std::ranges::sort(times);
  if (rounds.median() > middle_of(rounds.references)) {
    return {.time = times[times.size() / 2], .scatter = scatter(times)};
  }
  const double quarter = times[times.size() / 4];
  return {.time = quarter, .scatter = quarter - times[0]};
}

/// How far the machine had moved between the two, as a logarithm: in speed, and as far as it moved meanwhile.
double drift(const Rounds& now, const Rounds& before) {
  if (now.references.empty() || before.references.empty()) {
    return 0;
  }
  const Speed a = speed_of(now);
  const Speed b = speed_of(before);
  return std::abs(a.time - b.time) + std::max(a.scatter, b.scatter);
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

std::vector<double> times_of(const JsonValue::List& list, const std::string& path) {
  std::vector<double> times;
  for (const JsonValue& time : list) {
    if (time.number() == nullptr || !(*time.number() > 0)) {
      fail("`{}`, line {}: a time is a number above 0", path, time.line());
    }
    times.push_back(*time.number());
  }
  return times;
}

}  // namespace

double Rounds::median() const { return middle_of(medians); }

double reference_microseconds() {
  constexpr size_t kElements = size_t{1} << 20;  // 8 MiB: what the second cache of a core does not hold
  constexpr int kSteps = 200'000;
  static const std::vector<double> numbers(kElements, 1.0);
  const auto begin = std::chrono::steady_clock::now();
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    sum = sum * 0.999 + 1;  // each waits for the one before
  }
  for (size_t i = 0; i < kElements; i += 8) {  // a line of the cache each
    sum += numbers[i];
  }
  const auto end = std::chrono::steady_clock::now();
  static std::atomic<double> result;  // else nothing would have to be computed
  result.store(sum, std::memory_order_relaxed);
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

std::string saved_text(const SavedBench& bench) {
  Json points = Json::array();
  for (const Rounds& rounds : bench.points) {
    points.push(Json::object()
                    .set("bindings", rounds.bindings.to_string())
                    .set("round_us", Json(rounds.medians))
                    .set("reference_us", Json(rounds.references)));
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
    rounds.medians = times_of(*medians, path);
    if (const JsonValue* const references = point.find("reference_us");
        references != nullptr && references->list() != nullptr) {
      rounds.references = times_of(*references->list(), path);
    }
    bench.points.push_back(std::move(rounds));
  }
  return bench;
}

std::string_view Verdict::word() const {
  constexpr double kWide = 0.05;  // an interval that reaches farther says nothing of a difference that would count
  constexpr double kNoisy = 0.1;  // more noise than this could hide a difference that would count
  const double counts = (1 + margin) * (1 + noise);
  if (high < 1 / counts) {
    return "faster";
  }
  if (low > counts) {
    return "slower";
  }
  const bool holds_none = low <= 1 + margin && high >= 1 / (1 + margin);
  const double wide = std::max(margin, kWide);
  return holds_none && noise <= kNoisy && low >= 1 / (1 + wide) && high <= 1 + wide ? "same" : "too noisy to tell";
}

// By ranks, after Wilcoxon, Mann, Whitney, Hodges and Lehmann: a round that was disturbed counts as one, however much.
Verdict compare_in_turn(const Rounds& now, const Rounds& before) {
  const std::vector<double> a = logarithms(now.medians);
  const std::vector<double> b = logarithms(before.medians);
  const auto n = static_cast<double>(a.size());
  std::vector<double> values;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = i; j < a.size(); ++j) {
      values.push_back((a[i] - b[i] + a[j] - b[j]) / 2);
    }
  }
  return around_the_middle(std::move(values), std::sqrt(n * (n + 1) * (2 * n + 1) / 24), 0.01);
}

Verdict compare_apart(const Rounds& now, const Rounds& before) {
  const std::vector<double> a = logarithms(now.medians);
  const std::vector<double> b = logarithms(before.medians);
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  std::vector<double> values;
  for (const double x : a) {
    for (const double y : b) {
      values.push_back(x - y);
    }
  }
  Verdict verdict = around_the_middle(std::move(values), std::sqrt(n * m * (n + m + 1) / 12), 0.03);
  // Where rounds of one process scatter, another process lies elsewhere by as much: its memory, its neighbours.
  verdict.noise = std::expm1(2 * std::max(scatter(a), scatter(b)) + drift(now, before));
  return verdict;
}

}  // namespace tenon::report
