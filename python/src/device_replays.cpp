// Kernels of PyTorch's device that record what their row recorded before: a row runs twice for a call of a kind, once
// for its results and once over operands without elements, whose operations are then recorded again by C++ alone.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind.h"
#include "device_calls.h"
#include "device_tensors.h"
#include "interrupt.h"
#include "tensor/record/cell.h"
#include "tensor/record/replay.h"

namespace tenon::python {
namespace {

using tensors::Replay;

constexpr size_t kMostSignatures = 1024;  // of one operator

/// An argument that a result is written to.
struct Written {
  size_t result = 0;
  size_t position = 0;
  std::string name;
};

/// What is known of the calls of one signature.
struct Known {
  bool is_refused = false;  // they are always left to Python
  std::shared_ptr<const Replay> replay;
  struct Result {
    bool is_given = false;  // a tensor, not None
    bool is_later = false;
    nb::object strides = {};          // None for row-major
    Dtype dtype = {};                 // of one that is built later
    std::vector<int64_t> sizes = {};  // ... too
  };
  std::vector<Result> results;
  enum class Form : uint8_t { one, tuple, list } form = Form::one;
};

class ReplayKernel {
 public:
  ReplayKernel(nb::object kernel, nb::object row, std::vector<std::pair<size_t, std::pair<size_t, std::string>>> writes,
               std::optional<std::vector<size_t>> returns)
      : kernel_(std::move(kernel)), row_(std::move(row)), returns_(std::move(returns)) {
    for (auto& [result, target] : writes) {
      writes_.push_back({.result = result, .position = target.first, .name = std::move(target.second)});
    }
  }

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) {
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
      known_.try_emplace(std::move(call.signature));
      return result;
    }
    Known& known = found->second;
    if (known.replay) {
      return replay(known, call, args, kwargs);
    }
    const std::vector<DeviceOperand> targets = targets_of(args, kwargs);  // before they may be resized
    nb::object result = kernel_(*args, **kwargs);
    const auto again = known_.find(call.signature);  // the kernel may have called this one
    if (again != known_.end() && !again->second.is_refused && !again->second.replay) {
      again->second.is_refused = true;
      learn(again->second, call, args, kwargs, targets, result);
    }
    return result;
  }

 private:
  nb::object target_of(const Written& written, const nb::args& args, const nb::kwargs& kwargs) const {
    if (written.position < args.size()) {
      return nb::borrow(args[written.position]);
    }
    PyObject* const found = PyDict_GetItemString(kwargs.ptr(), written.name.c_str());
    return found == nullptr ? nb::none() : nb::borrow(found);
  }

  /// Those of each argument that is written; no objects for None.
  std::vector<DeviceOperand> targets_of(const nb::args& args, const nb::kwargs& kwargs) const {
    std::vector<DeviceOperand> targets;
    for (const Written& written : writes_) {
      const nb::object target = target_of(written, args, kwargs);
      targets.push_back(target.is_none() ? DeviceOperand() : device_operand(target));
    }
    return targets;
  }

  // --- Learning

  /// Let the signature have a replay, where what the row records follows from it.
  void learn(Known& known, const DeviceCall& call, const nb::args& args, const nb::kwargs& kwargs,
             const std::vector<DeviceOperand>& targets, const nb::object& outcome) const {
    std::vector<Shape> shapes;
    for (const Tensor& operand : call.operands) {
      shapes.push_back(operand.shape());
    }
    const std::vector<Tensor> stand_ins = Replay::stand_ins(shapes);
    std::vector<nb::object> operands;
    for (const Tensor& each : stand_ins) {
      operands.push_back(nb::cast(each));
    }
    size_t next = 0;
    const nb::list given = replace_tensors(args, operands, next);
    nb::dict named;
    for (const auto& [name, value] : kwargs) {
      named[name] = replace_tensors(nb::make_tuple(value), operands, next)[0];
    }
    const tensors::WithoutElements blind;
    std::vector<nb::object> made;
    try {
      const nb::object result = row_(given, named);
      if (!read_results(known, result, made)) {
        return;
      }
    } catch (const std::exception&) {  // the row looks at elements, or draws
      return;
    }
    if (blind.has_looked() || !fits_targets(known, made, targets) || !read_strides(known, outcome)) {
      return;
    }
    std::vector<Tensor> all;
    size_t eager = 0;
    for (const bool later : {false, true}) {
      for (size_t i = 0; i < made.size(); ++i) {
        if (known.results[i].is_given && known.results[i].is_later == later) {
          all.push_back(nb::cast<const Tensor&>(made[i]));
        }
      }
      eager = later ? eager : all.size();
    }
    if (std::optional<Replay> found = Replay::between(stand_ins, all, eager)) {
      known.replay = std::make_shared<const Replay>(*std::move(found));
      known.is_refused = false;
    }
  }

  static bool read_results(Known& known, const nb::object& result, std::vector<nb::object>& made) {
    static PyObject* const make = attribute_name("make");
    const bool is_tuple = PyTuple_Check(result.ptr()) != 0;
    known.form = is_tuple                               ? Known::Form::tuple
                 : PyList_CheckExact(result.ptr()) != 0 ? Known::Form::list
                                                        : Known::Form::one;
    const nb::object all = known.form == Known::Form::one ? nb::make_tuple(result) : result;
    for (nb::handle each : nb::borrow<nb::sequence>(all)) {
      Known::Result one;
      one.is_given = !each.is_none();
      nb::object tensor = nb::borrow(each);
      if (one.is_given && !nb::isinstance<Tensor>(each)) {
        const nb::object function = try_attribute(each, make);
        if (!function.is_valid()) {
          return false;
        }
        one.is_later = true;
        tensor = function();
        if (!nb::isinstance<Tensor>(tensor)) {
          return false;
        }
        const Shape shape = nb::cast<const Tensor&>(tensor).shape();
        const std::optional<std::vector<int64_t>> sizes = known_sizes(shape);
        if (!sizes) {
          return false;
        }
        one.dtype = shape.dtype();
        one.sizes = *sizes;
      }
      known.results.push_back(std::move(one));
      made.push_back(std::move(tensor));
    }
    return true;
  }

  /// Whether each result that is written has the sizes and the dtype of what it is written to.
  bool fits_targets(const Known& known, const std::vector<nb::object>& made,
                    const std::vector<DeviceOperand>& targets) const {
    for (size_t i = 0; i < writes_.size(); ++i) {
      if (!targets[i].tensor.defined()) {
        continue;  // None: a tensor without a lazy one has no signature
      }
      const size_t result = writes_[i].result;
      if (result >= made.size() || !known.results[result].is_given || known.results[result].is_later) {
        return false;
      }
      const Shape shape = targets[i].tensor.shape();
      if (!same_sizes(shape, nb::cast<const Tensor&>(made[result]).shape())) {
        return false;
      }
      for (int k = 0; targets[i].strides && k < shape.rank(); ++k) {
        if ((*targets[i].strides)[static_cast<size_t>(k)] == 0 && !(shape.extent(k) == Extent(1))) {
          return false;  // one place for several elements
        }
      }
    }
    return true;
  }

  bool is_written(size_t result) const {
    for (const Written& written : writes_) {
      if (written.result == result) {
        return true;
      }
    }
    return false;
  }

  /// The strides of what the kernel in Python gave.
  bool read_strides(Known& known, const nb::object& outcome) const {
    static PyObject* const stride = attribute_name("stride");
    static PyObject* const shape = attribute_name("shape");
    const std::vector<size_t> returned = returned_results(known);
    const bool is_one = PyTuple_Check(outcome.ptr()) == 0 && PyList_CheckExact(outcome.ptr()) == 0;
    if (outcome.is_none()) {
      return true;
    }
    if (is_one ? returned.size() != 1 : static_cast<size_t>(PySequence_Size(outcome.ptr())) != returned.size()) {
      return false;
    }
    for (size_t i = 0; i < returned.size(); ++i) {
      const nb::object each =
          is_one ? outcome : nb::steal(PySequence_GetItem(outcome.ptr(), static_cast<Py_ssize_t>(i)));
      Known::Result& result = known.results[returned[i]];
      if (each.is_none() != !result.is_given) {
        return false;
      }
      if (each.is_none() || is_written(returned[i])) {
        continue;
      }
      const nb::object strides = try_call(each, stride);
      const auto sizes = nb::cast<std::vector<int64_t>>(try_attribute(each, shape));
      result.strides = row_major_strides(sizes) == nb::cast<std::vector<int64_t>>(strides) ? nb::none() : strides;
      if (result.is_later && !result.strides.is_none()) {
        return false;
      }
    }
    return true;
  }

  std::vector<size_t> returned_results(const Known& known) const {
    if (returns_) {
      return *returns_;
    }
    std::vector<size_t> all;
    for (size_t i = 0; i < known.results.size(); ++i) {
      all.push_back(i);
    }
    return all;
  }

  // --- Recording again

  nb::object replay(const Known& known, const DeviceCall& call, const nb::args& args, const nb::kwargs& kwargs) const {
    const std::vector<Tensor>& operands = call.operands;
    std::optional<Place> line;
    if (known.replay->names_lines()) {
      line.emplace(LazyCall::line());
    }
    const std::vector<Tensor> made = known.replay->record(operands);
    std::vector<nb::object> results = wrap_all(known, made, operands);
    write_targets(known, made, call, args, kwargs, results);
    return outcome(known, std::move(results));
  }

  std::vector<nb::object> wrap_all(const Known& known, const std::vector<Tensor>& made,
                                   const std::vector<Tensor>& operands) const {
    std::vector<nb::object> results;
    size_t next = 0;
    size_t later = 0;
    std::shared_ptr<const std::vector<Tensor>> kept;
    for (size_t i = 0; i < known.results.size(); ++i) {
      const Known::Result& result = known.results[i];
      if (!result.is_given) {
        results.push_back(nb::none());
      } else if (result.is_later) {
        kept = kept ? kept : copies_of(operands);
        results.push_back(wrap_later(known, result, later++, kept));
      } else if (is_written(i)) {
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
  static nb::object wrap_later(const Known& known, const Known::Result& result, size_t index,
                               std::shared_ptr<const std::vector<Tensor>> kept) {
    auto content = std::make_shared<DeviceContent>(
        [replay = known.replay, kept = std::move(kept), index] { return replay->record_rest(*kept)[index]; });
    return device_tensor(std::move(content), result.dtype, result.sizes);
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

  void write_targets(const Known& known, const std::vector<Tensor>& made, const DeviceCall& call, const nb::args& args,
                     const nb::kwargs& kwargs, std::vector<nb::object>& results) const {
    for (const Written& written : writes_) {
      const nb::object target = target_of(written, args, kwargs);
      if (target.is_none()) {
        continue;
      }
      const size_t at = made_index(known, written.result);
      Tensor lazy = device_operand(target).tensor;
      const int same = known.replay->operand_of(at);
      if (same < 0 ||
          tensors::Access::pointer(lazy) != tensors::Access::pointer(call.operands[static_cast<size_t>(same)])) {
        lazy.copy_(made[at]);
      }
      results[written.result] = target;
    }
  }

  /// Which of the results that are made at once this is.
  static size_t made_index(const Known& known, size_t result) {
    size_t index = 0;
    for (size_t i = 0; i < result; ++i) {
      index += known.results[i].is_given && !known.results[i].is_later ? size_t{1} : size_t{0};
    }
    return index;
  }

  nb::object outcome(const Known& known, std::vector<nb::object> results) const {
    const std::vector<size_t> returned = returned_results(known);
    if (!writes_.empty()) {
      if (returned.empty()) {
        return nb::none();
      }
      if (returned.size() == 1) {
        return std::move(results[returned[0]]);
      }
    } else if (known.form == Known::Form::one) {
      return std::move(results[0]);
    }
    nb::list all;
    for (const size_t i : returned) {
      all.append(results[i]);
    }
    return known.form == Known::Form::list ? nb::object(all) : nb::object(nb::tuple(all));
  }

  nb::object kernel_;
  nb::object row_;
  std::vector<Written> writes_;
  std::optional<std::vector<size_t>> returns_;
  std::unordered_map<CallSignature, Known, SignatureHash> known_;
};

}  // namespace

void bind_device_replays(nb::module_& m) {
  m.def(
      "replay_kernel",
      [](nb::object kernel, nb::object row, std::vector<std::pair<size_t, std::pair<size_t, std::string>>> writes,
         std::optional<std::vector<size_t>> returns) {
        return kernel_function(
            std::make_shared<ReplayKernel>(std::move(kernel), std::move(row), std::move(writes), std::move(returns)));
      },
      nb::arg("kernel"), nb::arg("row"), nb::arg("writes"), nb::arg("returns").none(),
      "What PyTorch calls for an operator whose row follows from sizes, dtypes and numbers alone: `kernel` runs for "
      "new "
      "ones, then its operations are recorded again. `row` takes the arguments as rows do. `writes` are results and "
      "the "
      "arguments that they are written to.");
}

}  // namespace tenon::python
