// Products with matrices of numbers of a few bits, against sums in f64 of what the numbers mean.
#include "ops/builders/few_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compiler/lowered.h"
#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::few_bits_test {
namespace {

enum class Zeros { none, packed, floats };

struct Case {
  int64_t bits;
  int64_t depth;
  int64_t block;
  int64_t columns;
  Zeros zeros = Zeros::none;
  bool is_constant = true;
  Dtype dtype = f32;  // of x
  NumberCode code = NumberCode::integer;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.bits << " bits " << name_of(c.code) << ", " << c.depth << " by " << c.columns << " in blocks of "
             << c.block << ", zeros " << static_cast<int>(c.zeros) << (c.is_constant ? ", constant, " : ", input, ")
             << name(c.dtype);
}

int64_t routines(const compiler::Lowered& lowered) {
  return std::ranges::count_if(lowered.segments.at(0).program.steps,
                               [](const Step& step) { return std::holds_alternative<RoutineStep>(step.what); });
}

class FewBitsProduct : public testing::TestWithParam<Case> {
 protected:
  int64_t blocks() const { return (c_.depth + c_.block - 1) / c_.block; }
  int64_t zero_bytes() const { return (blocks() * c_.bits + 7) / 8; }

  static int64_t number(const Array& bytes, int64_t row_bytes, int64_t bits, int64_t row, int64_t i) {
    const int64_t parts = 8 / bits;
    const uint8_t byte = bytes.values<uint8_t>()[static_cast<size_t>(row * row_bytes + i / parts)];
    return byte >> (i % parts * bits) & ((1 << bits) - 1);
  }

  double element(int64_t column, int64_t i) const {
    const int64_t block = i / c_.block;
    const auto at = static_cast<size_t>(column * blocks() + block);
    double zero = static_cast<double>(int64_t{1} << (c_.bits - 1));
    if (c_.zeros == Zeros::packed) {
      zero = static_cast<double>(number(*zeros_, zero_bytes(), c_.bits, column, block));
    } else if (c_.zeros == Zeros::floats) {
      zero = static_cast<double>(zeros_->values<float>()[at]);
    }
    const int64_t row_bytes = blocks() * c_.block * c_.bits / 8;
    if (c_.code != NumberCode::integer) {
      const auto code = static_cast<size_t>(number(bytes_, row_bytes, c_.bits, column, i));
      return static_cast<double>(values_of(c_.code)[code]) * static_cast<double>(scales_.values<float>()[at]);
    }
    return (static_cast<double>(number(bytes_, row_bytes, c_.bits, column, i)) - zero) *
           static_cast<double>(scales_.values<float>()[at]);
  }

  /// Block by block a multiple of a 127th of the largest magnitude.
  Array rounded(const Array& x) const {
    Array y = x.cast(f32);
    const auto numbers = y.mutable_values<float>();
    for (size_t row = 0; row < numbers.size(); row += static_cast<size_t>(c_.depth)) {
      for (int64_t begin = 0; begin < c_.depth; begin += c_.block) {
        const auto block = numbers.subspan(row + static_cast<size_t>(begin),
                                           static_cast<size_t>(std::min(c_.block, c_.depth - begin)));
        float most = 0;
        for (const float each : block)
          most = std::max(most, std::abs(each));
        for (float& each : block)
          each = most == 0 ? 0 : std::nearbyint(each * (127 / most)) * (most / 127);
      }
    }
    return y;
  }

  Array expected(const Array& x, LeftOperand left) const {
    const Array wide = left == LeftOperand::bytes ? rounded(x) : x.cast(f32);
    const int64_t rows = x.dims()[0];
    Array y = Array::uninitialized(f32, {rows, c_.columns});
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < c_.columns; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < c_.depth; ++i) {
          sum +=
              static_cast<double>(wide.values<float>()[static_cast<size_t>(row * c_.depth + i)]) * element(column, i);
        }
        y.mutable_values<float>()[static_cast<size_t>(row * c_.columns + column)] = static_cast<float>(sum);
      }
    }
    return y;
  }

  Case c_ = GetParam();
  std::mt19937_64 rng_{42};
  // Of eight bits no NaN, and floats of few sizes.
  Array bytes_ = random_array(u8, {c_.columns, blocks(), c_.block* c_.bits / 8}, rng_, 0,
                              c_.code != NumberCode::integer && c_.bits == 8 ? 0x50 : 256);
  Array scales_ = random_array(f32, {c_.columns, blocks()}, rng_, 0.01, 0.1);
  std::optional<Array> zeros_ = c_.zeros == Zeros::none ? std::nullopt
                                : c_.zeros == Zeros::packed
                                    ? std::optional(random_array(u8, {c_.columns, zero_bytes()}, rng_, 0, 256))
                                    : std::optional(random_array(f32, {c_.columns, blocks()}, rng_, 0, 10));
};

TEST_P(FewBitsProduct, EqualsSumsOfWhatTheNumbersMean) {
  std::vector<Value> inputs = {input("x", shape(c_.dtype, "rows", c_.depth))};
  std::vector<Array> given;
  const auto operand = [&](const std::string& name, const Array& array) {
    if (c_.is_constant) {
      return constant(array);
    }
    inputs.push_back(input(name, Shape(array.dtype(), {array.dims().begin(), array.dims().end()})));
    given.push_back(array);
    return inputs.back();
  };
  FewBits matrix{c_.bits, operand("bytes", bytes_), operand("scales", scales_), {}, c_.code};
  if (zeros_) {
    matrix.zeros = operand("zeros", *zeros_);
  }
  for (const LeftOperand left : {LeftOperand::exact, LeftOperand::bytes}) {
    if (c_.code != NumberCode::integer && left == LeftOperand::bytes) continue;
    const Value y = product_of_few_bits(inputs[0], matrix, left);
    EXPECT_EQ(y.dtype(), c_.dtype);
    const Graph graph(inputs, {{"y", y}});
    CompileReport report;
    EXPECT_EQ(routines(compiler::lower(graph, {}, report)), c_.zeros == Zeros::floats || c_.block > 256 ? 0 : 1);
    const Executable compiled = compile(graph);
    const double relative = c_.dtype == f32 ? 1e-5 : 1e-2;
    for (const int64_t rows : {0, 1, 3, 17}) {
      std::vector<Array> arrays = {random_array(c_.dtype, {rows, c_.depth}, rng_)};
      arrays.insert(arrays.end(), given.begin(), given.end());
      const Array right = expected(arrays[0], left);
      EXPECT_TRUE(close(interpret(graph, arrays)[0].cast(f32), right, relative, 20 * relative)) << rows;
      EXPECT_TRUE(close(compiled.run(arrays)[0].cast(f32), right, relative, 20 * relative)) << rows;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FewBitsProduct,
    testing::Values(Case{4, 64, 32, 128}, Case{4, 64, 32, 64, Zeros::packed}, Case{4, 96, 32, 70, Zeros::packed},
                    Case{4, 96, 32, 70, Zeros::floats}, Case{2, 64, 16, 65, Zeros::packed}, Case{8, 32, 16, 3},
                    Case{8, 64, 16, 130, Zeros::packed}, Case{4, 50, 16, 33, Zeros::packed},  // a block is cut short
                    Case{2, 17, 16, 1}, Case{4, 64, 64, 70, Zeros::packed, false},
                    Case{4, 50, 16, 33, Zeros::floats, false}, Case{4, 64, 32, 70, Zeros::packed, true, f16},
                    Case{4, 64, 32, 70, Zeros::none, true, bf16},
                    Case{4, 70, 32, 70, Zeros::none, true, f32, NumberCode::e2m1},
                    Case{8, 64, 16, 33, Zeros::none, true, f32, NumberCode::e4m3fn},
                    Case{8, 50, 32, 40, Zeros::none, false, f32, NumberCode::e4m3fnuz},
                    Case{8, 64, 32, 70, Zeros::none, true, f16, NumberCode::e5m2},
                    Case{8, 600, 512, 33, Zeros::none, true, f32, NumberCode::e5m2fnuz}));  // by its body

/// A name alone makes no routine of a call.
TEST(FewBits, CallsThatMeanSomethingElseRunTheirBodies) {
  const FewBits matrix{4, constant(Array::full(u8, {40, 2, 16}, 0x93)), constant(Array::full(f32, {40, 2}, 0.5)), {}};
  const Value x = input("x", shape(f32, "rows", 64));
  const Value y = product_of_few_bits(x, matrix);
  const auto& made = std::get<Call>(y.node().op).body;
  EXPECT_EQ(few_bits_routine(made), (FewBitsRoutine{.bits = 4, .rounds = false}));
  const Graph other(made.name(), made.inputs(), {{"y", made.outputs()[0].value * 2.0}});
  EXPECT_EQ(few_bits_routine(other), std::nullopt);
  const Graph graph({x}, {{"y", call(other, y.node().inputs)[0]}});
  CompileReport report;
  EXPECT_EQ(routines(compiler::lower(graph, {}, report)), 0);
}

TEST(FewBits, ZerosThatAreTooFewAreRefused) {
  const Value x = input("x", shape(f32, "rows", 64));
  const FewBits matrix{4, constant(Array::full(u8, {8, 4, 8}, 0)), constant(Array::full(f32, {8, 4}, 1)),
                       constant(Array::full(u8, {8, 1}, 0))};
  try {
    product_of_few_bits(x, matrix);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("too few for 4 blocks"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon::few_bits_test
