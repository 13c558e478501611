// Lazy tensors: what class Tensor has beyond the tables.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "arguments.h"
#include "bind.h"
#include "interrupt.h"
#include "tenon/autograd.h"
#include "tenon/indexing.h"
#include "tensor/realize/realize.h"
#include "tensor/record/cell.h"
#include "tensor/record/leaf.h"
#include "tensor/record/symbols.h"

namespace tenon::python {
namespace {

nb::tuple named_sizes(const Tensor& tensor) {
  nb::list sizes;
  const Shape shape = tensor.shape();
  for (const Axis& axis : shape.axes()) {
    sizes.append(size_to_python(axis.extent()));
  }
  return nb::tuple(sizes);
}

/// The shape as users named its axes: without the sizes that tell symbols of one name apart.
Shape named_type(const Tensor& tensor) {
  std::map<std::string, Extent, std::less<>> names;
  const Shape shape = tensor.shape();
  for (const Axis& axis : shape.axes()) {
    for (const std::string& name : axis.extent().names()) {
      if (const auto info = tensors::symbol_info(name)) {
        names.emplace(name, Extent::name(info->base));
      }
    }
  }
  return shape.substitute(names);
}

/// Compute, with the lock given up, what `look` asks for.
template <class F>
auto computed(F look) {
  const LazyCall place;  // before the lock is given up: it asks Python
  const Computing computing;
  WithLazySettings with_token([&] {
    LazySettings settings = tensors::lazy_settings();
    settings.cancel = computing.token();
    return settings;
  }());
  try {
    return look();
  } catch (Error& error) {
    // What is wrong was recorded somewhere before; this is where it was needed.
    const LazySettings settings = tensors::lazy_settings();
    if (!settings.file.empty() && dynamic_cast<const Cancelled*>(&error) == nullptr) {
      error.note(fmt::format("computed for {}:{}", settings.file, settings.line));
    }
    throw;
  }
}

TensorOperand operand_from(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) {
    return nb::cast<Tensor>(object);
  }
  if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) {
    return nb::cast<double>(object);
  }
  return tensor(array_from(object));
}

void bind_making(nb::module_& m) {
  m.def(
      "make_tensor",
      [](nb::handle object, nb::handle axes, bool copy) {
        Array array = array_from(object);
        if (copy) {
          Array own = array;
          own.mutable_data();
          array = own;
        }
        const LazyCall place;
        return axes.is_none() ? tensor(std::move(array)) : tensor(std::move(array), axes_from(axes));
      },
      nb::arg("object"), nb::arg("axes") = nb::none(), nb::arg("copy") = true);
  m.def("full_tensor", [](nb::handle axes, double value, nb::handle dtype) {
    return Tensor::full(Shape(dtype_from(dtype), axes_from(axes)), value);
  });
  m.def(
      "rand", [](nb::handle axes, nb::handle dtype) { return Tensor::rand(axes_from(axes), dtype_from(dtype)); },
      nb::arg("axes"), nb::arg("dtype") = f32, "Uniform in [0, 1).");
  m.def(
      "randn", [](nb::handle axes, nb::handle dtype) { return Tensor::randn(axes_from(axes), dtype_from(dtype)); },
      nb::arg("axes"), nb::arg("dtype") = f32, "Normally distributed.");
  m.def("manual_seed", &manual_seed, nb::arg("seed"), "The same seed gives the same random numbers.");
  m.def(
      "next_draw", [] { return default_generator().next(); }, nb::sig("def next_draw() -> tuple[Tensor, Tensor]"),
      "Key and counter of the next random numbers.");
  m.def("generator_state", [] { return nb::make_tuple(default_generator().key(), default_generator().counter()); });
  m.def("set_generator_state", [](uint64_t key, uint64_t counter) { default_generator().set(key, counter); });
  m.def(
      "size_from",
      [](int64_t size, int position, nb::handle whole) {
        const LazyCall place;
        return size_to_python(tensors::size_from(size, position, std::source_location(),
                                                 whole.is_none() ? std::nullopt : std::optional(extent_from(whole))));
      },
      nb::arg("size"), nb::arg("position"), nb::arg("whole") = nb::none(),
      "A size that a user's line gives: a symbol from the second different one on.");
  m.def(
      "size_of", [](nb::handle size) { return tensors::size_of(extent_from(size)); }, nb::arg("size"),
      "The number that a symbolic size of a lazy tensor stands for.");
  m.def(
      "realize", [](const std::vector<Tensor>& list) { computed([&] { realize(list, std::source_location()); }); },
      nb::arg("tensors"), "Compute these, and every pending write that shares work with them, as one program.");
  m.def("discard_writes", &discard_writes, nb::arg("tensors"),
        "Take back what was written to these since their elements were last computed.");
}

void bind_gradients(nb::module_& m, nb::class_<Tensor>& tensor) {
  tensor.def(
      "requires_grad_", [](Tensor& self, bool wanted) { return self.requires_grad_(wanted); },
      nb::arg("wanted") = true);
  tensor.def_prop_rw("requires_grad", &Tensor::requires_grad,
                     [](Tensor& self, bool wanted) { self.requires_grad_(wanted); });
  tensor.def(
      "backward",
      [](const Tensor& self, std::optional<Tensor> gradient, bool retain, bool create) {
        self.backward(gradient.value_or(Tensor()), retain, create);
      },
      nb::arg("gradient") = nb::none(), nb::arg("retain_graph") = false, nb::arg("create_graph") = false,
      "Add the gradients of this scalar to `grad` of every tensor that wants them.");
  tensor.def_prop_rw(
      "grad",
      [](const Tensor& self) -> std::optional<Tensor> {
        const Tensor grad = self.grad();
        return grad.defined() ? std::optional(grad) : std::nullopt;
      },
      [](Tensor& self, std::optional<Tensor> grad) { self.set_grad(grad.value_or(Tensor())); },
      nb::for_setter(nb::arg("grad").none()));
  tensor.def("detach", &Tensor::detach, "The same elements, through which no gradient flows.");
  m.def(
      "grad",
      [](const Tensor& y, const std::vector<Tensor>& xs, std::optional<Tensor> seed, bool create) {
        return grad(y, xs, {.seed = seed.value_or(Tensor()), .create = create});
      },
      nb::arg("y"), nb::arg("xs"), nb::arg("seed") = nb::none(), nb::arg("create_graph") = false,
      "The gradients of y by each of xs.");
  m.def("is_grad_enabled", &grad_enabled);
  m.def("push_grad_mode", [](bool enabled) -> nb::object {
    // The guard lives as long as the object that Python holds.
    if (enabled) {
      return nb::capsule(new EnableGrad, [](void* guard) noexcept { delete static_cast<EnableGrad*>(guard); });
    }
    return nb::capsule(new NoGrad, [](void* guard) noexcept { delete static_cast<NoGrad*>(guard); });
  });
  m.def(
      "checkpoint",
      [](const nb::callable& f, const std::vector<Tensor>& inputs) {
        return checkpoint(
            [&](const std::vector<Tensor>& given) {
              nb::list arguments;
              for (const Tensor& each : given) {
                arguments.append(each);
              }
              const nb::object result = f(*arguments);
              if (nb::isinstance<Tensor>(result)) {
                return std::vector{nb::cast<Tensor>(result)};
              }
              return nb::cast<std::vector<Tensor>>(result);
            },
            inputs);
      },
      nb::arg("function"), nb::arg("inputs"), "function(*inputs), whose inside is computed again for gradients.");
}

void bind_writes(nb::class_<Tensor>& tensor) {
  tensor.def(
      "copy_",
      [](nb::object self, nb::handle value) {
        nb::cast<Tensor&>(self).copy_(operand_from(value));
        return self;
      },
      nb::arg("value"), nb::sig("def copy_(self, value: Tensor | float) -> Tensor"), "Write, lazily, through views.");
  tensor.def(
      "fill_",
      [](nb::object self, double value) {
        nb::cast<Tensor&>(self).fill_(value);
        return self;
      },
      nb::arg("value"), nb::sig("def fill_(self, value: float) -> Tensor"));
  tensor.def(
      "zero_",
      [](nb::object self) {
        nb::cast<Tensor&>(self).zero_();
        return self;
      },
      nb::sig("def zero_(self) -> Tensor"));
  tensor.def(
      "masked_fill_",
      [](nb::object self, const Tensor& mask, double value) {
        nb::cast<Tensor&>(self).masked_fill_(mask, value);
        return self;
      },
      nb::arg("mask"), nb::arg("value"), nb::sig("def masked_fill_(self, mask: Tensor, value: float) -> Tensor"));
  tensor.def(
      "put_",
      [](nb::object self, const Tensor& index, const Tensor& value, int axis, const std::string& op) {
        const Place line(LazyCall::line());
        nb::cast<Tensor&>(self).put_(index, value, axis, op);
        return self;
      },
      nb::arg("index"), nb::arg("value"), nb::arg("axis") = 0, nb::arg("op") = "set",
      nb::sig("def put_(self, index: Tensor, value: Tensor, axis: int = 0, op: str = 'set') -> Tensor"));
}

}  // namespace

void bind_tensors(nb::module_& m) {
  nb::class_<Tensor> tensor(m, "Tensor", nb::dynamic_attr(), nb::is_weak_referenceable(),
                            "Elements that are computed when somebody looks at them, in few fused kernels.");
  tensor.def_prop_ro("dtype", &Tensor::dtype).def_prop_ro("ndim", &Tensor::rank);
  tensor.def_prop_ro(
      "shape",
      [](const Tensor& self) {
        const LazyCall place;
        return nb::tuple(nb::cast(self.dims(std::source_location())));
      },
      nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes in numbers.");
  tensor.def_prop_ro("sizes", &named_sizes, nb::sig("def sizes(self) -> tuple[int | Extent, ...]"),
                     "Sizes that keep their names: `x.reshape([x.sizes[0], -1])` holds at every size.");
  tensor.def_prop_ro("type", &named_type, "Dtype and axes, with their names.");
  tensor.def(
      "to", [](const Tensor& self, nb::handle dtype) { return self.to(dtype_from(dtype)); }, nb::arg("dtype"),
      nb::sig("def to(self, dtype: Dtype | str) -> Tensor"));
  tensor.def("clone", &Tensor::clone, "A tensor of its own with these elements.");
  tensor.def(
      "known_shape",
      [](const Tensor& self) -> nb::object {
        nb::list sizes;
        const Shape shape = self.shape();
        for (const Axis& axis : shape.axes()) {
          const auto size = tensors::size_of(axis.extent());
          if (!size) {
            return nb::none();
          }
          sizes.append(*size);
        }
        return nb::tuple(sizes);
      },
      nb::sig("def known_shape(self) -> tuple[int, ...] | None"), "Sizes in numbers; None where data decide one.");
  tensor.def(
      "shares_memory",
      [](const Tensor& self, const Tensor& other) {
        return tensors::Access::handle(self).cell == tensors::Access::handle(other).cell;
      },
      nb::arg("other"), "Whether both are views of one tensor.");
  tensor.def(
      "to_array", [](const Tensor& self) { return computed([&] { return self.to_array(std::source_location()); }); },
      "The elements, computed now.");
  tensor.def(
      "item",
      [](const Tensor& self) -> nb::object {
        const Array array = computed([&] {
          if (self.count(std::source_location()) != 1) {
            self.item(std::source_location());  // says what is wrong
          }
          return tensors::realize_tensors({self}, "item()", std::source_location()).front();
        });
        if (array.dtype() == boolean) {
          return nb::cast(array.at(0) != 0);
        }
        return is_float(array.dtype()) ? nb::cast(array.at(0))
                                       : nb::object(nb::cast(array).attr("numpy")().attr("item")());
      },
      nb::sig("def item(self) -> float | int | bool"), "The element of a tensor that has just one.");
  tensor.def("__bool__",
             [](const Tensor& self) { return computed([&] { return self.is_true(std::source_location()); }); });
  tensor.def(
      "to_string",
      [](const Tensor& self, int64_t limit) {
        return computed([&] { return self.to_string(limit, std::source_location()); });
      },
      nb::arg("limit") = 64);
  bind_writes(tensor);
  bind_making(m);
  bind_gradients(m, tensor);
  bind_operations(m, {.tensor = tensor, .value = m.attr("Value")});
}

}  // namespace tenon::python
