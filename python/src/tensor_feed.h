// How a program is fed from the arguments of a call: tensors, then sizes that no tensor has.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "bind.h"
#include "tenon/tensor_view.h"
#include "tensor_exchange.h"

namespace tenon::python {

/// Where a size is found: the position of an argument, and its axis; without one the argument is the size.
using SizePlace = std::pair<size_t, std::optional<size_t>>;

/// Where the inputs of a program are in a sequence of arguments: tensors, then sizes, which are inputs without
/// elements.
class TensorFeed {
 public:
  TensorFeed(TensorExchange exchange, std::vector<size_t> tensors, std::vector<SizePlace> sizes);

  /// False where an argument is not read in place.
  bool read(nb::handle arguments, std::vector<TensorView>& views) const;
  /// Results as tensors in memory of their own.
  nb::list give(std::vector<Array> results) const;

  /// The position of each tensor among the arguments, in the order of inputs.
  const std::vector<size_t>& tensors() const { return tensors_; }
  const TensorExchange& exchange() const { return exchange_; }

 private:
  TensorExchange exchange_;
  std::vector<size_t> tensors_;
  std::vector<SizePlace> sizes_;
};

}  // namespace tenon::python
