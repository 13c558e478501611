// Storages of PyTorch's device `tenon`. PyTorch's side has no memory: an address that nobody else has stands for what
// the storage holds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "bind.h"
#include "device_calls.h"

namespace tenon::python {

class OwnedHandle;

/// Where a tensor's elements lie in its storage, in elements: sizes, strides, offset.
using StoragePlace = Words;
StoragePlace storage_place(std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset);

/// What a storage holds, in one of these forms:
/// - plain: a row-major storage that has no views, which most are, is one lazy tensor;
/// - root: a lazy tensor with all elements in the order of memory, and views of it by their places;
/// - cpu: a flat tensor on the CPU, for a dtype that Tenon does not have: all its operators run there;
/// - raw: bytes on the CPU of which nobody has said the dtype yet.
/// Needs the interpreter's lock.
class DeviceContent {
 public:
  /// A view of the root: a lazy tensor, or positions in the root where Tenon has no such view.
  struct Seen {
    Tensor tensor = {};
    nb::object positions = {};
  };

  DeviceContent() = default;
  explicit DeviceContent(Tensor plain) : plain_(std::move(plain)) {}
  /// A plain one that is built when somebody asks for it.
  explicit DeviceContent(std::function<Tensor()> make) : make_(std::move(make)) {}

  /// Not defined where the form is another.
  const Tensor& plain();
  const Tensor& root() const { return root_; }

  void set_root(Tensor root);
  /// Let there be views, where the form is plain.
  void open();
  /// Null for a place that is not remembered.
  const Seen* find(const StoragePlace& place) const;
  void remember(StoragePlace place, Seen seen);
  /// Nothing is held any more.
  void clear();

  nb::object cpu = nb::none();
  nb::object raw = nb::none();

 private:
  Tensor plain_;
  std::function<Tensor()> make_;
  Tensor root_;
  std::unordered_map<StoragePlace, Seen, WordsHash> views_;
};

/// The storage that has an address in it, and how far in.
struct FoundStorage {
  std::shared_ptr<DeviceContent> content;  // null where there is none
  uint64_t byte_offset = 0;
};
FoundStorage storage_at(uint64_t address);

/// A tensor of PyTorch's on a new storage that is as large as the sizes say. Without strides it is row-major.
nb::object device_tensor(std::shared_ptr<DeviceContent> content, Dtype dtype, std::span<const int64_t> sizes,
                         std::span<const int64_t> strides = {});

/// The same as a handle, without Python's object (dispatch_functions.h); row-major.
OwnedHandle device_handle(std::shared_ptr<DeviceContent> content, Dtype dtype, std::span<const int64_t> sizes);

/// The tensor, or, where it is a view, a copy: what a new storage holds is a view of nothing else.
Tensor own_tensor(const Tensor& tensor);
/// The sizes in numbers; nothing where data decide one.
std::optional<std::vector<int64_t>> known_sizes(const Shape& shape);
/// Strides without gaps, as PyTorch counts them: sizes of 0 as 1.
std::vector<int64_t> row_major_strides(std::span<const int64_t> sizes);

}  // namespace tenon::python
