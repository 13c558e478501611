#include "demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr int64_t kWidth = 64;
constexpr int64_t kHidden = 256;
constexpr int64_t kClasses = 10;

/// Deterministic numbers in [-1, 1), scaled: the demo needs no data files.
Array noise(std::vector<int64_t> dims, double scale, uint32_t seed) {
  Array result(f32, std::move(dims));
  uint32_t state = seed * 2654435761u + 1;
  for (float& value : result.mutable_values<float>()) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>((static_cast<double>(state >> 8) / (1 << 23) - 1) * scale);
  }
  return result;
}

Value layer(const Value& x, int64_t from, int64_t to, uint32_t seed, std::string_view activation = {}) {
  const Value weight = constant(noise({from, to}, 1 / std::sqrt(static_cast<double>(from)), seed));
  return dense(x, weight, constant(noise({to}, 0.1, seed + 1)), activation);
}

Graph classifier() {
  const Value x = input("x", shape(f32, "batch", "seq", kWidth));
  const Value mixed = layer_norm(x + layer(layer(x, kWidth, kHidden, 1, "gelu"), kHidden, kWidth, 3));
  const Value pooled = reduce_mean(mixed, {1});
  return {{x}, {{"probabilities", softmax(layer(pooled, kWidth, kClasses, 5))}}};
}

/// Microseconds that a call takes.
double microseconds(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

/// The median of three calls, or of as many as take twenty milliseconds.
double steady_microseconds(const std::function<void()>& call) {
  std::vector<double> times;
  for (double total = 0; (total < 20e3 && times.size() < 1000) || times.size() < 3; total += times.back()) {
    times.push_back(microseconds(call));
  }
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::ranges::nth_element(times, middle);
  return *middle;
}

double largest_difference(const Array& a, const Array& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a.at(i) - b.at(i)));
  }
  return largest;
}

/// One line of the table. The first call prepares the sizes, the later ones find them prepared.
void run_at(const Bindings& sizes, const Graph& model, const Executable& executable) {
  const std::vector<Array> inputs{noise({sizes.at("batch"), sizes.at("seq"), kWidth}, 1, 9)};
  Array exact;
  Array result;
  const double slow = steady_microseconds([&] { exact = interpret(model, inputs)[0]; });
  const double first = microseconds([&] { result = executable.run(inputs)[0]; });
  const double steady = steady_microseconds([&] { executable.run(inputs); });
  fmt::print("  {:<18} {:<26} {:>9.1f} {:>10.1f} {:>13.0f} {:>7.0f}x {:>11.1e}\n", sizes.to_string(),
             resolve(executable.outputs()[0].shape, sizes).to_string(), first, steady, slow, slow / steady,
             largest_difference(result, exact));
}

}  // namespace

void run_demo() {
  const Graph model = classifier();
  CompileReport report;
  std::optional<Executable> executable;
  const double compile_time = microseconds([&] { executable = compile(model, {.report = &report}); });
  fmt::print("Compiled once in {:.1f} ms: {} kernels, {}. Microseconds at five bindings:\n\n", compile_time / 1000,
             report.kernels, report.code);
  fmt::print("  {:<18} {:<26} {:>9} {:>10} {:>13} {:>8} {:>11}\n", "binding", "output", "first run", "later runs",
             "interpreter", "ratio", "difference");
  for (const Bindings& sizes :
       {Bindings{{"batch", 1}, {"seq", 1}}, Bindings{{"batch", 1}, {"seq", 16}}, Bindings{{"batch", 8}, {"seq", 77}},
        Bindings{{"batch", 3}, {"seq", 128}}, Bindings{{"batch", 0}, {"seq", 5}}}) {
    run_at(sizes, model, *executable);
  }
  fmt::print("\nWhat runs, as `tenon explain` shows it for any model:\n\n{}", executable->explain());
}

}  // namespace tenon
