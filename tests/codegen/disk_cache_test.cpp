// What a compile leaves on disk: code of kernels and of the products that they call, or nothing at all.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "disk/build_id.h"
#include "native/linked_products.h"
#include "native/product_target.h"
#include "tenon/compile.h"
#include "tenon/ops.h"

namespace tenon::codegen::disk_cache_test {
namespace {

namespace fs = std::filesystem;

/// How many files a compile of a kernel with a product leaves under an empty cache directory.
size_t files_left(bool disk_cache) {
  const fs::path directory = ::testing::TempDir() + "tenon_disk_cache_" + (disk_cache ? "on" : "off");
  fs::remove_all(directory);
  setenv("XDG_CACHE_HOME", directory.c_str(), 1);
  const Value a = input("a", shape(f32, "m", 64));
  const Value b = input("b", shape(f32, 64, 64));
  compile(Graph({a, b}, {{"y", exp(matmul(a, b))}}), {.disk_cache = disk_cache});
  size_t files = 0;
  if (fs::exists(directory)) {
    for (const auto& entry : fs::recursive_directory_iterator(directory))
      files += entry.is_regular_file() ? 1u : 0u;
  }
  fs::remove_all(directory);
  return files;
}

/// In a process of its own, in which nothing was compiled before: products are made once a process.
[[noreturn]] void report_files(bool disk_cache) {
  fprintf(stderr, "files: %zu.\n", files_left(disk_cache));
  std::exit(0);
}

TEST(DiskCacheTest, HoldsKernelsAndProductsOrNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(report_files(false), ::testing::ExitedWithCode(0), "files: 0\\.");
  if (disk::build_id().empty()) {
    EXPECT_EXIT(report_files(true), ::testing::ExitedWithCode(0), "files: 0\\.") << "linked without a build id";
  } else if (find_linked_products({}, product_target({}, host_target())) != nullptr) {
    EXPECT_EXIT(report_files(true), ::testing::ExitedWithCode(0), "files: 1\\.") << "a kernel; products are linked in";
  } else {
    EXPECT_EXIT(report_files(true), ::testing::ExitedWithCode(0), "files: ([2-9]|[1-9][0-9]+)\\.")
        << "a kernel, and products beside it";
  }
}

}  // namespace
}  // namespace tenon::codegen::disk_cache_test
