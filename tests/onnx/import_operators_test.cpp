// What operators of a model compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/compile.h"
#include "tenon/half.h"
#include "tenon/interpreter.h"

namespace tenon::import_operators_test {
namespace {

TEST(OnnxOperators, OpsetsDifferInWhatTheyMean) {
  // A softmax of opset 12 flattens; that of 13 is along one axis.
  for (const int opset : {12, 13}) {
    OnnxModelBuilder model(opset);
    model.input("x", "f32[2, 2, 2]");
    model.node("Softmax", {"x"}, {"y"}, {attribute("axis", int64_t{1})});
    model.output("y");
    const Array y = interpret(imported(model), {Array(f32, {2, 2, 2})})[0];
    EXPECT_DOUBLE_EQ(y.at(0), opset == 12 ? 0.25 : 0.5);
  }
}

TEST(OnnxOperators, ReductionsOverNoAxesAreDoneToEachElement) {
  const auto reduced = [](const std::string& type) {
    OnnxModelBuilder model(18);
    model.input("x", "f32[n]");
    model.constant("axes", ints({}));
    model.node(type, {"x", "axes"}, {"y"}, {attribute("noop_with_empty_axes", int64_t{1})});
    model.output("y");
    return interpret(imported(model), {Array::from<float>({2}, {-2, 1})})[0];
  };
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp"}) {
    EXPECT_TRUE(close(reduced(type), Array::from<float>({2}, {-2, 1}))) << type;
  }
  EXPECT_TRUE(same(reduced("ReduceL1"), Array::from<float>({2}, {2, 1})));
  EXPECT_TRUE(close(reduced("ReduceL2"), Array::from<float>({2}, {2, 1})));
  EXPECT_TRUE(same(reduced("ReduceSumSquare"), Array::from<float>({2}, {4, 1})));
  EXPECT_EQ(reduced("ReduceLogSum").at(1), 0);
}

/// Held in eight bits, they are still numbers of four.
TEST(OnnxOperators, HalvesOfBytesKeepTheirRange) {
  constexpr int64_t uint4 = 21;
  constexpr int64_t int4 = 22;
  const Array x = Array::from<float>({5}, {-9.5F, -8, 7, 8, 17});
  const auto made = [&](const std::string& type, const char* attribute_name, int64_t to) {
    OnnxModelBuilder model(21);
    model.input("x", "f32[n]");
    model.constant("one", Array::scalar(f32, 1));
    model.node(type, type == "Cast" ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "one"}, {"y"},
               {attribute(attribute_name, to)});
    model.output("y");
    return interpret(imported(model), {x})[0];
  };
  EXPECT_TRUE(same(made("Cast", "to", int4), Array::from<int8_t>({5}, {7, -8, 7, -8, 1})));
  EXPECT_TRUE(same(made("Cast", "to", uint4), Array::from<uint8_t>({5}, {7, 8, 7, 8, 1})));
  EXPECT_TRUE(same(made("QuantizeLinear", "output_dtype", int4), Array::from<int8_t>({5}, {-8, -8, 7, 7, 7})));
  EXPECT_TRUE(same(made("QuantizeLinear", "output_dtype", uint4), Array::from<uint8_t>({5}, {0, 0, 7, 8, 15})));
  // The type of a zero point is that of the result.
  OnnxModelBuilder model(21);
  model.input("x", "f32[n]");
  model.constant("one", Array::scalar(f32, 1));
  auto& zero = *model.model().mutable_graph()->add_initializer();
  zero.set_name("zero");
  zero.set_data_type(int4);
  zero.add_int32_data(1);
  model.node("QuantizeLinear", {"x", "one", "zero"}, {"y"});
  model.node("CastLike", {"x", "zero"}, {"z"});
  model.output("y");
  model.output("z");
  const std::vector<Array> results = interpret(imported(model), {x});
  EXPECT_TRUE(same(results[0], Array::from<int8_t>({5}, {-8, -7, 7, 7, 7})));
  EXPECT_TRUE(same(results[1], Array::from<int8_t>({5}, {7, -8, 7, -8, 1})));
}

TEST(OnnxOperators, HalfOfTheFrequenciesGiveTheSignalBack) {
  const auto transform = [](const std::string& shape, bool inverse, const Array& x, std::optional<int64_t> length) {
    OnnxModelBuilder model(20);
    model.input("x", shape);
    model.constant("axis", Array::scalar(i64, 1));
    if (length) {
      model.constant("length", Array::scalar(i64, static_cast<double>(*length)));
    }
    model.node("DFT", {"x", length ? "length" : "", "axis"}, {"y"},
               {attribute("onesided", int64_t{1}), attribute("inverse", int64_t{inverse})});
    model.output("y");
    return interpret(imported(model), {x})[0];
  };
  for (const int64_t size : {2, 5, 8}) {
    Array x(f32, {2, size, 1});
    for (int64_t i = 0; i < x.size(); ++i) {
      x.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>((i * 7) % 5);
    }
    const Array half = transform("f32[b, n, 1]", false, x, std::nullopt);
    ASSERT_EQ(half.dims(), (std::vector<int64_t>{2, size / 2 + 1, 2}));
    EXPECT_TRUE(close(transform("f32[b, n, 2]", true, half, size), x, 1e-5, 1e-5));
    if (size % 2 == 0) {
      EXPECT_TRUE(close(transform("f32[b, n, 2]", true, half, std::nullopt), x, 1e-5, 1e-5));
    }
  }
}

TEST(OnnxOperators, APictureAtItsOwnPointsIsThePicture) {
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{3, 4}, {2, 3, 4}}) {
    const auto rank = static_cast<int64_t>(size.size());
    std::vector<int64_t> dims = {1, 2};
    dims.insert(dims.end(), size.begin(), size.end());
    Array picture(f32, dims);
    for (int64_t i = 0; i < picture.size(); ++i) {
      picture.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
    }
    Array same_place(f32, {1, rank, rank + 1});
    for (int64_t i = 0; i < rank; ++i) {
      same_place.mutable_values<float>()[static_cast<size_t>(i * (rank + 2))] = 1;
    }
    for (const int64_t align : {0, 1}) {
      OnnxModelBuilder model(20);
      model.input("x", rank == 2 ? "f32[n, c, h, w]" : "f32[n, c, d, h, w]");
      model.constant("theta", same_place);
      model.node("Shape", {"x"}, {"size"});
      model.node("AffineGrid", {"theta", "size"}, {"grid"}, {attribute("align_corners", align)});
      model.node("GridSample", {"x", "grid"}, {"y"},
                 {attribute("mode", std::string("linear")), attribute("align_corners", align)});
      model.output("y");
      EXPECT_TRUE(close(interpret(imported(model), {picture})[0], picture, 1e-5, 1e-5)) << rank << " " << align;
    }
  }
}

TEST(OnnxOperators, AxesThatKeepTheirSizeNeedNoneToBeKnown) {
  OnnxModelBuilder model(18);
  model.input("x", "f32[n, 1, 2, 4]");
  model.constant("scales", Array::from<float>({4}, {1, 1, 0.6F, 0.6F}));
  model.node("Resize", {"x", "", "scales"}, {"y"},
             {attribute("mode", std::string("linear")),
              attribute("coordinate_transformation_mode", std::string("align_corners"))});
  model.output("y");
  const Array x = Array::from<float>({2, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 6, 8, 10, 12, 14, 16});
  // The last of 2.4 elements is where the last of 4 is: the second of them is 3 / 1.4 of the way.
  const float second = 1 + 3 / 1.4F;
  EXPECT_TRUE(close(interpret(imported(model), {x})[0], Array::from<float>({2, 1, 1, 2}, {1, second, 2, 2 * second}),
                    1e-6, 1e-6));
}

TEST(OnnxOperators, BlocksAddUpWhereTheyOverlap) {
  OnnxModelBuilder model(18);
  model.input("x", "f32[n, 2, 3]");
  model.constant("picture", ints({4}));
  model.constant("block", ints({2}));
  model.node("Col2Im", {"x", "picture", "block"}, {"y"});
  model.output("y");
  const Array x = Array::from<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_TRUE(same(interpret(imported(model), {x})[0], Array::from<float>({1, 1, 4}, {1, 12, 23, 30})));
}

/// A signal without an axis of real and imaginary parts is real.
TEST(OnnxOperators, SpectraOfSignalsOfTwoAxes) {
  const auto spectrum = [](const std::string& shape, const Array& x) {
    OnnxModelBuilder model(17);
    model.input("x", shape);
    model.constant("step", Array::scalar(i64, 2));
    model.constant("window", Array::from<float>({4}, {1, 2, 2, 1}));
    model.node("STFT", {"x", "step", "window"}, {"y"});
    model.output("y");
    return interpret(imported(model), {x})[0];
  };
  const std::vector<float> signal = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_TRUE(same(spectrum("f32[b, n]", Array::from<float>({1, 8}, signal)),
                   spectrum("f32[b, n, 1]", Array::from<float>({1, 8, 1}, signal))));
}

/// Exporters of detectors count pixels in floats.
TEST(OnnxOperators, FloatRangesUpToSizes) {
  OnnxModelBuilder model(17);
  model.input("x", "f32[n]");
  model.constant("start", Array::scalar(f32, 0.5));
  model.constant("step", Array::scalar(f32, 0.75));
  model.node("Size", {"x"}, {"size"});
  model.node("Cast", {"size"}, {"limit"}, {attribute("to", int64_t{1})});
  model.node("Range", {"start", "limit", "step"}, {"y"});
  model.output("y");
  const Graph graph = imported(model);
  EXPECT_TRUE(same(interpret(graph, {Array(f32, {2})})[0], Array::from<float>({2}, {0.5F, 1.25F})));
  EXPECT_TRUE(same(interpret(graph, {Array(f32, {3})})[0], Array::from<float>({4}, {0.5F, 1.25F, 2, 2.75F})));
  EXPECT_EQ(interpret(graph, {Array(f32, {0})})[0].size(), 0);
}

/// Signs of differences of sizes are not known: quotients round toward zero, remainders have the sign of the divisor.
TEST(OnnxOperators, QuotientsAndRemaindersOfDifferencesOfSizes) {
  for (const char* type : {"Div", "Mod"}) {
    OnnxModelBuilder model(17);
    model.input("x", "f32[n]");
    model.constant("five", ints({5}));
    model.constant("three", ints({3}));
    model.constant("ten", ints({10}));
    model.node("Size", {"x"}, {"size"});
    model.node("Sub", {"size", "five"}, {"less"});
    model.node(type, {"less", "three"}, {"part"});
    model.node("Add", {"part", "ten"}, {"wanted"});
    model.constant("value", Array::scalar(f32, 1));
    model.node("Expand", {"value", "wanted"}, {"y"});
    model.output("y");
    const Graph graph = imported(model);
    for (const auto& [n, quotient, remainder] : {std::array<int64_t, 3>{1, -1, 2}, {4, 0, 2}, {5, 0, 0}, {9, 1, 1}}) {
      EXPECT_EQ(interpret(graph, {Array(f32, {n})})[0].size(), 10 + (type[0] == 'D' ? quotient : remainder)) << n;
    }
  }
}

/// The mean and the mean square of what a random operator draws for a [100, 100] input of 0.3.
std::pair<double, double> moments_of(const std::string& type, const std::vector<proto::AttributeProto>& attributes) {
  OnnxModelBuilder model(17);
  model.input("x", "f32[n, 100]");
  model.node(type, {"x"}, {"y"}, attributes);
  model.output("y");
  Array x(f32, {100, 100});
  std::ranges::fill(x.mutable_values<float>(), 0.3F);
  const Array y = interpret(imported(model), {x})[0];
  double sum = 0;
  double squares = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    sum += y.at(i);
    squares += y.at(i) * y.at(i);
  }
  return {sum / static_cast<double>(y.size()), squares / static_cast<double>(y.size())};
}

TEST(OnnxOperators, RandomNumbersAreDistributedAsTheySay) {
  const auto [normal_mean, normal_square] =
      moments_of("RandomNormalLike", {attribute("mean", 2.0), attribute("scale", 3.0), attribute("seed", 5.0)});
  EXPECT_NEAR(normal_mean, 2, 0.15);
  EXPECT_NEAR(normal_square, 4 + 9, 0.7);
  const auto [uniform_mean, uniform_square] =
      moments_of("RandomUniformLike", {attribute("low", -1.0), attribute("high", 3.0)});
  EXPECT_NEAR(uniform_mean, 1, 0.06);
  EXPECT_NEAR(uniform_square, 7.0 / 3, 0.15);
  EXPECT_NEAR(moments_of("Bernoulli", {}).first, 0.3, 0.03);
  EXPECT_NEAR(moments_of("Multinomial", {attribute("sample_size", int64_t{100})}).first, 49.5, 2);
}

TEST(OnnxOperators, DropoutInTrainingKeepsTheMean) {
  OnnxModelBuilder model(17);
  model.input("x", "f32[n]");
  model.constant("ratio", Array::scalar(f32, 0.25));
  model.constant("training", Array::scalar(boolean, 1));
  model.node("Dropout", {"x", "ratio", "training"}, {"y", "mask"}, {attribute("seed", int64_t{7})});
  model.output("y");
  model.output("mask");
  Array x(f32, {10000});
  std::ranges::fill(x.mutable_values<float>(), 1.5F);
  const std::vector<Array> results = interpret(imported(model), {x});
  double sum = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(results[0].at(i), results[1].at(i) == 0 ? 0 : 2);
    sum += results[0].at(i);
  }
  EXPECT_NEAR(sum / static_cast<double>(x.size()), 1.5, 0.03);
}

/// Every code of a narrow float is a number that has this code.
TEST(OnnxOperators, NarrowFloatsGoThereAndBack) {
  for (const int64_t type : {17, 18, 19, 20, 23, 24}) {
    const int64_t count = type == 23 ? 16 : 256;
    OnnxModelBuilder model(21);
    model.input("x", "u8[n]").mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type));
    model.node("Cast", {"x"}, {"y"}, {attribute("to", int64_t{1})});
    model.node("Cast", {"y"}, {"z"}, {attribute("to", type), attribute("saturate", int64_t{0})});
    model.output("y");
    model.output("z");
    std::vector<uint8_t> codes(static_cast<size_t>(count));
    std::iota(codes.begin(), codes.end(), uint8_t{0});
    const std::vector<Array> results = interpret(imported(model), {Array::from<uint8_t>({count}, codes)});
    for (int64_t i = 0; i < count; ++i) {
      if (!std::isnan(results[0].at(i))) {
        EXPECT_EQ(results[1].at(i), static_cast<double>(i)) << "type " << type;
      }
    }
  }
}

/// The size of a slice is known when the model runs; where it is 1, it repeats.
TEST(OnnxOperators, ASliceThatLeavesOneElementRepeats) {
  OnnxModelBuilder model(17);
  model.input("x", "f32[n]");
  model.constant("start", ints({1}));
  model.constant("end", ints({std::numeric_limits<int64_t>::max()}));
  model.node("Slice", {"x", "start", "end"}, {"rest"});
  model.node("Add", {"x", "rest"}, {"y"});
  model.output("y");
  const Graph graph = imported(model);
  const Array two = Array::from<float>({2}, {1, 2});
  for (const Array& y : {interpret(graph, {two})[0], compile(graph).run({two})[0]}) {
    EXPECT_TRUE(same(y, Array::from<float>({2}, {3, 4})));
  }
  const Array three = Array::from<float>({3}, {1, 2, 3});
  for (const std::string& error :
       {error_text([&] { interpret(graph, {three}); }), error_text([&] { compile(graph).run({three}); })}) {
    EXPECT_NE(error.find("max(n-1, 0)"), std::string::npos) << error;
    EXPECT_NE(error.find("Add -> y"), std::string::npos) << error;
  }
}

Graph bit_cast(Dtype from, int64_t to) {
  OnnxModelBuilder model(26);
  model.input("x", std::string(name(from)) + "[n]");
  model.node("BitCast", {"x"}, {"y"}, {attribute("to", to)});
  model.output("y");
  return imported(model);
}

/// Both ways to run it give these bytes.
template <class To>
void expect_bits(const Array& x, int64_t to) {
  const Graph graph = bit_cast(x.dtype(), to);
  for (const Array& y : {interpret(graph, {x})[0], compile(graph, {.disk_cache = false}).run({x})[0]}) {
    ASSERT_EQ(y.dtype(), dtype_of<To>());
    ASSERT_EQ(y.size(), x.size());
    EXPECT_EQ(std::memcmp(y.data(), x.data(), x.byte_count()), 0) << name(x.dtype()) << " as " << name(y.dtype());
  }
}

TEST(OnnxOperators, TheSameBitsAsAnotherType) {
  using proto::TensorProto;
  const std::vector<float> floats = {0, -0.0F, 1, -2.5F, 1e-42F, -3e38F, INFINITY, std::nanf("5")};
  const std::vector<double> doubles = {0, -0.0, 1, -2.5, 5e-324, -3e300, INFINITY, std::nan("5"), 0.1};
  expect_bits<uint8_t>(Array::from<int8_t>({3}, {-1, 5, -128}), TensorProto::UINT8);
  expect_bits<int32_t>(Array::from<uint32_t>({2}, {4294967295U, 7}), TensorProto::INT32);
  expect_bits<int32_t>(Array::from<float>({8}, floats), TensorProto::INT32);
  expect_bits<uint32_t>(Array::from<float>({8}, floats), TensorProto::UINT32);
  expect_bits<int64_t>(Array::from<double>({9}, doubles), TensorProto::INT64);
  expect_bits<uint64_t>(Array::from<double>({9}, doubles), TensorProto::UINT64);
  expect_bits<float>(Array::from<int32_t>({4}, {0, -1, 0x3f800001, INT32_MIN}), TensorProto::FLOAT);
  expect_bits<float>(Array::from<uint32_t>({2}, {0x80000001U, 0x7f800000U}), TensorProto::FLOAT);
  expect_bits<double>(Array::from<int64_t>({3}, {1, INT64_MIN, 0x3ff0000000000001}), TensorProto::DOUBLE);
  EXPECT_NE(error_text([&] { bit_cast(i16, TensorProto::INT32); }).find("i16 and i32 have not as many bits"),
            std::string::npos);
}

/// All of them but signalling NaNs, which no computation keeps.
TEST(OnnxOperators, TheBitsOfHalfTypes) {
  using proto::TensorProto;
  for (const bool is_f16 : {true, false}) {
    const uint32_t infinity = is_f16 ? 0x7c00 : 0x7f80;
    const uint32_t quiet = is_f16 ? 0x7e00 : 0x7fc0;
    std::vector<uint16_t> bits;
    for (uint32_t i = 0; i <= 0xffff; ++i) {
      if ((i & 0x7fff) <= infinity || (i & quiet) == quiet) {
        bits.push_back(static_cast<uint16_t>(i));
      }
    }
    const Array integers = Array::from<uint16_t>({std::ssize(bits)}, bits);
    Array floats(is_f16 ? f16 : bf16, {std::ssize(bits)});
    std::memcpy(floats.mutable_data(), bits.data(), floats.byte_count());
    expect_bits<uint16_t>(floats, TensorProto::UINT16);
    expect_bits<int16_t>(floats, TensorProto::INT16);
    if (is_f16) {
      expect_bits<Half>(integers, TensorProto::FLOAT16);
    } else {
      expect_bits<BFloat16>(integers, TensorProto::BFLOAT16);
    }
  }
}

/// ONNX clamps the start of a walk backwards to the first element, where Python has nothing left.
TEST(OnnxOperators, WalksBackwardsFromBeforeTheStart) {
  for (const char* shape : {"f32[n]", "f32[3]"}) {
    OnnxModelBuilder model(17);
    model.input("x", shape);
    model.constant("start", ints({-7}));
    model.constant("end", ints({std::numeric_limits<int64_t>::min()}));
    model.constant("axis", ints({0}));
    model.constant("step", ints({-1}));
    model.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
    model.output("y");
    const Graph graph = imported(model);
    EXPECT_TRUE(same(interpret(graph, {Array::from<float>({3}, {1, 2, 3})})[0], Array::from<float>({1}, {1}))) << shape;
    if (shape[4] == 'n') {
      const Array eight = Array::from<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8});
      EXPECT_TRUE(same(interpret(graph, {eight})[0], Array::from<float>({2}, {2, 1})));
    }
  }
}

}  // namespace
}  // namespace tenon::import_operators_test
