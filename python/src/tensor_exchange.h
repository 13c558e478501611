// PyTorch's tensors by DLPack's C functions: without a capsule, a call of Python, or PyTorch's libraries.
#pragma once

#include <optional>

#include "bind.h"
#include "tenon/tensor_view.h"

namespace tenon::python {

struct ExchangeFunctions;

/// Those of PyTorch's class of tensors; null where it has none, or none of a version that is known.
const ExchangeFunctions* exchange_functions(nb::handle tensor);

/// Reads tensors of PyTorch in place, and makes such tensors of arrays. PyTorch hands the functions out since 2.10.
class TensorExchange {
 public:
  /// `tensor` is torch.Tensor, `parameter` its class for weights. Without the functions valid() is false.
  TensorExchange(nb::handle tensor, nb::handle parameter);

  bool valid() const { return functions_ != nullptr; }
  /// The memory of a tensor, which must live as long as the view is used. Nothing for objects of other classes, tensors
  /// without elements of their own (other devices, layouts, transforms) and dtypes that Tenon does not have.
  std::optional<TensorView> read(nb::handle object) const;
  /// A tensor in the memory of `array`, or of a copy where others have that memory.
  nb::object make(Array array) const;

 private:
  const ExchangeFunctions* functions_ = nullptr;
  nb::object tensor_;
  nb::object parameter_;
  nb::object is_negated_;  ///< of elements that PyTorch negates when it reads them
};

}  // namespace tenon::python
