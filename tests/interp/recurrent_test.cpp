// Recurrent cells and sequences against loops in double, written from the equations of ONNX.
#include "tenon/recurrent.h"

#include <algorithm>
#include <cmath>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"

namespace tenon::recurrent_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string body_name(const Value& value) { return value.node().as<Call>()->body.name(); }

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

/// One batch element's states.
struct State {
  std::vector<double> h, c;
};

enum class Cell { rnn, lstm, gru, gru_linear };

int64_t gates_of(Cell cell) { return cell == Cell::rnn ? 1 : cell == Cell::lstm ? 4 : 3; }

/// Row `row` of a matrix times a vector.
double row_product(const Array& matrix, int64_t row, const std::vector<double>& x) {
  double sum = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    sum += matrix.at(row * matrix.dims()[1] + static_cast<int64_t>(k)) * x[k];
  }
  return sum;
}

State step(Cell cell, const std::vector<double>& x, const State& old, const Array& w, const Array& r, const Array& b) {
  const auto hidden = static_cast<int64_t>(old.h.size());
  const int64_t all = gates_of(cell) * hidden;
  const auto from_x = [&](int64_t gate, int64_t u) {
    return row_product(w, gate * hidden + u, x) + b.at(gate * hidden + u);
  };
  const auto from_h = [&](int64_t gate, int64_t u, const std::vector<double>& h) {
    return row_product(r, gate * hidden + u, h) + b.at(all + gate * hidden + u);
  };
  State next = old;
  std::vector<double> reset(old.h);
  for (int64_t u = 0; u < hidden; ++u) {
    reset[static_cast<size_t>(u)] *= cell == Cell::gru ? sigma(from_x(1, u) + from_h(1, u, old.h)) : 1;
  }
  for (int64_t u = 0; u < hidden; ++u) {
    const auto k = static_cast<size_t>(u);
    const auto pre = [&](int64_t gate) { return from_x(gate, u) + from_h(gate, u, old.h); };
    if (cell == Cell::rnn) {
      next.h[k] = std::tanh(pre(0));
    } else if (cell == Cell::lstm) {
      next.c[k] = sigma(pre(2)) * old.c[k] + sigma(pre(0)) * std::tanh(pre(3));
      next.h[k] = sigma(pre(1)) * std::tanh(next.c[k]);
    } else {
      const double z = sigma(pre(0));
      const double n = cell == Cell::gru ? std::tanh(from_x(2, u) + from_h(2, u, reset))
                                         : std::tanh(from_x(2, u) + sigma(pre(1)) * from_h(2, u, old.h));
      next.h[k] = (1 - z) * n + z * old.h[k];
    }
  }
  return next;
}

struct Expected {
  Array outputs, h, c;
};

Expected naive(Cell cell, const Array& x, const Array& w, const Array& r, const Array& b, const Array& h0,
               const Array& c0, bool reverse) {
  const int64_t seq = x.dims()[0];
  const int64_t batch = x.dims()[1];
  const int64_t width = x.dims()[2];
  const int64_t hidden = r.dims()[1];
  Expected e{Array(f64, {seq, batch, hidden}), Array(f64, {batch, hidden}), Array(f64, {batch, hidden})};
  for (int64_t n = 0; n < batch; ++n) {
    State state;
    for (int64_t u = 0; u < hidden; ++u) {
      state.h.push_back(h0.at(n * hidden + u));
      state.c.push_back(c0.at(n * hidden + u));
    }
    for (int64_t t = 0; t < seq; ++t) {
      const int64_t place = reverse ? seq - 1 - t : t;
      std::vector<double> element;
      for (int64_t k = 0; k < width; ++k) {
        element.push_back(x.at((place * batch + n) * width + k));
      }
      state = step(cell, element, state, w, r, b);
      std::ranges::copy(state.h, e.outputs.mutable_values<double>().begin() + (place * batch + n) * hidden);
    }
    std::ranges::copy(state.h, e.h.mutable_values<double>().begin() + n * hidden);
    std::ranges::copy(state.c, e.c.mutable_values<double>().begin() + n * hidden);
  }
  return e;
}

RecurrentResult build(Cell cell, const Value& x, const RecurrentWeights& weights, RecurrentOptions options) {
  options.linear_before_reset = cell == Cell::gru_linear;
  return cell == Cell::rnn    ? rnn(x, weights, options)
         : cell == Cell::lstm ? lstm(x, weights, options)
                              : gru(x, weights, options);
}

TEST(Recurrent, SequencesOfAnyLengthInBothDirections) {
  std::mt19937_64 rng(1);
  for (const Cell cell : {Cell::rnn, Cell::lstm, Cell::gru, Cell::gru_linear}) {
    const int64_t gates = gates_of(cell);
    const Value x = in("x", "f32[seq, batch, width]");
    const Value w = input("w", Shape(f32, {Axis(gates * Extent::name("hidden")), "width"}));
    const Value r = input("r", Shape(f32, {Axis(gates * Extent::name("hidden")), "hidden"}));
    const Value b = input("b", Shape(f32, {Axis(2 * gates * Extent::name("hidden"))}));
    const Value h = in("h", "f32[batch, hidden]");
    const Value c = in("c", "f32[batch, hidden]");
    std::vector<Output> outputs;
    for (const bool reverse : {false, true}) {
      const RecurrentResult result = build(cell, x, {w, r, b}, {.initial = {h, c}, .reverse = reverse});
      const std::string tag = reverse ? "r" : "f";
      outputs.push_back({tag + "outputs", result.outputs});
      outputs.push_back({tag + "h", result.last.h});
      outputs.push_back({tag + "c", cell == Cell::lstm ? result.last.c : c});
      EXPECT_EQ(result.outputs.shape().to_string(), "f32[seq, batch, hidden]");
    }
    const Graph graph({x, w, r, b, h, c}, outputs);
    for (const auto& [seq, batch, width, hidden] : std::vector<std::array<int64_t, 4>>{
             {1, 1, 1, 1}, {0, 2, 3, 4}, {5, 2, 3, 4}, {2, 1, 8, 9}, {3, 0, 2, 2}, {20, 1, 2, 3}}) {
      const std::vector<Array> data{random_array(f32, {seq, batch, width}, rng, -1, 1),
                                    random_array(f32, {gates * hidden, width}, rng, -1, 1),
                                    random_array(f32, {gates * hidden, hidden}, rng, -1, 1),
                                    random_array(f32, {2 * gates * hidden}, rng, -1, 1),
                                    random_array(f32, {batch, hidden}, rng, -1, 1),
                                    random_array(f32, {batch, hidden}, rng, -1, 1)};
      const auto out = interpret(graph, data);
      for (const size_t reverse : {0U, 1U}) {
        const Expected e = naive(cell, data[0], data[1], data[2], data[3], data[4], data[5], reverse == 1);
        EXPECT_TRUE(close(out[reverse * 3], e.outputs.cast(f32), 1e-5, 1e-5)) << static_cast<int>(cell) << seq;
        EXPECT_TRUE(close(out[reverse * 3 + 1], e.h.cast(f32), 1e-5, 1e-5)) << static_cast<int>(cell) << seq;
        EXPECT_TRUE(close(out[reverse * 3 + 2], e.c.cast(f32), 1e-5, 1e-5)) << static_cast<int>(cell) << seq;
      }
    }
  }
}

TEST(Recurrent, CellsAreOneStep) {
  std::mt19937_64 rng(2);
  const Array zero(f32, {2, 3});
  for (const Cell cell : {Cell::rnn, Cell::lstm, Cell::gru, Cell::gru_linear}) {
    const int64_t gates = gates_of(cell);
    const Value x = in("x", "f32[batch, 4]");
    const Value w = input("w", shape(f32, gates * 3, 4));
    const Value r = input("r", shape(f32, gates * 3, 3));
    const Value b = input("b", shape(f32, gates * 6));
    const Value h = in("h", "f32[batch, 3]");
    const Value c = in("c", "f32[batch, 3]");
    std::vector<Output> outputs;
    if (cell == Cell::lstm) {
      const RecurrentState next = lstm_cell(x, {h, c}, {w, r, b});
      outputs = {{"h", next.h}, {"c", next.c}};
      EXPECT_EQ(body_name(next.c), "lstm_cell");
    } else {
      outputs = {
          {"h", cell == Cell::rnn ? rnn_cell(x, h, {w, r, b}) : gru_cell(x, h, {w, r, b}, cell == Cell::gru_linear)}};
      EXPECT_EQ(body_name(outputs[0].value), cell == Cell::rnn ? "rnn_cell" : "gru_cell");
    }
    const Graph graph({x, w, r, b, h, c}, outputs);
    const std::vector<Array> data{random_array(f32, {2, 4}, rng),         random_array(f32, {gates * 3, 4}, rng),
                                  random_array(f32, {gates * 3, 3}, rng), random_array(f32, {gates * 6}, rng),
                                  random_array(f32, {2, 3}, rng, -1, 1),  random_array(f32, {2, 3}, rng, -1, 1)};
    const Expected e = naive(cell, data[0].reshaped({1, 2, 4}), data[1], data[2], data[3], data[4], data[5], false);
    const auto out = interpret(graph, data);
    EXPECT_TRUE(close(out[0], e.h.cast(f32), 1e-5, 1e-5));
    if (cell == Cell::lstm) {
      EXPECT_TRUE(close(out[1], e.c.cast(f32), 1e-5, 1e-5));
    }
  }
}

TEST(Recurrent, BidirectionalWithoutBiasFromZeros) {
  std::mt19937_64 rng(3);
  const Value x = in("x", "f32[seq, batch, 3]");
  const Value w = in("w", "f32[8, 3]");
  const Value r = in("r", "f32[8, 2]");
  const RecurrentResult both = bidirectional(lstm(x, {w, r}), lstm(x, {w, r}, {.reverse = true}));
  EXPECT_EQ(body_name(lstm(x, {w, r}).outputs), "lstm");
  EXPECT_EQ(both.outputs.shape().to_string(), "f32[seq, batch, 4]");
  EXPECT_EQ(both.last.c.shape().to_string(), "f32[2, batch, 2]");
  const Graph graph({x, w, r}, {{"y", both.outputs}, {"h", both.last.h}, {"c", both.last.c}});
  const Array data = random_array(f32, {4, 2, 3}, rng);
  const Array a = random_array(f32, {8, 3}, rng);
  const Array b = random_array(f32, {8, 2}, rng);
  const auto out = interpret(graph, {data, a, b});
  const Array zeros(f32, {2, 2});
  const Expected e[] = {naive(Cell::lstm, data, a, b, Array(f32, {16}), zeros, zeros, false),
                        naive(Cell::lstm, data, a, b, Array(f32, {16}), zeros, zeros, true)};
  for (int64_t i = 0; i < out[0].size(); ++i) {
    EXPECT_NEAR(out[0].at(i), e[i / 2 % 2].outputs.at(i / 4 * 2 + i % 2), 1e-5);
  }
  for (int64_t i = 0; i < out[1].size(); ++i) {
    EXPECT_NEAR(out[1].at(i), e[i / 4].h.at(i % 4), 1e-5);
    EXPECT_NEAR(out[2].at(i), e[i / 4].c.at(i % 4), 1e-5);
  }
}

TEST(Recurrent, HalfTypesCarryWideStates) {
  for (const Dtype dtype : {f16, bf16}) {
    const Value x = input("x", shape(dtype, "seq", 1, 2));
    const Value w = input("w", shape(dtype, 9, 2));
    const Value r = input("r", shape(dtype, 9, 3));
    const Graph graph({x, w, r}, {{"y", gru(x, {w, r}).outputs}});
    std::mt19937_64 rng(4);
    const std::vector<Array> data{random_array(dtype, {100, 1, 2}, rng, -1, 1), random_array(dtype, {9, 2}, rng),
                                  random_array(dtype, {9, 3}, rng, -1, 1)};
    const Array exact = interpret(graph, data, {.reference = true})[0];
    EXPECT_TRUE(close(interpret(graph, data)[0], exact.cast(dtype), dtype == f16 ? 1e-3 : 8e-3, 1e-4)) << name(dtype);
  }
}

TEST(Recurrent, ErrorsNameWhatDoesNotFit) {
  const Value x = in("x", "f32[seq, batch, 3]");
  const Value r = in("r", "f32[8, 2]");
  const auto text = [&](const Value& w, const Value& r_given, const RecurrentOptions& options = {}) {
    return error_text([&] { lstm(x, {w, r_given}, options); });
  };
  EXPECT_EQ(text(in("w", "f32[6, 3]"), r),
            "lstm: `w` has 6 rows, must have 4 * hidden, which is 8\n  `x`: f32[seq, batch, 3]\n  `w`: f32[6, 3]\n"
            "  `r`: f32[8, 2]");
  EXPECT_NE(text(in("w", "f32[8, 5]"), r).find("axis 2 of `x` is 3, axis 1 of `w` is 5"), std::string::npos);
  const Value w = in("w", "f32[8, 3]");
  EXPECT_NE(text(w, in("r", "f32[8, 3]")).find("4 * hidden, which is 12"), std::string::npos);
  EXPECT_NE(text(w, r, {.initial = {in("h", "f32[batch, 5]")}}).find("is 5"), std::string::npos);
  EXPECT_NE(text(w, r, {.initial = {in("h", "f32[time, 2]")}}).find("time"), std::string::npos);
  EXPECT_NE(error_text([&] { lstm(x, {w, r, in("b", "f32[8]")}); }).find("`bias` has 8 elements"), std::string::npos);
  EXPECT_NE(error_text([&] { lstm_cell(x, {}, {w, r}); }).find("`x` has rank 3, must be [batch, in]"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              rnn(x, {in("w", "f32[2, 3]"), in("r", "f32[2, 2]")}, {.activation = "tan_h"});
            }).find("called `tan_h`"),
            std::string::npos);
  EXPECT_NE(error_text([&] { gru(x, {}); }).find("`w` is an empty Value"), std::string::npos);
}

}  // namespace
}  // namespace tenon::recurrent_test
