#include "demo.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>

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

}  // namespace

void run_demo() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const Graph model = classifier();
  const std::chrono::duration<double, std::milli> build_time = Clock::now() - start;
  fmt::print("One graph, built once for symbolic shapes in {:.2f} ms:\n\n{}\n", build_time.count(),
             to_text(model, {.max_constant_elements = 8}));
  fmt::print("The interpreter, the slow and exact back end, runs it at any binding:\n\n");
  fmt::print("  {:<20} {:<28} {:<22} {:>10}\n", "binding", "input", "output", "time");
  for (const Bindings& sizes :
       {Bindings{{"batch", 1}, {"seq", 1}}, Bindings{{"batch", 1}, {"seq", 16}}, Bindings{{"batch", 8}, {"seq", 77}},
        Bindings{{"batch", 3}, {"seq", 128}}, Bindings{{"batch", 0}, {"seq", 5}}}) {
    const Array x = noise({sizes.at("batch"), sizes.at("seq"), kWidth}, 1, 9);
    const auto begin = Clock::now();
    const Array y = interpret(model, {x})[0];
    const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    const Shape in = resolve(model.inputs()[0].shape(), sizes);
    const Shape out = resolve(model.outputs()[0].value.shape(), sizes);
    fmt::print("  {:<20} {:<28} {:<22} {:>7.2f} ms\n", sizes.to_string(), in.to_string(), out.to_string(),
               time.count());
  }
}

}  // namespace tenon
