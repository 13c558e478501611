// JSON that is read.
#include "base/json.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace tenon::json_test {
namespace {

JsonValue parse(std::string_view text) { return JsonValue::parse(text, "it"); }
std::string error(std::string_view text) {
  return error_text([&] { parse(text); });
}

TEST(JsonValue, IsRead) {
  const JsonValue value = parse("{\"a\": [1, -2.5e3, true, null],\n \"b\": {\"c\": \"x\\n\\u00e9\\ud83d\\ude00\"}}");
  ASSERT_NE(value.object(), nullptr);
  const JsonValue::List& list = *value.find("a")->list();
  EXPECT_EQ(*list[1].number(), -2500);
  EXPECT_TRUE(*list[2].boolean());
  EXPECT_TRUE(list[3].is_null());
  int64_t number = 0;
  EXPECT_TRUE(list[0].integer(number));
  EXPECT_EQ(number, 1);
  EXPECT_FALSE(parse("0.5").integer(number));
  EXPECT_FALSE(parse("1e300").integer(number));
  EXPECT_EQ(value.find("b")->line(), 2);
  EXPECT_EQ(*value.find("b")->find("c")->text(), "x\n\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(list[0].find("a"), nullptr);
}

TEST(JsonValue, RefusesWhatIsNone) {
  EXPECT_EQ(error("{\"a\": 1,\n  \"a\": 2}"), "it is no JSON: the key `a` is there twice, in line 2, column 6");
  EXPECT_EQ(error("[1, 2"), "it is no JSON: `]` is missing, in line 1, column 6");
  EXPECT_EQ(error("[1] 2"), "it is no JSON: there is more behind its end, in line 1, column 5");
  for (const std::string_view text : {"", "nul", "01", "-", "1e999", "\"a", "\"\\x\"", "\"\\ud800\"", "{a: 1}", "[1,]",
                                      "\"\n\"", "{\"a\" 1}", "+1", ".5"}) {
    EXPECT_TRUE(mentions(error(text), {"it is no JSON"})) << text;
  }
  EXPECT_TRUE(mentions(error(std::string(1000, '[')), {"nested too deeply"}));
}

TEST(JsonValue, QuotedTextComesBack) {
  const std::string text = "a\"\\\n\t\x01/\xC3\xA9";
  EXPECT_EQ(*parse(json_quoted(text)).text(), text);
}

}  // namespace
}  // namespace tenon::json_test
