#include "tenon/array.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/aligned.h"
#include "base/checked.h"
#include "base/convert.h"
#include "base/element_text.h"
#include "base/refused.h"

namespace tenon {
namespace {

/// No array can be larger than the machine's memory; asking for one is refused before it is tried.
int64_t max_bytes() {
  static const int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return bytes > 0 ? bytes : std::numeric_limits<int64_t>::max();
}

int64_t element_count(Dtype dtype, const std::vector<int64_t>& dims, const MemoryPlace& place = {}) {
  const int64_t most = place.kind == DeviceKind::cpu ? max_bytes() : std::numeric_limits<int64_t>::max();
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      refuse("an array cannot have a negative size: {}[{}]", name(dtype), fmt::join(dims, ", "));
    }
    empty = empty || dim == 0;
  }
  if (empty) {
    return 0;
  }
  for (const int64_t dim : dims) {
    const auto next = checked_mul(count, dim);
    if (!next || *next > most / static_cast<int64_t>(byte_size(dtype))) {
      refuse("an array of {}[{}] is larger than {} of {} bytes", name(dtype), fmt::join(dims, ", "),
             place.kind == DeviceKind::cpu ? "this machine's memory" : "any memory", most);
    }
    count = *next;
  }
  return count;
}

Storage storage_of(std::shared_ptr<std::byte[]> memory, size_t bytes) {
  std::byte* const address = memory.get();
  return {.address = address,
          .bytes = static_cast<int64_t>(bytes),
          .owner = std::shared_ptr<void>(std::move(memory), address)};
}

Storage allocate(size_t bytes) {
  try {
    return storage_of({allocate_aligned(bytes), free_aligned}, bytes);
  } catch (const std::bad_alloc&) {
    refuse("no memory for an array of {} bytes", bytes);
  }
}

Storage allocate_zeros(size_t bytes) {
  Storage memory = allocate(bytes);
  std::memset(memory.address, 0, std::max<size_t>(bytes, 1));
  return memory;
}

}  // namespace

Array::Array() : storage_(allocate_zeros(sizeof(float))) {}

Array::Array(Dtype dtype, std::vector<int64_t> dims)
    : dtype_(dtype),
      size_(element_count(dtype, dims)),
      dims_(std::move(dims)),
      storage_(allocate_zeros(byte_count())) {}

void Array::require_memory(Dtype dtype, const std::vector<int64_t>& dims, const MemoryPlace& place) {
  element_count(dtype, dims, place);
}

Array Array::scalar(Dtype dtype, double value) { return full(dtype, {}, value); }

Array Array::full(Dtype dtype, std::vector<int64_t> dims, double value) {
  Array result(dtype, std::move(dims));
  visit_dtype(dtype, [&]<class T>() { std::ranges::fill(result.mutable_values<T>(), convert<T>(value)); });
  return result;
}

Array Array::uninitialized(Dtype dtype, std::vector<int64_t> dims) {
  const int64_t size = element_count(dtype, dims);
  return {dtype, size, std::move(dims), allocate(static_cast<size_t>(size) * byte_size(dtype))};
}

Array Array::adopt(Dtype dtype, std::vector<int64_t> dims, std::shared_ptr<std::byte[]> memory) {
  const int64_t size = element_count(dtype, dims);
  return {dtype, size, std::move(dims), storage_of(std::move(memory), static_cast<size_t>(size) * byte_size(dtype))};
}

Array Array::adopt(Dtype dtype, std::vector<int64_t> dims, Storage storage) {
  const int64_t size = element_count(dtype, dims, storage.place);
  const int64_t bytes = size * static_cast<int64_t>(byte_size(dtype));
  if (storage.bytes < bytes) {
    fail("an array of {}[{}] takes {} bytes, and its storage on {} has {}", name(dtype), fmt::join(dims, ", "), bytes,
         tenon::to_string(storage.place), storage.bytes);
  }
  if (!storage.owner) {
    fail("an array of {}[{}] was given a storage on {} without an owner, which keeps it while arrays share it",
         name(dtype), fmt::join(dims, ", "), tenon::to_string(storage.place));
  }
  return {dtype, size, std::move(dims), std::move(storage)};
}

void Array::refuse_access() const {
  fail("this array is in the memory of {}; only what is in the CPU's memory can be read and written here",
       tenon::to_string(storage_.place));
}

std::byte* Array::mutable_data() {
  require_cpu();
  if (is_shared()) {
    Storage copy = allocate(byte_count());
    std::memcpy(copy.address, storage_.address, byte_count());
    storage_ = std::move(copy);
  }
  return storage_.address;
}

double Array::at(int64_t i) const {
  if (i < 0 || i >= size_) {
    fail("element {} of an array of {} elements", i, size_);
  }
  return visit_dtype(dtype_, [&]<class T>() { return convert<double>(values<T>()[static_cast<size_t>(i)]); });
}

Array Array::cast(Dtype to) const {
  if (to == dtype_) {
    return *this;
  }
  Array result(to, dims_);
  visit_dtype(dtype_, [&]<class From>() {
    visit_dtype(to, [&]<class To>() {
      std::ranges::transform(values<From>(), result.mutable_values<To>().begin(),
                             [](From x) { return convert<To>(x); });
    });
  });
  return result;
}

Array Array::reshaped(std::vector<int64_t> dims) const {
  if (element_count(dtype_, dims, place()) != size_) {
    fail("an array of [{}] cannot be seen as [{}]", fmt::join(dims_, ", "), fmt::join(dims, ", "));
  }
  Array result = *this;
  result.dims_ = std::move(dims);
  return result;
}

Array Array::window(int64_t offset, std::vector<int64_t> dims) const {
  const int64_t size = element_count(dtype_, dims, place());
  if (offset < 0 || offset > size_ - size) {
    fail("{} elements from element {} on, of an array of {}", size, offset, size_);
  }
  const int64_t before = offset * static_cast<int64_t>(byte_size(dtype_));
  Storage part = storage_;
  part.address += before;
  part.bytes -= before;
  return {dtype_, size, std::move(dims), std::move(part)};
}

std::string Array::to_string(int64_t limit) const {
  std::string text = fmt::format("{}[{}] ", name(dtype_), fmt::join(dims_, ", "));
  if (place().kind != DeviceKind::cpu) {
    return text + "on " + tenon::to_string(place());
  }
  text += "{";
  const auto step = static_cast<int64_t>(byte_size(dtype_));
  for (int64_t i = 0; i < size_; ++i) {
    text += i == 0 ? "" : ", ";
    if (i == limit) {
      return text + "...}";
    }
    text += element_to_text(dtype_, data() + i * step);
  }
  return text + "}";
}

void Array::require_dtype(Dtype stored) const {
  if (stored != dtype_) {
    fail("an array of {} was read as {}", name(dtype_), name(stored));
  }
}

void Array::require_size(size_t count) const {
  if (count != static_cast<size_t>(size_)) {
    fail("{} values were given for an array of [{}]", count, fmt::join(dims_, ", "));
  }
}

bool same_bits(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() &&
         (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.byte_count()) == 0);
}

}  // namespace tenon
