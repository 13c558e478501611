#include "disk/object_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "base/hash.h"

namespace tenon::disk::object_cache_test {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        ::testing::TempDir() + "tenon_object_cache_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  ObjectCacheOptions options(std::size_t limit = 1 << 20) const { return {true, directory_, limit}; }

  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      result.push_back(entry.path());
    }
    return result;
  }

  std::size_t bytes_on_disk() const {
    std::size_t total = 0;
    for (const fs::path& path : files()) {
      total += fs::file_size(path);
    }
    return total;
  }

  std::string directory_;
};

ContentHash key_of(int i) { return content_hash("key " + std::to_string(i)); }

std::vector<char> object_of(int i, std::size_t bytes = 1000) {
  std::vector<char> object(bytes);
  for (std::size_t at = 0; at < bytes; ++at) {
    object[at] = static_cast<char>(mix_hash(at + static_cast<std::size_t>(i) * bytes));
  }
  return object;
}

void overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ContentHash, TellsTextsApart) {
  std::set<ContentHash> seen;
  std::set<uint64_t> high;
  std::set<uint64_t> low;
  std::size_t count = 0;
  const auto add = [&](const std::string& text) {
    const ContentHash hash = content_hash(text);
    seen.insert(hash);
    high.insert(hash.high);
    low.insert(hash.low);
    ++count;
  };
  const std::string base(64, 'a');
  for (std::size_t at = 0; at < base.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string text = base;
      text[at] = static_cast<char>(text[at] ^ (1 << bit));
      add(text);
    }
  }
  for (std::size_t length = 0; length <= 64; ++length) {
    add(std::string(length, '\0'));  // padding is not content
    if (length > 0) add(std::string(length, 'a'));
  }
  add("abcdefgh12345678");
  add("12345678abcdefgh");
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(high.size(), count);
  EXPECT_EQ(low.size(), count);
  EXPECT_EQ(to_hex({1, 0xabc}), "00000000000000010000000000000abc");
}

TEST_F(ObjectCacheTest, KeepsObjectsForTheNextProcess) {
  {
    ObjectCache cache(options());
    EXPECT_EQ(cache.status(), "on: " + directory_);
    EXPECT_FALSE(cache.load(key_of(1)));
    cache.store(key_of(1), object_of(1));
    cache.store(key_of(2), object_of(2));
    EXPECT_EQ(cache.counters().stored, 2);
    EXPECT_EQ(cache.counters().misses, 1);
  }
  ObjectCache cache(options());
  EXPECT_EQ(cache.load(key_of(1)), object_of(1));
  EXPECT_EQ(cache.load(key_of(2)), object_of(2));
  EXPECT_FALSE(cache.load(key_of(3)));
  EXPECT_EQ(cache.counters().hits, 2);
  EXPECT_EQ(files().size(), 2U);  // nothing unfinished stays
}

TEST_F(ObjectCacheTest, DirectoryIsPrivate) {
  const ObjectCache cache(options());
  struct stat info{};
  ASSERT_EQ(::stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
}

TEST_F(ObjectCacheTest, RefusesADirectoryThatOthersMayWrite) {
  for (const mode_t mode : {0770U, 0707U}) {
    fs::remove_all(directory_);
    fs::create_directory(directory_);
    ASSERT_EQ(::chmod(directory_.c_str(), mode), 0);
    ObjectCache cache(options());
    EXPECT_FALSE(cache.enabled());
    EXPECT_EQ(cache.status().find("off: " + directory_ + " is writable by others"), 0U) << cache.status();
    cache.store(key_of(1), object_of(1));
    EXPECT_FALSE(cache.load(key_of(1)));
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(ObjectCacheTest, RefusesAnotherUsersDirectory) {
  if (::geteuid() == 0) {
    fs::create_directory(directory_);
    ASSERT_EQ(::chown(directory_.c_str(), 12345, 12345), 0);
    const ObjectCache cache(options());
    EXPECT_EQ(cache.status(), "off: " + directory_ + " belongs to another user");
  } else {
    const ObjectCache cache({true, "/", 1 << 20});
    EXPECT_EQ(cache.status(), "off: / belongs to another user");
  }
}

TEST_F(ObjectCacheTest, IsOffWhereADirectoryCannotBe) {
  overwrite(directory_, "a file");
  const ObjectCache file(options());
  EXPECT_FALSE(file.enabled());
  EXPECT_EQ(file.status().find("off: "), 0U);
  const ObjectCache below({true, directory_ + "/below", 1 << 20});
  EXPECT_FALSE(below.enabled());
  const ObjectCache switched({false, directory_, 1 << 20});
  EXPECT_EQ(switched.status(), "off: switched off");
}

TEST_F(ObjectCacheTest, DamagedFilesAreMissesAndGo) {
  ObjectCache cache(options());
  const auto damage = [&](const std::function<std::string(std::string)>& change) {
    cache.store(key_of(1), object_of(1));
    const fs::path path = files().at(0);
    overwrite(path, change(contents(path)));
    const int64_t damaged = cache.counters().damaged;
    EXPECT_FALSE(cache.load(key_of(1)));
    EXPECT_EQ(cache.counters().damaged, damaged + 1);
    EXPECT_TRUE(files().empty());
    EXPECT_FALSE(cache.load(key_of(1)));
    EXPECT_EQ(cache.counters().damaged, damaged + 1);
  };
  damage([](const std::string&) { return ""; });
  damage([](const std::string& all) { return all.substr(0, 20); });
  damage([](const std::string& all) { return all.substr(0, 48); });
  damage([](const std::string& all) { return all.substr(0, all.size() - 1); });
  damage([](const std::string& all) { return all + "x"; });
  damage([](const std::string&) { return std::string(5000, 'x'); });
  damage([](const std::string&) { return std::string(2 << 20, 'x'); });  // more than the whole cache may hold
  for (const std::size_t at : {0U, 8U, 16U, 31U, 32U, 40U, 48U, 500U, 1047U}) {
    damage([at](std::string all) {
      all.at(at) = static_cast<char>(all.at(at) ^ 1);
      return all;
    });
  }
  // Another key's object under this key's name.
  cache.store(key_of(2), object_of(2));
  const fs::path other = files().at(0);
  const std::string bytes = contents(other);
  fs::remove(other);
  damage([&](const std::string&) { return bytes; });
}

TEST_F(ObjectCacheTest, KeepsItsBound) {
  constexpr std::size_t limit = 40'000;
  ObjectCache cache(options(limit));
  for (int i = 0; i < 200; ++i) {
    cache.store(key_of(i), object_of(i));
    ASSERT_LE(bytes_on_disk(), limit) << i;
  }
  EXPECT_GT(bytes_on_disk(), limit / 2);
  EXPECT_GT(cache.counters().evicted, 100);
  EXPECT_TRUE(cache.load(key_of(199)));
  EXPECT_FALSE(cache.load(key_of(0)));
  cache.store(key_of(1000), object_of(1000, limit));
  EXPECT_FALSE(cache.load(key_of(1000)));
}

TEST_F(ObjectCacheTest, NoticesWhatOthersStored) {
  constexpr std::size_t limit = 40'000;
  ObjectCache one(options(limit));
  ObjectCache two(options(limit));
  for (int i = 0; i < 100; ++i) {
    one.store(key_of(2 * i), object_of(2 * i));
    two.store(key_of(2 * i + 1), object_of(2 * i + 1));
    ASSERT_LE(bytes_on_disk(), limit + limit / 8) << i;
  }
}

TEST_F(ObjectCacheTest, EvictsWhatWasNotUsedForLongest) {
  constexpr std::size_t limit = 10'600;  // ten objects
  ObjectCache cache(options(limit));
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 10; ++i) {
    cache.store(key_of(i), object_of(i));
    fs::last_write_time(directory_ + "/" + to_hex(key_of(i)) + ".object", now - std::chrono::seconds(100 - i));
  }
  EXPECT_TRUE(cache.load(key_of(0)));  // used: no longer the oldest
  cache.store(key_of(10), object_of(10));
  EXPECT_TRUE(cache.load(key_of(0)));
  EXPECT_FALSE(cache.load(key_of(1)));
  EXPECT_TRUE(cache.load(key_of(9)));
  EXPECT_TRUE(cache.load(key_of(10)));
}

TEST_F(ObjectCacheTest, LeavesForeignFilesAloneAndSweepsItsOwn) {
  fs::create_directory(directory_);
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  overwrite(directory_ + "/notes.txt", std::string(100'000, 'x'));
  overwrite(directory_ + "/writing-1-2-3", "left by a process that died");
  fs::last_write_time(directory_ + "/writing-1-2-3", fs::file_time_type::clock::now() - std::chrono::hours(2));
  overwrite(directory_ + "/writing-4-5-6", "under way");
  ObjectCache cache(options(10'000));
  cache.store(key_of(1), object_of(1));
  EXPECT_TRUE(cache.load(key_of(1)));
  EXPECT_TRUE(fs::exists(directory_ + "/notes.txt"));
  EXPECT_FALSE(fs::exists(directory_ + "/writing-1-2-3"));
  EXPECT_TRUE(fs::exists(directory_ + "/writing-4-5-6"));
}

TEST_F(ObjectCacheTest, ADirectoryThatVanishesIsNoError) {
  ObjectCache cache(options());
  cache.store(key_of(1), object_of(1));
  fs::remove_all(directory_);
  EXPECT_FALSE(cache.load(key_of(1)));
  cache.store(key_of(1), object_of(1));
  EXPECT_EQ(cache.counters().troubles, 1);
}

TEST_F(ObjectCacheTest, ThreadsAndCachesShareADirectory) {
  ObjectCache one(options(30'000));
  ObjectCache two(options(30'000));
  {
    std::vector<std::jthread> threads;
    for (ObjectCache* cache : {&one, &two, &one, &two}) {
      threads.emplace_back([cache] {
        for (int i = 0; i < 200; ++i) {
          const int key = i * 7 % 50;
          if (const auto object = cache->load(key_of(key))) {
            EXPECT_EQ(*object, object_of(key));
          } else {
            cache->store(key_of(key), object_of(key));
          }
        }
      });
    }
  }
  for (const ObjectCache* cache : {&one, &two}) {
    EXPECT_EQ(cache->counters().damaged, 0);
    EXPECT_EQ(cache->counters().troubles, 0);
    EXPECT_GT(cache->counters().stored, 0);
  }
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  ~Variable() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(ObjectCacheDirectory, FollowsTheUsersVariables) {
  const Variable home("HOME", "/home/ada");
  {
    const Variable cache("XDG_CACHE_HOME", "/var/ada");
    EXPECT_EQ(default_cache_directory(), "/var/ada/tenon");
  }
  {
    const Variable cache("XDG_CACHE_HOME", "not/absolute");
    EXPECT_EQ(default_cache_directory(), "/home/ada/.cache/tenon");
  }
  const Variable cache("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(default_cache_directory(), "/home/ada/.cache/tenon");
  const Variable homeless("HOME", nullptr);
  EXPECT_EQ(default_cache_directory(), "");
  EXPECT_EQ(ObjectCache({}).status(), "off: neither XDG_CACHE_HOME nor HOME names a directory");
}

}  // namespace
}  // namespace tenon::disk::object_cache_test
