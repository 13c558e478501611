// Einsum against one loop over all indices.
#include "tenon/einsum.h"

#include <map>

#include "support/arrays.h"
#include "tenon/interpreter.h"

namespace tenon::einsum_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }

/// By definition: every assignment of every letter adds a product to one element. Terms without ellipsis.
Array naive(const std::vector<std::string>& terms, const std::string& output, const std::vector<Array>& operands) {
  std::map<char, int64_t> size;
  for (size_t k = 0; k < terms.size(); ++k) {
    for (size_t i = 0; i < terms[k].size(); ++i) {
      size[terms[k][i]] = operands[k].dims()[i];
    }
  }
  std::vector<int64_t> dims;
  for (const char letter : output) {
    dims.push_back(size[letter]);
  }
  Array out(f64, dims);
  int64_t count = 1;
  for (const auto& [letter, n] : size) {
    count *= n;
  }
  for (int64_t number = 0; number < count; ++number) {
    std::map<char, int64_t> index;
    int64_t rest = number;
    for (const auto& [letter, n] : size) {
      index[letter] = rest % n;
      rest /= n;
    }
    const auto place = [&](const std::string& term) {
      int64_t at = 0;
      for (const char letter : term) {
        at = at * size[letter] + index[letter];
      }
      return at;
    };
    double product = 1;
    for (size_t k = 0; k < terms.size(); ++k) {
      product *= operands[k].at(place(terms[k]));
    }
    out.mutable_values<double>()[static_cast<size_t>(place(output))] += product;
  }
  return out;
}

struct Case {
  std::string equation;
  std::vector<std::string> terms;  // what it means without ellipsis and with an output
  std::string output;
};

const std::vector<Case> kCases = {
    {"ij,jk->ik", {"ij", "jk"}, "ik"},
    {"ij,jk", {"ij", "jk"}, "ik"},
    {"ba,cb", {"ba", "cb"}, "ac"},
    {" b i j , b j k -> b k i ", {"bij", "bjk"}, "bki"},
    {"i,j->ij", {"i", "j"}, "ij"},
    {"i,i->", {"i", "i"}, ""},
    {"i,i->i", {"i", "i"}, "i"},
    {"ij->", {"ij"}, ""},
    {"ij->ji", {"ij"}, "ji"},
    {"ji", {"ji"}, "ij"},
    {"ijk->k", {"ijk"}, "k"},
    {"ii", {"ii"}, ""},
    {"ii->i", {"ii"}, "i"},
    {"ijiji->ij", {"ijiji"}, "ij"},
    {"iij,jk->ik", {"iij", "jk"}, "ik"},
    {"ij,k->k", {"ij", "k"}, "k"},
    {"ijm,jkn->ik", {"ijm", "jkn"}, "ik"},
    {"ij,jk,kl->il", {"ij", "jk", "kl"}, "il"},
    {"ij,ik,il,i->jkl", {"ij", "ik", "il", "i"}, "jkl"},
    {"ij,ij,ij->ij", {"ij", "ij", "ij"}, "ij"},
    {"a,b,c", {"a", "b", "c"}, "abc"},
    {"bhqd,bhkd->bhqk", {"bhqd", "bhkd"}, "bhqk"},
    {"...ij,...jk->...ik", {"xyij", "xyjk"}, "xyik"},
    {"...ij,jk->...ik", {"xyij", "jk"}, "xyik"},
    {"i...,...->i...", {"ixy", "y"}, "ixy"},
    {"...i", {"xyi"}, "xyi"},
    {"...ii->...i", {"xyii"}, "xyi"},
    {"ij...,jk...->k...i", {"ijx", "jkx"}, "kxi"},
    {"A,a", {"A", "a"}, "Aa"},
};

TEST(Einsum, StaticAndSymbolic) {
  std::mt19937_64 rng(1);
  for (const Case& c : kCases) {
    // Sizes by letter, one of each kind for every binding.
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{2, 3, 4}, {1, 1, 1}, {3, 0, 2}, {5, 2, 1}}) {
      std::vector<Array> data;
      std::vector<Value> symbolic;
      std::vector<Value> fixed;
      for (const std::string& term : c.terms) {
        std::vector<int64_t> dims;
        std::vector<Axis> names;
        for (const char letter : term) {
          dims.push_back(sizes[static_cast<size_t>(letter) % sizes.size()]);
          names.emplace_back(std::string(1, letter));
        }
        data.push_back(random_array(f64, dims, rng));
        const std::string name = "x" + std::to_string(data.size());
        symbolic.push_back(input(name, Shape(f64, names)));
        fixed.push_back(input(name, Shape(f64, std::vector<Axis>(dims.begin(), dims.end()))));
      }
      const Array expected = naive(c.terms, c.output, data);
      for (const auto& inputs : {symbolic, fixed}) {
        const Graph graph(inputs, {{"y", einsum(c.equation, inputs)}});
        EXPECT_TRUE(close(interpret(graph, data)[0], expected, 1e-12, 1e-12)) << c.equation;
      }
    }
  }
}

TEST(Einsum, SymbolicAxesStaySymbolic) {
  const Value a = in("a", "f32[batch, seq, 2*hidden]");
  const Value b = in("b", "f32[2*hidden, 8]");
  EXPECT_EQ(einsum("bsh,hd->bds", {a, b}).shape().to_string(), "f32[batch, 8, seq]");
}

TEST(Einsum, EllipsisAxesOfSizeOneBroadcast) {
  std::mt19937_64 rng(2);
  const Value a = in("a", "f64[2, 1, n]");
  const Value b = in("b", "f64[3, n]");
  const Graph graph({a, b}, {{"y", einsum("...n,...n->...", {a, b})}});
  EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f64[2, 3]");
  const Array x = random_array(f64, {2, 1, 4}, rng);
  const Array y = random_array(f64, {3, 4}, rng);
  EXPECT_TRUE(close(interpret(graph, {x, y})[0], naive({"an", "bn"}, "ab", {x.reshaped({2, 4}), y}), 1e-12));
}

TEST(Einsum, DiagonalOfUnnamedAxesIsCheckedWhenBound) {
  const Value x = in("x", "f32[-1, -1]");
  const Graph graph({x}, {{"trace", einsum("ii", {x})}});
  EXPECT_EQ(interpret(graph, {Array::from<float>({2, 2}, {1, 2, 3, 4})})[0].at(0), 5);
  const std::string error = error_text([&] { interpret(graph, {Array(f32, {2, 3})}); });
  EXPECT_NE(error.find("x.0"), std::string::npos) << error;
}

TEST(Einsum, IntegersAndHalfTypes) {
  const Value i = in("i", "i32[n, n]");
  const Graph cube({i}, {{"y", einsum("ij,jk,ki->", {i, i, i})}});
  EXPECT_EQ(interpret(cube, {Array::from<int32_t>({2, 2}, {1, 2, 3, 4})})[0].at(0), 155);  // trace of the cube
  for (const Dtype dtype : {f16, bf16}) {
    const Value x = input("x", shape(dtype, "n", "n"));
    const Graph graph({x}, {{"y", einsum("ij,jk,kl->il", {x, x, x})}});
    std::mt19937_64 rng(3);
    const Array data = random_array(dtype, {9, 9}, rng);
    const Array exact = interpret(graph, {data}, {.reference = true})[0];
    EXPECT_TRUE(close(interpret(graph, {data})[0], exact.cast(dtype), dtype == f16 ? 1e-3 : 8e-3, 1e-2));
  }
}

TEST(Einsum, ErrorsNameLetterOperandAndExtents) {
  const Value a = in("a", "f32[batch, 4]");
  const Value b = in("b", "f32[5, 3]");
  EXPECT_EQ(error_text([&] { einsum("ij,jk->ik", {a, b}); }),
            "einsum: `j` is 4 in operand 0, 5 in operand 1\n  `a`: f32[batch, 4]\n  `b`: f32[5, 3]");
  const Value c = in("c", "f32[time, 4]");
  EXPECT_NE(error_text([&] { einsum("ij,ij->i", {a, c}); }).find("`i` is batch in operand 0, time in operand 1"),
            std::string::npos);
  EXPECT_NE(error_text([&] { einsum("ii", {b}); }).find("`i` is 5 in operand 0, 3 in operand 0"), std::string::npos);
  const auto message = [&](const char* equation) { return error_text([&] { einsum(equation, {a}); }); };
  EXPECT_NE(message("i").find("names 1 axes of operand 0, which has 2"), std::string::npos);
  EXPECT_NE(message("ijk...").find("names 3 axes of operand 0"), std::string::npos);
  EXPECT_NE(message("ij,jk").find("names 2 operands, 1 are given"), std::string::npos);
  EXPECT_NE(message("ij->ik").find("`k` of the output is in no operand"), std::string::npos);
  EXPECT_NE(message("ij->ii").find("`i` is twice in the output"), std::string::npos);
  EXPECT_NE(message("i..j").find("has `.` where a letter"), std::string::npos);
  EXPECT_NE(message("i1").find("`i1` has `1`"), std::string::npos);
  EXPECT_NE(message("i...->i").find("the ellipsis stands for 1 axes that the output leaves out"), std::string::npos);
  EXPECT_NE(error_text([&] { einsum("ij,->ij", {a, {}}); }).find("empty Value"), std::string::npos);
}

TEST(Einsum, ScalarsAreOperandsToo) {
  const Value a = in("a", "f32[n]");
  const Value s = in("s", "f32[]");
  const Graph graph({a, s}, {{"y", einsum("i,->i", {a, s})}});
  EXPECT_TRUE(same(interpret(graph, {Array::from<float>({2}, {1, 2}), Array::scalar(f32, 3)})[0],
                   Array::from<float>({2}, {3, 6})));
}

}  // namespace
}  // namespace tenon::einsum_test
