// Kernels of PyTorch's device for views: where the results of an operator lie follows from sizes, strides and numbers,
// and so does the way from a lazy tensor to the view. Both are learned from the kernel in Python.
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind.h"
#include "device_calls.h"
#include "device_storages.h"
#include "device_tensors.h"
#include "dispatch_calls.h"
#include "dispatch_functions.h"
#include "tensor/record/cell.h"
#include "tensor/record/view_again.h"

namespace tenon::python {
namespace {

using tensors::ViewSteps;

constexpr size_t kMostLayouts = 4096;  // of one operator

/// A tensor as the kernel reads it.
struct Base {
  SeenTensor seen;
  int64_t offset = 0;
  StoragePlace place;
};

/// Nothing for what is no tensor of the device, or has no elements.
std::optional<Base> read_base(nb::handle x) {
  Base base{.seen = device_content(x), .offset = 0, .place = {}};
  const dlpack::TensorData& data = base.seen.data;
  if (!base.seen.content || data.data == nullptr) {
    return {};
  }
  base.offset = static_cast<int64_t>(base.seen.byte_offset / ((data.dtype.bits + 7U) / 8));
  const auto rank = static_cast<size_t>(data.ndim);
  base.place = storage_place({data.shape, rank}, {data.strides, rank}, base.offset);
  return base;
}

/// One result.
struct Part {
  StoragePlace place;
  nb::object sizes;  // as tuples
  nb::object strides;
  int64_t offset = 0;
  std::optional<ViewSteps> steps;
};

struct Layout {
  bool is_list = false;
  std::vector<Part> parts;
};

nb::object tuple_of(std::span<const int64_t> numbers) {
  nb::list list;
  for (const int64_t number : numbers) {
    list.append(number);
  }
  return nb::tuple(list);
}

class ViewKernel final : public DeviceKernel {
 public:
  ViewKernel(nb::object otherwise, nb::object reinterpret)
      : otherwise_(std::move(otherwise)), reinterpret_(std::move(reinterpret)) {}

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) override {
    std::shared_ptr<const Layout> used;
    nb::object result = answer(args, kwargs, used);
    last_ = std::move(used);  // and not what calls inside of this one used
    return result;
  }

  void forget() override { last_ = nullptr; }

  // --- Without Python

  bool enter(DispatchCall& call, CallSignature& key) override {
    const TensorHandle x = call.tensor(0);
    const SeenHandle seen = x == nullptr ? SeenHandle() : seen_handle(x);
    if (!seen.content || !call.read(1, key)) {
      return false;
    }
    Base base{.seen = {.content = seen.content, .data = {}}, .offset = seen.offset, .place = {}};
    base.place = storage_place(seen.sizes, seen.strides, seen.offset);
    key.words.insert(key.words.end(), {seen.dtype, static_cast<int64_t>(seen.sizes.size())});
    key.words.insert(key.words.end(), base.place.begin(), base.place.end());
    const auto found = entered_.find(key);
    if (found == entered_.end() || !let_there_be(base, *found->second)) {
      return false;
    }
    std::vector<OwnedHandle> results;
    for (const Part& part : found->second->parts) {
      const size_t rank = part.place.size() / 2;
      TensorHandle made = nullptr;
      if (dispatch_functions()->reinterpret(x, static_cast<int64_t>(rank), part.place.data(), part.place.data() + rank,
                                            part.offset - base.offset, &made) != 0) {
        return false;
      }
      results.emplace_back(made);
    }
    call.give(std::move(results));
    return true;
  }

  void learn(CallSignature key) override {
    if (last_ != nullptr) {
      if (entered_.size() >= kMostLayouts) {
        entered_.clear();
      }
      entered_.insert_or_assign(std::move(key), std::move(last_));
    }
  }

 private:
  nb::object answer(const nb::args& args, const nb::kwargs& kwargs, std::shared_ptr<const Layout>& used) {
    const std::optional<Base> base = args.empty() ? std::nullopt : read_base(args[0]);
    Words key;
    if (!base || !read_key(*base, args, kwargs, key)) {
      return otherwise_(*args, **kwargs);
    }
    const auto found = known_.find(key);
    if (found != known_.end()) {
      if (nb::object made = try_make(args[0], *base, *found->second); made.is_valid()) {
        used = found->second;
        return made;
      }
    }
    const bool is_first = found == known_.end();
    const Tensor start = tensor_at(*base);
    nb::object made = otherwise_(*args, **kwargs);
    learn(std::move(key), *base, is_first ? Tensor() : start, made);
    return made;
  }

  // --- What a call is

  static bool read_key(const Base& base, const nb::args& args, const nb::kwargs& kwargs, Words& key) {
    const auto& type = base.seen.data.dtype;
    key.reserve(base.place.size() + 16);
    key.push_back(type.code * 256 + type.bits);
    key.push_back(base.seen.data.ndim);
    key.insert(key.end(), base.place.begin(), base.place.end());
    for (size_t i = 1; i < args.size(); ++i) {
      if (!read_argument(args[i], key)) {
        return false;
      }
    }
    for (const auto& [name, value] : kwargs) {
      Py_ssize_t length = 0;
      const char* const text = PyUnicode_AsUTF8AndSize(name.ptr(), &length);
      key.insert(key.end(), {named, length});
      key.insert(key.end(), text, text + length);
      if (!read_argument(value, key)) {
        return false;
      }
    }
    return true;
  }

  enum : int64_t { none = 1, truth, integer, list, named };

  static bool read_argument(nb::handle x, Words& key) {
    PyObject* const p = x.ptr();
    if (x.is_none()) {
      key.push_back(none);
      return true;
    }
    if (PyBool_Check(p)) {
      key.insert(key.end(), {truth, x.is(nb::handle(Py_True)) ? 1 : 0});
      return true;
    }
    if (PyLong_CheckExact(p)) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(p, &overflow);
      key.insert(key.end(), {integer, value});
      return overflow == 0;
    }
    if (!PyList_CheckExact(p) && !PyTuple_CheckExact(p)) {
      return false;
    }
    key.insert(key.end(), {list, static_cast<int64_t>(PySequence_Size(p))});
    for (nb::handle each : nb::borrow<nb::sequence>(x)) {
      if (!read_argument(each, key)) {
        return false;
      }
    }
    return true;
  }

  // --- Making what is known

  /// The lazy tensor there; not defined where none is at hand.
  static Tensor tensor_at(const Base& base) {
    DeviceContent& content = *base.seen.content;
    if (content.plain().defined()) {
      return content.plain();
    }
    const DeviceContent::Seen* const found = content.root().defined() ? content.find(base.place) : nullptr;
    return found == nullptr ? Tensor() : found->tensor;
  }

  /// Whether the storage has all views of the layout now.
  static bool let_there_be(const Base& base, const Layout& layout) {
    DeviceContent& content = *base.seen.content;
    content.open();
    if (!content.root().defined()) {
      return false;
    }
    for (const Part& part : layout.parts) {
      if (content.find(part.place) != nullptr) {
        continue;
      }
      const Tensor start = part.steps ? tensor_at(base) : Tensor();
      if (!start.defined() || !(tensors::Access::handle(start).value().shape() == part.steps->shape)) {
        return false;
      }
      content.remember(part.place, {.tensor = tensors::view_again(start, *part.steps)});
    }
    return true;
  }

  nb::object try_make(nb::handle x, const Base& base, const Layout& layout) const {
    if (!let_there_be(base, layout)) {
      return {};
    }
    if (!layout.is_list) {
      return tensor_of(x, base, layout.parts[0]);
    }
    nb::list all;
    for (const Part& part : layout.parts) {
      all.append(tensor_of(x, base, part));
    }
    return all;
  }

  nb::object tensor_of(nb::handle x, const Base& base, const Part& part) const {
    return reinterpret_(x, part.sizes, part.strides, part.offset - base.offset);
  }

  // --- Learning

  /// Where the results lie, and, where `start` is defined, the way from it to them.
  void learn(Words key, const Base& base, const Tensor& start, const nb::object& made) {
    Layout layout{.is_list = PyList_CheckExact(made.ptr()) != 0, .parts = {}};
    const nb::object all = layout.is_list ? made : nb::make_tuple(made);
    for (nb::handle each : nb::borrow<nb::sequence>(all)) {
      const std::optional<Base> seen = read_base(each);
      if (!seen || seen->seen.content != base.seen.content) {
        return;
      }
      layout.parts.push_back(part_at(*seen));
      if (start.defined() && !start.shape().is_dynamic()) {
        if (const Tensor view = tensor_at(*seen); view.defined() && !view.shape().is_dynamic()) {
          layout.parts.back().steps = tensors::view_steps(start, view);
        }
      }
    }
    if (layout.parts.empty()) {
      return;
    }
    if (known_.size() >= kMostLayouts) {
      known_.clear();
    }
    known_.insert_or_assign(std::move(key), std::make_shared<const Layout>(std::move(layout)));
  }

  static Part part_at(const Base& base) {
    const auto rank = static_cast<size_t>(base.seen.data.ndim);
    return {.place = base.place,
            .sizes = tuple_of({base.seen.data.shape, rank}),
            .strides = tuple_of({base.seen.data.strides, rank}),
            .offset = base.offset,
            .steps = {}};
  }

  nb::object otherwise_;
  nb::object reinterpret_;  // from a tensor, sizes, strides and a distance to a tensor on the same storage
  std::unordered_map<Words, std::shared_ptr<const Layout>, WordsHash> known_;
  std::unordered_map<CallSignature, std::shared_ptr<const Layout>, SignatureHash> entered_;
  std::shared_ptr<const Layout> last_;  // what the last call() gave
};

}  // namespace

void bind_device_views(nb::module_& m) {
  m.def(
      "view_kernel",
      [](nb::object otherwise, nb::object reinterpret) {
        return kernel_function(std::make_shared<ViewKernel>(std::move(otherwise), std::move(reinterpret)));
      },
      nb::arg("otherwise"), nb::arg("reinterpret"),
      "What PyTorch calls for an operator that gives views. `otherwise` runs for what is new; where its results lie is "
      "known from then on. `reinterpret` makes a tensor on the storage of another from sizes, strides and the distance "
      "of its first element.");
}

}  // namespace tenon::python
