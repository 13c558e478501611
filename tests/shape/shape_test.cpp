#include "tenon/shape.h"

#include <gtest/gtest.h>

#include <limits>

#include "shape/shape_text.h"
#include "support/error_text.h"

namespace tenon::shape_test {
namespace {

const Extent kBatch = Extent::name("batch");
const Extent kSeq = Extent::name("seq");

TEST(Axis, KnowsWhatItIs) {
  struct Case {
    Axis axis;
    const char* text;
    const char* name;
    bool dynamic;
    bool anonymous;
  };
  const Case cases[] = {
      {512, "512", "", false, false},
      {0, "0", "", false, false},
      {int64_t{1}, "1", "", false, false},
      {size_t{7}, "7", "", false, false},
      {-1, "-1", "", true, true},
      {"-1", "-1", "", true, true},
      {Axis::anonymous(), "-1", "", true, true},
      {"batch", "batch", "batch", true, false},
      {std::string("batch"), "batch", "batch", true, false},
      {" seq + 1 ", "seq+1", "", true, false},
      {"hidden=768", "hidden=768", "hidden", false, false},
      {"hidden = 2*384", "hidden=768", "hidden", false, false},
      {"total=seq+1", "total=seq+1", "total", true, false},
      {"seq=seq", "seq", "seq", true, false},
      {kSeq * 2, "2*seq", "", true, false},
      {Axis::named("rows", kBatch), "rows=batch", "rows", true, false},
      {Axis::named("batch", kBatch), "batch", "batch", true, false},
      {Axis::named("", 3), "3", "", false, false},
      {"min(batch, seq)", "min(batch, seq)", "", true, false},
      {"`the batch`", "`the batch`", "the batch", true, false},
      {"`a=b, c`=4", "`a=b, c`=4", "a=b, c", false, false},
      {"`a\\`]`=4", "`a\\`]`=4", "a`]", false, false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.axis.to_string(), c.text);
    EXPECT_EQ(c.axis.name(), c.name) << c.text;
    EXPECT_EQ(c.axis.is_dynamic(), c.dynamic) << c.text;
    EXPECT_EQ(c.axis.is_static(), !c.dynamic) << c.text;
    EXPECT_EQ(c.axis.is_anonymous(), c.anonymous) << c.text;
    EXPECT_EQ(Axis::parse(c.text), c.axis) << c.text;
    EXPECT_EQ(Axis::parse(c.text).hash(), c.axis.hash()) << c.text;
  }
}

TEST(Axis, LabelAndExtentAreIdentity) {
  EXPECT_EQ(Axis("seq+seq"), Axis("2*seq"));
  EXPECT_NE(Axis("hidden=768"), Axis(768));
  EXPECT_NE(Axis("hidden=768"), Axis("hidden"));
  EXPECT_NE(Axis("a=768"), Axis("b=768"));
  EXPECT_NE(Axis(-1), Axis(0));
  EXPECT_NE(Axis("hidden=768").hash(), Axis(768).hash());
  EXPECT_NE(Axis(-1).hash(), Axis(0).hash());
}

TEST(Axis, SubstitutionKeepsNamesThatSomebodyChose) {
  const std::map<std::string, Extent, std::less<>> by = {
      {"hidden", 768}, {"b", Extent::name("a")}, {"x.0", 8}, {"out", kSeq + 1}};
  EXPECT_EQ(Axis("hidden").substitute(by), Axis("hidden=768"));
  EXPECT_EQ(Axis("b").substitute(by), Axis("a"));
  EXPECT_EQ(Axis("x.0").substitute(by), Axis(8));
  EXPECT_EQ(Axis("out").substitute(by), Axis("out=seq+1"));
  EXPECT_EQ(Axis("n=2*hidden").substitute(by), Axis("n=1536"));
  EXPECT_EQ(Axis("hidden+b").substitute(by), Axis("a+768"));
  EXPECT_EQ(Axis(-1).substitute(by), Axis(-1));
  EXPECT_EQ(shape(f32, "b", "hidden", 4).substitute(by).to_string(), "f32[a, hidden=768, 4]");
}

TEST(Axis, Errors) {
  EXPECT_EQ(error_text([] { Axis(-2); }), "axis size -2 is negative");
  EXPECT_EQ(error_text([] { Axis(Extent(-1)); }), "axis size -1 is negative");
  EXPECT_EQ(error_text([] { (void)Axis(std::numeric_limits<uint64_t>::max()); }), "axis size is above 2^63-1");
  EXPECT_EQ(error_text([] { Axis::named("n", -1); }), "axis `n`: size -1 is negative");
  EXPECT_EQ(error_text([] { (void)Axis(-1).extent(); }), "an anonymous axis has no extent");
  EXPECT_EQ(error_text([] { Axis("-2"); }), "in \"-2\", column 1: axis size -2 is negative");
  EXPECT_EQ(error_text([] { Axis("n=-1"); }), "in \"n=-1\", column 3: axis size -1 is negative");
  EXPECT_EQ(error_text([] { Axis(""); }), "in \"\", column 1: an axis is missing");
  EXPECT_EQ(error_text([] { Axis("a, b"); }), "in \"a, b\", column 2: unexpected `,`");
  EXPECT_EQ(error_text([] { Axis("a+1=4"); }), "in \"a+1=4\", column 1: the label of an axis must be a name");
  EXPECT_EQ(error_text([] { Axis("a="); }), "in \"a=\", column 3: an expression is missing");
}

TEST(Shape, PrintsAndParses) {
  struct Case {
    Shape shape;
    const char* text;
  };
  const Case cases[] = {
      {Shape(), "f32[]"},
      {shape(f32, "batch", 512), "f32[batch, 512]"},
      {shape(f32, "batch", kSeq + 1, "hidden=768"), "f32[batch, seq+1, hidden=768]"},
      {shape(boolean, -1, 0, 1), "bool[-1, 0, 1]"},
      {shape(bf16, "batch", "heads", "seq", "seq"), "bf16[batch, heads, seq, seq]"},
      {shape(u8, "max(batch, 4)", "`a]`"), nullptr},
  };
  for (const Case& c : cases) {
    if (c.text != nullptr) {
      EXPECT_EQ(c.shape.to_string(), c.text);
    }
    EXPECT_EQ(Shape::parse(c.shape.to_string()), c.shape);
    EXPECT_EQ(Shape::parse(c.shape.to_string()).hash(), c.shape.hash());
  }
  EXPECT_EQ(Shape::parse(" f32 [ batch,512 ] "), shape(f32, "batch", 512));
}

TEST(Shape, ParsesAPrefixOfALongerText) {
  const std::string_view text = "in x: f32[batch, 2] y: [a, b=3] = z";
  size_t position = 5;
  EXPECT_EQ(parse_shape_prefix(text, position), shape(f32, "batch", 2));
  EXPECT_EQ(position, 19U);
  position = 22;
  EXPECT_EQ(parse_axes_prefix(text, position), (std::vector<Axis>{"a", "b=3"}));
  EXPECT_EQ(text.substr(position), " = z");
}

TEST(Shape, ParseErrorsNameTextAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "in \"\", column 1: expected a dtype"},
      {"f31[2]", "in \"f31[2]\", column 1: `f31` is not a dtype"},
      {"f32", "in \"f32\", column 4: expected `[`"},
      {"f32[2", "in \"f32[2\", column 6: expected `]`"},
      {"f32[", "in \"f32[\", column 5: expected `]`"},
      {"f32[batch, ]", "in \"f32[batch, ]\", column 12: an axis is missing"},
      {"f32[,2]", "in \"f32[,2]\", column 5: an axis is missing"},
      {"f32[2] x", "in \"f32[2] x\", column 8: unexpected text after the shape"},
      {"f32[2, -3]", "in \"f32[2, -3]\", column 8: axis size -3 is negative"},
      {"f32[2, `a]", "in \"f32[2, `a]\", column 11: expected `]`"},
      {"f32[2,\n 3,\n a b]",
       "extent \"a b\", column 3: expected an operator or the end, found \"b\"\n  in \" a b]\", column 2"},
      {"f32[2, a+]", "extent \"a+\", column 3: expected a value, found the end\n  in \"f32[2, a+]\", column 8"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_text([input = text] { Shape::parse(input); }), message);
  }
}

TEST(Shape, AxesCountFromBothEnds) {
  const Shape s = shape(f32, "batch", "seq", 8);
  EXPECT_EQ(s.rank(), 3);
  EXPECT_EQ(s.axis(0), Axis("batch"));
  EXPECT_EQ(s.axis(-1), Axis(8));
  EXPECT_EQ(s.extent(-2), kSeq);
  EXPECT_EQ(s.normalize_axis(-3), 0);
  EXPECT_EQ(error_text([&] { s.axis(3); }), "axis 3 is out of range for rank 3: f32[batch, seq, 8]");
  EXPECT_EQ(error_text([&] { s.axis(-4); }), "axis -4 is out of range for rank 3: f32[batch, seq, 8]");
  EXPECT_EQ(error_text([] { Shape().axis(0); }), "axis 0 is out of range for rank 0: f32[]");
  EXPECT_EQ(error_text([] { shape(f32, 2, -1).extent(-1); }), "axis 1 of f32[2, -1] is anonymous");
}

TEST(Shape, DynamicNamedConcrete) {
  struct Case {
    const char* text;
    bool dynamic;
    bool named;
  };
  for (const Case& c : {Case{"f32[]", false, false}, Case{"f32[2, 3]", false, false}, Case{"f32[a=2]", false, true},
                        Case{"f32[a]", true, true}, Case{"f32[a+1]", true, false}, Case{"f32[-1]", true, false}}) {
    const Shape s = Shape::parse(c.text);
    EXPECT_EQ(s.is_dynamic(), c.dynamic) << c.text;
    EXPECT_EQ(s.is_concrete(), !c.dynamic) << c.text;
    EXPECT_EQ(s.has_named_axes(), c.named) << c.text;
  }
}

TEST(Shape, SizesAndStrides) {
  struct Case {
    Shape shape;
    int64_t size;
    std::vector<int64_t> strides;
  };
  const int64_t big = int64_t{1} << 31;
  const Case cases[] = {
      {shape(f32), 1, {}},
      {shape(f32, 1), 1, {1}},
      {shape(f32, 2, "seq=3", 4), 24, {12, 4, 1}},
      {shape(f32, 0, 5), 0, {5, 1}},
      {shape(f32, 5, 0), 0, {0, 1}},
      {shape(f32, 1, 1), 1, {1, 1}},
      {shape(f32, big, big), big * big, {big, 1}},
      {shape(f32, big, big, big, 0), 0, {0, 0, 0, 1}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.shape.size(), c.size) << c.shape.to_string();
    EXPECT_EQ(c.shape.strides(), c.strides) << c.shape.to_string();
  }
  EXPECT_EQ(shape(f32, 2, "seq=3").dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(shape(f32, "batch", "seq", 4).element_count(), Extent(4) * kBatch * kSeq);
  EXPECT_EQ(shape(f32, "seq", "seq").element_count(), kSeq * kSeq);
}

TEST(Shape, SizesFailLoudly) {
  const Shape unbound = shape(f32, 0, "batch", 512);
  EXPECT_EQ(error_text([&] { unbound.size(); }), "size of f32[0, batch, 512]: axis `batch` is not bound");
  EXPECT_EQ(error_text([&] { unbound.dims(); }), "dims of f32[0, batch, 512]: axis `batch` is not bound");
  EXPECT_EQ(error_text([&] { unbound.strides(); }), "strides of f32[0, batch, 512]: axis `batch` is not bound");
  EXPECT_EQ(error_text([] { shape(f32, -1, -1).size(); }), "size of f32[-1, -1]: axis 0 is anonymous");
  EXPECT_EQ(error_text([] { shape(f32, 2, -1).element_count(); }), "axis 1 of f32[2, -1] is anonymous");
  const int64_t big = int64_t{1} << 32;
  const Shape huge = shape(f32, 4, big, big);
  EXPECT_EQ(error_text([&] { huge.size(); }), "size of f32[4, 4294967296, 4294967296] does not fit in 64 bits");
  EXPECT_EQ(error_text([&] { huge.strides(); }), "strides of f32[4, 4294967296, 4294967296] do not fit in 64 bits");
}

TEST(Shape, Replaced) {
  const Shape s = shape(f32, "batch", 2);
  EXPECT_EQ(s.with_dtype(f16), shape(f16, "batch", 2));
  EXPECT_EQ(s.with_axes({3}), shape(f32, 3));
  EXPECT_NE(s, s.with_dtype(f16));
  EXPECT_NE(s.hash(), s.with_dtype(f16).hash());
  EXPECT_NE(shape(f32, 2, 3).hash(), shape(f32, 3, 2).hash());
}

}  // namespace
}  // namespace tenon::shape_test
