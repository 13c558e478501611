// Kernels of PyTorch's device for tensors that are filled with a number: the same arguments again are the value that
// was recorded before.
#include <nanobind/stl/string.h>

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind.h"
#include "device_calls.h"
#include "device_storages.h"
#include "device_tensors.h"
#include "dispatch_calls.h"
#include "interrupt.h"
#include "tensor/record/cell.h"

namespace tenon::python {
namespace {

constexpr size_t kMostFills = 1024;  // of one operator

class FillKernel final : public DeviceKernel {
 public:
  explicit FillKernel(nb::object otherwise) : otherwise_(std::move(otherwise)) {}

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) override {
    Tensor used;
    nb::object result = answer(args, kwargs, used);
    last_ = std::move(used);  // and not what calls inside of this one used
    return result;
  }

  void forget() override { last_ = {}; }

  bool enter(DispatchCall& call, CallSignature& key) override {
    if (!call.read(0, key)) {
      return false;
    }
    add_place(key);
    const auto found = entered_.find(key);
    if (found == entered_.end()) {
      return false;
    }
    std::vector<OwnedHandle> results;
    results.push_back(wrapped_handle(again(found->second)));
    call.give(std::move(results));
    return true;
  }

  void learn(CallSignature key) override {
    if (last_.defined()) {
      if (entered_.size() >= kMostFills) {
        entered_.clear();
      }
      entered_.insert_or_assign(std::move(key), std::move(last_));
    }
  }

 private:
  /// The line that gives the sizes: there they may change with the next call, although another line's never do.
  static void add_place(CallSignature& key) {
    key.words.insert(key.words.end(), {default_dtype_key(), static_cast<int64_t>(LazyCall::place_key())});
  }

  nb::object answer(const nb::args& args, const nb::kwargs& kwargs, Tensor& used) {
    DeviceCall call;
    if (!read_call(args, kwargs, call)) {
      return otherwise_(*args, **kwargs);
    }
    add_place(call.signature);
    const auto found = known_.find(call.signature);
    if (found != known_.end() && found->second.defined()) {
      used = found->second;
      return wrapped(again(found->second));
    }
    nb::object made = otherwise_(*args, **kwargs);
    if (known_.size() >= kMostFills) {
      known_.clear();
    }
    // The first call may stand for sizes that change with the next one: from the second on they are constants.
    const auto [entry, is_new] = known_.try_emplace(std::move(call.signature));
    if (!is_new) {
      entry->second = value_of(made);
    }
    return made;
  }

  /// Another tensor with the same elements.
  static Tensor again(const Tensor& value) {
    tensors::Handle& handle = tensors::Access::handle(value);
    return tensors::new_tensor(handle.value(), false, handle.cell->depth);
  }

  /// What a row-major tensor without symbolic sizes holds now; not defined for others.
  static Tensor value_of(nb::handle made) {
    const SeenTensor seen = device_content(made);
    if (!seen.content || !seen.content->plain().defined()) {
      return {};
    }
    const Tensor& plain = seen.content->plain();
    return plain.shape().is_dynamic() ? Tensor() : plain.clone();
  }

  nb::object otherwise_;
  std::unordered_map<CallSignature, Tensor, SignatureHash> known_;
  std::unordered_map<CallSignature, Tensor, SignatureHash> entered_;
  Tensor last_;  // what the last call() was known to give
};

}  // namespace

void bind_device_fills(nb::module_& m) {
  m.def(
      "fill_kernel",
      [](nb::object otherwise) { return kernel_function(std::make_shared<FillKernel>(std::move(otherwise))); },
      nb::arg("otherwise"),
      "What PyTorch calls for an operator that fills a new tensor; cases that are new, and sizes that are symbols, are "
      "for `otherwise`.");
}

}  // namespace tenon::python
