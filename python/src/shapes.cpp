// Dtype, Extent, Shape: names and sizes.
#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "tenon/dtype.h"

namespace tenon::python {

nb::object size_to_python(const Extent& extent) {
  return extent.is_constant() ? nb::cast(*extent.constant()) : nb::cast(extent);
}

Extent extent_from(nb::handle object) {
  if (nb::isinstance<Extent>(object)) {
    return nb::cast<Extent>(object);
  }
  if (nb::isinstance<nb::str>(object)) {
    return Extent::parse(nb::cast<std::string>(object));
  }
  int64_t number = 0;
  if (nb::isinstance<nb::bool_>(object) || !nb::try_cast(nb::handle(object), number)) {
    const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
    if (!index.is_valid()) {
      PyErr_Clear();
      throw nb::type_error(
          fmt::format("a size is an int, a name or a tenon.Extent, not {}", nb::cast<std::string>(nb::repr(object)))
              .c_str());
    }
    number = nb::cast<int64_t>(index);
  }
  return number;
}

Axis axis_from(nb::handle object) {
  if (object.is_none()) {
    return Axis::anonymous();
  }
  if (nb::isinstance<nb::str>(object)) {
    return Axis(nb::cast<std::string>(object));
  }
  const Extent extent = extent_from(object);
  return extent.is_constant() ? Axis(*extent.constant()) : Axis(extent);
}

std::vector<Axis> axes_from(nb::handle list) {
  std::vector<Axis> axes;
  if (!nb::isinstance<nb::sequence>(list) || nb::isinstance<nb::str>(list)) {
    return {axis_from(list)};
  }
  for (nb::handle each : nb::borrow<nb::sequence>(list)) {
    axes.push_back(axis_from(each));
  }
  return axes;
}

namespace {

/// What NumPy and PyTorch call dtypes.
constexpr std::pair<const char*, Dtype> kUsualNames[] = {
    {"float32", f32}, {"float64", f64}, {"float16", f16}, {"bfloat16", bf16}, {"int8", i8},
    {"int16", i16},   {"int32", i32},   {"int64", i64},   {"uint8", u8},      {"uint16", u16},
    {"uint32", u32},  {"uint64", u64},  {"bool", boolean}};

}  // namespace

Dtype dtype_from(nb::handle object) {
  if (nb::isinstance<Dtype>(object)) {
    return nb::cast<Dtype>(object);
  }
  const std::string text =
      nb::cast<std::string>(nb::isinstance<nb::str>(object) ? nb::borrow(object) : nb::str(object));
  if (const auto known = parse_dtype(text)) {
    return *known;
  }
  for (const auto& [usual_name, dtype] : kUsualNames) {  // also "<class 'numpy.float32'>" and "torch.float32"
    const std::string_view usual = usual_name;
    const auto at = text.rfind(usual);
    if (at == std::string::npos) {
      continue;
    }
    const bool begins = at == 0 || text[at - 1] == '.' || text[at - 1] == '\'';
    const bool ends = at + usual.size() == text.size() || text[at + usual.size()] == '\'';
    if (begins && ends) {
      return dtype;
    }
  }
  throw nb::type_error(
      fmt::format("{} is no dtype; f32, f64, f16, bf16, i8 to i64, u8 to u64 and bool are", text).c_str());
}

std::optional<WeightFormat> weights_from(nb::handle object) {
  if (object.is_none()) {
    return std::nullopt;
  }
  if (nb::isinstance<nb::str>(object)) {
    if (const auto format = parse_weight_format(nb::cast<std::string>(object))) {
      return format;
    }
  }
  return WeightFormat(dtype_from(object));
}

Shape shape_from_python(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) {
    return Shape::parse(nb::cast<std::string>(object));
  }
  return nb::cast<Shape>(object);
}

Bindings bindings_from(nb::handle object) {
  Bindings bindings;
  if (object.is_none()) {
    return bindings;
  }
  if (nb::isinstance<nb::str>(object)) {
    return Bindings::parse(nb::cast<std::string>(object));
  }
  for (const auto& [name, size] : nb::cast<nb::dict>(object)) {
    bindings.set(nb::cast<std::string>(name), nb::cast<int64_t>(size));
  }
  return bindings;
}

namespace {

template <class F>
auto on_extents(F f) {
  return [f](nb::handle a, nb::handle b) { return size_to_python(f(extent_from(a), extent_from(b))); };
}

void bind_extent(nb::module_& m) {
  nb::class_<Extent> extent(m, "Extent", "A symbolic size: an exact integer over the names of axes.");
  extent.def(
      "__init__", [](Extent* self, const std::string& text) { new (self) Extent(Extent::parse(text)); },
      nb::arg("text"));
  const auto add = on_extents([](const Extent& a, const Extent& b) { return a + b; });
  const auto sub = on_extents([](const Extent& a, const Extent& b) { return a - b; });
  const auto mul = on_extents([](const Extent& a, const Extent& b) { return a * b; });
  const auto div = on_extents([](const Extent& a, const Extent& b) { return floordiv(a, b); });
  const auto rem = on_extents([](const Extent& a, const Extent& b) { return mod(a, b); });
  extent.def("__add__", add).def("__radd__", add).def("__sub__", sub).def("__mul__", mul).def("__rmul__", mul);
  extent.def("__rsub__", [sub](nb::handle a, nb::handle b) { return sub(b, a); });
  extent.def("__floordiv__", div).def("__rfloordiv__", [div](nb::handle a, nb::handle b) { return div(b, a); });
  extent.def("__mod__", rem).def("__rmod__", [rem](nb::handle a, nb::handle b) { return rem(b, a); });
  extent.def("__neg__", [](const Extent& a) { return size_to_python(-a); });
  extent.def("__eq__", [](const Extent& a, nb::handle b) {
    return (nb::isinstance<Extent>(b) || nb::isinstance<nb::int_>(b)) && a == extent_from(b);
  });
  extent.def("__hash__", [](const Extent& a) { return static_cast<Py_ssize_t>(a.hash() >> 2); });
  extent.def("__str__", &Extent::to_string).def("__repr__", &Extent::to_string);
  extent.def_prop_ro("names", &Extent::names, "The axis names in it.");
  extent.def(
      "at", [](const Extent& a, nb::handle sizes) { return evaluate(a, bindings_from(sizes)); }, nb::arg("sizes"),
      "Its value where the names have these sizes: `Extent(\"2*n\").at({\"n\": 3})` is 6.");
  m.def("extent_min", on_extents([](const Extent& a, const Extent& b) { return min(a, b); }), "The smaller size.");
  m.def("extent_max", on_extents([](const Extent& a, const Extent& b) { return max(a, b); }), "The larger size.");
  m.def("ceildiv", on_extents([](const Extent& a, const Extent& b) { return ceildiv(a, b); }),
        "The quotient of sizes, rounded up.");
}

}  // namespace

void bind_shapes(nb::module_& m) {
  auto dtypes = nb::enum_<Dtype>(m, "Dtype", "An element type.");
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const std::string text(dtype == Dtype::boolean ? "boolean" : name(dtype));
    dtypes.value(text.c_str(), dtype);
  }
  dtypes.export_values();
  nb::dict usual;
  for (const auto& [usual_name, dtype] : kUsualNames) {
    usual[usual_name] = nb::cast(dtype);
  }
  m.attr("usual_dtype_names") = usual;
  bind_extent(m);

  nb::class_<Shape> shape(m, "Shape", "A dtype and axes, whose sizes may be symbolic: `f32[batch, 4]`.");
  shape.def(
      "__init__",
      [](Shape* self, nb::handle dtype, nb::handle axes) { new (self) Shape(dtype_from(dtype), axes_from(axes)); },
      nb::arg("dtype"), nb::arg("axes"),
      nb::sig("def __init__(self, dtype: Dtype | str, axes: Sequence[int | str | Extent | None]) -> None"));
  shape.def_static("parse", [](const std::string& text) { return Shape::parse(text); }, nb::arg("text"));
  shape.def_prop_ro("dtype", &Shape::dtype);
  shape.def_prop_ro(
      "axes",
      [](const Shape& self) {
        nb::list axes;
        for (const Axis& axis : self.axes()) {
          axes.append(axis.is_anonymous() ? nb::none() : size_to_python(axis.extent()));
        }
        return nb::tuple(axes);
      },
      nb::sig("def axes(self) -> tuple[int | Extent | None, ...]"));
  shape.def_prop_ro("rank", &Shape::rank);
  shape.def(nb::self == nb::self);
  shape.def("__hash__", [](const Shape& self) { return static_cast<Py_ssize_t>(self.hash() >> 2); });
  shape.def("__str__", &Shape::to_string).def("__repr__", &Shape::to_string);
}

}  // namespace tenon::python
