#include "disk/object_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "base/hash.h"
#include "disk/cache_directory.h"

namespace tenon::disk {

namespace {

constexpr const char* kSuffix = ".object";

// What a file begins with. Everything that a reader relies on is in it; the object follows.
struct Header {
  std::array<char, 8> magic = {'t', 'e', 'n', 'o', 'n', 'o', 'b', 'j'};
  uint64_t version = 1;
  ContentHash key;
  uint64_t length = 0;
  uint64_t checksum = 0;
  friend bool operator==(const Header&, const Header&) = default;
};
static_assert(sizeof(Header) == 48 && std::is_trivially_copyable_v<Header>);

Header header_of(const ContentHash& key, std::span<const char> object) {
  Header header;
  header.key = key;
  header.length = object.size();
  header.checksum = hash_bytes({object.data(), object.size()});
  return header;
}

std::string file_name(const ContentHash& key) { return to_hex(key) + kSuffix; }

std::string absolute_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

std::string default_cache_directory() {
  if (const std::string cache = absolute_variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/tenon";
  if (const std::string home = absolute_variable("HOME"); !home.empty()) return home + "/.cache/tenon";
  return "";
}

struct ObjectCache::State {
  std::size_t byte_limit = 0;
  std::string status;
  std::optional<CacheDirectory> directory;  // present exactly when the cache is on

  std::atomic<int64_t> hits = 0;
  std::atomic<int64_t> misses = 0;
  std::atomic<int64_t> damaged = 0;
  std::atomic<int64_t> stored = 0;
  std::atomic<int64_t> evicted = 0;
  std::atomic<int64_t> troubles = 0;

  std::mutex mutex;              // over what follows
  std::size_t bytes = 0;         // of all files at the last look, and of what was stored since
  std::size_t unseen_limit = 0;  // stored bytes after which to look again
  std::size_t since_look = 0;
  bool looked = false;

  // Looking costs a system call a file, so it happens when the bound may be exceeded, not at every store. Going below
  // the limit by an eighth keeps a full cache from looking each time.
  void keep_bound(std::size_t added) {
    const std::lock_guard lock(mutex);
    bytes += added;
    since_look += added;
    if (looked && bytes <= byte_limit && since_look <= unseen_limit) return;
    std::vector<CacheFile> files = directory->list(kSuffix);
    bytes = 0;
    for (const CacheFile& file : files) {
      bytes += file.bytes;
    }
    looked = true;
    since_look = 0;
    if (bytes <= byte_limit) return;
    std::ranges::sort(files, {}, &CacheFile::used);
    for (const CacheFile& file : files) {
      if (bytes <= byte_limit - byte_limit / 8) break;
      if (directory->remove(file.name)) ++evicted;  // else another process was first, which comes to the same
      bytes -= file.bytes;
    }
  }
};

ObjectCache::ObjectCache(ObjectCacheOptions options) : state_(std::make_unique<State>()) {
  state_->byte_limit = options.byte_limit;
  state_->unseen_limit = options.byte_limit / 16;
  if (!options.enabled) {
    state_->status = "off: switched off";
    return;
  }
  if (options.directory.empty()) options.directory = default_cache_directory();
  if (options.directory.empty()) {
    state_->status = "off: neither XDG_CACHE_HOME nor HOME names a directory";
    return;
  }
  state_->directory.emplace(options.directory);
  if (state_->directory->open()) {
    state_->status = "on: " + options.directory;
  } else {
    state_->status = "off: " + state_->directory->refusal();
    state_->directory.reset();
  }
}

ObjectCache::~ObjectCache() = default;

std::optional<std::vector<char>> ObjectCache::load(const ContentHash& key) {
  State& state = *state_;
  if (!state.directory) return std::nullopt;
  const std::string name = file_name(key);
  std::optional<std::vector<char>> bytes = state.directory->read(name, state.byte_limit);
  if (!bytes) {
    ++state.misses;
    return std::nullopt;
  }
  if (bytes->size() > sizeof(Header)) {
    Header header;
    std::memcpy(&header, bytes->data(), sizeof header);
    if (header == header_of(key, std::span<const char>(*bytes).subspan(sizeof header))) {
      bytes->erase(bytes->begin(), bytes->begin() + sizeof header);
      ++state.hits;
      return bytes;
    }
  }
  state.directory->remove(name);
  ++state.damaged;
  ++state.misses;
  return std::nullopt;
}

void ObjectCache::store(const ContentHash& key, std::span<const char> object) {
  State& state = *state_;
  const std::size_t bytes = sizeof(Header) + object.size();
  if (!state.directory || object.empty() || bytes > state.byte_limit) return;
  const Header header = header_of(key, object);
  std::array<char, sizeof header> head{};
  std::memcpy(head.data(), &header, sizeof header);
  if (!state.directory->write(file_name(key), head, object)) {
    ++state.troubles;
    return;
  }
  ++state.stored;
  state.keep_bound(bytes);
}

bool ObjectCache::enabled() const { return state_->directory.has_value(); }

const std::string& ObjectCache::status() const { return state_->status; }

ObjectCacheCounters ObjectCache::counters() const {
  const State& state = *state_;
  return {state.hits, state.misses, state.damaged, state.stored, state.evicted, state.troubles};
}

}  // namespace tenon::disk
