#include "shape/unify.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace tenon::unify_test {
namespace {

struct Case {
  const char* a;
  const char* b;
  const char* strict;  // the axis and its constraints, or the error
  const char* unify;   // nullptr: the same
};

std::string text_of(const Unified& unified) {
  std::string text = unified.axis.to_string();
  for (const Constraint& constraint : unified.constraints) {
    text += "; " + constraint.to_string();
  }
  return text;
}

template <class F>
void expect(const Case& c, F&& function) {
  for (const NameRule rule : {NameRule::strict, NameRule::unify}) {
    std::string text;
    const std::string error = error_text([&] { text = text_of(function(Axis(c.a), Axis(c.b), rule)); });
    const bool is_strict = rule == NameRule::strict || c.unify == nullptr;
    EXPECT_EQ(error == "no error" ? text : error, is_strict ? c.strict : c.unify)
        << c.a << " and " << c.b << (rule == NameRule::strict ? ", strict" : ", unify");
  }
}

TEST(Unify, Axes) {
  const Case cases[] = {
      {"-1", "-1", "-1", nullptr},
      {"-1", "n", "n", nullptr},
      {"hidden=768", "-1", "hidden=768", nullptr},
      {"n", "n", "n", nullptr},
      {"8", "8", "8", nullptr},
      {"0", "0", "0", nullptr},
      {"8", "n=8", "n=8", nullptr},
      {"n=8", "8", "n=8", nullptr},
      {"2*n", "n+n", "2*n", nullptr},
      {"8", "9", "axis of size 8 against axis of size 9", nullptr},
      {"1", "0", "axis of size 1 against axis of size 0", nullptr},
      {"1", "8", "axis of size 1 against axis of size 8", nullptr},
      {"depth=64", "depth=80", "axis `depth` is 64 on the left, 80 on the right", nullptr},
      {"depth=64", "80", "axis `depth=64` against axis of size 80", nullptr},
      {"seq+1", "seq", "axis `seq+1` against axis `seq`", nullptr},
      {"2*n", "7", "axis `2*n` against axis of size 7", nullptr},
      {"hidden", "hidden=768", "hidden=768; hidden == 768", nullptr},
      {"hidden=768", "hidden", "hidden=768; hidden == 768", nullptr},
      {"batch", "time", "axis `batch` against axis `time`", "batch; time == batch"},
      {"n", "8", "n=8; n == 8", nullptr},
      {"8", "n", "n=8; n == 8", nullptr},
      {"n", "m=8", "m=8; n == 8", nullptr},
      {"x.0", "8", "8; x.0 == 8", nullptr},
      {"x.0", "batch", "batch; x.0 == batch", nullptr},
      {"batch", "x.0", "batch; x.0 == batch", nullptr},
      {"x.0", "y.0", "x.0; y.0 == x.0", nullptr},
      {"n", "m+1", "n; m+1 == n", nullptr},
      {"m+1", "n", "n=m+1; n == m+1", nullptr},
      {"total=m+1", "8", "total=8; m+1 == 8", nullptr},
      {"a*b", "c*d", "a*b; c*d == a*b", nullptr},
  };
  for (const Case& c : cases) {
    expect(c, unify);
  }
}

TEST(Unify, Broadcasts) {
  const Case cases[] = {
      {"1", "n", "n", nullptr},
      {"n", "1", "n", nullptr},
      {"1", "1", "1", nullptr},
      {"one=1", "1", "one=1", nullptr},
      {"1", "8", "8", nullptr},
      {"1", "0", "0", nullptr},
      {"n=1", "hidden=8", "hidden=8", nullptr},
      {"n", "n", "n", nullptr},
      {"-1", "n", "n", nullptr},
      {"1", "-1", "-1", nullptr},
      {"8", "n=8", "n=8", nullptr},
      {"8", "9", "axis of size 8 against axis of size 9", nullptr},
      {"8", "0", "axis of size 8 against axis of size 0", nullptr},
      {"n", "8", "8; n broadcasts to 8", nullptr},
      {"8", "n", "8; n broadcasts to 8", nullptr},
      {"n", "0", "0; n broadcasts to 0", nullptr},
      {"n", "m=8", "m=8; n broadcasts to 8", nullptr},
      {"hidden", "hidden=8", "hidden=8; hidden == 8", nullptr},
      {"hidden=8", "hidden=9", "axis `hidden` is 8 on the left, 9 on the right", nullptr},
      {"hidden=1", "hidden=9", "hidden=9", nullptr},
      {"2*n", "7", "axis `2*n` against axis of size 7", nullptr},
      {"2*n+1", "4", "4; 2*n+1 broadcasts to 4", nullptr},
      {"batch", "time", "axis `batch` against axis `time`", "batch; time == batch"},
      {"x.0", "batch", "batch; x.0 broadcasts to batch", nullptr},
      {"batch", "x.0", "batch; x.0 broadcasts to batch", nullptr},
      {"x.0", "seq+1", "seq+1; x.0 broadcasts to seq+1", nullptr},
      {"x.0", "8", "8; x.0 broadcasts to 8", nullptr},
      {"x.0", "y.0", "x.0; y.0 == x.0", nullptr},
      {"n", "seq+2", "seq+2; n broadcasts to seq+2", nullptr},
      {"seq+1", "n", "n=seq+1; n == seq+1", nullptr},
      {"seq+1", "seq", "axis `seq+1` against axis `seq`", nullptr},
      {"seq+2", "seq+3", "axis `seq+2` against axis `seq+3`", nullptr},
      {"a*b", "c", "c=a*b; c == a*b", nullptr},
      {"max(n-1, 0)", "n", "n; max(n-1, 0) broadcasts to n", nullptr},
      {"n", "min(k, n)", "n; min(k, n) broadcasts to n", nullptr},
      {"n", "2*n", "2*n; n broadcasts to 2*n", nullptr},
  };
  for (const Case& c : cases) {
    expect(c, broadcast_axes);
  }
}

}  // namespace
}  // namespace tenon::unify_test
