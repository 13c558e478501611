#include "generation/caches.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/fail.h"

namespace tenon::generation {
namespace {

int64_t place_bytes(const CacheShape& shape) { return shape.inner * static_cast<int64_t>(byte_size(shape.dtype)); }

}  // namespace

CacheShape cache_shape_of(const Port& input) {
  const Shape& shape = input.shape;
  CacheShape result{.dtype = shape.dtype()};
  int places = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto size = shape.extent(i).constant();
    result.dims.push_back(i == 0 || !size ? -1 : *size);
    if (i == 0) {
      continue;
    }
    places += size ? 0 : 1;
    if (size) {
      (places == 0 ? result.outer : result.inner) *= *size;
    }
  }
  if (places != 1) {
    fail("the cache `{}` is {}: it must have an axis of texts, one of places, and others of known sizes", input.name,
         shape.to_string());
  }
  return result;
}

void Caches::Free::operator()(std::byte* memory) const { std::free(memory); }

std::byte* Caches::place(size_t array, int64_t row, int64_t outer) const {
  const CacheShape& shape = shapes_[array];
  return arrays_[array].get() + (row * shape.outer + outer) * capacity_ * place_bytes(shape);
}

void Caches::reserve(int64_t rows, int64_t capacity) {
  if (rows <= rows_ && capacity <= capacity_) {
    return;
  }
  Caches larger(shapes_);  // whose shapes stay where they are: other threads count by them
  larger.rows_ = std::max(rows, rows_);
  larger.capacity_ = std::max(capacity, capacity_);
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const int64_t bytes = larger.rows_ * shapes_[i].outer * larger.capacity_ * place_bytes(shapes_[i]);
    larger.arrays_[i].reset(static_cast<std::byte*>(std::calloc(static_cast<size_t>(std::max<int64_t>(1, bytes)), 1)));
    if (larger.arrays_[i] == nullptr) {
      fail("there is no memory for {} texts of {} tokens: a cache takes {} bytes", larger.rows_, larger.capacity_,
           bytes);
    }
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t outer = 0; outer < shapes_[i].outer; ++outer) {
        std::memcpy(larger.place(i, row, outer), place(i, row, outer),
                    static_cast<size_t>(capacity_ * place_bytes(shapes_[i])));
      }
    }
    arrays_[i].reset();  // one array at a time is there twice
  }
  arrays_ = std::move(larger.arrays_);
  rows_ = larger.rows_;
  capacity_ = larger.capacity_;
}

std::vector<TensorView> Caches::of(int64_t begin, int64_t end) const {
  std::vector<TensorView> result;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    std::vector<int64_t> dims = shapes_[i].dims;
    std::ranges::replace(dims, int64_t{-1}, capacity_);
    dims[0] = end - begin;
    result.push_back({.data = place(i, begin, 0), .dtype = shapes_[i].dtype, .dims = std::move(dims)});
  }
  return result;
}

void Caches::move(int64_t source, int64_t target, int64_t count) {
  for (size_t i = 0; i < shapes_.size(); ++i) {
    for (int64_t outer = 0; outer < shapes_[i].outer; ++outer) {
      std::memcpy(place(i, target, outer), place(i, source, outer),
                  static_cast<size_t>(count * place_bytes(shapes_[i])));
    }
  }
}

int64_t Caches::bytes_of(int64_t rows, int64_t capacity) const {
  int64_t bytes = 0;
  for (const CacheShape& shape : shapes_) {
    bytes += rows * shape.outer * capacity * place_bytes(shape);
  }
  return bytes;
}

}  // namespace tenon::generation
