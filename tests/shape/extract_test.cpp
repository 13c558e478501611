#include <gtest/gtest.h>

#include <random>

#include "support/error_text.h"
#include "tenon/bindings.h"

namespace tenon::extract_test {
namespace {

using Dims = std::vector<int64_t>;

ConcreteInput input(std::string name, std::string_view pattern, Dims dims) {
  Shape parsed = Shape::parse(pattern);
  const Dtype dtype = parsed.dtype();
  return {std::move(name), std::move(parsed), dtype, std::move(dims)};
}

struct Case {
  std::vector<ConcreteInput> inputs;
  std::string expected;  // the bindings, or the error
};

TEST(Extract, Binds) {
  const Case cases[] = {
      {{}, ""},
      {{input("x", "f32[]", {})}, ""},
      {{input("x", "f32[batch, 512]", {8, 512})}, "batch=8"},
      {{input("x", "f32[batch, seq]", {0, 1})}, "batch=0, seq=1"},
      {{input("x", "f32[seq, seq]", {5, 5})}, "seq=5"},
      {{input("x", "f32[-1, seq]", {9, 5})}, "seq=5"},
      {{input("x", "f32[hidden=768]", {768})}, "hidden=768"},
      {{input("x", "f32[total=seq+1]", {8})}, "seq=7, total=8"},
      {{input("x", "f32[rows=batch]", {8})}, "batch=8, rows=8"},
      {{input("x", "f32[2*seq]", {10})}, "seq=5"},
      {{input("x", "f32[2*seq]", {0})}, "seq=0"},
      {{input("x", "f32[10-seq]", {3})}, "seq=7"},
      // In any order, through several expressions.
      {{input("x", "f32[a+b]", {7}), input("y", "f32[a]", {3})}, "a=3, b=4"},
      {{input("x", "f32[a+b, b*c, c+d]", {7, 8, 9}), input("y", "f32[a]", {3})}, "a=3, b=4, c=2, d=7"},
      {{input("x", "f32[c+d, b*c, a+b, a]", {9, 8, 7, 3})}, "a=3, b=4, c=2, d=7"},
      // What no input determines stays unbound.
      {{input("x", "f32[a+b]", {7})}, ""},
      {{input("x", "f32[a*b, a]", {0, 0})}, "a=0"},
      {{input("x", "f32[n floordiv 2]", {4})}, ""},
      // Checked once all names are known.
      {{input("x", "f32[n floordiv 2, n]", {4, 9})}, "n=9"},
      {{input("x", "f32[max(a, b)]", {4}), input("y", "f32[a, b]", {4, 2})}, "a=4, b=2"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(extract(c.inputs).to_string(), c.expected);
  }
}

TEST(Extract, Errors) {
  const int64_t big = int64_t{1} << 62;
  const Case cases[] = {
      {{{"x", shape(f32, "n"), f64, {3}}}, "input `x`: dtype is f64, must be f32"},
      {{input("x", "f32[batch, seq, 8]", {4, 5})}, "input `x`: rank is 2 ([4, 5]), must be 3 (f32[batch, seq, 8])"},
      {{input("x", "f32[]", {4})}, "input `x`: rank is 1 ([4]), must be 0 (f32[])"},
      {{input("x", "f32[batch, 512]", {4, 500})}, "input `x`: axis 1 is 500, must be 512"},
      {{input("x", "f32[hidden=768]", {512})}, "input `x`: axis 0 (`hidden=768`) is 512, must be 768"},
      {{input("x", "f32[batch]", {-4})}, "input `x`: axis 0 (`batch`) is -4, cannot be negative"},
      {{input("x", "f32[seq, seq]", {5, 6})}, "axis `seq`: input `x` has 5 at axis 0, 6 at axis 1"},
      {{input("a", "f32[batch]", {32}), input("b", "f32[batch]", {64})},
       "axis `batch`: input `a` has 32, input `b` has 64"},
      {{input("a", "f32[hidden=768]", {768}), input("b", "f32[hidden]", {512})},
       "axis `hidden`: input `a` has 768, input `b` has 512"},
      {{input("a", "f32[total]", {7}), input("b", "f32[total=seq+1]", {8})},
       "axis `total`: input `a` has 7, input `b` has 8"},
      {{input("x", "f32[4, 2*seq]", {4, 9})}, "input `x`: axis 1 (`2*seq`) is 9, which is not a multiple of 2"},
      {{input("x", "f32[2*seq+1]", {8})}, "input `x`: axis 0 (`2*seq+1`) is 8, which no `seq` gives"},
      {{input("x", "f32[seq+2]", {1})}, "input `x`: axis 0 (`seq+2`) is 1, which makes `seq` -1"},
      {{input("x", "f32[a*b]", {10}), input("y", "f32[a]", {4})},
       "input `x`: axis 0 (`a*b`) is 10, which is not a multiple of 4 (a=4 from input `y`)"},
      {{input("a", "f32[2*seq]", {10}), input("b", "f32[seq]", {6})},
       "input `a`: axis 0 (`2*seq`) is 10, must be 12 (seq=6 from input `b`)"},
      {{input("a", "f32[2*seq]", {10}), input("b", "f32[3*seq]", {18})},
       "input `b`: axis 0 (`3*seq`) is 18, must be 15 (seq=5 from input `a`)"},
      {{input("x", "f32[a*a*a, a]", {1, big})}, "9223372036854775807"},
  };
  for (const Case& c : cases) {
    const std::string text = error_text([&] { extract(c.inputs); });
    if (c.expected == "9223372036854775807") {  // the arithmetic's own message; ours says where
      EXPECT_NE(text.find("\n  input `x`: axis 0 (`a*a*a`) is 1"), std::string::npos) << text;
    } else {
      EXPECT_EQ(text, c.expected);
    }
  }
}

/// A random axis over the names: bare, scaled, shifted, labelled, a sum of two, or a plain size.
Axis random_axis(std::mt19937& random, const std::vector<std::string>& names) {
  const auto pick = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
  const auto name = [&] { return Extent::name(names[static_cast<size_t>(pick(static_cast<int>(names.size())))]); };
  switch (pick(7)) {
    case 0: return pick(4);
    case 1: return name() * Extent(1 + pick(4));
    case 2: return name() + Extent(pick(5));
    case 3: return Axis::named("label", Extent(3));
    case 4: return name() + name();
    case 5: return name() * name();
    default: return name();
  }
}

TEST(Extract, AfterResolveRoundTrips) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Bindings bound;
    for (const std::string& name : names) {
      bound.set(name, std::uniform_int_distribution<int64_t>(0, 6)(random));
    }
    std::vector<ConcreteInput> inputs;
    for (const char* input_name : {"x", "y", "z"}) {
      std::vector<Axis> axes;
      for (int i = 0; i < 3; ++i) {
        axes.push_back(random_axis(random, names));
      }
      const Shape pattern(f32, axes);
      inputs.push_back({input_name, pattern, f32, resolve(pattern, bound).dims()});
    }
    const Bindings found = extract(inputs);
    for (const auto& [name, size] : found) {
      EXPECT_EQ(size, name == "label" ? 3 : bound.at(name));
    }
    for (const ConcreteInput& in : inputs) {
      for (const Axis& axis : in.pattern.axes()) {
        const std::string name = axis.name();
        EXPECT_TRUE(name.empty() || found.find(name)) << in.pattern.to_string();
      }
    }
  }
}

}  // namespace
}  // namespace tenon::extract_test
