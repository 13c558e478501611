// A concrete tensor: dtype, sizes and row-major elements in the memory of some device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/dtype.h"
#include "tenon/storage.h"

namespace tenon {

/// A value: copies share memory until one of them writes (mutable_data, mutable_values). Sharing copies between threads
/// for reading is safe. Sizes are checked: a negative size, or more than the machine's memory, is an Error before any
/// allocation. Memory that the array makes itself is the CPU's and begins at a multiple of 64 bytes. An array in the
/// memory of another device keeps, shares and hands out its storage; what reads or writes elements (data, values, at,
/// cast, same_bits and their like) is an Error there that says where the array is.
class Array {
 public:
  /// A scalar f32 zero.
  Array();
  /// Zeros.
  Array(Dtype dtype, std::vector<int64_t> dims);

  /// `values` in row-major order; their number must be the product of `dims`.
  template <class T>
  static Array from(std::vector<int64_t> dims, const std::vector<T>& values);
  /// A rank-0 array; `value` is converted to `dtype`.
  static Array scalar(Dtype dtype, double value);
  /// Every element `value`, converted to `dtype`.
  static Array full(Dtype dtype, std::vector<int64_t> dims, double value);
  /// Elements of any value, for a caller that writes them all.
  static Array uninitialized(Dtype dtype, std::vector<int64_t> dims);
  /// Elements that lie in `memory` already, which holds at least as many bytes and lives as long as its last array.
  static Array adopt(Dtype dtype, std::vector<int64_t> dims, std::shared_ptr<std::byte[]> memory);
  /// The same in the memory of any device. Error: too few bytes, or no owner.
  static Array adopt(Dtype dtype, std::vector<int64_t> dims, Storage storage);

  /// An Error when an array of this size could not be: negative, or larger than the machine's memory, or, of another
  /// device, than its address space.
  static void require_memory(Dtype dtype, const std::vector<int64_t>& dims, const MemoryPlace& place = {});

  Dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t size() const { return size_; }
  size_t byte_count() const { return static_cast<size_t>(size_) * byte_size(dtype_); }

  const MemoryPlace& place() const { return storage_.place; }
  /// Where the elements begin, and what keeps them. Whoever has a copy shares the memory.
  const Storage& storage() const { return storage_; }
  const std::byte* data() const {
    require_cpu();
    return storage_.address;
  }
  /// Whether other arrays share its memory, so that mutable_data() makes a copy.
  bool is_shared() const { return storage_.owner.use_count() > 1; }
  std::byte* mutable_data();

  /// The elements as T; an Error when T does not store dtype().
  template <class T>
  std::span<const T> values() const;
  template <class T>
  std::span<T> mutable_values();

  /// Element `i` in row-major order, as a double (64-bit integers beyond 2^53 round).
  double at(int64_t i) const;
  /// Every element converted: floats truncate and saturate to integers with NaN to 0, integers keep their low bits,
  /// narrower floats round.
  Array cast(Dtype to) const;
  /// The same elements with other sizes, sharing memory.
  Array reshaped(std::vector<int64_t> dims) const;
  /// The elements from `offset` on, in row-major order, with these sizes, sharing memory.
  Array window(int64_t offset, std::vector<int64_t> dims) const;

  /// `f32[2, 3] {1, 2, 3, 4, 5, 6}`; beyond `limit` elements the rest is `...`. Elsewhere: `f32[2, 3] on gpu:0`.
  std::string to_string(int64_t limit = 64) const;

 private:
  Array(Dtype dtype, int64_t size, std::vector<int64_t> dims, Storage storage)
      : dtype_(dtype), size_(size), dims_(std::move(dims)), storage_(std::move(storage)) {}

  void require_cpu() const {
    if (storage_.place.kind != DeviceKind::cpu) [[unlikely]] {
      refuse_access();
    }
  }
  [[noreturn]] void refuse_access() const;
  void require_dtype(Dtype stored) const;
  void require_size(size_t count) const;

  Dtype dtype_ = Dtype::f32;
  int64_t size_ = 1;
  std::vector<int64_t> dims_;
  Storage storage_;
};

/// Same dtype, sizes and bits (NaN equals the same NaN, 0.0 differs from -0.0).
bool same_bits(const Array& a, const Array& b);

template <class T>
std::span<const T> Array::values() const {
  require_dtype(dtype_of<T>());
  return {reinterpret_cast<const T*>(data()), static_cast<size_t>(size_)};
}

template <class T>
std::span<T> Array::mutable_values() {
  require_dtype(dtype_of<T>());
  return {reinterpret_cast<T*>(mutable_data()), static_cast<size_t>(size_)};
}

template <class T>
Array Array::from(std::vector<int64_t> dims, const std::vector<T>& values) {
  Array result(dtype_of<T>(), std::move(dims));
  result.require_size(values.size());
  auto out = result.mutable_values<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    out[i] = values[i];
  }
  return result;
}

}  // namespace tenon
