// Kernels of PyTorch's device that record what their row recorded before: a row runs twice for a call of a kind, once
// for its results and once over operands without elements, whose operations are then recorded again by C++ alone.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind.h"
#include "device_calls.h"
#include "device_learning.h"
#include "device_tensors.h"
#include "dispatch_calls.h"
#include "interrupt.h"
#include "tensor/record/cell.h"
#include "tensor/record/replay.h"
#include "tensor/record/user_lines.h"

namespace tenon::python {
namespace {

constexpr size_t kMostSignatures = 1024;  // of one operator

/// An argument that a result is written to. A list has a result for each of its tensors.
struct Written {
  size_t result = 0;
  size_t position = 0;
  std::string name;
};

/// A tensor that a result is written to.
struct Target {
  size_t result = 0;
  nb::object tensor;
};

/// Whether an operator over lists of `count` tensors, which writes those of the first, finds one of them at another
/// place, too: then it matters which is written first.
bool reads_what_it_wrote(const std::vector<Tensor>& operands, size_t count) {
  if (count < 2) {
    return false;
  }
  const auto cell_of = [](const Tensor& tensor) { return tensors::Access::handle(tensor).cell.get(); };
  std::unordered_map<const void*, size_t> written;
  for (size_t i = 0; i < count; ++i) {
    if (!written.emplace(cell_of(operands[i]), i).second) {
      return true;
    }
  }
  const bool are_lists = operands.size() % count == 0;
  for (size_t i = count; i < operands.size(); ++i) {
    const auto found = written.find(cell_of(operands[i]));
    if (found != written.end() && !(are_lists && found->second == i % count)) {
      return true;
    }
  }
  return false;
}

class ReplayKernel final : public DeviceKernel {
 public:
  ReplayKernel(nb::object kernel, nb::object row, std::vector<std::pair<size_t, std::pair<size_t, std::string>>> writes,
               std::optional<std::vector<size_t>> returns, bool writes_lists)
      : writes_lists_(writes_lists), kernel_(std::move(kernel)), row_(std::move(row)), returns_(std::move(returns)) {
    for (auto& [result, target] : writes) {
      writes_.push_back({.result = result, .position = target.first, .name = std::move(target.second)});
    }
  }

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) override {
    std::shared_ptr<const KnownCall> used;
    nb::object result = answer(args, kwargs, used);
    last_ = std::move(used);  // and not what calls inside of this one used
    return result;
  }

  void forget() override { last_ = nullptr; }

  bool enter(DispatchCall& call, CallSignature& key) override {
    if (!call.read(0, key)) {
      return false;
    }
    key.words.push_back(default_dtype_key());
    const auto found = entered_.find(key);
    if (found == entered_.end()) {
      return false;
    }
    const std::shared_ptr<const KnownCall> known = found->second;
    std::optional<Place> line;
    if (known->replay->names_lines() && !tensors::keeps_lines()) {  // which name modules, too
      line.emplace(LazyCall::line());
    }
    const std::vector<Tensor> made = known->replay->record(call.operands());
    std::vector<OwnedHandle> all = handles_of(*known, made, call.operands());
    for (const Written& written : writes_) {
      const Tensor* const target = call.operand_of(written.position);
      if (target == nullptr) {  // None, or what stands for it
        continue;
      }
      write(*known, made_index(*known, written.result), made, call.operands(), *target);
      all[written.result] = copied_handle(call.tensor(written.position));
    }
    std::vector<OwnedHandle> results;
    for (const size_t i : returns_ ? *returns_ : known->all_results()) {
      results.push_back(std::move(all[i]));
    }
    call.give(std::move(results));
    return true;
  }

  void learn(CallSignature key) override {
    const auto is_strided = [](const KnownCall::Result& result) {
      return result.strides.is_valid() && !result.strides.is_none();
    };
    if (last_ == nullptr || writes_lists_ || std::ranges::any_of(last_->results, is_strided)) {
      return;
    }
    if (entered_.size() >= kMostSignatures) {
      entered_.clear();
    }
    entered_.insert_or_assign(std::move(key), std::move(last_));
  }

 private:
  nb::object answer(const nb::args& args, const nb::kwargs& kwargs, std::shared_ptr<const KnownCall>& used) {
    DeviceCall call;
    if (!read_call(args, kwargs, call)) {
      return kernel_(*args, **kwargs);
    }
    const auto found = known_.find(call.signature);
    if (found == known_.end()) {
      if (known_.size() >= kMostSignatures) {
        known_.clear();
      }
      nb::object result = kernel_(*args, **kwargs);
      known_.try_emplace(std::move(call.signature), std::make_shared<KnownCall>());
      return result;
    }
    KnownCall& known = *found->second;
    if (known.replay && writes_lists_ &&
        reads_what_it_wrote(call.operands, static_cast<size_t>(PyObject_Size(args[0].ptr())))) {
      return kernel_(*args, **kwargs);
    }
    if (known.replay) {
      const std::shared_ptr<const KnownCall> kept = found->second;
      nb::object result = replay(known, call, args, kwargs);
      used = kept;
      return result;
    }
    std::vector<ReplayTarget> places;  // before they may be resized
    for (const Target& target : targets_of(args, kwargs)) {
      places.push_back({target.result, device_operand(target.tensor)});
    }
    nb::object result = kernel_(*args, **kwargs);
    const auto again = known_.find(call.signature);  // the kernel may have called this one
    if (again != known_.end() && !again->second->is_refused && !again->second->replay) {
      again->second->is_refused = true;
      learn_call(*again->second, row_, call, args, kwargs, places, returns_ ? &*returns_ : nullptr, result);
    }
    return result;
  }

  nb::object target_of(const Written& written, const nb::args& args, const nb::kwargs& kwargs) const {
    if (written.position < args.size()) {
      return nb::borrow(args[written.position]);
    }
    PyObject* const found = PyDict_GetItemString(kwargs.ptr(), written.name.c_str());
    return found == nullptr ? nb::none() : nb::borrow(found);
  }

  /// Those of each argument that is written; none for None.
  std::vector<Target> targets_of(const nb::args& args, const nb::kwargs& kwargs) const {
    std::vector<Target> targets;
    for (const Written& written : writes_) {
      const nb::object target = target_of(written, args, kwargs);
      if (PyList_CheckExact(target.ptr()) || PyTuple_CheckExact(target.ptr())) {
        size_t result = written.result;
        for (nb::handle each : nb::borrow<nb::sequence>(target)) {
          targets.push_back({result++, nb::borrow(each)});
        }
      } else if (!target.is_none()) {
        targets.push_back({written.result, target});
      }
    }
    return targets;
  }

  // --- Recording again

  nb::object replay(const KnownCall& known, const DeviceCall& call, const nb::args& args,
                    const nb::kwargs& kwargs) const {
    const std::vector<Tensor>& operands = call.operands;
    std::optional<Place> line;
    if (known.replay->names_lines() && !tensors::keeps_lines()) {
      line.emplace(LazyCall::line());
    }
    const std::vector<Tensor> made = known.replay->record(operands);
    std::vector<nb::object> results = wrap_all(known, made, operands);
    write_targets(known, made, call, args, kwargs, results);
    return outcome(known, std::move(results));
  }

  std::vector<nb::object> wrap_all(const KnownCall& known, const std::vector<Tensor>& made,
                                   const std::vector<Tensor>& operands) const {
    std::vector<nb::object> results;
    size_t next = 0;
    size_t later = 0;
    std::shared_ptr<const std::vector<Tensor>> kept;
    for (size_t i = 0; i < known.results.size(); ++i) {
      const KnownCall::Result& result = known.results[i];
      if (!result.is_given) {
        results.push_back(nb::none());
      } else if (result.is_later) {
        kept = kept ? kept : copies_of(operands);
        results.push_back(device_tensor(content_later(known, later++, kept), result.dtype, result.sizes));
      } else if (result.is_written) {
        ++next;
        results.emplace_back();
      } else {
        const Tensor& tensor = made[next++];
        const bool is_plain = !result.strides.is_valid() || result.strides.is_none();
        results.push_back(is_plain ? wrapped(tensor) : device_classes().wrap(tensor, result.strides));
      }
    }
    return results;
  }

  /// A result that is built from the operands as they were, `kept`, when somebody asks for it.
  static std::shared_ptr<DeviceContent> content_later(const KnownCall& known, size_t index,
                                                      std::shared_ptr<const std::vector<Tensor>> kept) {
    return std::make_shared<DeviceContent>(
        [replay = known.replay, kept = std::move(kept), index] { return replay->record_rest(*kept)[index]; });
  }

  /// Other tensors with the same elements, which nobody writes.
  static std::shared_ptr<const std::vector<Tensor>> copies_of(const std::vector<Tensor>& operands) {
    auto copies = std::make_shared<std::vector<Tensor>>();
    for (const Tensor& operand : operands) {
      tensors::Handle& handle = tensors::Access::handle(operand);
      copies->push_back(tensors::new_tensor(handle.value(), false, handle.cell->depth));
    }
    return copies;
  }

  void write_targets(const KnownCall& known, const std::vector<Tensor>& made, const DeviceCall& call,
                     const nb::args& args, const nb::kwargs& kwargs, std::vector<nb::object>& results) const {
    for (Target& target : targets_of(args, kwargs)) {
      const size_t at = made_index(known, target.result);
      Tensor lazy = device_operand(target.tensor).tensor;
      write(known, at, made, call.operands, std::move(lazy));
      results[target.result] = std::move(target.tensor);
    }
  }

  static void write(const KnownCall& known, size_t at, const std::vector<Tensor>& made,
                    const std::vector<Tensor>& operands, Tensor target) {
    const int same = known.replay->operand_of(at);
    if (same < 0 || tensors::Access::pointer(target) != tensors::Access::pointer(operands[static_cast<size_t>(same)])) {
      target.copy_(made[at]);
    }
  }

  /// A handle for each result; none for those that are not given, or written.
  static std::vector<OwnedHandle> handles_of(const KnownCall& known, const std::vector<Tensor>& made,
                                             const std::vector<Tensor>& operands) {
    std::vector<OwnedHandle> handles;
    size_t next = 0;
    size_t later = 0;
    std::shared_ptr<const std::vector<Tensor>> kept;
    for (const KnownCall::Result& result : known.results) {
      handles.emplace_back();
      if (!result.is_given) {
        continue;
      }
      if (result.is_later) {
        kept = kept ? kept : copies_of(operands);
        handles.back() = device_handle(content_later(known, later++, kept), result.dtype, result.sizes);
      } else if (const Tensor& tensor = made[next++]; !result.is_written) {
        handles.back() = wrapped_handle(tensor);
      }
    }
    return handles;
  }

  /// Which of the results that are made at once this is.
  static size_t made_index(const KnownCall& known, size_t result) {
    size_t index = 0;
    for (size_t i = 0; i < result; ++i) {
      index += known.results[i].is_given && !known.results[i].is_later ? size_t{1} : size_t{0};
    }
    return index;
  }

  nb::object outcome(const KnownCall& known, std::vector<nb::object> results) const {
    const std::vector<size_t> returned = returns_ ? *returns_ : known.all_results();
    if (!writes_.empty()) {
      if (returned.empty()) {
        return nb::none();
      }
      if (returned.size() == 1) {
        return std::move(results[returned[0]]);
      }
    } else if (known.form == KnownCall::Form::one) {
      return std::move(results[0]);
    }
    nb::list all;
    for (const size_t i : returned) {
      all.append(results[i]);
    }
    return known.form == KnownCall::Form::list ? nb::object(all) : nb::object(nb::tuple(all));
  }

  bool writes_lists_;
  nb::object kernel_;
  nb::object row_;
  std::vector<Written> writes_;
  std::optional<std::vector<size_t>> returns_;
  std::unordered_map<CallSignature, std::shared_ptr<KnownCall>, SignatureHash> known_;
  std::unordered_map<CallSignature, std::shared_ptr<const KnownCall>, SignatureHash> entered_;
  std::shared_ptr<const KnownCall> last_;  // that of the last call()
};

}  // namespace

void bind_device_replays(nb::module_& m) {
  m.def(
      "replay_kernel",
      [](nb::object kernel, nb::object row, std::vector<std::pair<size_t, std::pair<size_t, std::string>>> writes,
         std::optional<std::vector<size_t>> returns, bool writes_lists) {
        return kernel_function(std::make_shared<ReplayKernel>(std::move(kernel), std::move(row), std::move(writes),
                                                              std::move(returns), writes_lists));
      },
      nb::arg("kernel"), nb::arg("row"), nb::arg("writes"), nb::arg("returns").none(), nb::arg("writes_lists"),
      "What PyTorch calls for an operator whose row follows from sizes, dtypes and numbers alone: `kernel` runs for "
      "new "
      "ones, then its operations are recorded again. `row` takes the arguments as rows do. `writes` are results and "
      "the "
      "arguments that they are written to.");
}

}  // namespace tenon::python
