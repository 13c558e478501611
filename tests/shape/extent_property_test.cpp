// Random extents against a naive evaluator of the trees that they were built from: the canonical form keeps the value,
// and what is claimed about extents (equal, different, at least, ranges, multiples) is true at every binding tried.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <limits>
#include <random>
#include <tuple>

#include "shape/extent_program.h"
#include "tenon/assumptions.h"
#include "tenon/error.h"
#include "tenon/extent.h"

namespace tenon::extent_property_test {
namespace {

__extension__ using Wide = __int128;

constexpr uint64_t kSeed = 20240611;
constexpr std::array<const char*, 3> kNames = {"a", "b", "c"};

enum class Kind { constant, name, negate, add, subtract, multiply, floordiv, ceildiv, mod, min, max };

struct Tree {
  Kind kind = Kind::constant;
  int64_t value = 0;  // of a constant; the index of a name
  std::vector<Tree> operands;
};

using Binding = std::array<int64_t, 3>;

/// Nothing where the tree divides by zero or a value leaves 64 bits.
std::optional<Wide> evaluate(const Tree& t, const Binding& binding) {
  if (t.kind == Kind::constant || t.kind == Kind::name) {
    return t.kind == Kind::constant ? t.value : binding[static_cast<size_t>(t.value)];
  }
  const auto x = evaluate(t.operands[0], binding);
  const auto y = t.operands.size() > 1 ? evaluate(t.operands[1], binding) : std::optional<Wide>(1);
  const bool divides = t.kind == Kind::floordiv || t.kind == Kind::ceildiv || t.kind == Kind::mod;
  if (!x || !y || (divides && *y == 0)) {
    return std::nullopt;
  }
  const Wide a = *x;
  const Wide b = *y;
  Wide floor = 0;  // the greatest q with q*b <= a (b > 0) or q*b >= a (b < 0)
  if (divides) {
    floor = a / b;
    while (b > 0 ? floor * b > a : floor * b < a) {
      --floor;
    }
  }
  Wide r = 0;
  switch (t.kind) {
    case Kind::constant:
    case Kind::name: break;
    case Kind::negate: r = -a; break;
    case Kind::add: r = a + b; break;
    case Kind::subtract: r = a - b; break;
    case Kind::multiply: r = a * b; break;
    case Kind::floordiv: r = floor; break;
    case Kind::ceildiv: r = floor + (floor * b != a ? 1 : 0); break;
    case Kind::mod: r = a - floor * b; break;
    case Kind::min: r = a < b ? a : b; break;
    case Kind::max: r = a < b ? b : a; break;
  }
  return r == static_cast<int64_t>(r) ? std::optional(r) : std::nullopt;
}

Extent build(const Tree& t) {
  if (t.kind == Kind::constant) {
    return t.value;
  }
  if (t.kind == Kind::name) {
    return Extent::name(kNames[static_cast<size_t>(t.value)]);
  }
  const Extent a = build(t.operands[0]);
  const Extent b = t.operands.size() > 1 ? build(t.operands[1]) : Extent();
  switch (t.kind) {
    case Kind::constant:
    case Kind::name: break;
    case Kind::negate: return -a;
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::multiply: return a * b;
    case Kind::floordiv: return floordiv(a, b);
    case Kind::ceildiv: return ceildiv(a, b);
    case Kind::mod: return mod(a, b);
    case Kind::min: return min(a, b);
    case Kind::max: return max(a, b);
  }
  return {};
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool chance(int percent) { return between(1, 100) <= percent; }

  Tree tree(int depth, int64_t names) {
    Tree t;
    if (depth == 0 || chance(15)) {
      t.kind = chance(60) ? Kind::name : Kind::constant;
      t.value = t.kind == Kind::name ? between(0, names - 1) : chance(85) ? between(-4, 9) : between(-1000, 100000);
      return t;
    }
    t.kind = static_cast<Kind>(between(static_cast<int64_t>(Kind::negate), static_cast<int64_t>(Kind::max)));
    t.operands.push_back(tree(depth - 1, names));
    if (t.kind != Kind::negate) {
      const bool divides = t.kind == Kind::floordiv || t.kind == Kind::ceildiv || t.kind == Kind::mod;
      if (divides && chance(60)) {  // mostly numbers, as in models
        Tree divisor;
        divisor.value = chance(85) ? between(1, 9) : between(-9, 16);
        t.operands.push_back(divisor);
      } else {
        t.operands.push_back(tree(depth - 1, names));
      }
    }
    return t;
  }

  int64_t size(bool negative) {
    const int64_t pick = between(0, 9);
    const int64_t magnitude = pick <= 1   ? pick
                              : pick <= 6 ? between(2, 40)
                              : pick <= 8 ? between(41, 100000)
                                          : int64_t{1} << between(20, 40);
    return negative && chance(40) ? -magnitude : magnitude;
  }

  Binding binding(bool negative) { return {size(negative), size(negative), size(negative)}; }

 private:
  std::mt19937_64 engine_;
};

struct Outcome {
  std::optional<int64_t> value;
  std::string error;
};

Outcome evaluate(const Extent& e, const Binding& binding) {
  try {
    return {e.evaluate([&](std::string_view name) -> std::optional<int64_t> {
              return binding[static_cast<size_t>(name[0] - 'a')];
            }),
            ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

/// What names are assumed to be, and bindings that obey it.
struct World {
  Assumptions known;
  std::function<Binding(Random&)> draw;
};

std::vector<World> worlds() {
  World plain{{}, [](Random& r) { return r.binding(false); }};
  World narrow{{}, [](Random& r) { return Binding{r.between(1, 16), 4 * r.size(false), r.between(-5, 9)}; }};
  narrow.known.at_least("a", 1);
  narrow.known.at_most("a", 16);
  narrow.known.divisible("b", 4);
  narrow.known.at_least("c", -5);
  narrow.known.at_most("c", 9);
  World odd{{}, [](Random& r) { return Binding{7, r.size(true), 6 * r.between(1, 50)}; }};
  odd.known.at_least("a", 7);
  odd.known.at_most("a", 7);
  odd.known.unbounded_below("b");
  odd.known.divisible("c", 6);
  odd.known.at_least("c", 1);
  return {plain, narrow, odd};
}

std::string at(const Binding& b) {
  return "a=" + std::to_string(b[0]) + " b=" + std::to_string(b[1]) + " c=" + std::to_string(b[2]);
}

TEST(ExtentProperty, CanonicalFormKeepsTheValue) {
  std::cout << "seed " << kSeed << "\n";
  Random random(kSeed);
  int64_t compared = 0;
  int64_t skipped = 0;      // the tree divides by zero or overflows
  int64_t overflowed = 0;   // only the canonical form does: distribution makes larger intermediate values
  int64_t unbuildable = 0;  // divides by a constant zero or overflows at every binding
  for (int i = 0; i < 10000; ++i) {
    const auto depth = static_cast<int>(random.between(1, 5));
    const Tree tree = random.tree(depth, random.between(1, 3));
    Extent e;
    bool by_zero = false;
    try {
      e = build(tree);
    } catch (const Error& error) {
      ++unbuildable;
      by_zero = std::string_view(error.what()).find("by zero") != std::string_view::npos;
      for (int k = 0; by_zero && k < 10; ++k) {
        const Binding binding = random.binding(true);
        ASSERT_FALSE(evaluate(tree, binding).has_value()) << error.what() << " but it has a value at " << at(binding);
      }
      continue;
    }
    const std::string text = e.to_string();
    const Extent again = Extent::parse(text);
    ASSERT_EQ(again, e) << text << " reads as " << again.to_string();
    ASSERT_EQ(again.hash(), e.hash());
    const std::array<std::string, 3> names = {"a", "b", "c"};
    const ExtentProgram program(names, std::array{e, e + 1});
    std::vector<int64_t> registers(program.register_count());
    for (int k = 0; k < 10; ++k) {
      const Binding binding = random.binding(true);
      const auto expected = evaluate(tree, binding);
      const Outcome actual = evaluate(e, binding);
      const ExtentProgram::Status status = program.run(binding, registers);
      if (actual.value) {
        ASSERT_TRUE(status.ok() || status.extent == 1);
        ASSERT_EQ(registers[program.result(0)], *actual.value);
      } else {
        ASSERT_EQ(status.extent, 0U);
        ASSERT_EQ(status.outcome == ExtentProgram::Outcome::overflow,
                  actual.error.find("overflows") != std::string::npos);
      }
      if (!expected) {
        ++skipped;
      } else if (!actual.value) {
        ++overflowed;
        ASSERT_NE(actual.error.find("overflows"), std::string::npos) << actual.error;
      } else {
        ++compared;
        ASSERT_EQ(*actual.value, static_cast<int64_t>(*expected)) << text << " at " << at(binding);
      }
    }
  }
  std::cout << compared << " values compared, " << skipped << " skipped, " << overflowed << " overflowed, "
            << unbuildable << " trees without an extent\n";
  EXPECT_GT(compared, 60000);
  EXPECT_LT(overflowed, 5000);
  EXPECT_LT(unbuildable, 1000);
}

/// Another spelling of the same value, or of one that is close to it.
std::pair<Extent, bool> relative(Random& random, const Extent& e) {
  const Extent other = build(random.tree(2, 3));
  const int64_t k = random.between(2, 9);
  switch (random.between(0, 10)) {
    case 0: return {e + other - other, true};
    case 1: return {floordiv(k * e, k), true};
    case 2: return {k * floordiv(e, k) + mod(e, k), true};
    case 3: return {min(e, other) + max(e, other) - other, true};
    case 4: return {floordiv(e, 2) + ceildiv(e, 2), true};
    case 5: return {max(e + k, other + k) - max(e, other) + e - k, true};
    case 6: return {e + random.between(-2, 2), false};
    case 7: return {k * floordiv(e, k), false};
    case 8: return {max(e, other), false};
    case 9: return {e + other, false};
    default: return {other, false};
  }
}

TEST(ExtentProperty, ClaimsAreTrue) {
  std::cout << "seed " << kSeed << "\n";
  Random random(kSeed + 1);
  std::array<int64_t, 3> answers{};
  int64_t same = 0;
  int64_t same_proven = 0;
  int64_t ordered = 0;
  int64_t checked = 0;
  for (int i = 0; i < 3000; ++i) {
    Extent x;
    Extent y;
    bool equal_by_construction = false;
    try {
      x = build(random.tree(static_cast<int>(random.between(1, 4)), 3));
      std::tie(y, equal_by_construction) = relative(random, x);
    } catch (const Error&) {
      continue;
    }
    for (const World& world : worlds()) {
      const Comparison comparison = compare(x, y, world.known);
      const bool at_least = proves_at_least(x, y, world.known);
      const Interval range = world.known.range(x);
      const Extent simple = simplify(x, world.known);
      const bool by_four = world.known.is_multiple(x, 4);
      ++answers[static_cast<size_t>(comparison)];
      ordered += at_least ? 1 : 0;
      same += equal_by_construction ? 1 : 0;
      same_proven += equal_by_construction && comparison == Comparison::equal ? 1 : 0;
      ASSERT_FALSE(equal_by_construction && comparison == Comparison::different)
          << x.to_string() << " " << y.to_string();
      for (int k = 0; k < 12; ++k) {
        const Binding binding = world.draw(random);
        const auto left = evaluate(x, binding).value;
        const auto right = evaluate(y, binding).value;
        const auto place = [&] { return "x = " + x.to_string() + ", y = " + y.to_string() + " at " + at(binding); };
        if (!left) {
          continue;
        }
        ++checked;
        ASSERT_TRUE(range.contains(*left)) << place() << ": " << *left << " is not in " << range.to_string();
        ASSERT_TRUE(!by_four || *left % 4 == 0) << place();
        if (const Outcome simplified = evaluate(simple, binding); simplified.value) {
          ASSERT_EQ(*simplified.value, *left) << place() << ": " << simple.to_string();
        } else {
          ASSERT_EQ(simplified.error.find("zero"), std::string::npos) << place() << ": " << simple.to_string();
        }
        if (right) {
          ASSERT_TRUE(comparison != Comparison::equal || *left == *right) << place();
          ASSERT_TRUE(comparison != Comparison::different || *left != *right) << place();
          ASSERT_TRUE(!at_least || *left >= *right) << place();
        }
      }
    }
  }
  std::cout << answers[0] << " equal, " << answers[1] << " different, " << answers[2] << " unknown, " << ordered
            << " ordered; of " << same << " equal by construction " << same_proven << " proven; " << checked
            << " values checked\n";
  EXPECT_GT(answers[0], 1000);
  EXPECT_GT(answers[1], 500);
  EXPECT_GT(same_proven * 10, same * 7);
  EXPECT_GT(checked, 50000);
}

}  // namespace
}  // namespace tenon::extent_property_test
