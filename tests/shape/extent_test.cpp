#include "tenon/extent.h"

#include <gtest/gtest.h>

#include <limits>
#include <unordered_set>

#include "tenon/error.h"

namespace tenon::extent_test {
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

std::string canonical(std::string_view text) { return Extent::parse(text).to_string(); }

int64_t value(const Extent& e, const std::map<std::string, int64_t, std::less<>>& binding) {
  return e.evaluate([&](std::string_view name) -> std::optional<int64_t> {
    const auto found = binding.find(name);
    return found != binding.end() ? std::optional(found->second) : std::nullopt;
  });
}

struct Row {
  std::string_view text;
  std::string_view canonical;
};

TEST(Extent, CanonicalForms) {
  const Row rows[] = {
      // sums and products
      {"0", "0"},
      {"-7", "-7"},
      {"2*seq + seq", "3*seq"},
      {"b*s - s*b", "0"},
      {"seq + 1", "seq+1"},
      {"1 + seq", "seq+1"},
      {"8 - seq", "8-seq"},
      {"-seq - 8", "-seq-8"},
      {"-a + b - c + 4", "b-a-c+4"},
      {"b*s - 1", "b*s-1"},
      {"s*b", "b*s"},
      {"(a + b)*(a - b)", "a*a-b*b"},
      {"(b + 1)*(s + 2)", "b*s+2*b+s+2"},
      {"s + b*b + b*s + 1", "b*b+b*s+s+1"},
      {"--b", "b"},
      {"-(b + 1)", "-b-1"},
      {"((((b))))", "b"},
      {"a.b_c + _x", "_x+a.b_c"},
      // division by numbers
      {"7 floordiv 2", "3"},
      {"-7 floordiv 2", "-4"},
      {"7 floordiv -2", "-4"},
      {"-7 ceildiv 2", "-3"},
      {"7 ceildiv 2", "4"},
      {"-7 mod 3", "2"},
      {"7 mod -3", "-2"},
      {"(8*b) floordiv 4", "2*b"},
      {"8*b floordiv 4", "2*b"},
      {"b floordiv 1", "b"},
      {"b floordiv -1", "-b"},
      {"(9*b + 17) floordiv 8", "b+(b+1) floordiv 8+2"},
      {"(seq + 7) floordiv 8", "(seq+7) floordiv 8"},
      {"seq ceildiv 8", "(seq+7) floordiv 8"},
      {"-((-seq) floordiv 8)", "(seq+7) floordiv 8"},
      {"(seq + 8) floordiv 8", "seq floordiv 8+1"},
      {"(4*b + 6) floordiv 16", "(b+1) floordiv 4"},
      {"(4*b + 7) floordiv 16", "(b+1) floordiv 4"},
      {"(2*b + 1) floordiv 2", "b"},
      {"b floordiv 2 floordiv 3", "b floordiv 6"},
      {"(b floordiv 2 + 1) floordiv 3", "(b+2) floordiv 6"},
      {"((h + 1) floordiv 2 + 1) floordiv 2", "(h+3) floordiv 4"},
      {"(s - b floordiv 2) floordiv 3", "-((b-2*s+4) floordiv 6)"},
      {"-(b floordiv 8)", "-(b floordiv 8)"},
      {"1 - b floordiv 8", "1-b floordiv 8"},
      {"(8 - b) floordiv 8", "1-(b+7) floordiv 8"},
      {"b floordiv -8", "-((b+7) floordiv 8)"},
      {"3*(b floordiv 8)*s", "3*s*(b floordiv 8)"},
      {"(h + 2*1 - 3) floordiv 2 + 1", "(h+1) floordiv 2"},
      {"(e - s + 7) floordiv 8", "(e-s+7) floordiv 8"},
      // division by names
      {"(b*s*h) floordiv (b*s)", "h"},
      {"((s+1)*b) floordiv (s+1)", "b"},
      {"b floordiv b", "1"},
      {"0 floordiv b", "0"},
      {"b floordiv s", "b floordiv s"},
      {"b floordiv (-s)", "(-b) floordiv s"},
      {"(h + 2*p - k) floordiv s + 1", "(h-k+2*p) floordiv s+1"},
      {"(b*s + b) floordiv b", "s+1"},
      {"(b*s*h + b) floordiv (b*s)", "h+1 floordiv s"},
      {"(b + s - 1) floordiv s", "(b-1) floordiv s+1"},
      {"b ceildiv s", "b ceildiv s"},
      {"3*(b ceildiv s)", "3*(b ceildiv s)"},
      {"-(b ceildiv s)", "(-b) floordiv s"},
      {"5 ceildiv s", "5 ceildiv s"},
      {"(4*b) floordiv (6*s)", "(2*b) floordiv (3*s)"},
      {"b floordiv s floordiv 2", "b floordiv (2*s)"},
      {"b floordiv s floordiv h", "(b floordiv s) floordiv h"},
      {"b floordiv (s*h)", "b floordiv (h*s)"},
      // remainders
      {"b mod 4", "b mod 4"},
      {"(b + 4) mod 4", "b mod 4"},
      {"(4*b) mod 4", "0"},
      {"b mod 1", "0"},
      {"(9*b + 17) mod 8", "(b+1) mod 8"},
      {"b mod 16 mod 4", "b mod 4"},
      {"(b mod 8) floordiv 8", "0"},
      {"4*(b floordiv 4) + b mod 4", "b"},
      {"s*(b floordiv s) + b mod s", "b"},
      {"1 + 2*(b mod 4)", "2*(b mod 4)+1"},
      {"h*(b mod s)", "h*(b mod s)"},
      {"s - b mod s", "s-b mod s"},
      {"-(b mod s)", "-(b mod s)"},
      {"b mod s mod s", "b mod s"},
      {"b + b mod 8", "b+b mod 8"},
      {"8*((b + 7) floordiv 8) - b", "8*((b+7) floordiv 8)-b"},
      // minima and maxima
      {"min(3, 2, 5)", "2"},
      {"max(b)", "b"},
      {"min(s, b)", "min(b, s)"},
      {"min(b, s, b)", "min(b, s)"},
      {"min(s, s + 1)", "s"},
      {"max(s, s + 1, 4, 7)", "max(s+1, 7)"},
      {"min(a, min(c, b))", "min(a, b, c)"},
      {"min(min(a, b) + 1, c)", "min(a+1, b+1, c)"},
      {"max(a, min(b, c))", "max(a, min(b, c))"},
      {"min(-a, -b)", "-max(a, b)"},
      {"max(-a, 3)", "-min(a, -3)"},
      {"2*min(a, b) - min(b, a)", "min(a, b)"},
      {"min(a, b)*min(a, b)", "min(a, b)*min(a, b)"},
      {"min(a, b) floordiv 8", "min(a, b) floordiv 8"},
      // names
      {"`seq`", "seq"},
      {"`input 0`", "`input 0`"},
      {"`min` + `a\\`b\\\\c`", "`a\\`b\\\\c`+`min`"},
      {"minimum*mod_", "minimum*mod_"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(canonical(row.text), row.canonical) << row.text;
    const Extent e = Extent::parse(row.text);
    EXPECT_EQ(Extent::parse(e.to_string()), e) << row.text << " prints as " << e.to_string();
  }
}

TEST(Extent, ParseErrors) {
  const Row rows[] = {
      {"", R"~(extent "", column 1: expected a value, found the end)~"},
      {"a +", R"~(extent "a +", column 4: expected a value, found the end)~"},
      {"a + * b", R"~(extent "a + * b", column 5: expected a value, found "*")~"},
      {"(a", R"~(extent "(a", column 3: expected ")", found the end)~"},
      {"a b", R"~(extent "a b", column 3: expected an operator or the end, found "b")~"},
      {"a % b", R"~(extent "a % b", column 3: expected an operator or the end, found "%")~"},
      {"min()", R"~(extent "min()", column 5: expected a value, found ")")~"},
      {"min + 1", R"~(extent "min + 1", column 5: expected "(", found "+")~"},
      {"mod", R"~(extent "mod", column 1: expected a value, found "mod")~"},
      {"`ab", R"~(extent "`ab", column 1: a name in backticks has no end)~"},
      {"``", R"~(extent "``", column 1: the name of an axis is empty)~"},
      {"a + `x\\y`", R"~(extent "a + `x\y`", column 7: only \` and \\ are escapes in a name)~"},
      {"9223372036854775808", R"~(extent "9223372036854775808", column 1: the number does not fit 64 bits)~"},
      {"b floordiv 0", R"~(extent "b floordiv 0", column 3: extent divides by zero: b floordiv 0)~"},
      {"b ceildiv (s - s)", R"~(extent "b ceildiv (s - s)", column 3: extent divides by zero: b ceildiv 0)~"},
      {"(b + 1) mod 0", R"~(extent "(b + 1) mod 0", column 9: extent divides by zero: (b+1) mod 0)~"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(error_text([&] { Extent::parse(row.text); }), row.canonical);
  }
}

TEST(Extent, Names) {
  EXPECT_EQ(error_text([] { Extent::name(""); }), "the name of an axis is empty");
  EXPECT_EQ(Extent::name("seq").as_name(), "seq");
  EXPECT_EQ((Extent::name("seq") + 1).as_name(), std::nullopt);
  EXPECT_EQ(Extent::parse("2*seq").as_name(), std::nullopt);
  EXPECT_EQ(Extent(3).as_name(), std::nullopt);
  EXPECT_EQ(Extent::parse("z floordiv (a*b) + min(q, b)").names(), (std::vector<std::string>{"a", "b", "q", "z"}));
  EXPECT_TRUE(Extent(3).names().empty());
}

TEST(Extent, Constants) {
  EXPECT_TRUE(Extent().is_constant());
  EXPECT_EQ(Extent().constant(), 0);
  EXPECT_EQ((Extent::name("b") - Extent::name("b") + 4).constant(), 4);
  EXPECT_EQ(Extent::name("b").constant(), std::nullopt);
}

TEST(Extent, MovedFromIsUsable) {
  Extent a = Extent::name("b") + 1;
  const Extent b = std::move(a);
  EXPECT_EQ(a, Extent(0));  // NOLINT(bugprone-use-after-move): this is the claim
  EXPECT_EQ(b.to_string(), "b+1");
}

TEST(Extent, EqualExtentsHaveEqualHashes) {
  const char* same[][2] = {{"(a+b)*c", "a*c + c*b"}, {"a ceildiv 8", "(a+7) floordiv 8"}, {"min(a, b)", "min(b, a)"}};
  for (const auto& [x, y] : same) {
    EXPECT_EQ(Extent::parse(x), Extent::parse(y));
    EXPECT_EQ(Extent::parse(x).hash(), Extent::parse(y).hash());
    EXPECT_TRUE((Extent::parse(x) <=> Extent::parse(y)) == 0);
  }
  const std::unordered_set<Extent> distinct = {0,
                                               1,
                                               Extent::parse("a"),
                                               Extent::parse("b"),
                                               Extent::parse("a+1"),
                                               Extent::parse("2*a"),
                                               Extent::parse("a*a"),
                                               Extent::parse("a floordiv 2"),
                                               Extent::parse("min(a, b)"),
                                               Extent::parse("max(a, b)")};
  EXPECT_EQ(distinct.size(), 10U);
  std::unordered_set<uint64_t> hashes;
  for (const Extent& e : distinct) {
    hashes.insert(e.hash());
  }
  EXPECT_EQ(hashes.size(), 10U);
}

TEST(Extent, OrderIsTotal) {
  std::vector<Extent> list;
  for (const char* text :
       {"4", "-1", "b", "a", "a+1", "2*a", "a*b", "a floordiv 2", "a floordiv 3", "min(a, b)", "max(a, b)"}) {
    list.push_back(Extent::parse(text));
  }
  for (const Extent& x : list) {
    for (const Extent& y : list) {
      EXPECT_EQ((x <=> y) == 0, x == y);
      EXPECT_EQ(x<y, y> x);
      for (const Extent& z : list) {
        EXPECT_TRUE(!(x < y && y < z) || x < z);
      }
    }
  }
}

TEST(Extent, Substitute) {
  const Extent a = Extent::name("a");
  const Extent b = Extent::name("b");
  EXPECT_EQ(Extent::parse("a - 2*b").substitute({{"a", b}, {"b", a}}), b - 2 * a);
  EXPECT_EQ(Extent::parse("a*a + min(a, b)").substitute({{"a", b + 1}}), Extent::parse("b*b + 3*b + 1"));
  EXPECT_EQ(Extent::parse("(a + 7) floordiv 8").substitute({{"a", 8 * b}}), b);
  EXPECT_EQ(Extent::parse("a floordiv b").substitute({{"a", 7}, {"b", 2}}), Extent(3));
  EXPECT_EQ(Extent::parse("c").substitute({{"a", b}}), Extent::name("c"));
  EXPECT_EQ(error_text([&] { Extent::parse("a floordiv b").substitute({{"b", 0}}); }),
            "extent divides by zero: a floordiv 0");
}

TEST(Extent, Evaluate) {
  EXPECT_EQ(value(Extent::parse("(h + 2*p - k) floordiv s + 1"), {{"h", 224}, {"p", 3}, {"k", 7}, {"s", 2}}), 112);
  EXPECT_EQ(value(Extent::parse("b ceildiv s"), {{"b", 7}, {"s", -2}}), -3);
  EXPECT_EQ(value(Extent::parse("b mod s"), {{"b", -7}, {"s", 3}}), 2);
  EXPECT_EQ(value(Extent::parse("max(b, 3)*min(b, 2)"), {{"b", 0}}), 0);
  EXPECT_EQ(error_text([] { value(Extent::parse("b*s"), {{"b", 2}}); }), "extent `b*s`: axis `s` is not bound");
  EXPECT_EQ(error_text([] { value(Extent::parse("b floordiv s"), {{"b", 2}, {"s", 0}}); }),
            "extent `b floordiv s` divides by zero at b=2, s=0");
  EXPECT_EQ(error_text([] { value(Extent::parse("b*s"), {{"b", kMax}, {"s", 2}}); }),
            "extent `b*s` overflows 64 bits at b=9223372036854775807, s=2");
  EXPECT_EQ(value(Extent::parse("(b*s) floordiv b"), {{"b", 0}, {"s", 5}}), 5) << "simplified away";
}

TEST(Extent, LinearIn) {
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_EQ(Extent::parse("2*seq + 5").linear_in("seq"), Pair(5, 2));
  EXPECT_EQ(Extent::parse("-seq").linear_in("seq"), Pair(0, -1));
  for (const char* text : {"3", "seq*seq", "seq + b", "seq*b", "b", "seq floordiv 2", "seq + seq floordiv 2"}) {
    EXPECT_EQ(Extent::parse(text).linear_in("seq"), std::nullopt) << text;
  }
}

TEST(Extent, DivideExactly) {
  const auto quotient = [](const char* a, const char* b) {
    const auto q = divide_exactly(Extent::parse(a), Extent::parse(b));
    return q ? q->to_string() : "none";
  };
  EXPECT_EQ(quotient("b*s*8", "s*4"), "2*b");
  EXPECT_EQ(quotient("b*s*8", "-s*4"), "-2*b");
  EXPECT_EQ(quotient("a*a - b*b", "a - b"), "a+b");
  EXPECT_EQ(quotient("(a + b + 1)*(c + 2)", "c + 2"), "a+b+1");
  EXPECT_EQ(quotient("0", "s"), "0");
  EXPECT_EQ(quotient("12", "-4"), "-3");
  EXPECT_EQ(quotient("s*(b floordiv 4)", "s"), "b floordiv 4");
  EXPECT_EQ(quotient("b", "0"), "none");
  EXPECT_EQ(quotient("0", "0"), "none");
  EXPECT_EQ(quotient("3*b", "2"), "none");
  EXPECT_EQ(quotient("b", "s"), "none");
  EXPECT_EQ(quotient("1", "s"), "none");
  EXPECT_EQ(quotient("b*s + 1", "s"), "none");
}

TEST(Extent, OverflowNamesTheOperation) {
  const Extent b = Extent::name("b");
  EXPECT_EQ(error_text([] { Extent(kMax) + 1; }), "extent overflows 64 bits: 9223372036854775807 + 1");
  EXPECT_EQ(error_text([] { Extent(kMin) - 1; }), "extent overflows 64 bits: (-9223372036854775808) - 1");
  EXPECT_EQ(error_text([] { -Extent(kMin); }), "extent overflows 64 bits: 0 - (-9223372036854775808)");
  EXPECT_EQ(error_text([&] { (b + 1) * kMax * 2; }),
            "extent overflows 64 bits: (9223372036854775807*b+9223372036854775807) * 2");
  EXPECT_EQ(error_text([&] { kMax* b + b; }), "extent overflows 64 bits: (9223372036854775807*b) + b");
  EXPECT_EQ(error_text([] { floordiv(kMin, -1); }), "extent overflows 64 bits: (-9223372036854775808) floordiv (-1)");
}

TEST(Extent, Extremes) {
  const Extent b = Extent::name("b");
  EXPECT_EQ(Extent(kMin).to_string(), "-9223372036854775808");
  for (const Extent& e : {Extent(kMin), Extent(kMax), kMin * b, b + kMin, kMin * b + kMin, kMax * b + kMin,
                          b * b + kMin * b, max(b, kMin), min(b + kMin, kMax), min(kMin * b, -Extent::name("s")),
                          max(-b, kMin), floordiv(b, kMax), mod(b, kMax), kMin * floordiv(-b, Extent::name("s")),
                          floordiv(kMin, b), -floordiv(b + kMin, Extent::name("s"))}) {
    EXPECT_EQ(Extent::parse(e.to_string()), e) << e.to_string();
  }
  EXPECT_EQ(floordiv(kMin, 1), Extent(kMin));
  EXPECT_EQ(floordiv(kMax, kMin), Extent(-1));
  EXPECT_EQ(floordiv(kMin, kMin), Extent(1));
  EXPECT_EQ(ceildiv(kMax, 2), Extent(kMax / 2 + 1));
  EXPECT_EQ(mod(kMin, -1), Extent(0));
  EXPECT_EQ(mod(-1, kMax), Extent(kMax - 1));
  EXPECT_EQ(floordiv(floordiv(b, int64_t{1} << 40), int64_t{1} << 40).to_string(),
            "(b floordiv 1099511627776) floordiv 1099511627776");
}

TEST(Extent, DeepTextIsAnErrorAndNeverACrash) {
  const std::string deep = std::string(30000, '(') + "b" + std::string(30000, ')');
  EXPECT_NE(error_text([&] { Extent::parse(deep); }).find("column 101: more than 100 parentheses inside each other"),
            std::string::npos);
  EXPECT_EQ(Extent::parse(std::string(60000, '-') + "b"), Extent::name("b"));
  std::string minima;
  for (int i = 0; i < 10000; ++i) {
    minima += "min(";
  }
  EXPECT_NE(error_text([&] { Extent::parse(minima); }).find("more than 100 parentheses"), std::string::npos);
  EXPECT_EQ(error_text([] { Extent::parse(std::string(70000, 'a')); }),
            "the text of an extent has 70000 characters; at most 65536 are read");
}

TEST(Extent, GrowthIsBounded) {
  const Extent s = Extent::name("s");
  EXPECT_EQ(error_text([&] {
              Extent e = Extent::name("b");
              for (int i = 0; i < 100000; ++i) {
                e = floordiv(e, s) + 1;
              }
            }),
            "extent is too large: more than 100 divisions, minima or maxima inside each other");
  EXPECT_EQ(error_text([&] {
              Extent e = 1;
              for (int i = 0; i < 1000; ++i) {
                e *= s;
              }
            }),
            "extent is too large: a product of more than 64 factors");
  EXPECT_EQ(error_text([&] {
              Extent e;
              for (int i = 0; i < 5000; ++i) {
                e += Extent::name("n" + std::to_string(i));
              }
            }),
            "extent is too large: its canonical form has more than 4096 terms");
  EXPECT_EQ(error_text([&] {
              Extent e;
              for (int i = 0; i < 300; ++i) {
                e += Extent::name("n" + std::to_string(i));
              }
              e *= e;
            }),
            "extent is too large: a product of 300 terms by 300 terms");
  EXPECT_EQ(error_text([&] {  // the same operand twice: linear as a graph, exponential as text
              Extent e = Extent::name("b");
              for (int i = 0; i < 60; ++i) {
                e = max(floordiv(e, s), min(e, s));
              }
            }),
            "extent is too large: its canonical form has more than 4096 terms");
}

TEST(Extent, IntegersAndNamesMix) {
  const Extent b = Extent::name("b");
  EXPECT_EQ(b + 1, 1 + b);
  EXPECT_EQ(2 * b - b, b);
  EXPECT_EQ(-b + b, Extent(0));
  Extent e = 3;
  e += b;
  e *= 2;
  e -= 6;
  EXPECT_EQ(e.to_string(), "2*b");
  EXPECT_EQ(min(b, 4).to_string(), "min(b, 4)");
}

}  // namespace
}  // namespace tenon::extent_test
