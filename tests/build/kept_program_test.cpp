// Programs of models are found again where nothing changed, and nowhere else.
#include "build/kept_program.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "program_folder.h"
#include "support/arrays.h"
#include "tenon/tenon.h"

namespace tenon::kept_program_test {
namespace {

namespace fs = std::filesystem;

Graph product(double value = 0.25) {
  const Value x = input("x", shape(f32, "row", 64));
  return Graph("product", {x}, {{.name = "y", .value = relu(matmul(x, constant(Array::full(f32, {64, 48}, value))))}});
}

/// Its cache directory is one of its own.
class KeptProgramTest : public testing::Test {
 protected:
  KeptProgramTest() {
    if (const char* was = ::getenv("XDG_CACHE_HOME")) was_ = was;
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  }
  ~KeptProgramTest() override {
    wait_for_kept_programs();
    was_ ? ::setenv("XDG_CACHE_HOME", was_->c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
  }
  void SetUp() override {
    if (!ProgramCache(true).enabled()) GTEST_SKIP() << "programs are kept by builds with LLVM alone";
  }

  /// Names are models here: they need not wait until a file is old enough.
  static KeptProgram place(const std::string& model, const CompileOptions& options = {},
                           const std::vector<std::string>& more = {}) {
    return {{.model = model, .is_file = false, .more = more}, options};
  }
  static void keep(const std::string& model, double value = 0.25) {
    KeptProgram program = place(model);
    program.compile(product(value), {}, {});
    program.keep();
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& each : fs::directory_iterator(folder_.path() / "tenon")) {
      if (each.path().extension() == ".tenon") found.push_back(each.path());
    }
    return found;
  }
  static double result_of(const Executable& executable) {
    return executable.run({Array::full(f32, {1, 64}, 1)})[0].at(0);
  }

  ProgramFolder folder_;
  std::optional<std::string> was_;
};

TEST_F(KeptProgramTest, IsFoundByItsModelAndOptions) {
  EXPECT_FALSE(place("a").open());
  keep("a");
  EXPECT_EQ(result_of(place("a").open().value().executable), 16);
  EXPECT_FALSE(place("b").open());
  EXPECT_FALSE(place("a", {.fuse = false}).open());
  EXPECT_FALSE(place("a", {.precision = Precision::bf16}).open());
  EXPECT_FALSE(place("a", {}, {"donate"}).open());
  EXPECT_FALSE(place("a", {.disk_cache = false}).open());
  CompileReport report;
  EXPECT_FALSE(place("a", {.report = &report}).open()) << "the report would stay empty";
}

TEST_F(KeptProgramTest, OfAFileIsThatOfTheFileAsItIsNow) {
  const std::string first = folder_ / "first";
  const std::string second = folder_ / "second";
  const std::string data = folder_ / "data";
  const std::string model = folder_ / "model";
  for (const std::string& path : {first, second, data}) {
    std::ofstream(path) << "bytes";
  }
  fs::create_symlink(first, model);
  const auto place_of = [](const std::string& path) { return KeptProgram({.model = path}, {}); };
  EXPECT_FALSE(place_of(model).enabled()) << "it was changed a moment ago";
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_TRUE(place_of(model).enabled());
  EXPECT_FALSE(place_of(folder_ / "missing").enabled());
  KeptProgram program = place_of(model);
  program.compile(product(), {}, {data});
  program.keep();
  EXPECT_TRUE(place_of(model).open());
  fs::remove(model);
  fs::create_symlink(second, model);
  EXPECT_FALSE(place_of(model).open()) << "another file under the name";
  fs::remove(model);
  fs::create_symlink(first, model);
  EXPECT_TRUE(place_of(model).open());
  std::ofstream(data) << "other bytes";
  EXPECT_FALSE(place_of(model).open()) << "the file beside it changed";
  EXPECT_TRUE(files().empty());
}

TEST_F(KeptProgramTest, ThatIsDamagedIsMadeAnew) {
  keep("a");
  const fs::path path = files().at(0);
  fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_FALSE(place("a").open());
  EXPECT_TRUE(files().empty());
  keep("a");
  std::fstream(files().at(0), std::ios::in | std::ios::out).seekp(100).write("damaged", 7);
  EXPECT_FALSE(place("a").open());
  keep("a");
  std::ofstream(files().at(0)) << "no program at all";
  EXPECT_FALSE(place("a").open());
  keep("a");
  EXPECT_EQ(result_of(place("a").open().value().executable), 16);
}

/// Of files that were written before the machine was started, parts may not have got to the disk.
TEST_F(KeptProgramTest, ThatIsOlderThanTheMachinesStartIsHeldAgainstItsChecksums) {
  keep("a");
  const fs::path path = files().at(0);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(24 * 365 * 20);
  fs::last_write_time(path, long_ago);
  EXPECT_TRUE(place("a").open());
  EXPECT_GT(fs::last_write_time(path), long_ago + std::chrono::hours(24)) << "it is used again";
  std::fstream(path, std::ios::in | std::ios::out)
      .seekp(static_cast<int64_t>(fs::file_size(path)) - 100)
      .write("torn", 4);
  EXPECT_TRUE(place("a").open()) << "weights are not read again";
  fs::last_write_time(path, long_ago);
  EXPECT_FALSE(place("a").open());
  EXPECT_TRUE(files().empty());
}

TEST_F(KeptProgramTest, OfAnotherVersionIsMadeAnew) {
  keep("a");
  std::fstream file(files().at(0), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);  // the version of the format, behind the magic
  file.put(char{99});
  file.close();
  EXPECT_FALSE(place("a").open());
  EXPECT_TRUE(files().empty());
}

TEST_F(KeptProgramTest, NeedsNoDirectoryThatCanBeWritten) {
  keep("a");
  const fs::path cache = folder_.path() / "tenon";
  if (::geteuid() != 0) {  // who may write everywhere
    fs::permissions(cache, fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_FALSE(place("a").enabled());
    KeptProgram program = place("b");
    EXPECT_EQ(result_of(program.compile(product(), {}, {})), 16);
    program.keep();
    fs::permissions(cache, fs::perms::owner_all);
  }
  fs::remove_all(cache);
  std::ofstream(cache) << "a file where the folder should be";
  KeptProgram program = place("a");
  EXPECT_FALSE(program.enabled());
  EXPECT_EQ(result_of(program.compile(product(), {}, {})), 16);
  program.keep();
  fs::remove(cache);
}

/// A full disk looks like a limit on the size of files.
TEST_F(KeptProgramTest, IsNotThereWhereTheDiskIsFull) {
  KeptProgram program = place("a");
  EXPECT_EQ(result_of(program.compile(product(), {}, {})), 16);
  const auto entries = [&] { return std::distance(fs::directory_iterator(folder_.path() / "tenon"), {}); };
  const auto before = entries();
  rlimit was = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &was), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 1000, .rlim_max = was.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  program.keep();
  ::setrlimit(RLIMIT_FSIZE, &was);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(entries(), before);
  EXPECT_FALSE(place("a").open());
}

TEST_F(KeptProgramTest, IsWholeWhileManyWriteIt) {
  std::array<std::future<void>, 4> writers;
  for (std::future<void>& writer : writers) {
    writer = std::async(std::launch::async, [] {
      for (int i = 0; i < 5; ++i)
        keep("a");
    });
  }
  for (int i = 0; i < 200; ++i) {
    if (const std::optional<KeptExecutable> found = place("a").open()) {
      EXPECT_EQ(result_of(found->executable), 16);
    }
  }
  for (std::future<void>& writer : writers)
    writer.get();
  EXPECT_TRUE(place("a").open());
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(KeptProgramTest, IsWrittenInTheBackground) {
  KeptProgram program = place("a");
  const Executable executable = program.compile(product(), {}, {});
  program.keep_in_background();
  EXPECT_EQ(result_of(executable), 16);
  wait_for_kept_programs();
  EXPECT_TRUE(place("a").open());
  place("b").keep_in_background();  // nothing was compiled
  wait_for_kept_programs();
  EXPECT_FALSE(place("b").open());
}

/// A process that ends waits until its programs are written.
TEST_F(KeptProgramTest, IsThereAfterTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string cache = fs::path(testing::TempDir()) / "tenon_kept_at_exit";
  EXPECT_EXIT(
      {
        ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
        KeptProgram program = place("a");
        program.compile(product(), {}, {});
        program.keep_in_background();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  EXPECT_TRUE(place("a").open());
  fs::remove_all(cache);
}

}  // namespace
}  // namespace tenon::kept_program_test
