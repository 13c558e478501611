// Program files while they are written, replaced and loaded again and again.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program_folder.h"
#include "support/error_text.h"
#include "support/program_parts.h"
#include "tenon/tenon.h"

namespace tenon::file_life_test {
namespace {

/// x + the number, for any number of rows; with `columns` weights.
Graph add_of(float number, int64_t columns = 64) {
  const Value x = input("x", shape(f32, "row", columns));
  const Array weights = Array::from<float>({columns}, std::vector<float>(static_cast<size_t>(columns), number));
  return Graph("adds", {x}, {{.name = "y", .value = add(x, constant(weights))}});
}

double answer(const Executable& executable, int64_t columns = 64) {
  return executable.run({Array(f32, std::vector<int64_t>{3, columns})})[0].at(columns * 2 + 1);
}

std::vector<std::string> names_in(const ProgramFolder& folder) {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(each.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST(FileLife, WhoHasAFileKeepsItsContentWhenItIsReplaced) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  build_program(add_of(1), path);
  const Executable first = load_program(path, {.verify = false});
  build_program(add_of(2), path);
  const Executable second = load_program(path);
  std::filesystem::remove(path);
  EXPECT_EQ(answer(first), 1);
  EXPECT_EQ(answer(second), 2);
  EXPECT_TRUE(names_in(folder).empty());
}

/// No file may become larger than so many bytes, as on a disk that is full.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

TEST(FileLife, AFullDiskLeavesNothingBehind) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  const Graph graph = add_of(3, 100'000);
  for (const rlim_t room : {rlim_t{1}, rlim_t{1000}, rlim_t{100'000}, rlim_t{350'000}}) {
    const SmallFiles full(room);
    EXPECT_TRUE(mentions(error_text([&] { build_program(graph, path, {.compile = {.disk_cache = false}}); }),
                         {"cannot write `" + path + "`: "}));
  }
  EXPECT_TRUE(names_in(folder).empty());
  build_program(add_of(1), path);
  {
    const SmallFiles full(1000);
    EXPECT_THROW(build_program(graph, path, {.compile = {.disk_cache = false}}), Error);
  }
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"model.tenon"});
  EXPECT_EQ(answer(load_program(path)), 1);
}

/// A graph that is given away is not in memory beside what is made of it.
TEST(FileLife, ABuildLetsGoOfItsGraph) {
  const ProgramFolder folder;
  constexpr int64_t kSize = 96;
  auto memory = std::make_shared<std::byte[]>(kSize * kSize * sizeof(float));
  const std::weak_ptr<std::byte[]> weights = memory;
  std::vector<bool> gone;
  const auto progress = [&](const BuildProgress& now) {
    if (now.what == "writing") gone.push_back(weights.expired());
  };
  const auto product = [&] {
    const Value x = input("x", shape(f32, "row", kSize));
    const Array w = Array::adopt(f32, {kSize, kSize}, std::move(memory));
    return Graph("product", {x}, {{.name = "y", .value = matmul(x, constant(w))}});
  };
  build_program(product(), folder / "model.tenon", {.progress = progress});
  ASSERT_FALSE(gone.empty());
  EXPECT_TRUE(gone.front());
}

TEST(FileLife, ABuildThatIsStoppedLeavesTheOldFile) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  build_program(add_of(1), path);
  std::vector<std::string> seen;
  for (const std::string stop : {"scheduling", "compiling", "writing"}) {
    const auto progress = [&](const BuildProgress& now) {
      seen.emplace_back(now.what);
      if (now.what == stop) throw Cancelled();
    };
    EXPECT_THROW(build_program(add_of(2), path, {.compile = {.disk_cache = false}, .progress = progress}), Cancelled);
    EXPECT_EQ(seen.back(), stop);
  }
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"model.tenon"});
  EXPECT_EQ(answer(load_program(path)), 1);
}

TEST(FileLife, WhatIsNoFileIsNotReplaced) {
  const ProgramFolder folder;
  std::filesystem::create_directory(folder.path() / "taken");
  EXPECT_EQ(error_text([&] { build_program(add_of(1), folder / "taken"); }),
            "cannot write `" + folder / "taken" + "`: it is no ordinary file");
  EXPECT_TRUE(mentions(error_text([&] { build_program(add_of(1), "/dev/full"); }), {"it is no ordinary file"}));
  EXPECT_TRUE(mentions(error_text([&] { build_program(add_of(1), folder / "none/x"); }), {"cannot write `"}));
  EXPECT_TRUE(mentions(error_text([&] { (void)load_program(folder / "taken"); }), {folder / "taken"}));
}

TEST(FileLife, BuildersAndLoadersOfOneFileNeverSeeAPartOfIt) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  constexpr int64_t kFew = 64;
  constexpr int64_t kMany = 5000;
  build_program(add_of(1, kFew), path);
  std::atomic<bool> done = false;
  std::vector<std::jthread> builders;
  for (const int64_t columns : {kFew, kMany}) {
    builders.emplace_back([&, columns] {
      for (int i = 0; i < 20; ++i)
        build_program(add_of(1, columns), path);
      done = true;
    });
  }
  int loads = 0;
  do {
    const Executable executable = load_program(path);
    const int64_t columns = executable.inputs()[0].shape.axis(1).extent().constant().value_or(0);
    EXPECT_TRUE(columns == kFew || columns == kMany);
    EXPECT_EQ(answer(executable, columns), 1);
    ++loads;
  } while (!done);
  builders.clear();
  EXPECT_GT(loads, 0);
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"model.tenon"});
}

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    ++count;
  return count;
}

TEST(FileLife, LoadsAndUnloadsLeaveNoMemoryBehind) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  build_program(add_of(1, 50'000), path);
  const auto load = [&](int times) {
    for (int i = 0; i < times; ++i)
      ASSERT_EQ(answer(load_program(path), 50'000), 1);
  };
  load(50);
  const size_t mapped = mappings();
  const auto taken = ::mallinfo2().uordblks;
  load(300);
  EXPECT_LE(mappings(), mapped + 150);                  // half of one a load: threads have arenas of the heap
  EXPECT_LE(::mallinfo2().uordblks, taken + 100'000U);  // a third of a kilobyte for each
}

}  // namespace
}  // namespace tenon::file_life_test
