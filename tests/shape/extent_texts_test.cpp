#include "shape/extent_texts.h"

#include <gtest/gtest.h>

#include "shape/extent_polynomial.h"
#include "tenon/error.h"

namespace tenon::extent_texts_test {
namespace {

TEST(ExtentTexts, AreReadAsEachIsAlone) {
  const std::string_view texts[] = {
      "0",
      "-3",
      "a",
      "(a)",
      "-(a + b)*2",
      "min(a, b)",
      "min((a), b) + min(a, b)",
      "max(min(a, 3), (b + 7) floordiv 8) mod 5",
      "(a + b) ceildiv (a + b)",
      "((a + b)) ceildiv ((c))",
      "-min(-(a floordiv 4), -1)",
      "min(`a)b`, c) + max(`a\\`(b`, `x\\\\`)",
      "min(`a)b`, c) - `(`",
      "min(min(a, b), c, max(a, b, 2))",
      "",
      "(",
      "(a",
      "a)",
      "min a",
      "min(a,",
      "min(a b)",
      "(a + b",
      "(a + b) + (`c",
      "(1 floordiv 0)",
      "min(9223372036854775807 + 1, a)",
  };
  const auto said = [](const auto& parse, std::string_view text) {
    try {
      return parse(text).to_string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  ExtentTexts together;
  for (int round = 0; round < 2; ++round) {  // what was wrong is wrong again
    for (const std::string_view text : texts) {
      EXPECT_EQ(said([&](std::string_view each) { return together.parse(each); }, text), said(&Extent::parse, text))
          << text;
    }
  }
}

TEST(ExtentTexts, ShareParts) {
  ExtentTexts texts;
  const auto inner = [&](std::string_view text) { return algebra::top_atoms(texts.parse(text)).at(0).get(); };
  const auto* const first = inner("min(a, b floordiv 2)");
  EXPECT_EQ(inner("min(a, b floordiv 2) + 1"), first);
  EXPECT_EQ(inner("3*min(a, b floordiv 2)"), first);
  EXPECT_NE(inner("min(a, b floordiv 3)"), first);
  EXPECT_EQ(&texts.parse("a + 1"), &texts.parse("a + 1"));
}

/// Also of parts that were read where fewer were around them.
TEST(ExtentTexts, HaveNoMoreParenthesesInsideEachOther) {
  const auto nested = [](size_t count) { return std::string(count, '(') + "b" + std::string(count, ')'); };
  ExtentTexts texts;
  EXPECT_EQ(texts.parse(nested(99)), Extent::name("b"));
  EXPECT_EQ(texts.parse(nested(100)), Extent::name("b"));
  EXPECT_EQ(texts.parse("min(" + nested(50) + ", a)"), min(Extent::name("b"), Extent::name("a")));
  EXPECT_THROW(texts.parse(nested(101)), Error);
  EXPECT_THROW(texts.parse("min(a, " + nested(100) + ")"), Error);
  EXPECT_THROW(texts.parse(std::string(30000, '(') + "b" + std::string(30000, ')')), Error);
}

}  // namespace
}  // namespace tenon::extent_texts_test
