// Results of earlier runs, by what went in.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "runtime/memory/operand.h"

namespace tenon::runtime {

/// Sizes, what became of denormals, and a hash of the contents of every input.
struct ResultKey {
  std::vector<int64_t> sizes;
  bool flushed = false;
  std::array<uint64_t, 2> contents = {};

  friend auto operator<=>(const ResultKey&, const ResultKey&) = default;
};
ResultKey result_key(std::span<const int64_t> sizes, std::span<const Operand> inputs, bool flushed = false);

/// Keeps what was used last, within a limit of bytes. Safe for any number of threads.
class ResultCache {
 public:
  struct Counters {
    int64_t hits = 0;
    int64_t bytes = 0;
  };

  explicit ResultCache(int64_t byte_limit) : byte_limit_(byte_limit) {}

  std::optional<std::vector<Array>> find(const ResultKey& key);
  void keep(ResultKey key, const std::vector<Array>& results);

  void set_byte_limit(int64_t bytes);
  Counters counters() const;

 private:
  struct Entry {
    std::vector<Array> results;
    int64_t bytes = 0;
    std::list<const ResultKey*>::iterator place;
  };

  void evict();

  int64_t byte_limit_;
  mutable std::mutex mutex_;
  std::map<ResultKey, Entry> entries_;
  std::list<const ResultKey*> recent_;  // the last used first
  Counters counters_;
};

}  // namespace tenon::runtime
