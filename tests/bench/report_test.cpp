#include "support/report.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <limits>
#include <string>

namespace bench::report_test {
namespace {

struct Printed {
  std::string text;
  int status = 0;
};

Printed print(bool json, const std::function<void(Report&)>& fill) {
  std::FILE* file = std::tmpfile();
  Report report(json, file);
  fill(report);
  Printed result;
  result.status = report.finish();
  std::fseek(file, 0, SEEK_SET);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    result.text += static_cast<char>(c);
  }
  std::fclose(file);
  return result;
}

TEST(Report, TargetMetByLowerAndHigher) {
  const Printed result = print(true, [](Report& r) {
    r.add("time", 1.5, "us", 2.0);
    r.add("rate", 3, "GB/s", 3, Better::higher);
  });
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text,
            "{\"name\": \"time\", \"value\": 1.5, \"unit\": \"us\", \"target\": 2, \"ok\": true}\n"
            "{\"name\": \"rate\", \"value\": 3, \"unit\": \"GB/s\", \"target\": 3, \"ok\": true}\n");
}

TEST(Report, OneMissedTargetFailsTheRun) {
  const Printed result = print(true, [](Report& r) {
    r.add("time", 2.5, "us", 2.0);
    r.add("rate", 4, "GB/s", 3, Better::higher);
  });
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.text.find("\"target\": 2, \"ok\": false"), std::string::npos);
}

TEST(Report, NoTargetAndPendingHaveNoVerdict) {
  const Printed result = print(true, [](Report& r) {
    r.add("free", 7, "us");
    r.add_pending("later", "kernels", 1);
  });
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text,
            "{\"name\": \"free\", \"value\": 7, \"unit\": \"us\", \"target\": null, \"ok\": null}\n"
            "{\"name\": \"later\", \"value\": null, \"unit\": \"kernels\", \"target\": 1, \"ok\": null}\n");
}

TEST(Report, NotANumberMissesItsTargetAndStaysJson) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Printed result = print(true, [&](Report& r) {
    r.add("a\"b\\c\n", nan, "us", 1);
    r.add("rate", infinity, "GB/s", 3, Better::higher);
  });
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.text,
            "{\"name\": \"a\\\"b\\\\c\\u000a\", \"value\": null, \"unit\": \"us\", \"target\": 1, \"ok\": false}\n"
            "{\"name\": \"rate\", \"value\": null, \"unit\": \"GB/s\", \"target\": 3, \"ok\": false}\n");
}

TEST(Report, TableIsAlignedAndShowsMisses) {
  const Printed result = print(false, [](Report& r) {
    r.add("time", 2.5, "us", 2.0, Better::lower, "median of 5");
    r.add("throughput", 120, "GB/s");
    r.add_pending("later", "kernels", 1);
  });
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.text,
            "time        2.5 us       <= 2  MISSED  median of 5\n"
            "throughput  120 GB/s\n"
            "later         - kernels  <= 1\n");
}

}  // namespace
}  // namespace bench::report_test
