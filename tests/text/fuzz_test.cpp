// Whatever the text, the parser gives a graph or an Error.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/error_text.h"
#include "tenon/text.h"

namespace tenon::fuzz_test {
namespace {

constexpr std::string_view kTexts[] = {
    R"(names unify
graph softmax(x0: f32[batch, seq]) {
  %0: f32[batch] = reduce(x0, op=max, axes=[1])
  %1: f32[batch, 1] = reshape(%0, to=[batch, 1])
  %2: f32[batch, seq] = broadcast(%1, to=[batch, seq], axes=[0, 1])
  %3: f32[batch, seq] = sub(x0, %2)
  return y=%3
}
entry graph softmax.1 as softmax(x: f32[batch, seq], state: f32[batch, seq], `a b`: i64[n]) {
  %0: f32[batch, seq] = call(x, body=softmax) @"/layers.0/\"Softmax\""
  %1, %2: f32[batch, seq], i64[n] = barrier(%0, `a b`)
  %3: f32[3] = constant(f32[3] {1.5, -inf, 0x7fc00001})
  %4: f32[batch, seq] = update(x, %1, path=[slice(start=[0, 0], size=[batch, seq], step=[1, 1]), flip(axes=[0])])
  %5: i64[n] = iota(i64[n], axis=0, start=2*n+1)
  %6: f16[batch, seq] = cast(%4, f16)
  where batch multiple of 8
  where (seq+7) floordiv 8 >= min(batch, 3)
  return y=%4 aliases state, z=%5, h=%6, c=%3, b=%2
}
)",
    R"(# a comment
graph main(x: f32[batch, 8], y: f32[hidden=8], i: i64[seq], m: bool[batch, -1]) {
  a = matmul(x, reshape(y, [8, 1]))
  b: f32[batch, hidden=8] = add(x, mul(y, 2.5e-3))
  c = pad(slice_axis(b, axis=1, begin=-3, end=batch, step=2), [0, 1], [0, batch], mode=edge, fill=1)
  d = concat([transpose(x), flip(transpose(x), [0])], axis=-1)
  e = select(gt(x, 0), clamp(x, -1, inf), reduce_max(x, [1], keep=true))
  f, g = barrier(a, d)
  h = gather(x, take(i, i), axes=[1])
  where batch <= 64
  return a=expand_dims(f, [0]), b, c, g=g, e, h, m=logical_not(m)
}
)"};

constexpr std::string_view kPieces[] = {"(",
                                        ")",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        "=",
                                        ":",
                                        "%0",
                                        "%",
                                        "`",
                                        "\"",
                                        "\\",
                                        "-",
                                        "-1",
                                        "0",
                                        "99999999999999999999",
                                        "9223372036854775807",
                                        "1e999",
                                        "batch",
                                        "x",
                                        "f32[",
                                        "f32[2] {1, 2}",
                                        "...",
                                        "#",
                                        "\n",
                                        "where ",
                                        "return ",
                                        "graph f() {",
                                        " as ",
                                        "aliases ",
                                        "exp(",
                                        "transpose(",
                                        "body=softmax",
                                        "axes=",
                                        "floordiv",
                                        "mod",
                                        "max(",
                                        "*",
                                        "+",
                                        "@\"p\"",
                                        "\xff",
                                        std::string_view("\0", 1),
                                        "names unify",
                                        "reduce_sum("};

std::string mutate(std::string text, std::mt19937_64& rng) {
  const auto below = [&](size_t n) { return static_cast<size_t>(rng() % std::max<size_t>(n, 1)); };
  const size_t changes = 1 + below(4);
  for (size_t i = 0; i < changes; ++i) {
    const size_t at = below(text.size() + 1);
    const size_t length = std::min(below(20), text.size() - at);
    switch (below(6)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, kPieces[below(std::size(kPieces))]); break;
      case 2: text.replace(at, length, kPieces[below(std::size(kPieces))]); break;
      case 3: text.insert(below(text.size() + 1), text.substr(at, length)); break;
      case 4:
        if (at < text.size()) {
          text[at] = static_cast<char>(rng());
        }
        break;
      default: text.resize(below(20) == 0 ? at : text.size()); break;
    }
  }
  return text;
}

TEST(Fuzz, TheTextsThemselvesAreRight) {
  for (const std::string_view text : kTexts) {
    EXPECT_EQ(error_text([&] { parse_graphs(text); }), "no error");
  }
}

TEST(Fuzz, MutatedTextsGiveAGraphOrAnError) {
  std::mt19937_64 rng(1);
  int accepted = 0;
  constexpr int kRounds = 4000;
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = mutate(std::string(kTexts[static_cast<size_t>(i) % std::size(kTexts)]), rng);
    GraphSet module;
    try {
      module = parse_graphs(text);
    } catch (const Error&) {
      continue;
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << text;
    }
    ++accepted;
    // What was read can be written and read again.
    const std::string printed = to_text(module);
    EXPECT_EQ(error_text([&] { EXPECT_EQ(to_text(parse_graphs(printed)), printed); }), "no error") << printed;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, kRounds);
}

}  // namespace
}  // namespace tenon::fuzz_test
