#include "base/read_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/error_text.h"

namespace tenon::read_file_test {
namespace {

namespace fs = std::filesystem;

class ReadFile : public testing::Test {
 protected:
  ReadFile() : folder_(fs::path(testing::TempDir()) / ("tenon_read_file_" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~ReadFile() override { fs::remove_all(folder_); }

  std::string refusal(const fs::path& file, int64_t most = 100) const {
    return error_text([&] { read_file(file, most, ": try another"); });
  }

  fs::path folder_;
};

TEST_F(ReadFile, IsWhole) {
  std::ofstream(folder_ / "zeros", std::ios::binary) << std::string(3, '\0');
  EXPECT_EQ(read_file(folder_ / "zeros", 3), std::string(3, '\0'));
  std::ofstream(folder_ / "empty", std::ios::binary).close();
  EXPECT_EQ(read_file(folder_ / "empty", 0), "");
}

TEST_F(ReadFile, OnlyRegularFilesWithAnEnd) {
  EXPECT_EQ(refusal("/dev/zero"), "`/dev/zero` is no regular file: devices, pipes and sockets are not read");
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe), "`" + pipe.string() + "` is no regular file: devices, pipes and sockets are not read");
  EXPECT_EQ(refusal(folder_), "`" + folder_.string() + "` is a folder, not a file");
  EXPECT_EQ(refusal("/there/is/none"), "there is no file `/there/is/none`");
}

TEST_F(ReadFile, NotBeyondTheLimit) {
  const fs::path large = folder_ / "large";
  std::ofstream(large).close();
  fs::resize_file(large, uintmax_t{20} << 30);  // without blocks on the disk
  EXPECT_EQ(refusal(large),
            "the file `" + large.string() + "` has 21474836480 bytes, and at most 100 are read: try another");
}

}  // namespace
}  // namespace tenon::read_file_test
