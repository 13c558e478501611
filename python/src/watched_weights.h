// PyTorch's weights from call to call: are their elements what they were?
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "bind.h"
#include "tenon/tensor_view.h"

namespace tenon::python {

/// Gives tensors numbers: a tensor has the same number as long as it is the same object, has its memory where it was,
/// and PyTorch's count of its writes (`_version`) is the same. PyTorch does not count what is written by `tensor.data`
/// or through NumPy; so elements at some places, others in each call, are compared, too. Under the interpreter's lock.
class WatchedWeights {
 public:
  /// `gone` is told numbers that will not come again: of tensors that changed or died.
  explicit WatchedWeights(std::function<void(uint64_t)> gone);

  /// `view` is the tensor's memory. 0 for a tensor of which nothing is known, as PyTorch counts no writes to it.
  uint64_t number_of(nb::handle tensor, const TensorView& view);

 private:
  static constexpr size_t kPlaces = 16;  // that are compared, one after the other
  static constexpr size_t kAtOnce = 2;   // ... in each call

  struct Watched {
    nb::object reference;  // weak
    const std::byte* data = nullptr;
    int64_t version = 0;
    uint64_t number = 0;
    size_t bytes = 0;  // of elements without gaps; 0: none are compared
    size_t next = 0;   // place
    std::array<uint64_t, kPlaces> elements = {};
  };

  struct Table {
    std::unordered_map<PyObject*, Watched> entries;
    std::function<void(uint64_t)> gone;
  };

  void watch(Watched& entry, const TensorView& view, int64_t version);
  static bool is_as_it_was(Watched& entry);

  std::shared_ptr<Table> table_;
  nb::object died_;  // called with a weak reference
  nb::object version_name_;
};

}  // namespace tenon::python
