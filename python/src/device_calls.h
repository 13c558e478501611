// A call of an operator on PyTorch's device as a key: equal keys record the same operations.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bind.h"

namespace tenon::python {

/// Numbers as a key.
using Words = std::vector<int64_t>;
struct WordsHash {
  size_t operator()(const Words& words) const;
};

/// What a call gives beside elements: sizes, dtypes and strides of its tensors, and all other arguments.
struct CallSignature {
  Words words;                      // kinds, sizes, numbers, texts
  std::vector<Shape> shapes;        // of tensors with symbolic sizes
  std::vector<nb::object> objects;  // dtypes, devices and the like

  bool operator==(const CallSignature& other) const;
  uint64_t hash() const;
  bool empty() const { return words.empty(); }
};
struct SignatureHash {
  size_t operator()(const CallSignature& signature) const { return signature.hash(); }
};

/// A call that was read.
struct DeviceCall {
  CallSignature signature;
  std::vector<Tensor> operands;  // in the order of the arguments
};

/// False where an argument is none that a signature tells apart, or a tensor whose lazy one is not at hand.
bool read_call(const nb::args& args, const nb::kwargs& kwargs, DeviceCall& call);

/// The arguments with each tensor that read_call() took replaced by the next of `operands`.
nb::list replace_tensors(nb::handle arguments, const std::vector<nb::object>& operands, size_t& next);

}  // namespace tenon::python
