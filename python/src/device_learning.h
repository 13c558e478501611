// What kernels of PyTorch's device know of the calls of one signature: the operations that their row records.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bind.h"
#include "device_calls.h"
#include "device_tensors.h"
#include "tensor/record/replay.h"

namespace tenon::python {

/// What is known of the calls of one signature.
struct KnownCall {
  bool is_refused = false;  // they are always left to Python
  std::shared_ptr<const tensors::Replay> replay;
  struct Result {
    bool is_given = false;  // a tensor, not None
    bool is_later = false;
    bool is_written = false;
    nb::object strides = {};          // None for row-major
    Dtype dtype = {};                 // of one that is built later
    std::vector<int64_t> sizes = {};  // ... too
  };
  std::vector<Result> results;
  enum class Form : uint8_t { one, tuple, list } form = Form::one;

  /// All results, in order.
  std::vector<size_t> all_results() const;
};

/// A tensor that a result is written to.
struct ReplayTarget {
  size_t result = 0;
  DeviceOperand operand;
};

/// Let the call have a replay, where what `row` records follows from its signature. `returned` are the results that the
/// operator gives, all where it is null, and `outcome` is what the kernel in Python gave for the same call.
void learn_call(KnownCall& known, const nb::object& row, const DeviceCall& call, const nb::args& args,
                const nb::kwargs& kwargs, const std::vector<ReplayTarget>& targets, const std::vector<size_t>* returned,
                const nb::object& outcome);

}  // namespace tenon::python
