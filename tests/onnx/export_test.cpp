// Exported graphs are valid models, and what comes back from them computes the same.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/mapped_file.h"
#include "onnx/export/round_trip.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "support/model_cases.h"
#include "support/random_graph.h"
#include "tenon/onnx_export.h"
#include "tenon/tenon.h"

namespace tenon::export_test {
namespace {

using ::testing::TestWithParam;

struct TextCase {
  const char* name;
  const char* text;
  Bindings bindings;
};

/// Elements within `relative` of the largest that the output has.
void expect_same(const Graph& graph, const std::vector<Array>& inputs, const Graph& again, const Bindings& sizes,
                 double relative) {
  const std::vector<Array> wanted = interpret(graph, inputs, {.bindings = sizes});
  const std::vector<Array> got = interpret(again, inputs);
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    double largest = 0;
    for (int64_t k = 0; k < wanted[i].size(); ++k) {
      largest = std::isfinite(wanted[i].at(k)) ? std::max(largest, std::fabs(wanted[i].at(k))) : largest;
    }
    EXPECT_TRUE(close(got[i], wanted[i], relative, relative * largest)) << "output " << i;
  }
}

/// Every kind, and every way of writing it.
const TextCase kCases[] = {
    {"map", "graph f(x: f32[n, 3], y: f32[n, 3]) { return z=add(mul(x, y), tanh(x)) }", {{"n", 4}}},
    {"map_without_operator",
     "graph f(x: f32[n]) { return a=expm1(x), b=log1p(square(x)), c=atan2(x, 0.5), d=gelu(x), "
     "e=silu(x), f=hypot(x, 2), g=cbrt(x), h=erf(x), i=mish(x), j=clamp(x, -0.5, 0.25), k=rsqrt(abs(x)) }",
     {{"n", 9}}},
    {"integers",
     "graph f(x: i32[n], y: i32[n]) { return a=div(x, y), b=rem(x, y), c=mod(x, y), d=floor_div(x, y), "
     "e=max(x, y), f=neg(x), g=lt(x, y) }",
     {{"n", 20}}},
    {"small_integers",
     "graph f(x: i8[n], y: u8[n]) { return a=relu(x), b=reduce_sum(x), c=reduce_max(y), d=add(y, y) }",
     {{"n", 7}}},
    {"logic",
     "graph f(x: f32[n], y: f32[n]) { a = lt(x, y)\n b = isnan(x)\n return c=logical_or(a, logical_not(b)), "
     "d=select(a, x, y), e=reduce_any(a), f=reduce_all(a) }",
     {{"n", 6}}},
    {"halves",
     "graph f(x: f16[n, 4], y: bf16[n, 4]) { return a=softmax(x), b=silu(y), c=sin(y), d=matmul(x, "
     "transpose(x, [1, 0])) }",
     {{"n", 3}}},
    {"cast",
     "graph f(x: f32[n]) { return a=cast(x, dtype=i32), b=cast(x, dtype=bool), c=cast(x, dtype=f16) }",
     {{"n", 5}}},
    {"shifts", "graph f(x: u32[n], y: u32[n]) { return a=shl(x, y), b=shr(x, y) }", {{"n", 12}}},
    {"broadcast",
     "graph f(x: f32[n, 1, 3], y: f32[m, 1]) { return z=add(x, y), w=broadcast(y, [m, 1], axes=[0, 1]) }",
     {{"n", 2}, {"m", 3}}},
    {"softmax", "graph f(x: f32[row, col]) { return y=softmax(x) }", {{"row", 3}, {"col", 5}}},
    {"reduce",
     "graph f(x: f32[a, b, c]) { return s=reduce_sum(x, axes=[0, 2]), m=reduce_max(x, axes=[1]), "
     "p=reduce_product(x), k=argmax(x, axis=1), l=argmin(x, axis=0), v=reduce_mean(x, axes=[1], keep=true) }",
     {{"a", 2}, {"b", 3}, {"c", 4}}},
    {"iota",
     "graph f(x: f32[n]) { return a=iota(i64[n, 3], axis=0), b=iota(f32[n], axis=0, start=n, step=2), "
     "c=iota(i32[2, n+1], axis=1), d=iota(i64[], axis=0, start=n*n) }",
     {{"n", 4}}},
    {"matmul", "graph f(x: f32[n, k], y: f32[k, 5]) { return z=matmul(x, y) }", {{"n", 2}, {"k", 3}}},
    {"matmul_batched",
     "graph f(x: f32[b, h, n, k], y: f32[b, h, k, m]) { return z=matmul(x, y) }",
     {{"b", 2}, {"h", 2}, {"n", 3}, {"k", 4}, {"m", 5}}},
    {"contract",
     "graph f(x: f32[a, b, c], y: f32[c, d, a]) { return z=contract(x, y, lhs_contract=[0, 2], "
     "rhs_contract=[2, 0]), w=contract(x, y, lhs_batch=[2], rhs_batch=[0]) }",
     {{"a", 2}, {"b", 3}, {"c", 4}, {"d", 2}}},
    {"dot",
     "graph f(x: f32[n], y: f32[n]) { return z=contract(x, y, lhs_contract=[0], rhs_contract=[0]) }",
     {{"n", 6}}},
    {"contract_integers",
     "graph f(x: i8[n, 3], y: i8[3, m]) { return z=contract(x, y, lhs_contract=[1], "
     "rhs_contract=[0], dtype=i32) }",
     {{"n", 2}, {"m", 4}}},
    {"reshape",
     "graph f(x: f32[b, s, 8]) { return a=reshape(x, [b, s, 2, 4]), c=reshape(x, [8*b*s]), "
     "d=reshape(x, [b*s, 8]) }",
     {{"b", 2}, {"s", 3}}},
    {"reshape_empty",
     "graph f(x: f32[b, s, 8]) { return a=reshape(x, [b, s, 2, 4]), c=reshape(x, [s, b*8]) }",
     {{"b", 0}, {"s", 3}}},
    {"slice",
     "graph f(x: f32[n+4, 7]) { return a=slice(x, [2, 1], [n, 3]), b=slice(x, [n, 0], [2, 3], [1, 3]), "
     "c=flip(x, axes=[0, 1]) }",
     {{"n", 3}}},
    {"pad",
     "graph f(x: f32[n, 3]) { return a=pad(x, low=[1, 0], high=[n, 2]), b=pad(x, low=[1, 1], high=[1, 1], "
     "mode=edge), c=pad(x, low=[1, 2], high=[2, 0], mode=reflect), d=pad(x, low=[2, 1], high=[1, 2], mode=wrap) }",
     {{"n", 3}}},
    {"concat", "graph f(x: f32[n, 2], y: f32[m, 2]) { return z=concat(x, y, x, axis=0) }", {{"n", 2}, {"m", 3}}},
    {"sort",
     "graph f(x: f32[n, m], y: i64[n, m]) { a, b = sort(x, y, axis=1)\n c, d = sort(x, y, axis=0, "
     "descending=true)\n return p=a, q=b, r=c, s=d }",
     {{"n", 3}, {"m", 4}}},
    {"scan",
     "graph f(x: f32[n, m]) { return a=scan(x, axis=0), b=scan(x, op=max, axis=1), c=scan(x, op=product, axis=0, "
     "exclusive=true), d=scan(x, op=min, axis=1, reverse=true), e=scan(x, axis=1, exclusive=true, reverse=true) }",
     {{"n", 3}, {"m", 4}}},
    {"max_pool", "graph f(x: f32[n, 2, h, w]) { return y=max_pool(x, [2, 2]) }", {{"n", 1}, {"h", 6}, {"w", 4}}},
    {"windows",
     "graph f(x: f32[n, m], k: i32[n, m]) { return a=window(x, op=sum, size=[1, 3], stride=[1, 2], "
     "dilation=[1, 1], low=[0, 1], high=[0, 1]), b=window(k, op=product, size=[2, 1], stride=[1, 1], dilation=[1, 1], "
     "low=[0, 0], high=[1, 0]), c=window(x, op=min, size=[2, 2], stride=[1, 1], dilation=[1, 1], low=[0, 0], high=[0, "
     "0]), "
     "d=window(x, op=max, size=[1, 2], stride=[1, 1], dilation=[1, 2], low=[0, 0], high=[0, 0]) }",
     {{"n", 3}, {"m", 5}}},
    {"conv",
     "graph f(x: f32[n, 4, h, w], k: f32[6, 2, 3, 3]) { return y=conv(x, k, stride=[2, 1], x_dilation=[1, 1], "
     "w_dilation=[1, 2], low=[1, 2], high=[1, 2], groups=2) }",
     {{"n", 2}, {"h", 6}, {"w", 7}}},
    {"conv_dilated",
     "graph f(x: f32[n, 2, h], k: f32[3, 2, 2]) { return y=conv(x, k, stride=[1], x_dilation=[3], "
     "w_dilation=[1], low=[1], high=[-1], groups=1) }",
     {{"n", 2}, {"h", 4}}},
    {"conv_transposed",  // z has a stride: no ConvTranspose
     "graph f(x: f32[n, 4, h, w], k: f32[6, 2, 3, 2], l: f32[3, 4, 1, 2]) { return z=conv(x, l, stride=[2, 1], "
     "x_dilation=[3, 1]), y=conv(x, k, x_dilation=[2, 3], w_dilation=[1, 2], low=[1, 0], high=[3, 1], groups=2) }",
     {{"n", 2}, {"h", 3}, {"w", 4}}},
    {"conv_integers",
     "graph f(x: i32[n, 4, h, w], k: i32[6, 2, 3, 2]) { return y=conv(x, k, stride=[2, 1], x_dilation=[1, 2], "
     "w_dilation=[1, 2], low=[1, 2], high=[1, -1], groups=2) }",
     {{"n", 2}, {"h", 6}, {"w", 7}}},
    {"gather",
     "graph f(x: f32[7, m], i: i64[n]) { return a=gather(x, i, axes=[0]), b=gather(transpose(x, [1, 0]), i, "
     "axes=[1]) }",
     {{"n", 3}, {"m", 2}}},
    {"barrier", "graph f(x: f32[n]) { a, b = barrier(x, exp(x))\n return y=add(a, b) }", {{"n", 3}}},
    {"identity", "graph f(x: f32[n]) { return y=x, z=x }", {{"n", 3}}},
    {"expressions",
     "graph f(x: f32[16*rows, cols+2]) { return y=reshape(x, [16, rows, cols+2]), z=slice(x, [0, 1], [rows, "
     "cols]) }",
     {{"rows", 2}, {"cols", 3}}},
    {"minima",
     "graph f(x: f32[n], y: f32[m]) { return a=slice(x, [0], [min(n, m)]), b=slice(y, [0], [m floordiv 2]) }",
     {{"n", 3}, {"m", 5}}},
    {"composites_in_loop",
     "graph inner(i: i64[], c: f32[n, m]) { return y=log_softmax(c) }\n"
     "graph body(i: i64[], c: f32[n, m], w: f32[m]) { a = softmax(layer_norm(c, w, w))\n b = loop(a, body=inner, "
     "trips=2, carried=1, scanned=0)\n return y=b, s=softmax(b) }\n"
     "graph f(x: f32[n, m], w: f32[m]) { a, b = loop(x, w, body=body, trips=3, carried=1, scanned=0)\n return y=a, z=b "
     "}",
     {{"n", 2}, {"m", 5}}},
    {"composites_in_branches",
     "graph some(x: f32[n]) { return y=softmax(x) }\n"
     "graph other(x: f32[n]) { return y=log_softmax(x) }\n"
     "graph f(x: f32[n], c: f32[]) { return y=if(lt(c, 0), x, then_body=some, else_body=other), "
     "z=if(ge(c, 0), x, then_body=some, else_body=other) }",
     {{"n", 5}}},
};

class ExportText : public TestWithParam<TextCase> {};

TEST_P(ExportText, ComesBackTheSame) {
  const Graph graph = parse_graph(GetParam().text);
  std::vector<Array> inputs;
  std::mt19937_64 rng(7);
  for (const Value& value : graph.inputs()) {
    const double low = is_unsigned_integer(value.dtype()) || value.dtype() == i64 ? 0 : -5;
    inputs.push_back(random_array(value.dtype(), resolve(value.shape(), GetParam().bindings).dims(), rng, low, 6));
  }
  const double tolerance = std::string_view(GetParam().name) == "halves" ? 2e-2 : 1e-5;
  expect_same(graph, inputs, round_trip(graph), GetParam().bindings, tolerance);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExportText, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

class ExportModel : public TestWithParam<ModelCase> {};

TEST_P(ExportModel, ComesBackTheSame) {
  const Model model = GetParam().build();
  const Graph graph = with_weights(model);
  for (const Bindings& sizes : GetParam().bindings) {
    std::vector<Array> inputs = inputs_of(model, sizes, GetParam().tokens);
    inputs.resize(model.data_inputs);
    expect_same(graph, inputs, round_trip(graph, sizes), sizes, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExportModel, ::testing::ValuesIn(model_cases()),
                         [](const auto& test) { return test.param.name; });

/// Whether some input has a size that is an expression: as a `dim_param` that is a name of its own, of which less is
/// known.
bool has_expression(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [](const Value& value) {
    return std::ranges::any_of(value.shape().axes(), [](const Axis& axis) {
      return !axis.extent().is_constant() && !axis.extent().as_name();
    });
  });
}

/// Whether every name is bound by the inputs' sizes: else it is an input of the exported model.
bool is_determined(const Graph& graph, const std::vector<Array>& inputs, const Bindings& sizes) {
  size_t bound = 0;
  return error_text([&] { bound = bind(graph, inputs).size(); }) == "no error" && bound >= sizes.size();
}

TEST(Export, RandomGraphsComeBackTheSame) {
  constexpr uint64_t count = 600;
  uint64_t exported = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGraph random = random_graph(seed);
    for (const Bindings& sizes : random_bindings(random.graph, seed, 2)) {
      const std::vector<Array> inputs = random_graph_inputs(random, sizes, seed);
      std::vector<Array> wanted;
      try {
        wanted = interpret(random.graph, inputs, {.bindings = sizes});
      } catch (const Error&) {
        continue;  // sizes that break a constraint
      }
      if (!is_determined(random.graph, inputs, sizes)) {
        continue;
      }
      Graph again;
      try {
        again = round_trip(random.graph, sizes);
      } catch (const Error& error) {
        if (has_expression(random.graph)) {
          continue;
        }
        // What has no form in opset 17 says so.
        ASSERT_NE(std::string(error.what()).find("ONNX form"), std::string::npos) << error.what() << "\n"
                                                                                  << to_text(random.graph);
        continue;
      }
      ++exported;
      std::vector<Array> got;
      ASSERT_EQ(error_text([&] { got = interpret(again, inputs); }), "no error") << to_text(random.graph);
      for (size_t i = 0; i < wanted.size() && !random.special; ++i) {
        const Tolerance& tolerance = random.tolerances[i];
        ASSERT_TRUE(close(got[i], wanted[i], tolerance.relative, tolerance.absolute)) << "output " << i << " of\n"
                                                                                      << to_text(random.graph);
      }
    }
  }
  EXPECT_GT(exported, count);
}

TEST(Export, KeepsNamesOfAxesAndTensors) {
  const Graph again = round_trip(parse_graph("graph f(x: f32[batch, 16*rows]) { return y=exp(x) }"));
  EXPECT_EQ(again.outputs()[0].name, "y");
  EXPECT_EQ(again.inputs()[0].shape().axis(0).to_string(), "batch");
  EXPECT_EQ(again.inputs()[0].shape().extent(1), 16 * Extent::name("rows"));
}

TEST(Export, UsualSizesGoWithTheModel) {
  const Graph graph = parse_graph("graph f(x: f32[batch, seq]) { return y=exp(x) }");
  const Bindings usual{{"batch", 8}, {"seq", 77}};
  Bindings read{{"other", 1}};
  import_onnx_bytes(export_onnx_bytes(graph, {.usual = usual}), {}, {.usual = &read});
  EXPECT_EQ(read, usual);
  import_onnx_bytes(export_onnx_bytes(graph), {}, {.usual = &read});
  EXPECT_EQ(read, Bindings());
}

/// Files of its own, gone at the end.
class ExportExternal : public testing::Test {
 protected:
  ExportExternal() { std::filesystem::create_directories(folder_); }
  ~ExportExternal() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("tenon_export_" + std::to_string(::getpid()));
  std::filesystem::path file_ = folder_ / "model.onnx";
};

/// Whether the address lies in memory that is mapped from the file.
bool is_mapped_from(const void* address, const std::filesystem::path& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at >= begin && at < end) {
      return line.ends_with(" " + std::filesystem::canonical(file).string());
    }
  }
  return false;
}

Graph with_table() {
  std::mt19937_64 rng(1);
  const Value table = constant(random_array(f32, {100, 16}, rng));
  const Value small = constant(random_array(f32, {16}, rng));
  const Value x = input("x", shape(f32, "n", 16));
  return {"f", {x}, {{"y", matmul(x + small, transpose(table))}, {"table", table}}};
}

TEST_F(ExportExternal, WeightsAreMappedAndNeverCopied) {
  const Graph graph = with_table();
  export_onnx(graph, file_, {.external_data = true});
  EXPECT_LT(std::filesystem::file_size(file_), 2000U);
  EXPECT_EQ(std::filesystem::file_size(file_.string() + ".data"), 6400U) << "the small one stays in the model";
  const Graph again = import_onnx(file_);
  const Executable executable = compile(again, {.disk_cache = false});
  std::mt19937_64 rng(2);
  const Array x = random_array(f32, {3, 16}, rng);
  const std::vector<StridedArray> results = executable.run_views({x});
  EXPECT_TRUE(is_mapped_from(results[1].base.data(), file_.string() + ".data"));
  const std::vector<Array> wanted = interpret(graph, {x});
  EXPECT_TRUE(same(results[1].contiguous(), wanted[1]));
  EXPECT_TRUE(close(results[0].contiguous(), wanted[0], 1e-5, 1e-5));
}

TEST_F(ExportExternal, OverTheFileThatTheWeightsComeFrom) {
  const Graph graph = with_table();
  export_onnx(graph, file_, {.external_data = true});
  const Graph mapped = import_onnx(file_);
  export_onnx(mapped, file_, {.external_data = true});
  std::mt19937_64 rng(2);
  const Array x = random_array(f32, {3, 16}, rng);
  EXPECT_TRUE(same(interpret(import_onnx(file_), {x})[1], interpret(graph, {x})[1]));
}

TEST_F(ExportExternal, NeededBeyondTwoGigabytes) {
  const int64_t rows = int64_t{600} << 20;
  const std::filesystem::path zeros = folder_ / "zeros";
  std::ofstream(zeros).close();
  std::filesystem::resize_file(zeros, static_cast<uintmax_t>(4 * rows));  // without blocks on the disk
  const Value large = constant(Array::adopt(f32, {rows}, map_file(zeros, 0, 4 * rows)));
  const Value x = input("x", shape(f32));
  const Graph graph("f", {x}, {{"y", x + slice_axis(large, 0, 5, 6)}});
  EXPECT_EQ(
      error_text([&] { export_onnx(graph, file_); }),
      "graph `f` has 2516582400 bytes of constants, and an ONNX file holds less than 2 GiB; the rest belongs into "
      "external data");
  EXPECT_EQ(error_text([&] { export_onnx_bytes(graph, {.external_data = true}); }),
            "external data lies beside a file, and the bytes of a model are none: export_onnx() writes both");
}

TEST(Export, WritesAnOperatorForWhatIsOne) {
  const auto operators = [](const char* text) { return onnx_operators(export_onnx_bytes(parse_graph(text))); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(operators("graph f(x: f32[n]) { return y=sigmoid(x) }"), (Names{"Sigmoid", "Identity"}));
  EXPECT_EQ(operators("graph f(x: f32[n, k], w: f32[k, 5]) { return y=matmul(x, w) }"), (Names{"MatMul", "Identity"}));
  // Repeating is left to the operator, and needs no sizes.
  EXPECT_EQ(operators("graph f(x: f32[n, 3], b: f32[3]) { return y=add(x, b) }"), (Names{"Add", "Identity"}));
}

TEST(Export, AWriteIntoASliceComesBackAsOne) {
  const auto update_of = [](const Graph& graph) {
    const std::string text = to_text(graph);
    const size_t begin = text.find("update(");
    return begin == std::string::npos ? text : text.substr(begin, text.find("])", text.find("path=", begin)) - begin);
  };
  const char* const cache = R"(graph cache(x: f32[4, batch, total, 8], y: f32[1, batch, seq, 8], past: f32[past]) {
    return z=update(x, y, path=[slice(start=[2, 0, past, 0], size=[1, batch, seq, 8], step=[1, 1, 1, 1])])
  })";
  const Graph graph = parse_graph(cache);
  EXPECT_EQ(update_of(round_trip(graph)), update_of(graph));
  EXPECT_NE(update_of(graph).find("past"), std::string::npos);
}

TEST(Export, SizesThatNoInputHasBecomeInputs) {
  const Graph graph = parse_graph("graph f(x: f32[8]) { return y=slice(x, [past], [2]) }");
  const Graph again = round_trip(graph, {{"past", 3}});
  const Array x = Array::from<float>({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_TRUE(same(interpret(again, {x})[0], Array::from<float>({2}, {3, 4})));
}

TEST(Export, RefusesWhatHasNoForm) {
  const auto refusal = [](const char* text) { return error_text([&] { export_onnx_bytes(parse_graph(text)); }); };
  EXPECT_EQ(refusal("graph f(x: i32[n]) { return y=bit_and(x, x) }"),
            "`bit_and` of i32 has no ONNX form in opset 17; opset 18 has one\n  node `bit_and` of graph `f`");
  EXPECT_EQ(refusal("graph f(k: u64[], c: u64[]) { return y=random(k, c, shape=u32[4]) }"),
            "random numbers that are a function of a key have no ONNX form\n  node `random` of graph `f`");
  EXPECT_EQ(error_text([] { export_onnx(parse_graph("graph f(x: f32[n]) { return y=x }"), "/nowhere/f.onnx"); }),
            "cannot write `/nowhere/f.onnx`: No such file or directory");
}

}  // namespace
}  // namespace tenon::export_test
