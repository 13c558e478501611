#include "support/convolutions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "support/peak.h"
#include "support/timing.h"
#include "tenon/compile.h"
#include "tenon/models.h"
#include "tenon/trace.h"

namespace bench {
namespace {

constexpr int kConvolutionRounds = 11;
constexpr double kMeanTarget = 0.7;

/// Equal ones do the same work on other numbers.
using Kind = std::tuple<std::string, double, double>;  // operators, operations, bytes

struct Done {
  std::string label;
  double flops = 0, bytes = 0, seconds = 0;
};

/// A step is several events: stretches of it.
std::map<int, Done> by_step(const tenon::Trace& trace) {
  std::map<int, Done> steps;
  for (const tenon::TraceEvent& event : trace.events()) {
    if (event.flops && event.label.find("conv") != std::string::npos) {
      Done& done = steps[event.step];
      done.label = event.label;
      done.flops += *event.flops;
      done.bytes += event.bytes;
      done.seconds += 1e-9 * static_cast<double>(event.end_ns - event.begin_ns);
    }
  }
  return steps;
}

struct Measured {
  int step = 0;  // the first of its kind
  int count = 0;
  std::vector<double> shares, rates;
};

}  // namespace

void measure_convolutions(Report& report) {
  if (!report.wants("conv")) return;
  const tenon::Executable model =
      tenon::compile(tenon::with_weights(tenon::resnet({.blocks = {3, 4, 6, 3}, .bottleneck = true})));
  tenon::Array image = tenon::Array::uninitialized(tenon::f32, {1, 3, 224, 224});
  std::ranges::fill(image.mutable_values<float>(), 0.5F);
  std::map<Kind, Measured> kinds;
  for (int round = -1; round < kConvolutionRounds; ++round) {
    tenon::Trace trace;
    const double before = peak_flops();
    model.run({image}, {.threads = 1, .trace = &trace});
    const double peak = (before + peak_flops()) / 2;
    if (round < 0) continue;  // memory and caches are new
    for (const auto& [step, done] : by_step(trace)) {
      Measured& measured = kinds[{done.label, std::round(done.flops), std::round(done.bytes)}];
      measured.step = measured.count++ == 0 ? step : measured.step;
      measured.rates.push_back(done.flops / done.seconds);
      measured.shares.push_back(done.flops / done.seconds / peak);
    }
  }
  std::vector<std::pair<Kind, Measured>> in_order(kinds.begin(), kinds.end());
  std::ranges::sort(in_order, {}, [](const auto& each) { return each.second.step; });
  std::vector<double> all;
  std::vector<double> direct;  // as many multiplications as are counted
  for (const auto& [kind, measured] : in_order) {
    const auto& [label, flops, bytes] = kind;
    all.push_back(median(measured.shares));
    if (label.find("(winograd") == std::string::npos) direct.push_back(all.back());
    report.add(fmt::format("conv.step{:02}", measured.step), median(measured.shares), "of peak", std::nullopt,
               Better::higher,
               fmt::format("{:.1f} GFLOP/s, {:.0f} MFLOP, {:.1f} MB, {} times: {}", 1e-9 * median(measured.rates),
                           1e-6 * flops, 1e-6 * bytes, measured.count / kConvolutionRounds, label));
  }
  const auto mean = [](const std::vector<double>& shares) {
    return std::reduce(shares.begin(), shares.end()) / static_cast<double>(shares.size());
  };
  report.add(
      "conv.mean", mean(all), "of peak", kMeanTarget, Better::higher,
      "of the different ones, each as it runs in ResNet-50 at batch 1; Winograd's form multiplies less than that");
  report.add("conv.mean.direct", mean(direct), "of peak", kMeanTarget, Better::higher, "without Winograd's form");
}

}  // namespace bench
