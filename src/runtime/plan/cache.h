// Specializations by key, within a budget of bytes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/plan/specialization.h"

namespace tenon::runtime {

/// Keeps what was used last. A specialization that is evicted lives on for those who run it. Safe for any number of
/// threads: of those that ask for one key at once, one makes it and the others wait.
class SpecializationCache {
 public:
  using Key = std::vector<int64_t>;
  using Pointer = std::shared_ptr<const Specialization>;

  struct Counters {
    int64_t made = 0;
    int64_t hits = 0;
    int64_t evictions = 0;
    int64_t bytes = 0;
  };

  /// One specialization is kept even if it is larger than that.
  explicit SpecializationCache(int64_t byte_limit) : byte_limit_(byte_limit) {}

  /// What is kept under `key`, else what `make` gives, a function without arguments. When that throws, nothing is kept.
  template <class Make>
  Pointer find_or_make(const Key& key, const Make& make) {
    if (Pointer found = find_or_claim(key)) {
      return found;
    }
    try {
      return fulfil(key, std::make_shared<const Specialization>(make()));
    } catch (...) {
      abandon(key);
      throw;
    }
  }

  /// Null when it is not kept. No hit is counted.
  Pointer peek(const Key& key) const;
  /// Keep it in place of the one that is kept, if any is. It does not count as made.
  void replace(const Key& key, Pointer made);
  /// Keep it unless the key is known already, with choices of tiles.
  void insert(const Key& key, Pointer made);

  void set_byte_limit(int64_t bytes);
  Counters counters() const;

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept;
  };
  struct Entry {
    Pointer value;  // null while somebody makes it
    int64_t bytes = 0;
    std::list<const Key*>::iterator place;  // in recent_, once it is made
  };

  /// Null when the caller is to make it: it must then fulfil() or abandon() the key.
  Pointer find_or_claim(const Key& key);
  Pointer fulfil(const Key& key, Pointer made);
  void abandon(const Key& key);
  void keep(const Key& key, Entry& entry, Pointer made);
  void exchange(const Key& key, Entry& entry, Pointer made);
  void evict();

  int64_t byte_limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Key, Entry, KeyHash> entries_;  // elements do not move
  std::list<const Key*> recent_;                     // the last used first
  Counters counters_;
};

}  // namespace tenon::runtime
