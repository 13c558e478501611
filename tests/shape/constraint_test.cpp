#include "tenon/constraint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "shape/constraint_check.h"
#include "shape/constraint_set.h"
#include "support/error_text.h"

namespace tenon::constraint_test {
namespace {

using Kind = Constraint::Kind;

Constraint parsed(std::string_view text, std::string needed_by = "", std::string place = "") {
  Constraint constraint = parse_constraint(text);
  constraint.needed_by = std::move(needed_by);
  constraint.place = std::move(place);
  return constraint;
}

ConstraintSet set_of(std::initializer_list<const char*> texts) {
  ConstraintSet set;
  for (const char* text : texts) {
    set.add(parsed(text));
  }
  return set;
}

std::string text_of(const ConstraintSet& set) {
  std::string text;
  for (const auto& [name, value] : set.substitutions()) {
    text += name + ": " + value.to_string() + "; ";
  }
  for (const Constraint& constraint : set.remaining()) {
    text += constraint.to_string() + "; ";
  }
  return text;
}

TEST(Constraint, ParsesAndPrints) {
  const std::pair<const char*, const char*> cases[] = {
      {"out = in - kernel + 1", "out == in-kernel+1"},
      {"a==b", "a == b"},
      {"n >= 4", "n >= 4"},
      {"n <= 4", "4 >= n"},
      {"n > 4", "n >= 5"},
      {"n < m", "m >= n+1"},
      {"8 divides seq", "seq multiple of 8"},
      {"seq multiple of 8", "seq multiple of 8"},
      {"seq+1 multiple  of 2*k", "seq+1 multiple of 2*k"},
      {"x.0 broadcasts to n", "x.0 broadcasts to n"},
      {"a mod 4 divides b floordiv 2", "b floordiv 2 multiple of a mod 4"},
      {"divides divides multiple", "multiple multiple of divides"},
      {"multiple multiple of of", "multiple multiple of of"},
      {"broadcasts == divides", "broadcasts == divides"},
      {"min(a, b) >= (c)", "min(a, b) >= c"},
      {"`a == b` == `\\`>=`", "`a == b` == `\\`>=`"},
  };
  for (const auto& [text, printed] : cases) {
    const Constraint constraint = parse_constraint(text);
    EXPECT_EQ(constraint.to_string(), printed);
    EXPECT_EQ(parse_constraint(printed), constraint);
    EXPECT_EQ(parse_constraint(printed).hash(), constraint.hash());
  }
  EXPECT_EQ(parsed("a == b", "x"), parsed("a == b", "y", "z"));
  EXPECT_NE(parse_constraint("a >= b"), parse_constraint("b >= a"));
}

TEST(Constraint, ParseErrors) {
  const std::string expected = "` is no constraint: expected ==, >=, <=, `divides`, `multiple of` or `broadcasts to`";
  for (const std::string text : {"", "a", "a+b", "(a == b)", "`a == b", "divides a"}) {
    EXPECT_EQ(error_text([&] { parse_constraint(text); }), "`" + text + expected);
  }
  EXPECT_EQ(error_text([&] { parse_constraint("a =="); }), "in \"a ==\", column 5: an expression is missing");
  EXPECT_EQ(error_text([&] { parse_constraint("== a"); }), "in \"== a\", column 1: an expression is missing");
  EXPECT_NE(error_text([&] { parse_constraint("a == b == c"); }), "no error");
}

TEST(Constraint, Decide) {
  const std::pair<const char*, Verdict> cases[] = {
      {"n == n", Verdict::holds},
      {"n == n+1", Verdict::fails},
      {"n == m", Verdict::unknown},
      {"n >= 0", Verdict::holds},
      {"n >= 1", Verdict::unknown},
      {"n+1 <= 0", Verdict::fails},
      {"8*n multiple of 4", Verdict::holds},
      {"8*n+1 multiple of 4", Verdict::fails},
      {"n multiple of 4", Verdict::unknown},
      {"n*m multiple of m", Verdict::holds},
      {"0 multiple of n", Verdict::holds},
      {"0 multiple of 0", Verdict::holds},
      {"3 multiple of 0", Verdict::fails},
      {"12 multiple of -4", Verdict::holds},
      {"13 multiple of 4", Verdict::fails},
      {"1 broadcasts to n", Verdict::holds},
      {"n broadcasts to n", Verdict::holds},
      {"n broadcasts to 8", Verdict::unknown},
      {"3 broadcasts to 8", Verdict::fails},
      {"2*n broadcasts to 7", Verdict::fails},
  };
  for (const auto& [text, verdict] : cases) {
    EXPECT_EQ(decide(parse_constraint(text)), verdict) << text;
  }
  Assumptions known;
  known.at_least("n", 2);
  known.divisible("n", 4);
  EXPECT_EQ(decide(parse_constraint("n >= 2"), known), Verdict::holds);
  EXPECT_EQ(decide(parse_constraint("n multiple of 4"), known), Verdict::holds);
  EXPECT_EQ(decide(parse_constraint("n == 1"), known), Verdict::fails);
}

TEST(ConstraintSet, KeepsItselfSolved) {
  struct Case {
    std::initializer_list<const char*> constraints;
    const char* solved;
  };
  const Case cases[] = {
      {{}, ""},
      // Proven, duplicate and implied ones are dropped.
      {{"n == n", "8*n multiple of 4", "n+1 >= 1"}, ""},
      {{"n >= 4", "n >= 4", "n >= 2", "2*n >= 7"}, "n >= 4; "},
      {{"n >= 4", "n >= 8"}, "n >= 8; "},
      {{"n <= 9", "n <= 5", "n <= 7"}, "5 >= n; "},
      {{"n multiple of 8", "n multiple of 4"}, "n multiple of 8; "},
      {{"n multiple of 4", "n multiple of 8"}, "n multiple of 8; "},
      {{"n multiple of 4", "n multiple of 6", "n multiple of 12"}, "n multiple of 4; n multiple of 6; "},
      {{"6*n multiple of 4", "n multiple of 2"}, "n multiple of 2; "},
      {{"a >= b+1", "a >= b"}, "a >= b+1; "},
      {{"a*b == c*d", "c*d == a*b"}, "a*b == c*d; "},
      {{"a*b multiple of 2*k", "a*b multiple of k"}, "a*b multiple of 2*k; "},
      // Names: the first stands for all, a constant for any.
      {{"b == a"}, "b: a; "},
      {{"c == b", "b == a"}, "b: a; c: a; "},
      {{"a == b", "c == d", "d == a"}, "b: a; c: a; d: a; "},
      {{"a == b", "b == a"}, "b: a; "},
      {{"a == b", "b == c", "a == c"}, "b: a; c: a; "},
      {{"hidden == 768"}, "hidden: 768; "},
      {{"768 == hidden", "a == hidden", "a == 768"}, "a: 768; hidden: 768; "},
      {{"a == b", "b == 8"}, "a: 8; b: 8; "},
      {{"a.0 == batch"}, "a.0: batch; "},
      {{"a.0 == b.0"}, "b.0: a.0; "},
      // Definitions.
      {{"out = in - kernel + 1"}, "out: in-kernel+1; "},
      {{"out = in - kernel + 1", "kernel = 3"}, "kernel: 3; out: in-2; "},
      {{"a == c+1", "a == 5"}, "a: 5; c: 4; "},
      {{"2*n == 10"}, "n: 5; "},
      {{"2*a == 2*b+4"}, "b: a-2; "},
      {{"a+1 == b+c"}, "c: a-b+1; "},
      {{"n == n*k"}, "n == k*n; "},
      {{"n == n*k", "k == 1"}, "k: 1; "},
      {{"a*b == 2*c", "a == 2"}, "a: 2; c: b; "},
      // Substituted into the others.
      {{"b >= 4", "b == a"}, "b: a; a >= 4; "},
      {{"b >= 4", "a >= 6", "b == a"}, "b: a; a >= 6; "},
      {{"n >= 4", "n == 5"}, "n: 5; "},
      {{"n >= 4", "n == m+1"}, "n: m+1; m >= 3; "},
      {{"b == a", "hidden == 768", "out == in-kernel+1", "b >= 4", "a >= 2", "2*hidden multiple of 8"},
       "b: a; hidden: 768; out: in-kernel+1; a >= 4; "},
      // A size is at least 0, so its definition is.
      {{"n == m-5", "m >= 5"}, "n: m-5; "},
      // Broadcasts.
      {{"n broadcasts to 8"}, "n broadcasts to 8; "},
      {{"n broadcasts to 1"}, "n: 1; "},
      {{"n broadcasts to 8", "n >= 2"}, "n: 8; "},
      {{"n >= 2", "n broadcasts to m"}, "n: m; m >= 2; "},
      {{"n broadcasts to 8", "n <= 7"}, "n: 1; "},
      {{"n broadcasts to 8", "n == 1"}, "n: 1; "},
      {{"n broadcasts to 8", "n == 8"}, "n: 8; "},
  };
  for (const Case& c : cases) {
    std::string given;
    for (const char* text : c.constraints) {
      given += std::string(text) + "; ";
    }
    EXPECT_EQ(error_text([&] { EXPECT_EQ(text_of(set_of(c.constraints)), c.solved) << given; }), "no error") << given;
  }
}

TEST(ConstraintSet, ContradictionsNameBothOperators) {
  struct Case {
    std::vector<Constraint> before;
    Constraint last;
    const char* message;
  };
  const Case cases[] = {
      {{}, parsed("12 == 13", "reshape"), "reshape needs `12 == 13`, which cannot hold"},
      {{}, parsed("n == n+1"), "`n == n+1`, which cannot hold"},
      {{}, parsed("n == -1", "pad"), "pad needs `n == -1`, which cannot hold"},
      {{}, parsed("n <= -1", "pad"), "pad needs `-1 >= n`, which cannot hold"},
      {{parsed("hidden == 768", "matmul")},
       parsed("hidden == 512", "add", "/Add_3"),
       "add needs `hidden == 512`, which contradicts `hidden == 768` (needed by matmul)\n  at node \"/Add_3\""},
      {{parsed("hidden == 768", "matmul", "/MatMul_1"), parsed("n >= 4")},
       parsed("hidden multiple of 5", "reshape"),
       "reshape needs `hidden multiple of 5`, which contradicts `hidden == 768` (needed by matmul at node "
       "\"/MatMul_1\")"},
      {{parsed("x == y", "sub"), parsed("a == b", "add"), parsed("b == c", "mul")},
       parsed("a == c+1", "concat"),
       "concat needs `a == c+1`, which contradicts `b == c` (needed by mul) and `a == b` (needed by add)"},
      {{parsed("n == 3", "pad")},
       parsed("n >= 4", "conv"),
       "conv needs `n >= 4`, which contradicts `n == 3` (needed by pad)"},
      {{parsed("n >= 4", "conv")},
       parsed("n == 3", "pad"),
       "pad needs `n == 3`, which contradicts `n >= 4` (needed by conv)"},
      {{parsed("n >= 4", "conv")},
       parsed("n <= 3", "pad"),
       "pad needs `3 >= n`, which contradicts `n >= 4` (needed by conv)"},
      {{parsed("n multiple of 8", "reshape"), parsed("n >= 1", "conv")},
       parsed("n <= 7", "slice"),
       "slice needs `7 >= n`, which contradicts `n >= 1` (needed by conv) and `n multiple of 8` (needed by reshape)"},
      {{parsed("a >= b+1", "slice")},
       parsed("b >= a", "pad"),
       "pad needs `b >= a`, which contradicts `a >= b+1` (needed by slice)"},
      {{parsed("a*b == 6", "reshape")},
       parsed("a*b == 8", "reshape"),
       "reshape needs `a*b == 8`, which contradicts `a*b == 6` (needed by reshape)"},
      {{parsed("n == m-5", "conv")},
       parsed("m == 3", "pad"),
       "pad needs `m == 3`, which contradicts `n == m-5` (needed by conv)"},
      {{parsed("n == m-k", "conv"), parsed("m <= 3", "pad")},
       parsed("k >= 5", "pool"),
       "pool needs `k >= 5`, which contradicts `3 >= m` (needed by pad) and `n == m-k` (needed by conv)"},
      {{parsed("n broadcasts to 8", "add"), parsed("n broadcasts to 6", "mul")},
       parsed("n >= 2", "pool"),
       "pool needs `n >= 2`, which contradicts `n broadcasts to 6` (needed by mul) and `n broadcasts to 8` (needed by "
       "add)"},
      {{parsed("2*n == m", "reshape")},
       parsed("m == 9", "add"),
       "add needs `m == 9`, which contradicts `2*n == m` (needed by reshape)"},
  };
  for (const Case& c : cases) {
    ConstraintSet set;
    for (const Constraint& constraint : c.before) {
      set.add(constraint);
    }
    const std::string before = text_of(set);
    EXPECT_EQ(error_text([&] { set.add(c.last); }), c.message);
    EXPECT_EQ(text_of(set), before);
  }
}

TEST(ConstraintSet, Representatives) {
  const ConstraintSet set = set_of({"c == b", "b == a", "hidden == 768", "n >= 4", "n multiple of 8"});
  EXPECT_EQ(set.representative("c"), Extent::name("a"));
  EXPECT_EQ(set.representative("a"), Extent::name("a"));
  EXPECT_EQ(set.representative("hidden"), Extent(768));
  EXPECT_EQ(set.representative("other"), Extent::name("other"));
  EXPECT_EQ(set.equalities().size(), 3U);
  EXPECT_TRUE(proves_at_least(Extent::name("n"), 8, set.assumptions()) ||
              proves_at_least(Extent::name("n"), 4, set.assumptions()));
  EXPECT_EQ(compare(mod(Extent::name("n"), 8), 0, set.assumptions()), Comparison::equal);
}

TEST(ConstraintSet, ChecksBindings) {
  struct Case {
    std::vector<Constraint> constraints;
    Bindings bindings;
    const char* message;
  };
  const char* place = "/layers.0/attn/MatMul_1";
  const Case cases[] = {
      {{parsed("hidden == 768", "matmul", place)}, {{"hidden", 768}}, "no error"},
      {{parsed("hidden == 768", "matmul", place)},
       {{"hidden", 512}},
       "axis `hidden` is 512, must be 768: needed by matmul\n  at node \"/layers.0/attn/MatMul_1\""},
      {{parsed("a == b", "add")},
       {{"a", 3}, {"b", 4}},
       "axis `a` is 3, must equal axis `b`, which is 4: needed by add"},
      {{parsed("a == b"), parsed("b == c", "mul")},
       {{"a", 3}, {"b", 3}, {"c", 4}},
       "axis `b` is 3, must equal axis `c`, which is 4: needed by mul"},
      {{parsed("8 == n", "add")}, {{"n", 4}}, "axis `n` is 4, must be 8: needed by add"},
      {{parsed("seq multiple of 8", "reshape")},
       {{"seq", 13}},
       "axis `seq` is 13, must be a multiple of 8: needed by reshape"},
      {{parsed("seq multiple of 8", "reshape")}, {{"seq", 0}}, "no error"},
      {{parsed("seq multiple of k", "reshape")},
       {{"seq", 13}, {"k", 0}},
       "axis `seq` is 13, must be a multiple of axis `k`, which is 0: needed by reshape"},
      {{parsed("n >= 4", "conv")}, {{"n", 3}}, "axis `n` is 3, must be at least 4: needed by conv"},
      {{parsed("n <= 4", "conv")}, {{"n", 5}}, "axis `n` is 5, must be at most 4: needed by conv"},
      {{parsed("h+2 >= k", "conv")},
       {{"h", 3}, {"k", 7}},
       "`h+2` is 5, must be at least axis `k`, which is 7 (h=3): needed by conv"},
      {{parsed("x.0 broadcasts to n", "add")},
       {{"x.0", 3}, {"n", 5}},
       "axis `x.0` is 3, must be 1 or axis `n`, which is 5: needed by add"},
      {{parsed("n broadcasts to 5", "add")}, {{"n", 3}}, "axis `n` is 3, must be 1 or 5: needed by add"},
      {{parsed("n broadcasts to 5", "add")}, {{"n", 1}}, "no error"},
      {{parsed("out = in - kernel + 1")},
       {{"in", 10}, {"kernel", 3}, {"out", 9}},
       "axis `out` is 9, must equal `in-kernel+1`, which is 8 (in=10, kernel=3)"},
      {{parsed("a*b == 2*c", "reshape")},
       {{"a", 3}, {"b", 5}, {"c", 7}},
       "`a*b` is 15, must equal `2*c`, which is 14 (a=3, b=5, c=7): needed by reshape"},
      // What equalities determine need not be bound.
      {{parsed("out = in - kernel + 1"), parsed("out >= 3", "pool")},
       {{"in", 10}, {"kernel", 9}},
       "axis `out` is 2, must be at least 3: needed by pool"},
      {{parsed("b == a"), parsed("a >= 3", "pool")}, {{"b", 2}}, "axis `a` is 2, must be at least 3: needed by pool"},
      {{parsed("out = in - kernel + 1", "conv")},
       {{"in", 2}, {"kernel", 5}},
       "no size of axis `out` satisfies `out == in-kernel+1` at in=2, kernel=5 (needed by conv)"},
      {{parsed("k >= 3", "topk")}, {{"n", 2}}, "axis `k` is not bound, but `k >= 3` must hold (needed by topk)"},
  };
  for (const Case& c : cases) {
    ConstraintSet set;
    for (const Constraint& constraint : c.constraints) {
      set.add(constraint);
    }
    EXPECT_EQ(error_text([&] { set.check(c.bindings); }), c.message);
  }
}

TEST(ConstraintSet, CompletesBindings) {
  const ConstraintSet set = set_of({"out = in - kernel + 1", "kernel = 3", "b == a", "2*half == even"});
  EXPECT_EQ(set.complete({{"in", 10}, {"b", 4}, {"even", 6}}).to_string(),
            "a=4, b=4, even=6, half=3, in=10, kernel=3, out=8");
  EXPECT_EQ(set.complete({{"out", 10}}).to_string(), "in=12, kernel=3, out=10");
  EXPECT_EQ(error_text([&] { set.complete({{"even", 7}}); }),
            "no size of axis `half` satisfies `even == 2*half` at even=7");
}

/// Solving never changes which bindings pass: the set accepts exactly those that every constraint accepts.
TEST(ConstraintSet, AcceptsWhatTheConstraintsAccept) {
  const std::vector<std::string> names = {"a", "b", "c", "x.0"};
  std::mt19937 random(11);
  const auto pick = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
  const auto name = [&] { return Extent::name(names[static_cast<size_t>(pick(4))]); };
  const auto extent = [&]() -> Extent {
    switch (pick(8)) {
      case 0: return pick(5);
      case 1: return name() + Extent(pick(3) - 1);
      case 2: return Extent(1 + pick(3)) * name();
      case 3: return name() + name();
      case 4: return name() * name();
      case 5: return max(name(), name());
      default: return name();
    }
  };
  int contradictions = 0;
  for (int round = 0; round < 300; ++round) {
    ConstraintSet set;
    std::vector<Constraint> all;
    std::string shown;
    bool contradiction = false;
    const int count = 1 + pick(5);
    for (int i = 0; i < count && !contradiction; ++i) {
      all.push_back({static_cast<Kind>(pick(4)), extent(), extent()});
      shown += all.back().to_string() + "; ";
      contradiction = error_text([&] { set.add(all.back()); }) != "no error";
    }
    contradictions += contradiction ? 1 : 0;
    for (int code = 0; code < 5 * 5 * 5 * 5; ++code) {
      Bindings bindings;
      int rest = code;
      for (const std::string& n : names) {
        bindings.set(n, rest % 5);
        rest /= 5;
      }
      const bool expected = std::all_of(all.begin(), all.end(), [&](const Constraint& c) {
        return holds(c.kind, evaluate(c.lhs, bindings), evaluate(c.rhs, bindings));
      });
      if (contradiction) {
        ASSERT_FALSE(expected) << shown << "at " << bindings.to_string();
      } else {
        ASSERT_EQ(error_text([&] { set.check(bindings); }) == "no error", expected)
            << shown << "at " << bindings.to_string() << "; solved: " << text_of(set);
        if (expected) {
          for (const auto& [eliminated, value] : set.substitutions()) {
            ASSERT_EQ(evaluate(value, bindings), bindings.at(eliminated)) << shown << bindings.to_string();
          }
          for (const Constraint& c : set.remaining()) {
            ASSERT_TRUE(holds(c.kind, evaluate(c.lhs, bindings), evaluate(c.rhs, bindings))) << shown;
          }
        }
      }
    }
  }
  EXPECT_GT(contradictions, 20);
}

}  // namespace
}  // namespace tenon::constraint_test
