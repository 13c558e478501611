#include "tenon/assumptions.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tenon/error.h"

namespace tenon::assumptions_test {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string error_text(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// p is in [1, 8], m is a multiple of 8, n is any integer, f is 4, q is at least 1; the others are >= 0.
Assumptions example() {
  Assumptions known;
  known.at_least("p", 1);
  known.at_most("p", 8);
  known.divisible("m", 8);
  known.unbounded_below("n");
  known.at_least("f", 4);
  known.at_most("f", 4);
  known.at_least("q", 1);
  return known;
}

TEST(Assumptions, FactsAddUp) {
  Assumptions known;
  EXPECT_EQ(known.range_of("b").to_string(), "[0, inf]");
  known.at_least("b", 3);
  known.at_least("b", 2);
  known.at_most("b", 20);
  known.at_most("b", 30);
  EXPECT_EQ(known.range_of("b").to_string(), "[3, 20]");
  known.divisible("b", 4);
  known.divisible("b", -6);
  EXPECT_EQ(known.multiple_of("b"), 12);
  EXPECT_EQ(known.range_of("b").to_string(), "[12, 12]");
  EXPECT_EQ(known.multiple_of("c"), 1);
}

TEST(Assumptions, NegativeValues) {
  Assumptions known;
  known.at_least("a", -5);
  EXPECT_EQ(known.range_of("a").to_string(), "[-5, inf]");
  known.at_least("a", -7);
  EXPECT_EQ(known.range_of("a").to_string(), "[-5, inf]");
  known.at_most("b", 9);
  known.at_least("b", -7);
  EXPECT_EQ(known.range_of("b").to_string(), "[0, 9]") << "a range was told before";
  known.divisible("c", 2);
  known.at_least("c", -7);
  EXPECT_EQ(known.range_of("c").to_string(), "[-6, inf]");
  known.unbounded_below("d");
  EXPECT_EQ(known.range_of("d").to_string(), "[-inf, inf]");
  known.at_most("d", -3);
  EXPECT_EQ(known.range_of("d").to_string(), "[-inf, -3]");
}

TEST(Assumptions, Contradictions) {
  Assumptions known;
  known.at_least("b", 5);
  EXPECT_EQ(error_text([&] { known.at_most("b", 3); }), "axis `b` cannot be at least 5 and at most 3");
  EXPECT_EQ(known.range_of("b").to_string(), "[5, inf]") << "the facts stay as they were";
  known.at_most("b", 7);
  EXPECT_EQ(error_text([&] { known.divisible("b", 8); }),
            "axis `b` cannot be at least 5 and at most 7 and a multiple of 8");
  EXPECT_EQ(error_text([&] { known.at_most("c", -1); }), "axis `c` cannot be at least 0 and at most -1");
  EXPECT_EQ(error_text([&] { known.divisible("c", 0); }), "axis `c` cannot be said to be a multiple of 0");
  EXPECT_EQ(error_text([&] { known.at_least("", 0); }), "the name of an axis is empty");
}

struct Row {
  std::string_view text;
  std::string_view expected;
};

TEST(Assumptions, Ranges) {
  const Assumptions known = example();
  const Row rows[] = {
      {"7", "[7, 7]"},
      {"b", "[0, inf]"},
      {"n", "[-inf, inf]"},
      {"f", "[4, 4]"},
      {"f*p", "[4, 32]"},
      {"2*b + 1", "[1, inf]"},
      {"3 - b", "[-inf, 3]"},
      {"b*s", "[0, inf]"},
      {"n*n", "[0, inf]"},
      {"n*n*n", "[-inf, inf]"},
      {"p floordiv 3", "[0, 2]"},
      {"b floordiv p", "[0, inf]"},
      {"8 floordiv p", "[1, 8]"},
      {"8 floordiv q", "[0, 8]"},
      {"(-8) floordiv q", "[-8, -1]"},
      {"8 ceildiv q", "[1, 8]"},
      {"8 floordiv n", "[-8, 8]"},
      {"b mod 8", "[0, 7]"},
      {"n mod 8", "[0, 7]"},
      {"(2*n) mod 8", "[0, 6]"},
      {"n mod (-8)", "[-7, 0]"},
      {"b mod q", "[0, inf]"},
      {"q - 1 - n mod q", "[0, inf]"},
      {"s*(b mod 8)", "[0, inf]"},
      {"m mod 8", "[0, 0]"},
      {"m mod 16", "[0, 8]"},
      {"(m + 3) mod 8", "[3, 3]"},
      {"m floordiv 8", "[0, inf]"},
      {"min(b, p)", "[0, 8]"},
      {"max(b, p)", "[1, inf]"},
      {"max(n, 0)", "[0, inf]"},
      {"b - min(b, p)", "[0, inf]"},
      {"max(b, s) - b", "[0, inf]"},
      {"b + s - max(b, s)", "[0, inf]"},
      {"b - 8*(b floordiv 8)", "[0, 7]"},
      {"8*((b + 7) floordiv 8) - b", "[0, 7]"},
      {"b - (3*b) floordiv 4", "[0, inf]"},
      {"(3*b) floordiv 4", "[0, inf]"},
      {"b - b floordiv q", "[0, inf]"},
      {"b - q*(b floordiv q)", "[0, inf]"},
      {"q*s - s", "[0, inf]"},
      {"8*b - p*b", "[0, inf]"},
      {"b - b floordiv 2 - b floordiv 3", "[0, inf]"},
      {"9223372036854775807*p", "[9223372036854775807, inf]"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(known.range(Extent::parse(row.text)).to_string(), row.expected) << row.text;
  }
}

TEST(Assumptions, Multiples) {
  const Assumptions known = example();
  const auto multiple = [&](const char* text, int64_t k) { return known.is_multiple(Extent::parse(text), k); };
  EXPECT_TRUE(multiple("m", 8));
  EXPECT_TRUE(multiple("m", -4));
  EXPECT_TRUE(multiple("m*m", 64));
  EXPECT_TRUE(multiple("m + 16*b", 8));
  EXPECT_TRUE(multiple("6*b + 9*s", 3));
  EXPECT_TRUE(multiple("min(4*b, 6*s)", 2));
  EXPECT_TRUE(multiple("(16*b + 8*m) floordiv 2", 8));
  EXPECT_TRUE(multiple("f*b", 4));
  EXPECT_TRUE(multiple("m floordiv 2", 4));
  EXPECT_TRUE(multiple("b", 1));
  EXPECT_TRUE(multiple("0", 0));
  EXPECT_FALSE(multiple("m + 1", 8));
  EXPECT_FALSE(multiple("m", 16));
  EXPECT_FALSE(multiple("m floordiv 16", 2));
  EXPECT_FALSE(multiple("b", 0));
  EXPECT_FALSE(multiple("b*s", kMin));
  EXPECT_TRUE(multiple("0", kMin));
}

TEST(Assumptions, Compare) {
  const Assumptions known = example();
  struct Pair {
    const char* a;
    const char* b;
    Comparison result;
  };
  const Pair pairs[] = {
      {"3", "3", Comparison::equal},
      {"3", "4", Comparison::different},
      {"b", "b", Comparison::equal},
      {"b", "s", Comparison::unknown},
      {"b", "b + 1", Comparison::different},
      {"b", "-1", Comparison::different},
      {"b", "0", Comparison::unknown},
      {"n", "-1", Comparison::unknown},
      {"b + 1", "-s", Comparison::different},
      {"2*b", "2*s + 1", Comparison::different},
      {"2*b", "2*s", Comparison::unknown},
      {"6*b + 3*s", "9*h + 1", Comparison::different},
      {"p", "9", Comparison::different},
      {"p", "8", Comparison::unknown},
      {"f", "4", Comparison::equal},
      {"f*b", "4*b", Comparison::equal},
      {"m", "12", Comparison::different},
      {"8*(m floordiv 8)", "m", Comparison::equal},
      {"8*(b floordiv 8)", "b", Comparison::unknown},
      {"m + b mod 8", "15", Comparison::unknown},
      {"8*b + s mod 8", "8*b + 9", Comparison::different},
      {"max(b, 0)", "b", Comparison::equal},
      {"max(n, 0)", "n", Comparison::unknown},
      {"min(p, 8)", "p", Comparison::equal},
      {"min(p, 9)", "max(p, 1)", Comparison::equal},
      {"max(s - 1, 0) + 1", "max(s, 1)", Comparison::equal},
      {"b floordiv 2 + (b + 1) floordiv 2", "b", Comparison::equal},
      {"b floordiv 2 + b ceildiv 2", "b + 1", Comparison::different},
      {"b ceildiv q", "(b + q - 1) floordiv q", Comparison::equal},
      {"b ceildiv s", "(b + s - 1) floordiv s", Comparison::unknown},
      {"p floordiv 9", "0", Comparison::equal},
      {"(b*q + b mod q) floordiv q", "b", Comparison::equal},
      {"min(b, s)", "b + 1", Comparison::different},
      {"9223372036854775807*b", "-9223372036854775807*s - 9", Comparison::different},
      {"9223372036854775807*b", "-9223372036854775807*b - 9", Comparison::unknown},
  };
  for (const Pair& pair : pairs) {
    EXPECT_EQ(compare(Extent::parse(pair.a), Extent::parse(pair.b), known), pair.result) << pair.a << " ? " << pair.b;
    EXPECT_EQ(compare(Extent::parse(pair.b), Extent::parse(pair.a), known), pair.result) << pair.b << " ? " << pair.a;
  }
}

TEST(Assumptions, DefaultIsThatNamesAreNotNegative) {
  const Extent b = Extent::name("b");
  EXPECT_EQ(compare(b, -1), Comparison::different);
  EXPECT_TRUE(proves_at_least(b, 0));
  EXPECT_EQ(simplify(max(b, 0)), b);
}

TEST(Assumptions, ProvesAtLeast) {
  const Assumptions known = example();
  const auto proves = [&](const char* a, const char* b) {
    return proves_at_least(Extent::parse(a), Extent::parse(b), known);
  };
  EXPECT_TRUE(proves("b", "0"));
  EXPECT_TRUE(proves("b", "b"));
  EXPECT_TRUE(proves("b + s", "b"));
  EXPECT_TRUE(proves("b", "8*(b floordiv 8)"));
  EXPECT_TRUE(proves("8*(b ceildiv 8)", "b"));
  EXPECT_TRUE(proves("b", "q*(b floordiv q)"));
  EXPECT_TRUE(proves("q*(b ceildiv q)", "b"));
  EXPECT_TRUE(proves("b", "b mod 8"));
  EXPECT_TRUE(proves("b", "min(b, s)"));
  EXPECT_TRUE(proves("max(b, s)", "min(b, s)"));
  EXPECT_TRUE(proves("q*b", "b"));
  EXPECT_TRUE(proves("max(8*b, 8)", "p"));
  EXPECT_FALSE(proves("b", "1"));
  EXPECT_FALSE(proves("b", "s"));
  EXPECT_FALSE(proves("n", "0"));
  EXPECT_FALSE(proves("s*b", "b"));
  EXPECT_FALSE(proves("9223372036854775807*b", "-9223372036854775807*b - 9"));
}

TEST(Assumptions, Simplify) {
  const Assumptions known = example();
  const Row rows[] = {
      {"b", "b"},
      {"f", "4"},
      {"f*b + 1", "4*b+1"},
      {"max(b, 0)", "b"},
      {"max(n, 0)", "max(n, 0)"},
      {"min(b, s, b + s)", "min(b, s)"},
      {"max(min(b, s), b)", "b"},
      {"min(p, 100)", "p"},
      {"(seq + 7) floordiv 8", "(seq+7) floordiv 8"},
      {"p floordiv 9 + b", "b"},
      {"p floordiv 8", "p floordiv 8"},
      {"m floordiv 8", "m floordiv 8"},
      {"8*(m floordiv 8)", "m"},
      {"(m + 7) floordiv 8", "m floordiv 8"},
      {"(m*b + 3) floordiv 8", "b*(m floordiv 8)"},
      {"m mod 16", "m mod 16"},
      {"(m*m) floordiv 8", "m*(m floordiv 8)"},
      {"b ceildiv q", "(b-1) floordiv q+1"},
      {"(b mod q) floordiv q", "0"},
      {"max(b - s, 0)", "max(b-s, 0)"},
      {"min(max(b, 0) + 1, s)", "min(b+1, s)"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(simplify(Extent::parse(row.text), known).to_string(), row.expected) << row.text;
  }
}

TEST(Assumptions, ExtremeFactsStaySound) {
  Assumptions known;
  known.at_least("a", kMin);
  known.at_most("a", kMax);
  known.divisible("b", kMax);
  known.divisible("b", kMax - 1);
  EXPECT_EQ(known.multiple_of("b"), kMax);
  EXPECT_EQ(compare(Extent::name("a"), Extent::name("b"), known), Comparison::unknown);
  EXPECT_EQ(known.range(Extent::parse("-a")).low, -kMax);
  EXPECT_EQ(known.range(Extent::parse("-a")).high, std::nullopt);
  EXPECT_EQ(known.range(Extent::parse("3*b + 1")).low, 1);
}

TEST(Assumptions, LongExtentsAnswerQuickly) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const std::string n = std::to_string(i);
    text += (i == 0 ? "" : "+") + ("min(a" + n + ", b" + n + ")*(c" + n + " floordiv d" + n + ")");
  }
  const Extent e = Extent::parse(text);
  EXPECT_TRUE(proves_at_least(e + 1, 0));
  EXPECT_EQ(compare(e, -1), Comparison::different);
  EXPECT_EQ(compare(e, 5), Comparison::unknown);
  EXPECT_EQ(Extent::parse(e.to_string()), e);
}

}  // namespace
}  // namespace tenon::assumptions_test
