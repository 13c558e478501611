// Convolutions and pools against loops that follow the definition from the other side, at several bindings.
#include "tenon/convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ir/unify_names.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"

namespace tenon::convolution_test {
namespace {

using Dims = std::vector<int64_t>;

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

/// [batch, channel, depth, height, width]: positions that are missing are axes of size 1.
std::array<int64_t, 5> five(const Dims& dims) {
  std::array<int64_t, 5> result{dims[0], dims[1], 1, 1, 1};
  for (size_t i = 2; i < dims.size(); ++i) {
    result[5 - dims.size() + i] = dims[i];
  }
  return result;
}

template <class T>
std::array<T, 3> three(const std::vector<T>& list, T otherwise) {
  std::array<T, 3> result{otherwise, otherwise, otherwise};
  for (size_t i = 0; i < list.size(); ++i) {
    result[3 - list.size() + i] = list[i];
  }
  return result;
}

struct Case {
  Dims x, w;
  std::vector<int64_t> stride, x_dilation, w_dilation, low, high;
  int64_t groups = 1;
};

/// Every product of an element of x with an element of w is added where it belongs, if it belongs anywhere.
Array reference_conv(const Array& x, const Array& w, const Case& c) {
  const auto xd = five(x.dims());
  const auto wd = five(w.dims());
  const auto stride = three<int64_t>(c.stride, 1);
  const auto spread = three<int64_t>(c.x_dilation, 1);
  const auto dilation = three<int64_t>(c.w_dilation, 1);
  const auto low = three<int64_t>(c.low, 0);
  const auto high = three<int64_t>(c.high, 0);
  std::array<int64_t, 3> out{};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t padded = (xd[i + 2] - 1) * spread[i] + 1 + low[i] + high[i];
    int64_t count = 0;
    for (int64_t begin = 0; begin + (wd[i + 2] - 1) * dilation[i] < padded; begin += stride[i]) {
      ++count;
    }
    out[i] = count;
  }
  Dims dims{xd[0], wd[0]};
  for (size_t i = 5 - x.dims().size(); i < 3; ++i) {
    dims.push_back(out[i]);
  }
  Array y(is_float(x.dtype()) ? f64 : i64, dims);
  const auto add = [&](int64_t at, double value) {
    const auto i = static_cast<size_t>(at);
    if (y.dtype() == f64) {
      y.mutable_values<double>()[i] += value;
    } else {
      y.mutable_values<int64_t>()[i] += static_cast<int64_t>(value);
    }
  };
  const auto place = [&](size_t axis, int64_t i, int64_t k) -> int64_t {
    const int64_t at = i * spread[axis] + low[axis] - k * dilation[axis];
    return at >= 0 && at % stride[axis] == 0 && at / stride[axis] < out[axis] ? at / stride[axis] : -1;
  };
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t iw = i % xd[4], ih = i / xd[4] % xd[3], id = i / (xd[4] * xd[3]) % xd[2];
    const int64_t c_in = i / (xd[4] * xd[3] * xd[2]) % xd[1], n = i / (xd[4] * xd[3] * xd[2] * xd[1]);
    for (int64_t j = 0; j < w.size(); ++j) {
      const int64_t kw = j % wd[4], kh = j / wd[4] % wd[3], kd = j / (wd[4] * wd[3]) % wd[2];
      const int64_t c_w = j / (wd[4] * wd[3] * wd[2]) % wd[1], o = j / (wd[4] * wd[3] * wd[2] * wd[1]);
      const int64_t group = o * c.groups / wd[0];
      const int64_t pd = place(0, id, kd), ph = place(1, ih, kh), pw = place(2, iw, kw);
      if (c_in == group * wd[1] + c_w && pd >= 0 && ph >= 0 && pw >= 0) {
        add((((n * wd[0] + o) * out[0] + pd) * out[1] + ph) * out[2] + pw, x.at(i) * w.at(j));
      }
    }
  }
  return y;
}

std::vector<Extent> extents(const Dims& dims) { return {dims.begin(), dims.end()}; }

ConvOptions options_of(const Case& c) {
  return {.stride = c.stride,
          .dilation = c.w_dilation,
          .low = extents(c.low),
          .high = extents(c.high),
          .groups = c.groups,
          .x_dilation = c.x_dilation};
}

Shape symbolic(Dtype dtype, const char* prefix, size_t rank) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    axes.emplace_back(Extent::name(prefix + std::to_string(i)));
  }
  return {dtype, axes};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> table = {
      {{2, 3, 9}, {4, 3, 3}, {}, {}, {}, {}, {}},
      {{1, 1, 1}, {1, 1, 1}, {}, {}, {}, {}, {}},
      {{1, 2, 8}, {2, 2, 3}, {2}, {}, {}, {1}, {0}},
      {{2, 2, 7}, {2, 2, 2}, {3}, {}, {3}, {2}, {5}},
      {{1, 2, 9}, {3, 2, 3}, {2}, {}, {2}, {-1}, {2}},
      {{1, 2, 9}, {3, 2, 2}, {1}, {}, {}, {2}, {-3}},
      {{1, 2, 4}, {3, 2, 3}, {1}, {3}, {1}, {1}, {2}},
      {{1, 2, 5}, {3, 2, 3}, {2}, {2}, {3}, {-2}, {4}},
      {{2, 4, 7}, {6, 2, 3}, {1}, {1}, {1}, {1}, {1}, 2},
      {{0, 4, 7}, {6, 2, 3}, {1}, {1}, {1}, {1}, {1}, 2},
      {{2, 0, 7}, {6, 0, 3}, {}, {}, {}, {}, {}},
      {{2, 2, 0}, {1, 2, 3}, {}, {}, {}, {2}, {2}},
      {{2, 3, 7, 8}, {4, 3, 3, 2}, {2, 1}, {}, {1, 2}, {1, 0}, {0, 2}},
      {{1, 6, 5, 9}, {6, 1, 3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 6},
      {{2, 2, 3, 4}, {2, 2, 3, 3}, {1, 1}, {2, 3}, {1, 1}, {2, 2}, {3, 2}},
      {{1, 2, 3, 4, 5}, {2, 2, 2, 2, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 2}, {0, 1, 0}, {1, 0, -1}},
      {{1, 2, 4, 4, 4}, {2, 1, 3, 1, 2}, {2, 2, 2}, {}, {}, {1, 0, 1}, {1, 0, 1}, 2},
  };
  return table;
}

TEST(Convolution, EveryOptionStaticAndSymbolic) {
  std::mt19937_64 rng(11);
  for (size_t i = 0; i < cases().size(); ++i) {
    const Case& c = cases()[i];
    const Array x = random_array(f64, c.x, rng);
    const Array w = random_array(f64, c.w, rng);
    const Array expected = reference_conv(x, w, c);
    const Value sx = input("x", Shape(f64, {c.x.begin(), c.x.end()}));
    const Value sw = input("w", Shape(f64, {c.w.begin(), c.w.end()}));
    const Graph fixed({sx, sw}, {{"y", conv(sx, sw, options_of(c))}});
    EXPECT_TRUE(close(interpret(fixed, {x, w})[0], expected, 1e-12, 1e-12)) << "case " << i;

    const UnifyNames lenient;  // the channels of x and of w
    const Value dx = input("x", symbolic(f64, "x", c.x.size()));
    const Value dw = input("w", symbolic(f64, "w", c.w.size()));
    const Graph dynamic({dx, dw}, {{"y", conv(dx, dw, options_of(c))}});
    EXPECT_TRUE(close(interpret(dynamic, {x, w})[0], expected, 1e-12, 1e-12)) << "symbolic case " << i;
  }
}

TEST(Convolution, EveryDtype) {
  std::mt19937_64 rng(12);
  const Case c{{2, 4, 7, 8}, {6, 2, 3, 3}, {2, 1}, {}, {}, {1, 1}, {1, 1}, 2};
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == boolean) {
      continue;
    }
    const Value x = input("x", shape(dtype, "n", 4, "h", "w"));
    const Value w = input("k", shape(dtype, 6, 2, 3, 3));
    const Graph graph({x, w}, {{"y", conv(x, w, options_of(c))}});
    const Array a = random_array(dtype, c.x, rng, -9, 9);
    const Array b = random_array(dtype, c.w, rng, -9, 9);
    const Array expected = reference_conv(a, b, c);  // integers wrap when they narrow
    const Array y = interpret(graph, {a, b})[0];
    if (is_float(dtype)) {
      // One rounding at the end: half a unit in the last place.
      const double unit = dtype == f64 ? 1e-12 : dtype == f32 ? 0x1p-24 : dtype == f16 ? 0x1p-11 : 0x1p-8;
      EXPECT_TRUE(close(y.cast(f64), expected, unit * 1.01, 1e-12)) << name(dtype);
      const InterpretOptions reference{.bindings = {}, .reference = true};
      EXPECT_TRUE(close(interpret(graph, {a, b}, reference)[0], expected, 1e-12, 1e-12)) << name(dtype);
    } else {
      EXPECT_TRUE(same(y, expected.cast(dtype))) << name(dtype);
    }
  }
}

TEST(Convolution, OneGraphForManyImages) {
  std::mt19937_64 rng(13);
  const Value x = in("x", "f32[batch, 3, h, w]");
  const Value k = in("k", "f32[5, 3, 3, 3]");
  const ConvOptions options{.stride = {2, 2}, .low = {1, 1}, .high = {1, 1}};
  const Graph graph({x, k}, {{"y", conv(x, k, options)}});
  const Array weights = random_array(f32, {5, 3, 3, 3}, rng);
  for (const Dims& dims : std::vector<Dims>{{0, 3, 7, 7}, {1, 3, 1, 1}, {2, 3, 8, 9}, {1, 3, 17, 30}, {3, 3, 2, 5}}) {
    const Array image = random_array(f32, dims, rng);
    const Array expected = reference_conv(image, weights, {dims, {}, {2, 2}, {}, {}, {1, 1}, {1, 1}});
    EXPECT_TRUE(close(interpret(graph, {image, weights})[0], expected.cast(f32), 1e-6, 1e-5));
  }
}

TEST(Convolution, AnImageSmallerThanTheKernelIsAnErrorThatNamesTheAxis) {
  const Value x = in("x", "f32[batch, 3, h, w]");
  const Value k = in("k", "f32[5, 3, k, 3]");
  const Graph graph({x, k}, {{"y", conv(x, k, {.low = {0, 1}})}});
  const Array weights(f32, {5, 3, 4, 3});
  EXPECT_EQ(error_text([&] { interpret(graph, {Array(f32, {1, 3, 4, 1}), weights}); }),
            "axis `w` is 1, must be at least 2: needed by conv");
  EXPECT_EQ(error_text([&] { interpret(graph, {Array(f32, {1, 3, 3, 5}), weights}); }),
            "axis `h` is 3, must be at least axis `k`, which is 4: needed by conv");
  EXPECT_EQ(interpret(graph, {Array(f32, {1, 3, 4, 2}), weights})[0].dims(), (Dims{1, 5, 1, 1}));
}

TEST(Convolution, OffsetOneSlidesAlongAnEmptyAxis) {
  const Value x = in("x", "f32[n, 2, t]");
  const Value w = in("w", "f32[3, 2, 1]");
  const Graph graph({x, w}, {{"y", conv(x, w, {.stride = {2}})}});
  const Array weights = Array::full(f32, {3, 2, 1}, 1);
  EXPECT_EQ(interpret(graph, {Array(f32, {1, 2, 0}), weights})[0].dims(), (Dims{1, 3, 0}));
  EXPECT_EQ(interpret(graph, {Array(f32, {1, 2, 3}), weights})[0].dims(), (Dims{1, 3, 2}));
}

TEST(Convolution, SamePaddingCentresTheWindow) {
  std::mt19937_64 rng(14);
  for (const int64_t k : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const bool upper : {true, false}) {
        const Value x = in("x", "f64[n, 1, t]");
        const Value w = input("w", shape(f64, 1, 1, k));
        const Graph graph({x, w},
                          {{"y", conv(x, w, {.stride = {stride}, .padding = upper ? "same_upper" : "same_lower"})}});
        for (const int64_t t : {1, 2, 7, 8, 9}) {
          const int64_t positions = (t + stride - 1) / stride;
          const int64_t total = std::max<int64_t>(0, (positions - 1) * stride + k - t);
          const int64_t low = upper ? total / 2 : total - total / 2;
          const Array a = random_array(f64, {2, 1, t}, rng);
          const Array b = random_array(f64, {1, 1, k}, rng);
          const Array expected = reference_conv(a, b, {{}, {}, {stride}, {}, {}, {low}, {total - low}});
          EXPECT_EQ(expected.dims()[2], positions);
          EXPECT_TRUE(close(interpret(graph, {a, b})[0], expected, 1e-12, 1e-12)) << k << " " << stride << " " << t;
        }
      }
    }
  }
}

TEST(Convolution, TransposedSpreadsTheWeights) {
  struct Transposed {
    Dims x, w;
    std::vector<int64_t> stride, dilation, low, high, extra;
    int64_t groups = 1;
  };
  const std::vector<Transposed> table = {
      {{2, 3, 5}, {3, 4, 3}, {1}, {1}, {0}, {0}, {0}},
      {{2, 3, 5}, {3, 4, 3}, {2}, {1}, {1}, {1}, {1}},
      {{1, 4, 6}, {4, 3, 2}, {3}, {2}, {0}, {1}, {2}, 2},
      {{1, 2, 1}, {2, 1, 4}, {2}, {1}, {1}, {1}, {0}},
      {{0, 2, 3}, {2, 1, 4}, {2}, {1}, {1}, {1}, {0}},
      {{1, 2, 3, 4}, {2, 3, 3, 2}, {2, 3}, {1, 2}, {1, 0}, {0, 2}, {1, 2}},
      {{2, 6, 4, 3}, {6, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 0}, 6},
      {{1, 2, 2, 3, 2}, {2, 2, 2, 2, 3}, {2, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 1, 0}, {0, 0, 1}},
  };
  std::mt19937_64 rng(15);
  for (size_t t = 0; t < table.size(); ++t) {
    const Transposed& c = table[t];
    const Array x = random_array(f64, c.x, rng);
    const Array w = random_array(f64, c.w, rng);
    const auto xd = five(c.x);
    const auto wd = five(c.w);
    const auto stride = three<int64_t>(c.stride, 1);
    const auto dilation = three<int64_t>(c.dilation, 1);
    const auto low = three<int64_t>(c.low, 0);
    const auto high = three<int64_t>(c.high, 0);
    const auto extra = three<int64_t>(c.extra, 0);
    std::array<int64_t, 3> out{};
    for (size_t i = 0; i < 3; ++i) {
      out[i] = stride[i] * (xd[i + 2] - 1) + extra[i] + (wd[i + 2] - 1) * dilation[i] + 1 - low[i] - high[i];
    }
    const int64_t outputs = wd[1] * c.groups;
    Dims dims{xd[0], outputs};
    for (size_t i = 5 - c.x.size(); i < 3; ++i) {
      dims.push_back(out[i]);
    }
    Array expected(f64, dims);
    for (int64_t i = 0; i < x.size(); ++i) {
      const std::array<int64_t, 3> at{i / (xd[4] * xd[3]) % xd[2], i / xd[4] % xd[3], i % xd[4]};
      const int64_t channel = i / (xd[4] * xd[3] * xd[2]) % xd[1], n = i / (xd[4] * xd[3] * xd[2] * xd[1]);
      const int64_t offsets = wd[2] * wd[3] * wd[4];
      for (int64_t j = 0; j < wd[1] * offsets; ++j) {
        const std::array<int64_t, 3> k{j / (wd[4] * wd[3]) % wd[2], j / wd[4] % wd[3], j % wd[4]};
        const int64_t o = channel / (xd[1] / c.groups) * wd[1] + j / offsets;
        int64_t to = n * outputs + o;
        bool inside = true;
        for (size_t a = 0; a < 3; ++a) {
          const int64_t p = at[a] * stride[a] + k[a] * dilation[a] - low[a];
          inside = inside && p >= 0 && p < out[a];
          to = to * out[a] + p;
        }
        if (inside) {
          expected.mutable_values<double>()[static_cast<size_t>(to)] += x.at(i) * w.at(channel * wd[1] * offsets + j);
        }
      }
    }
    const UnifyNames lenient;
    const Value dx = input("x", symbolic(f64, "x", c.x.size()));
    const Value dw = input("w", symbolic(f64, "w", c.w.size()));
    const Value y = conv_transpose(dx, dw,
                                   {.stride = c.stride,
                                    .dilation = c.dilation,
                                    .low = extents(c.low),
                                    .high = extents(c.high),
                                    .output_padding = extents(c.extra),
                                    .groups = c.groups});
    EXPECT_TRUE(close(interpret(Graph({dx, dw}, {{"y", y}}), {x, w})[0], expected, 1e-12, 1e-12)) << "case " << t;
  }
}

}  // namespace
}  // namespace tenon::convolution_test
