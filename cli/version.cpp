#include "version.h"

#include <fmt/format.h>

#include <cstdio>

#include "compiler/inspect.h"

namespace tenon {

void print_version() {
  const BuildReport report = build_report();
  fmt::print("tenon {}\n  kernels  {}\n", TENON_VERSION, report.code);
  if (!report.target.empty()) {
    fmt::print("  target   {}\n", report.target);
  }
  fmt::print("  cache    {}\n", report.cache);
}

}  // namespace tenon
