// Compiled objects on disk, by the hash of what they were compiled from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "disk/content_hash.h"

namespace tenon::disk {

struct ObjectCacheOptions {
  bool enabled = true;
  std::string directory;  ///< empty: $XDG_CACHE_HOME/tenon, else $HOME/.cache/tenon
  std::size_t byte_limit = std::size_t{256} << 20;
};

struct ObjectCacheCounters {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t damaged = 0;  ///< files that were not what they should be; they are deleted and are misses too
  int64_t stored = 0;
  int64_t evicted = 0;
  int64_t troubles = 0;  ///< writes that the system refused
};

/// A directory of objects, each in a file of its own that is verified before it is used. Files appear whole, so threads
/// and processes may share a directory. When the files exceed the limit, those not used for longest go; another
/// process's writes are noticed after at most a sixteenth of the limit. The directory must be ours and writable by
/// nobody else.
///
/// Trouble with files is never an error: what cannot be read is a miss, what cannot be written is not kept, and a
/// directory that cannot be used switches the cache off. Safe to use from many threads.
class ObjectCache {
 public:
  explicit ObjectCache(ObjectCacheOptions options);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  std::optional<std::vector<char>> load(const ContentHash& key);
  void store(const ContentHash& key, std::span<const char> object);

  bool enabled() const;
  /// "on: /home/ada/.cache/tenon", or "off: " and why.
  const std::string& status() const;
  ObjectCacheCounters counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The directory for empty ObjectCacheOptions::directory; empty when neither variable is set to an absolute path.
std::string default_cache_directory();

}  // namespace tenon::disk
