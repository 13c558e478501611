// Keys and values of all layers, in memory that has a row for each text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/executable.h"

namespace tenon::generation {

/// One array of the caches: its axes are the row, then some that are known and one of places.
struct CacheShape {
  Dtype dtype = Dtype::f32;
  int64_t outer = 1;               // elements of the axes between the row and the places
  int64_t inner = 1;               // of those behind the places
  std::vector<int64_t> dims = {};  // -1: the row and the places
};

/// Of the input of a decoder. Error, which names it: other axes than these.
CacheShape cache_shape_of(const Port& input);

/// Room that grows; memory that nobody wrote takes none.
class Caches {
 public:
  explicit Caches(std::vector<CacheShape> shapes) : shapes_(std::move(shapes)), arrays_(shapes_.size()) {}

  /// At least so many rows of at least so many places.
  void reserve(int64_t rows, int64_t capacity);
  /// The rows from `begin` to `end` of each array, which runs read and write.
  std::vector<TensorView> of(int64_t begin, int64_t end) const;
  /// The first `count` places of a row are written over those of another.
  void move(int64_t source, int64_t target, int64_t count);

  int64_t rows() const { return rows_; }
  int64_t capacity() const { return capacity_; }
  int64_t bytes_of(int64_t rows, int64_t capacity) const;
  int64_t bytes() const { return bytes_of(rows_, capacity_); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  using Memory = std::unique_ptr<std::byte[], Free>;

  std::byte* place(size_t array, int64_t row, int64_t outer) const;

  std::vector<CacheShape> shapes_;
  std::vector<Memory> arrays_;
  int64_t rows_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace tenon::generation
