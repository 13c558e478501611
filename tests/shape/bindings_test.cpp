#include "tenon/bindings.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace tenon::bindings_test {
namespace {

TEST(Bindings, OrderDoesNotMatter) {
  const Bindings a = {{"batch", 8}, {"seq", 77}};
  const Bindings b = {{"seq", 77}, {"batch", 8}, {"seq", 77}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(b.to_string(), "batch=8, seq=77");
  EXPECT_EQ(b.size(), 2U);
  std::vector<std::string> names;
  for (const auto& [name, size] : b) {
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"batch", "seq"}));
}

TEST(Bindings, KeysThatJoinedStringsWouldConfuse) {
  const Bindings sets[] = {{},          {{"a", 1}},           {{"a", 0}},           {{"a", 11}},
                           {{"a1", 1}}, {{"a", 1}, {"b", 2}}, {{"a", 2}, {"b", 1}}, {{"a=1, b", 2}},
                           {{"ab", 1}}};
  for (size_t i = 0; i < std::size(sets); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(sets[i], sets[j]);
      EXPECT_NE(sets[i].hash(), sets[j].hash()) << sets[i].to_string() << " and " << sets[j].to_string();
    }
  }
}

TEST(Bindings, FindAndAt) {
  const Bindings bound = {{"batch", 0}, {"seq", 1}};
  EXPECT_EQ(bound.find("batch"), 0);
  EXPECT_EQ(bound.find("bat"), std::nullopt);
  EXPECT_EQ(bound.at("seq"), 1);
  EXPECT_EQ(error_text([&] { bound.at("time"); }), "axis `time` is not bound (bound: batch=0, seq=1)");
  EXPECT_EQ(error_text([] { Bindings().at("time"); }), "axis `time` is not bound (nothing is)");
}

TEST(Bindings, Errors) {
  EXPECT_EQ(error_text([] { Bindings({{"batch", -3}}); }), "axis `batch`: size -3 is negative");
  EXPECT_EQ(error_text([] { Bindings({{"batch", 3}, {"batch", 4}}); }),
            "axis `batch` is bound to 3, cannot be bound to 4");
  EXPECT_EQ(error_text([] { Bindings({{"", 3}}); }), "an axis without a name cannot be bound to 3");
}

TEST(Bindings, Parse) {
  EXPECT_EQ(Bindings::parse("batch=8,seq=128"), (Bindings{{"batch", 8}, {"seq", 128}}));
  EXPECT_EQ(Bindings::parse(" seq = 128 , batch=8 "), (Bindings{{"batch", 8}, {"seq", 128}}));
  EXPECT_EQ(Bindings::parse(""), Bindings());
  EXPECT_EQ(Bindings::parse("`a=1, b`=2"), (Bindings{{"a=1, b", 2}}));
  for (const Bindings& bound : {Bindings{}, Bindings{{"x.0", 1}, {"mod", 2}, {"1`\\", 3}}}) {
    EXPECT_EQ(Bindings::parse(bound.to_string()), bound);
  }
  const std::string allowed = ", an integer from 0 to 9223372036854775807";
  const std::pair<const char*, std::string> errors[] = {
      {"batch", "in \"batch\", column 1: expected name=size"},
      {"batch=8,", "in \"batch=8,\", column 9: expected name=size"},
      {"batch=x", "in \"batch=x\", column 7: expected a size for `batch`" + allowed},
      {"batch=8x", "in \"batch=8x\", column 7: expected a size for `batch`" + allowed},
      {"batch=", "in \"batch=\", column 7: expected a size for `batch`" + allowed},
      {"a=1, b=99999999999999999999",
       "in \"a=1, b=99999999999999999999\", column 8: expected a size for `b`" + allowed},
      {"a+b=3", "in \"a+b=3\", column 1: expected the name of an axis"},
      {"a=-3", "axis `a`: size -3 is negative"},
      {"a=3,a=4", "axis `a` is bound to 3, cannot be bound to 4"},
  };
  for (const auto& [text, message] : errors) {
    EXPECT_EQ(error_text([input = text] { Bindings::parse(input); }), message);
  }
}

TEST(Resolve, Extents) {
  const Bindings bound = {{"batch", 8}, {"seq", 3}};
  EXPECT_EQ(resolve(Extent::parse("2*batch+seq"), bound), 19);
  EXPECT_EQ(resolve(Extent(5), {}), 5);
  EXPECT_EQ(evaluate(Extent::parse("seq-4"), bound), -1);
  EXPECT_EQ(error_text([&] { resolve(Extent::parse("seq-4"), bound); }),
            "axis `seq-4` is -1, cannot be negative (seq=3)");
  EXPECT_EQ(error_text([&] { resolve(Extent::parse("seq+time"), bound); }),
            "axis `time` is not bound (bound: batch=8, seq=3)");
}

TEST(Resolve, ShapesKeepNames) {
  const Bindings bound = {{"batch", 8}, {"seq", 77}};
  const std::pair<const char*, const char*> cases[] = {
      {"f32[]", "f32[]"},
      {"f32[batch, 512]", "f32[batch=8, 512]"},
      {"f32[batch, seq+1, hidden=768]", "f32[batch=8, 78, hidden=768]"},
      {"i64[total=seq+1, seq, seq]", "i64[total=78, seq=77, seq=77]"},
  };
  for (const auto& [pattern, expected] : cases) {
    const Shape resolved = resolve(Shape::parse(pattern), bound);
    EXPECT_EQ(resolved.to_string(), expected);
    EXPECT_TRUE(resolved.is_concrete());
    EXPECT_EQ(resolve(resolved, {}), resolved);
  }
  EXPECT_EQ(resolve(shape(f32, "n", 4), {{"n", 0}}).size(), 0);
}

TEST(Resolve, ShapeErrors) {
  const Bindings bound = {{"seq", 3}};
  EXPECT_EQ(error_text([&] { resolve(shape(f32, "batch", "seq"), bound); }),
            "axis `batch` is not bound (bound: seq=3)\n  in axis 0 of f32[batch, seq]");
  EXPECT_EQ(error_text([&] { resolve(shape(f32, 2, "seq-8"), bound); }),
            "axis `seq-8` is -5, cannot be negative (seq=3)\n  in axis 1 of f32[2, seq-8]");
  EXPECT_EQ(error_text([&] { resolve(shape(f32, -1), bound); }), "axis 0 of f32[-1] is anonymous, no name binds it");
}

}  // namespace
}  // namespace tenon::bindings_test
