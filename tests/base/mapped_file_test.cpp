#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/error_text.h"
#include "tenon/array.h"

namespace tenon::mapped_file_test {
namespace {

class MappedFile : public testing::Test {
 protected:
  MappedFile() {
    std::vector<float> values(10000);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i);
    }
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  ~MappedFile() override { std::filesystem::remove(path_); }

  std::string path_ =
      (std::filesystem::path(testing::TempDir()) / ("tenon_mapped_file_test." + std::to_string(::getpid()))).string();
};

#ifdef __linux__
/// Pages of files that this process has in memory.
int64_t file_pages() {
  std::ifstream statm("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  int64_t shared = 0;
  statm >> all >> resident >> shared;
  return shared;
}

TEST_F(MappedFile, PagesThatNobodyWroteAreReleasedAndReadAgain) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t pages = 3000;
  std::ofstream(path_, std::ios::binary) << std::string(pages * page, 'a');
  const auto memory = map_file(path_, 0, static_cast<int64_t>(pages * page));
  const auto sum = [&] {
    int64_t result = 0;
    for (size_t i = 0; i < pages; ++i) {
      result += std::to_integer<int64_t>(memory[i * page]);
    }
    return result;
  };
  memory[7 * page] = std::byte{'b'};
  EXPECT_EQ(sum(), static_cast<int64_t>(pages) * 'a' + 1);
  const int64_t before = file_pages();
  release_clean_pages(memory.get(), pages * page);
  EXPECT_LT(file_pages(), before - static_cast<int64_t>(pages) * 3 / 4);
  EXPECT_EQ(sum(), static_cast<int64_t>(pages) * 'a' + 1);  // what was written is there yet
  std::vector<std::byte> plain(pages * page, std::byte{1});
  release_clean_pages(plain.data(), plain.size());
  EXPECT_EQ(plain[5 * page], std::byte{1});
}
#endif

TEST_F(MappedFile, IsMemoryOfAnArray) {
  Array array = Array::adopt(f32, {100}, map_file(path_, 4 * 5000, 400));
  EXPECT_EQ(array.at(0), 5000);
  EXPECT_EQ(array.at(99), 5099);
  const Array copy = array;
  array.mutable_values<float>()[0] = 1;  // copied first
  EXPECT_EQ(copy.at(0), 5000);
}

TEST_F(MappedFile, WhatIsWrittenStaysHere) {
  Array array = Array::adopt(f32, {10}, map_file(path_, 0, 40));
  array.mutable_values<float>()[3] = -1;
  EXPECT_EQ(array.at(3), -1);
  EXPECT_EQ(Array::adopt(f32, {10}, map_file(path_, 0, 40)).at(3), 3);
}

TEST_F(MappedFile, MistakesNameTheFile) {
  EXPECT_EQ(error_text([&] { map_file(path_, 39999, 2); }), "`" + path_ + "` has 40000 bytes, not 2 from 39999 on");
  EXPECT_EQ(error_text([&] { map_file(path_, -1, 2); }), "`" + path_ + "` has 40000 bytes, not 2 from -1 on");
  EXPECT_EQ(error_text([] { map_file("/there/is/none", 0, 1); }),
            "cannot open `/there/is/none`: No such file or directory");
  EXPECT_NE(map_file(path_, 40000, 0), nullptr);
}

}  // namespace
}  // namespace tenon::mapped_file_test
