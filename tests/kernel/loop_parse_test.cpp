// The text of loop kernels, read back.
#include "kernel/loop/loop_parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernel/loop/loop_run.h"
#include "kernel/loop/loop_walk.h"
#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "support/loop_launch.h"

namespace tenon::loop_parse_test {
namespace {

using loops::parse_kernel;

/// Both on the same inputs.
void expect_same_results(const loops::Kernel& parsed, const LoopCase& each, const Bindings& bindings) {
  std::vector<Array> expected = make_buffers(each.kernel, bindings, 3);
  std::vector<Array> actual = make_buffers(each.kernel, bindings, 3);
  each.prepare(bindings, expected);
  each.prepare(bindings, actual);
  const KernelStatus wanted = launch(each.kernel, loops::interpreted(each.kernel), bindings, expected, 2);
  const KernelStatus status = launch(parsed, loops::interpreted(parsed), bindings, actual, 2);
  EXPECT_EQ(status.failed, wanted.failed);
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(same(actual[i], expected[i])) << "b" << i << " at " << bindings.to_string();
  }
}

TEST(LoopParse, GivesBackTheKernel) {
  for (const LoopCase& each : loop_cases()) {
    SCOPED_TRACE(each.name);
    const loops::Kernel parsed = parse_kernel(to_string(each.kernel));
    EXPECT_EQ(to_string(parsed), to_string(each.kernel));
    EXPECT_EQ(to_string(parsed, true), to_string(each.kernel, true));
    EXPECT_EQ(parsed.values, each.kernel.values);
    EXPECT_EQ(parsed.accumulators, each.kernel.accumulators);
    EXPECT_EQ(parsed.sites, each.kernel.sites);
    for (const Bindings& bindings : loop_bindings({0, 1, 7, 8, 9, 130})) {
      expect_same_results(parsed, each, bindings);
    }
  }
}

TEST(LoopParse, WhatNothingElseUsesIsForProducts) {
  const std::string text = R"(kernel doubled
  axes    t: (rows+3) floordiv 4   r.s: `$0` tile t of rows   c: cols   k: max((depth+2) floordiv 3, 1)   d: 3 tile k of depth   r: 1
  buffers b0 in f32[depth*rows]   b1 in f32[cols*depth]   b2 out f32[cols*rows]   b3 scratch u8[4]   b4 scratch u8[524288]   b5 scratch f32[4*cols]
  where   $0 = min(rows, 4)
  phase grid(t)
    v0 = constant u8 1
    b3[0] = v0
    loop k
      b5[0 + (cols, 1)] += b0[4*depth*t + 3*k + (depth, 1)] * b1[3*cols*k + (cols, 1)] in panels of 16, 4 together over r.s by c.r by 1 after the first k
)";
  const loops::Kernel kernel = parse_kernel(text);
  EXPECT_EQ(to_string(kernel), text);
  verify(kernel);
  for_each_product(kernel, [](const loops::Product& product) {
    EXPECT_EQ(product.work, 4);
    EXPECT_EQ(product.panel, 16);
    EXPECT_EQ(product.adds_after, 3);
    EXPECT_EQ(product.rows, std::vector{1});  // an axis of that name, and no two
    EXPECT_EQ(product.columns, (std::vector{2, 5}));
    EXPECT_EQ(product.depth, std::vector<int>{});
  });
  EXPECT_EQ(kernel.arguments.at("$0"), min(Extent::name("rows"), 4));
}

TEST(LoopParse, NamesThatAreNoWordsAndTextsOfSeveralLines) {
  const std::string text = R"(kernel
  axes    i: `a b(`-2*`\`]`+1 vector
  buffers b0 in i64[`a b(`]   b1 out f64[1]
  site 0  position {position} of {size}
  at node "x"
  site 1  another
  phase grid()
    loop i begins a3
      v0 = load b0[(-`a b(`)*i + `\`]`-7] if 0 <= -i + `a b(` < 5 and 0 <= i < 3
      v7 = load b0[0 + -2*v0] with v0 < `a b(` or site 1
      v8 = load b0[(`a b(`+1)*v0 + v7] with v0 < `a b(` or site 0 with v7 < 2 or site 1
      v9 = cast f64 v8
      a3 min= v9 but NaN
    v2 = result a3
    v4 = constant f64 -inf
    v5 = constant f64 nan
    v6 = constant f64 -0
    v10 = lt v2, v4
    v11 = select v10, v5, v6
    v12 = cast bf16 v11
    b1[0] = v11
)";
  std::string expected = text;
  expected.replace(expected.find("kernel"), 6, "kernel ");
  expected.replace(expected.find("0 + -2*v0"), 9, "-2*v0");
  const loops::Kernel kernel = parse_kernel(text);
  EXPECT_EQ(to_string(kernel), expected);
  verify(kernel);
  EXPECT_EQ(kernel.sites.at(0), "position {position} of {size}\n  at node \"x\"");
  EXPECT_TRUE(std::signbit(std::get<loops::Compute>(kernel.values[6].what).literal));
  EXPECT_EQ(kernel.values[10].dtype, boolean);
  EXPECT_EQ(kernel.values[11].dtype, f64);
  EXPECT_EQ(kernel.values[12].dtype, bf16);
}

struct BadText {
  std::string name;
  std::string from, to;  // what is changed in kText
  std::string error;     // what follows "kernel text"

  friend void PrintTo(const BadText& each, std::ostream* out) { *out << each.name; }
};

constexpr std::string_view kText = R"(kernel softmax
  axes    r: rows   c: cols vector
  buffers b0 in f32[cols*rows]   b1 out f32[cols*rows]   b2 scratch f32[cols]
  phase grid(r)
    loop c begins a0
      v0 = load b0[cols*r + c] if 0 <= c < cols
      a0 max= v0
    v1 = result a0
    loop c
      v3 = load b0[cols*r + c]
      v4 = sub v3, v1
      b1[cols*r + c] = v4
)";

class LoopParseErrors : public testing::TestWithParam<BadText> {};

TEST_P(LoopParseErrors, NameThePlaceAndWhatWasExpected) {
  std::string text(kText);
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  EXPECT_EQ(error_text([&] { parse_kernel(text); }), "kernel text" + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, LoopParseErrors,
    testing::Values(
        BadText{"empty", std::string(kText), "", ", line 1: expected `kernel`, found the end of the text"},
        BadText{"no_kernel", "kernel", "kernels", ", line 1, column 7: expected ` `, found `s softmax`"},
        BadText{"no_axes", "  axes", "  axis",
                ", line 2, column 3: expected `axes`, found `axis    r: rows   c: cols vector`"},
        BadText{"size", "r: rows", "r: ", ", line 2, column 14: expected a size, found `   c: cols vector`"},
        BadText{"tile", "c: cols", "c: 4 tile q of cols", ", line 2, column 31: there is no axis `q`"},
        BadText{"two_axes", "c: cols", "r: cols", ", line 2, column 21: there are two axes `r`"},
        BadText{"role", "b1 out", "b1 inner",
                ", line 3, column 37: expected `in `, `out `, `scratch ` or `partial `, found "
                "`inner f32[cols*rows]   b2 scratch f32[cols]`"},
        BadText{"buffer_number", "b1 out", "b7 out",
                ", line 3, column 34: expected `b1 `, found `b7 out f32[cols*rows]   b2 scratch f32[cols]`"},
        BadText{"dtype", "in f32", "in f31", ", line 3, column 17: there is no dtype `f31`"},
        BadText{"extent", "f32[cols*rows]", "f32[cols*(rows]", ", line 3, column 26: a parenthesis has no end"},
        BadText{"grid", "grid(r)", "grid(q)", ", line 4, column 14: there is no axis `q`"},
        BadText{"statement", "loop c begins", "loops c begins",
                ", line 5, column 5: expected a statement, found `loops c begins a0`"},
        BadText{"loop_axis", "loop c begins", "loop q begins", ", line 5, column 10: there is no axis `q`"},
        BadText{"begins", "begins a0", "starts a0", ", line 5, column 11: expected ` begins `, found ` starts a0`"},
        BadText{"no_such_buffer", "load b0", "load b9", ", line 6, column 17: there is no buffer b9"},
        BadText{
            "order", "cols*r + c]", "c + cols*r]",
            ", line 6, column 24: the terms of a sum have the order of the axes, each once, and none is 0 times one"},
        BadText{"base_first", "cols*r + c]", "cols + c]",
                ", line 6, column 20: expected a multiple of an axis, found `cols`"},
        BadText{"bound", "0 <= c <", "0 < c <",
                ", line 6, column 31: expected the end of the line, found ` if 0 < c < cols`"},
        BadText{"reduction", "max= v0", "most= v0", ", line 7, column 10: there is no reduction `most`"},
        BadText{"not_defined", "max= v0", "max= v5", ", line 7, column 15: v5 is not defined above"},
        BadText{"result", "result a0", "result a1", ", line 8, column 17: the loop above does not begin a1"},
        BadText{"other_place_of_result", "v3 = load b0[cols*r + c]", "v3 = result a0",
                ", line 10, column 12: a result stands right behind the loop that begins its accumulator"},
        BadText{"something_else", "v3 = load b0[cols*r + c]", "v0 = load b0[c]",
                ", line 10, column 1: above, v0 is something else: v0 = load b0[cols*r + c] if 0 <= c < cols"},
        BadText{"primitive", "sub v3", "sum v3", ", line 11, column 12: there is no primitive `sum`"},
        BadText{"operands", "sub v3, v1", "sub v3", ", line 11, column 18: expected `, `, found the end of the line"},
        BadText{"too_many", "sub v3, v1", "sub v3, v1, v0",
                ", line 11, column 22: expected the end of the line, found `, v0`"},
        BadText{"too_large", "v4 = sub", "v100001 = sub", ", line 11, column 7: there are at most 100000 of `v`"},
        BadText{"store", "= v4", "= 4", ", line 12, column 24: expected `v` and a number, found `4`"},
        BadText{"indent", "      b1[cols", "       b1[cols",
                ", line 12, column 7: expected a statement, found ` b1[cols*r + c] = v4`"},
        BadText{"phase", "  phase", " phase", ", line 4, column 1: expected `  phase grid(`, found ` phase grid(r)`"},
        BadText{"name_of_two", "scratch f32[cols]", "scratch f32[c]", ": `c` is the name of an axis and of a size"},
        BadText{"work", "b1[cols*r + c] = v4", "b2[0 + (1, 1)] = b0[0 + (1, 1)] * b0[0 + (1, 1)] over 1 by c by 1",
                ": products work in the one scratch of u8 that nothing else uses, and there are 0 of that kind"}),
    [](const auto& each) { return each.param.name; });

/// Whatever the text is, it is a kernel or an Error, and verify() says what it thinks of the kernel.
void expect_no_harm(const std::string& text) {
  try {
    const loops::Kernel kernel = parse_kernel(text);
    to_string(kernel);
    verify(kernel);
  } catch (const Error&) {
  } catch (const InternalError&) {
  }
}

TEST(LoopParse, TruncatedTextsDoNoHarm) {
  for (const LoopCase& each : {softmax_case(), gather_elements_case(false), split_sum_case(), convolution_case()}) {
    const std::string text = to_string(each.kernel);
    for (size_t size = 0; size < text.size(); ++size) {
      expect_no_harm(text.substr(0, size));
      expect_no_harm(text.substr(size));
    }
  }
}

TEST(LoopParse, ChangedTextsDoNoHarm) {
  std::mt19937_64 rng(1);
  const std::string_view bytes = " 0123456789abcivx*+-()[]`,.:=<\n\\$";
  for (const LoopCase& each : {softmax_case(), gather_elements_case(false), split_sum_case(), convolution_case(),
                               arg_rows_case(ReduceOp::argmax), layer_norm_case()}) {
    const std::string text = to_string(each.kernel);
    for (int round = 0; round < 3000; ++round) {
      std::string changed = text;
      for (size_t i = 0; i <= rng() % 3; ++i) {
        const size_t at = rng() % changed.size();
        const char byte = round % 4 == 0 ? static_cast<char>(rng() % 256) : bytes[rng() % bytes.size()];
        switch (rng() % 3) {
          case 0: changed[at] = byte; break;
          case 1: changed.erase(at, 1 + rng() % 8); break;
          default: changed.insert(at, 1, byte); break;
        }
      }
      expect_no_harm(changed);
    }
  }
}

TEST(LoopParse, DeepTextsDoNoHarm) {
  std::string text = "kernel deep\n  axes    i: 1\n  buffers\n  phase grid()\n";
  for (size_t depth = 0; depth < 1000; ++depth) {
    text += std::string(4 + 2 * depth, ' ') + "loop i\n";
  }
  EXPECT_EQ(error_text([&] { parse_kernel(text); }),
            "kernel text, line 106, column 207: more than 100 loops inside each other");
}

}  // namespace
}  // namespace tenon::loop_parse_test
