// Specializations by key, within a budget of bytes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "runtime/plan/specialization.h"
#include "tenon/size_counts.h"

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
    int64_t nanoseconds = 0;  // to make them, also those that replaced others: the sum of all sizes' times
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
      const int64_t begin = nanoseconds_now();
      auto made = std::make_shared<const Specialization>(make());
      return fulfil(key, std::move(made), nanoseconds_now() - begin);
    } catch (...) {
      abandon(key);
      throw;
    }
  }

  /// Null when it is not kept. No hit is counted.
  Pointer peek(const Key& key) const;
  /// Keep it in place of the one that is kept, if any is. It does not count as made, but the time that it took does.
  void replace(const Key& key, Pointer made, int64_t nanoseconds);
  /// Keep it unless the key is known already, with choices of tiles. To make it took so long.
  void insert(const Key& key, Pointer made, int64_t nanoseconds);

  void set_byte_limit(int64_t bytes);
  int64_t bytes() const;
  Counters counters() const;
  /// The `most` keys that were used most often, kept or not.
  SizeCounts size_counts(size_t most) const;

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept;
  };
  struct Uses {
    int64_t hits = 0;
    int64_t made = 0;
    int64_t evictions = 0;
    int64_t nanoseconds = 0;  // to make it, each time

    Uses& operator+=(const Uses& other);
  };
  /// An entry that was evicted. The last few are remembered, so that one that comes again and again is seen.
  struct Past {
    Bindings bindings;
    Uses uses;
    std::list<const Key*>::iterator place;  // in past_order_
  };
  struct Entry {
    Pointer value;  // null while somebody makes it
    int64_t bytes = 0;
    Uses uses = {};
    std::list<const Key*>::iterator place;  // in recent_, once it is made
  };

  /// Null when the caller is to make it: it must then fulfil() or abandon() the key.
  Pointer find_or_claim(const Key& key);
  Pointer fulfil(const Key& key, Pointer made, int64_t nanoseconds);
  void abandon(const Key& key);
  void keep(const Key& key, Entry& entry, Pointer made);
  void exchange(const Key& key, Entry& entry, Pointer made);
  void count_made(const Key& key, Entry& entry, int64_t nanoseconds);
  void count_time(const Key& key, int64_t nanoseconds);
  void remember(Key&& key, const Entry& entry);
  void evict();

  int64_t byte_limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Key, Entry, KeyHash> entries_;  // elements do not move
  std::list<const Key*> recent_;                     // the last used first
  Counters counters_;
  std::unordered_map<Key, Past, KeyHash> past_;
  std::list<const Key*> past_order_;  // the last evicted last
  Uses forgotten_;                    // of evicted entries that past_ had no room for,
  int64_t forgotten_sizes_ = 0;       // and how many these were
  SizeCounts::Times times_{};         // to make one
};

}  // namespace tenon::runtime
