// Matrices of numbers of a few bits: DequantizeLinear and Cast of all formats that ONNX has, before products, against
// sums of what the numbers mean. They keep their bits: the graph has no larger copy of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/node.h"
#include "ir/walk.h"
#include "onnx/model_builder.h"
#include "onnx/number_format.h"
#include "ops/builders/few_bits.h"
#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"

namespace tenon::few_bits_import_test {
namespace {

using importer::Format;

constexpr int64_t kDepth = 100;
constexpr int64_t kColumns = 50;

enum class Form { matmul, gemm, gemm_transposed, transpose };

struct Case {
  int type = 0;  // of ONNX
  int64_t block = 0;
  Form form = Form::matmul;
  bool has_zeros = false;
  bool by_cast = false;
  bool one_scale = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << importer::name_of(importer::format_of(c.type)) << " of type " << c.type << ", blocks of " << c.block
             << ", form " << static_cast<int>(c.form) << (c.has_zeros ? ", zeros" : "") << (c.by_cast ? ", cast" : "")
             << (c.one_scale ? ", one scale" : "");
}

class FewBitsImport : public testing::TestWithParam<Case> {
 protected:
  bool is_swapped() const { return c_.form == Form::gemm_transposed || c_.form == Form::transpose; }
  Format format() const { return importer::format_of(c_.type); }
  bool is_float() const { return importer::is_narrow_float(format()); }
  bool is_signed() const { return format() == Format::int2 || format() == Format::int4 || c_.type == 3; }
  int bits() const { return importer::bits_of(format()); }

  proto::TensorProto numbers(const std::string& name, std::vector<int64_t> dims, std::vector<int>& codes) {
    int64_t count = 1;
    proto::TensorProto result;
    result.set_name(name);
    result.set_data_type(c_.type);
    for (const int64_t dim : dims) {
      result.add_dims(dim);
      count *= dim;
    }
    const int parts = 8 / bits();
    std::string raw(static_cast<size_t>((count + parts - 1) / parts), '\0');
    // Of floats of eight bits those of usual size, without NaN.
    std::uniform_int_distribution<int> each(0, is_float() && bits() == 8 ? 0x4f : (1 << bits()) - 1);
    for (int64_t i = 0; i < count; ++i) {
      codes.push_back(each(rng_));
      char& byte = raw[static_cast<size_t>(i / parts)];
      byte = static_cast<char>(byte | codes.back() << (i % parts * bits()));
    }
    result.set_raw_data(raw);
    return result;
  }

  double meaning(int code) const {
    if (is_float()) {
      return static_cast<double>(importer::values_of(format())[static_cast<size_t>(code)]);
    }
    const int half = 1 << (bits() - 1);
    return is_signed() && code >= half ? code - 2 * half : code;
  }

  Case c_ = GetParam();
  std::mt19937 rng_{11};
  std::mt19937_64 of_arrays_{5};
};

TEST_P(FewBitsImport, ProductsKeepTheBits) {
  const bool swapped = is_swapped();
  const int64_t axis = c_.block > 0 ? (swapped ? 1 : 0) : (swapped ? 0 : 1);
  const int64_t blocks = c_.block == 0 ? 1 : (kDepth + c_.block - 1) / c_.block;
  std::vector<int64_t> of_scales = c_.block == 0 ? std::vector{kColumns}
                                   : swapped     ? std::vector{kColumns, blocks}
                                                 : std::vector{blocks, kColumns};
  if (c_.one_scale) of_scales = {};
  const Array scales = c_.by_cast ? Array::full(f32, {}, 1) : random_array(f32, of_scales, of_arrays_, 0.01, 0.1);

  OnnxModelBuilder model(25);
  model.input("x", "f32[rows, 100]");
  auto& graph = *model.model().mutable_graph();
  std::vector<int> codes;
  std::vector<int> zeros;
  *graph.add_initializer() =
      numbers("w", swapped ? std::vector{kColumns, kDepth} : std::vector{kDepth, kColumns}, codes);
  model.constant("scales", scales);
  std::vector<std::string> operands = {"w", "scales"};
  if (c_.has_zeros) {
    *graph.add_initializer() = numbers("zeros", of_scales, zeros);
    operands.emplace_back("zeros");
  }
  if (c_.by_cast) {
    model.node("Cast", {"w"}, {"wide"}, {attribute("to", int64_t{proto::TensorProto::FLOAT})});
  } else {
    model.node("DequantizeLinear", operands, {"wide"}, {attribute("axis", axis), attribute("block_size", c_.block)});
  }
  if (c_.form == Form::transpose) {
    model.node("Transpose", {"wide"}, {"matrix"}, {attribute("perm", std::vector<int64_t>{1, 0})});
  }
  if (c_.form == Form::gemm || c_.form == Form::gemm_transposed) {
    model.node("Gemm", {"x", "wide"}, {"y"}, {attribute("transB", int64_t{swapped ? 1 : 0})});
  } else {
    model.node("MatMul", {"x", c_.form == Form::transpose ? "matrix" : "wide"}, {"y"});
  }
  model.output("y");

  const Graph imported_graph = imported(model);
  int64_t routines = 0;
  int64_t largest = 0;
  for (const Node* node : imported_graph.nodes()) {
    if (const auto* call = node->as<Call>()) routines += few_bits_routine(call->body) ? 1 : 0;
    if (const auto* constant = node->as<Constant>()) {
      largest = std::max(largest, static_cast<int64_t>(constant->value.byte_count()));
    }
  }
  EXPECT_EQ(routines, 1);
  EXPECT_LE(largest, 64 * 128 * std::max(bits(), 4) / 8);  // whole panels and blocks

  for (const int64_t rows : {0, 1, 5}) {
    const Array x = random_array(f32, {rows, kDepth}, of_arrays_, -1, 1);
    Array expected(f32, {rows, kColumns});
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < kColumns; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < kDepth; ++k) {
          const int64_t block = c_.block == 0 ? 0 : k / c_.block;
          const int64_t of_block = scales.size() == 1 ? 0
                                   : c_.block == 0    ? column
                                   : swapped          ? column * blocks + block
                                                      : block * kColumns + column;
          const double zero = zeros.empty() ? 0 : meaning(zeros[static_cast<size_t>(of_block)]);
          const int code = codes[static_cast<size_t>(swapped ? column * kDepth + k : k * kColumns + column)];
          sum += x.at(row * kDepth + k) * (meaning(code) - zero) * scales.at(of_block);
        }
        expected.mutable_values<float>()[static_cast<size_t>(row * kColumns + column)] = static_cast<float>(sum);
      }
    }
    EXPECT_TRUE(close(interpret(imported_graph, {x})[0], expected, 1e-5, 1e-3)) << rows;
    EXPECT_TRUE(close(compile(imported_graph, {.disk_cache = false}).run({x})[0], expected, 1e-5, 1e-3)) << rows;
  }
}

constexpr int kU8 = 2, kI8 = 3, kE4m3fn = 17, kE4m3fnuz = 18, kE5m2 = 19, kE5m2fnuz = 20, kUint4 = 21, kInt4 = 22,
              kE2m1 = 23, kUint2 = 25, kInt2 = 26;

INSTANTIATE_TEST_SUITE_P(Formats, FewBitsImport,
                         testing::Values(Case{kInt4, 32}, Case{kInt4, 16, Form::gemm_transposed, true},
                                         Case{kUint4, 32, Form::transpose}, Case{kUint4, 64, Form::gemm, true},
                                         Case{kInt4, 0}, Case{kUint4, 0, Form::gemm_transposed, true}, Case{kInt2, 16},
                                         Case{kUint2, 32, Form::matmul, true}, Case{kU8, 32, Form::matmul, true},
                                         Case{kI8, 16, Form::gemm_transposed}, Case{kE4m3fn, 0},
                                         Case{kE4m3fnuz, 0, Form::matmul, false, true},
                                         Case{kE5m2, 0, Form::gemm_transposed, false, false, true}, Case{kE5m2fnuz, 32},
                                         Case{kE2m1, 32}, Case{kE2m1, 16, Form::gemm_transposed}));

/// MX: floats of four bits, and for each 32 of them a power of two.
TEST(FewBitsImportOfBlocks, ScalesArePowersOfTwo) {
  OnnxModelBuilder model(25);
  model.input("x", "f32[rows, 128]");
  auto& graph = *model.model().mutable_graph();
  proto::TensorProto& w = *graph.add_initializer();
  w.set_name("w");
  w.set_data_type(23);
  w.add_dims(128);
  w.add_dims(64);
  w.set_raw_data(std::string(128 * 64 / 2, '\x52'));  // 1 and 3, in turn
  proto::TensorProto& scales = *graph.add_initializer();
  scales.set_name("scales");
  scales.set_data_type(24);
  scales.add_dims(4);
  scales.add_dims(64);
  std::string powers;
  for (const char exponent : {'\x7f', '\x80', '\x7e', '\x81'})
    powers += std::string(64, exponent);
  scales.set_raw_data(powers);
  model.node(
      "DequantizeLinear", {"w", "scales"}, {"wide"},
      {attribute("axis", int64_t{0}), attribute("block_size", int64_t{32}), attribute("output_dtype", int64_t{1})});
  model.node("MatMul", {"x", "wide"}, {"y"});
  model.output("y");
  const Array y = compile(imported(model), {.disk_cache = false}).run({Array::full(f32, {1, 128}, 1)})[0];
  EXPECT_EQ(y.at(0), 32 * (1 + 2 + 0.5 + 4) * 1);
  EXPECT_EQ(y.at(1), 32 * (1 + 2 + 0.5 + 4) * 3);
}

}  // namespace
}  // namespace tenon::few_bits_import_test
