// Functions, methods and operators of tensors and graph values, one for each row of the scalar table and each builder:
// made when the module is loaded, from the same tables that C++ has them from.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <deque>

#include "arguments.h"
#include "bind.h"
#include "ops/catalog/catalog.h"
#include "ops/scalar/scalar_table.h"

namespace tenon::python {
namespace {

/// One function as Python sees it.
struct PyOperation {
  std::string name;
  std::string doc;
  std::vector<BuilderParameter> parameters;
  const ScalarFn* row = nullptr;          // either,
  const CatalogEntry* builder = nullptr;  // or

  bool is_method() const { return !parameters.empty() && is_tensor_argument(parameters[0].type); }
  bool gives_list() const { return builder != nullptr && builder->gives_list; }
  /// "def softmax(x: Tensor, axis: int = -1) -> Tensor"
  std::string signature(std::string_view called, bool method) const;
};

std::string python_type(ArgumentType type) {
  switch (type) {
    case ArgumentType::value: return "Tensor";
    case ArgumentType::values: return "Sequence[Tensor]";
    case ArgumentType::operand: return "Tensor | float";
    case ArgumentType::integer: return "int";
    case ArgumentType::number: return "float";
    case ArgumentType::flag: return "bool";
    case ArgumentType::text: return "str";
    case ArgumentType::dtype: return "Dtype | str";
    case ArgumentType::extent: return "int | Extent";
    case ArgumentType::shape: return "Shape | str";
    case ArgumentType::integers: return "Sequence[int]";
    case ArgumentType::extents: return "Sequence[int | Extent]";
    case ArgumentType::axes: return "Sequence[int | str | Extent]";
  }
  return {};
}

std::string python_default(const BuilderParameter& parameter) {
  const std::string_view text = parameter.default_text;
  if (text == "none") return "None";
  if (text == "[]") return "()";
  if (text == "true") return "True";
  if (text == "false") return "False";
  const bool quoted = parameter.type == ArgumentType::text || parameter.type == ArgumentType::dtype;
  return quoted ? fmt::format("'{}'", text) : std::string(text);
}

std::string PyOperation::signature(std::string_view called, bool method) const {
  std::vector<std::string> parts;
  bool has_default = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const BuilderParameter& parameter = parameters[i];
    if (method && i == 0) {
      parts.emplace_back("self");
      continue;
    }
    std::string type = python_type(parameter.type);
    if (!parameter.default_text.empty()) {
      type += parameter.default_text == "none" ? " | None" : "";
      parts.push_back(fmt::format("{}: {} = {}", parameter.name, type, python_default(parameter)));
      has_default = true;
    } else {  // behind one with a default Python wants one, too
      parts.push_back(fmt::format("{}: {}{}", parameter.name, type, has_default ? " = ..." : ""));
    }
  }
  return fmt::format("def {}({}) -> {}", called, fmt::join(parts, ", "), gives_list() ? "list[Tensor]" : "Tensor");
}

PyOperation operation_of(const ScalarFn& row) {
  PyOperation operation{.name = std::string(row.name), .doc = std::string(row.doc), .parameters = {}, .row = &row};
  for (size_t i = 0; i < static_cast<size_t>(row.arity); ++i) {
    operation.parameters.push_back({row.operands[i], ArgumentType::operand});
  }
  if (row.result == ResultRule::given) {
    operation.parameters.push_back({"dtype", ArgumentType::dtype});
  }
  return operation;
}

/// All of them; they live as long as the process.
const std::deque<PyOperation>& all_operations() {
  static const auto& all = *[] {
    auto* list = new std::deque<PyOperation>;
    for (const ScalarFn* row : scalar_table()) {
      list->push_back(operation_of(*row));
    }
    for (const CatalogEntry& entry : catalog()) {
      list->push_back({.name = std::string(entry.name),
                       .doc = std::string(entry.doc),
                       .parameters = entry.parameters,
                       .builder = &entry});
    }
    return list;
  }();
  return all;
}

const PyOperation& find_operation(std::string_view name) {
  for (const PyOperation& operation : all_operations()) {
    if (operation.name == name) {
      return operation;
    }
  }
  throw nb::key_error(std::string(name).c_str());
}

/// Arguments by parameter; what was left out, or given as None, is no object.
std::vector<nb::object> bound(const PyOperation& operation, nb::handle self, const nb::args& args,
                              const nb::kwargs& kwargs) {
  const auto wrong = [&](const std::string& what) {
    throw nb::type_error(
        fmt::format("{}: {}; it is {}", operation.name, what, operation.signature(operation.name, false).substr(4))
            .c_str());
  };
  std::vector<nb::object> found(operation.parameters.size());
  size_t at = 0;
  if (self.is_valid()) {
    found[at++] = nb::borrow(self);
  }
  if (at + args.size() > found.size()) {
    wrong(fmt::format("takes {} arguments, got {}", found.size(), at + args.size()));
  }
  for (nb::handle argument : args) {
    found[at++] = nb::borrow(argument);
  }
  for (const auto& [key, value] : kwargs) {
    const std::string name = nb::cast<std::string>(key);
    size_t i = 0;
    while (i < found.size() && operation.parameters[i].name != name) {
      ++i;
    }
    if (i == found.size()) {
      wrong(fmt::format("has no argument `{}`", name));
    }
    if (found[i].is_valid()) {
      wrong(fmt::format("got `{}` twice", name));
    }
    found[i] = nb::borrow(value);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].is_valid() && found[i].is_none()) {
      found[i] = {};
    }
    if (!found[i].is_valid() && operation.parameters[i].default_text.empty()) {
      wrong(fmt::format("needs `{}`", operation.parameters[i].name));
    }
  }
  return found;
}

nb::object call(const PyOperation& operation, nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
  const std::vector<nb::object> arguments = bound(operation, self, args, kwargs);
  if (operation.row != nullptr) {
    return call_row(*operation.row, arguments);
  }
  return call_builder(*operation.builder, arguments);
}

/// Python's operators by rows of the table.
struct PyOperator {
  const char* symbol;    // "add": __add__, __radd__, __iadd__
  const char* row;       // of tensors
  const char* bool_row;  // of tensors of bool, where that is another
};
constexpr PyOperator kBinary[] = {
    {"add", "add", "logical_or"},       {"sub", "sub", nullptr},        {"mul", "mul", "logical_and"},
    {"floordiv", "floor_div", nullptr}, {"mod", "mod", nullptr},        {"pow", "pow", nullptr},
    {"and", "bit_and", "logical_and"},  {"or", "bit_or", "logical_or"}, {"xor", "bit_xor", "logical_xor"},
    {"lshift", "shl", nullptr},         {"rshift", "shr", nullptr}};
constexpr PyOperator kComparisons[] = {{"eq", "eq", nullptr}, {"ne", "ne", nullptr}, {"lt", "lt", nullptr},
                                       {"le", "le", nullptr}, {"gt", "gt", nullptr}, {"ge", "ge", nullptr}};

bool is_bool(nb::handle object) { return dtype_of_operand(object) == Dtype::boolean; }

/// An operand as it is, or an array of NumPy's or of others as a tensor; no object for anything else.
nb::object as_operand(nb::handle object) {
  if (is_operand(object)) {
    return nb::borrow(object);
  }
  if (nb::hasattr(object, "__array__") || nb::hasattr(object, "__dlpack__")) {
    return nb::cast(tensor(array_from(object)));
  }
  return {};
}

/// The row's function of two operands; NotImplemented where one is neither a tensor nor a number.
nb::object binary(const PyOperator& op, nb::handle left, nb::handle right) {
  const nb::object a = as_operand(left);
  const nb::object b = as_operand(right);
  if (!a.is_valid() || !b.is_valid()) {
    return nb::borrow(Py_NotImplemented);
  }
  const bool of_bools = op.bool_row != nullptr && is_bool(a) && is_bool(b);
  return call_row(scalar_fn(of_bools ? op.bool_row : op.row), {nb::borrow(a), nb::borrow(b)});
}

/// Of integers, too, a float: as NumPy and PyTorch have it.
nb::object true_division(nb::handle left, nb::handle right) {
  const nb::object a = as_operand(left);
  const nb::object b = as_operand(right);
  if (!a.is_valid() || !b.is_valid()) {
    return nb::borrow(Py_NotImplemented);
  }
  const auto as_float = [](nb::handle x) {
    const auto dtype = dtype_of_operand(x);
    return dtype && !is_float(*dtype) ? call_row(scalar_fn("cast"), {nb::borrow(x), nb::cast(f32)}) : nb::borrow(x);
  };
  return call_row(scalar_fn("div"), {as_float(a), as_float(b)});
}

void bind_operators(nb::handle type, bool writable) {
  // nb::sig: the table says no more than that these are there.
  const auto def = [&](const std::string& name, auto function) {
    nb::cpp_function_def(function, nb::scope(type), nb::name(name.c_str()), nb::is_method(), nb::arg("other").none());
  };
  const auto def_unary = [&](const std::string& name, auto function) {
    nb::cpp_function_def(function, nb::scope(type), nb::name(name.c_str()), nb::is_method());
  };
  for (const PyOperator& op : kBinary) {
    def(fmt::format("__{}__", op.symbol), [&op](nb::handle a, nb::handle b) { return binary(op, a, b); });
    def(fmt::format("__r{}__", op.symbol), [&op](nb::handle a, nb::handle b) { return binary(op, b, a); });
    if (writable) {
      def(fmt::format("__i{}__", op.symbol), [&op](nb::handle a, nb::handle b) -> nb::object {
        const nb::object result = binary(op, a, b);
        return result.ptr() == Py_NotImplemented ? result : nb::object(a.attr("copy_")(result));
      });
    }
  }
  for (const PyOperator& op : kComparisons) {
    def(fmt::format("__{}__", op.symbol), [&op](nb::handle a, nb::handle b) { return binary(op, a, b); });
  }
  def("__truediv__", [](nb::handle a, nb::handle b) { return true_division(a, b); });
  def("__rtruediv__", [](nb::handle a, nb::handle b) { return true_division(b, a); });
  if (writable) {
    def("__itruediv__",
        [](nb::handle a, nb::handle b) -> nb::object { return nb::object(a.attr("copy_")(true_division(a, b))); });
  }
  def_unary("__neg__", [](nb::handle a) { return call_row(scalar_fn("neg"), {nb::borrow(a)}); });
  def_unary("__abs__", [](nb::handle a) { return call_row(scalar_fn("abs"), {nb::borrow(a)}); });
  def_unary("__invert__",
            [](nb::handle a) { return call_row(scalar_fn(is_bool(a) ? "logical_not" : "bit_not"), {nb::borrow(a)}); });
  def("__matmul__",
      [](nb::handle a, nb::handle b) { return call_builder(*find_builder("matmul"), {nb::borrow(a), nb::borrow(b)}); });
}

}  // namespace

void bind_operations(nb::module_& m, const OperandClasses& classes) {
  nb::module_ ops =
      m.def_submodule("ops", "Every elementwise function and every builder, of tensors and graph values.");
  for (const PyOperation& operation : all_operations()) {
    const PyOperation* const at = &operation;
    const auto define = [&](nb::handle scope, const std::string& name, bool method, auto function) {
      const std::string signature = operation.signature(name, method);
      if (method) {
        nb::cpp_function_def(function, nb::scope(scope), nb::name(name.c_str()), nb::sig(signature.c_str()),
                             operation.doc.c_str(), nb::is_method());
      } else {
        nb::cpp_function_def(function, nb::scope(scope), nb::name(name.c_str()), nb::sig(signature.c_str()),
                             operation.doc.c_str());
      }
    };
    define(ops, operation.name, false,
           [at](const nb::args& args, const nb::kwargs& kwargs) { return call(*at, {}, args, kwargs); });
    if (!operation.is_method()) {
      continue;
    }
    for (nb::handle type : {classes.tensor, classes.value}) {
      define(type, operation.name, true, [at](nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
        return call(*at, self, args, kwargs);
      });
    }
    if (operation.row != nullptr && operation.row->result == ResultRule::same) {
      define(classes.tensor, operation.name + "_", true,
             [at](nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
               return nb::object(self.attr("copy_")(call(*at, self, args, kwargs)));
             });
    }
  }
  bind_operators(classes.tensor, true);
  bind_operators(classes.value, false);
  m.def(
      "call",
      [](const std::string& name, const nb::args& args, const nb::kwargs& kwargs) {
        return call(find_operation(name), {}, args, kwargs);
      },
      nb::sig("def call(name: str, *args, **kwargs) -> Tensor | list[Tensor]"), "The operation of that name.");
  m.def(
      "operation_names",
      [] {
        nb::list names;
        for (const PyOperation& operation : all_operations()) {
          names.append(operation.name);
        }
        return names;
      },
      "The names of all operations.");
}

}  // namespace tenon::python
