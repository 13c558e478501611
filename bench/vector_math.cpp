// Throughput of the mathematics of f32 on data in the first cache, beside SLEEF's (1.0 ulp) in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "codegen/math/scalar_loop.h"
#include "native/external_symbols.h"
#include "support/report.h"
#include "support/sleef.h"
#include "support/timing.h"

namespace {

using namespace tenon;
using namespace tenon::codegen;

constexpr int64_t kCount = 2048;  // three such arrays fit any first cache
constexpr int kRounds = 41;
constexpr int kRepeats = 64;

struct Row {
  Prim prim;
  float low;
  float high;
  int arity = 1;
};

constexpr Row kRows[] = {
    {Prim::exp, -80, 80},     {Prim::expm1, -10, 10},    {Prim::log, 1e-3f, 1e3f}, {Prim::log1p, -0.9f, 100},
    {Prim::sin, -100, 100},   {Prim::cos, -100, 100},    {Prim::tanh, -5, 5},      {Prim::erf, -3, 3},
    {Prim::pow, 0.1f, 10, 2}, {Prim::atan2, -10, 10, 2}, {Prim::sqrt, 0, 100},     {Prim::rem, -100, 100, 2},
};

double seconds(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRepeats; ++i) {
    run();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<float> random_values(float low, float high, std::mt19937& rng) {
  std::vector<float> values(kCount);
  std::ranges::generate(
      values, [&, spread = std::uniform_real_distribution<float>(low, high)]() mutable { return spread(rng); });
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  Jit jit({.target = host_target(),
           .symbols = {external_symbols().begin(), external_symbols().end()},
           .cache = {},
           .emitter = ""});
  const Target& target = jit.target();
  std::mt19937 rng(1);
  for (const Row& row : kRows) {
    std::vector<Expr> arguments;
    std::vector<std::vector<float>> inputs;
    std::vector<const void*> pointers;
    for (int i = 0; i < row.arity; ++i) {
      arguments.push_back(expr::argument(i, Dtype::f32));
      inputs.push_back(random_values(row.low, row.high, rng));
      pointers.push_back(inputs.back().data());
    }
    const Jit::Request request =
        scalar_loop(flatten({expr::apply(row.prim, arguments)}),
                    {.lanes = static_cast<unsigned>(target.lanes(32)), .math = math_options(target)});
    auto* loop = reinterpret_cast<ScalarLoop*>(jit.compile({&request, 1}).front());
    std::vector<float> output(kCount);
    void* const results[] = {output.data()};
    const auto ours = [&] { loop(pointers.data(), results, kCount); };

    // Interleaved, so that what the machine does beside this falls on both alike.
    bench::ArrayFunction* const sleef = bench::sleef_function(row.prim);
    std::vector<double> our_times;
    std::vector<double> their_times;
    for (int i = 0; i < kRounds; ++i) {
      our_times.push_back(seconds(ours));
      if (sleef != nullptr) {
        their_times.push_back(
            seconds([&] { sleef(inputs.front().data(), inputs.back().data(), output.data(), kCount); }));
      }
    }
    const auto rate = [](double time) { return kCount * kRepeats / time * 1e-9; };
    const double our_rate = rate(bench::median(our_times));
    const std::string title(name(row.prim));
    if (sleef != nullptr) {
      const double their_rate = rate(bench::median(their_times));
      report.add(title + "_f32", our_rate, "G/s", their_rate, bench::Better::higher,
                 fmt::format("{:.2f} of SLEEF", our_rate / their_rate));
    } else {
      report.add(title + "_f32", our_rate, "G/s");
    }
  }
  return report.finish();
}
