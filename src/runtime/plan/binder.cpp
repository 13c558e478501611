#include "runtime/plan/binder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/convert.h"
#include "base/dtype_visit.h"
#include "base/fail.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kNotGiven = -1;

/// An element of a small integer input in row-major order.
int64_t element_of(const Operand& input, size_t element) {
  int64_t at = static_cast<int64_t>(element);
  if (!input.strides.empty()) {
    int64_t rest = at;
    at = 0;
    for (size_t axis = input.dims.size(); axis-- > 0; rest /= input.dims[axis]) {
      at += rest % input.dims[axis] * input.strides[axis];
    }
  }
  return visit_dtype(input.dtype, [&]<class T>() {
    T value{};
    std::memcpy(&value, input.data + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return convert<int64_t>(value);
  });
}

}  // namespace

Binder::Binder(const Signature& signature, std::span<const std::string> needed, std::span<const std::string> others,
               ConstraintSet constraints)
    : signature_(signature), constraints_(std::move(constraints)) {
  add_names(needed);
  add_names(others);
  for (const Constraint& constraint : constraints_.added()) {
    add_names(constraint.lhs.names());
    add_names(constraint.rhs.names());
  }
  for (const SignatureInput& input : signature.inputs) {
    add_names(input.gives);
    for (const Axis& axis : input.shape.axes()) {
      add_names(axis.extent().names());
      if (const std::string name = axis.name(); !name.empty()) {
        add_names({&name, 1});
      }
    }
  }
  add_rules();
  is_static_ = needed.empty() && key_size_ == 0 && constraints_.added().empty();
  for (Known& known : names_) {
    known.place = known.shown ? known.place : key_size_++;
  }
  add_given();
  is_static_ = is_static_ && given_.empty();
}

void Binder::add_names(std::span<const std::string> names) {
  for (const std::string& name : names) {
    const auto at = std::ranges::lower_bound(names_, name, {}, &Known::name);
    if (at == names_.end() || at->name != name) {
      names_.insert(at, {.name = name});
    }
  }
}

void Binder::add_rules() {
  for (const SignatureInput& input : signature_.inputs) {
    for (const Axis& axis : input.shape.axes()) {
      const std::string name = axis.name();
      Known* const known = name.empty() || !(axis.extent() == Extent::name(name)) ? nullptr : find(name);
      if (const auto size = axis.extent().constant()) {
        rules_.push_back({AxisRule::Kind::constant, *size});
      } else if (known != nullptr && known->shown) {
        rules_.push_back({AxisRule::Kind::bound_before, static_cast<int64_t>(known->place)});
      } else {
        rules_.push_back({AxisRule::Kind::goes_into_key, 0});
        if (known != nullptr) {
          known->shown = true;
          known->place = key_size_;
        }
        ++key_size_;
      }
    }
  }
}

void Binder::add_given() {
  for (size_t i = 0; i < signature_.inputs.size(); ++i) {
    const std::vector<std::string>& gives = signature_.inputs[i].gives;
    for (size_t element = 0; element < gives.size(); ++element) {
      const Known* const known = find(gives[element]);
      given_.push_back({.input = i, .element = element, .name = static_cast<size_t>(known - names_.data())});
    }
  }
}

Binder::Known* Binder::find(std::string_view name) {
  const auto at = std::ranges::lower_bound(names_, name, {}, &Known::name);
  return at == names_.end() || at->name != name ? nullptr : &*at;
}

const Binder::Known* Binder::find(std::string_view name) const { return const_cast<Binder*>(this)->find(name); }

void Binder::require_known(const Bindings& bindings) const {
  for (const auto& [name, size] : bindings) {
    if (find(name) == nullptr) {
      std::vector<std::string_view> names;
      std::ranges::transform(names_, std::back_inserter(names), &Known::name);
      fail("graph `{}` has no axis `{}` to bind to {}; it has {}", signature_.name, name, size,
           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
  }
}

std::vector<ConcreteInput> Binder::describe(std::span<const Operand> inputs) const {
  if (inputs.size() != signature_.inputs.size()) {
    fail("graph `{}` takes {} inputs, not {}", signature_.name, signature_.inputs.size(), inputs.size());
  }
  std::vector<ConcreteInput> described;
  for (size_t i = 0; i < inputs.size(); ++i) {
    described.push_back({.name = signature_.inputs[i].name,
                         .pattern = signature_.inputs[i].shape,
                         .dtype = inputs[i].dtype,
                         .dims = {inputs[i].dims.begin(), inputs[i].dims.end()}});
  }
  return described;
}

Bindings Binder::constrained(Bindings bindings, const Bindings& known) const {
  require_known(known);
  for (const auto& [name, size] : known) {
    bindings.set(name, size);
  }
  constraints_.check(bindings);
  return constraints_.complete(bindings);
}

/// What inputs give by their values, and what is known beside.
Bindings Binder::with_given(std::span<const Operand> inputs, const Bindings& known) const {
  Bindings result;
  for (const Given& given : given_) {
    const int64_t size = element_of(inputs[given.input], given.element);
    const std::string& name = names_[given.name].name;
    if (size < 0) {
      fail("input `{}` gives axis `{}` the size {}, which cannot be negative", signature_.inputs[given.input].name,
           name, size);
    }
    result.set(name, size);
  }
  for (const auto& [name, size] : known) {
    result.set(name, size);
  }
  return result;
}

Bindings Binder::bind(std::span<const Operand> inputs, const Bindings& known) const {
  Bindings found = extract(describe(inputs));
  return given_.empty() ? constrained(std::move(found), known)
                        : constrained(std::move(found), with_given(inputs, known));
}

Bindings Binder::bind_ahead(const Bindings& bindings, std::vector<int64_t>& key) const {
  require_known(bindings);
  const Bindings complete = constraints_.complete(bindings);
  std::vector<ConcreteInput> inputs;
  std::vector<Operand> operands;
  inputs.reserve(signature_.inputs.size());
  for (const SignatureInput& input : signature_.inputs) {
    const Shape shape = resolve(input.shape, complete);
    inputs.push_back({.name = input.name, .pattern = input.shape, .dtype = shape.dtype(), .dims = shape.dims()});
    operands.push_back({.dtype = shape.dtype(), .dims = inputs.back().dims});
  }
  Bindings found = extract(inputs);
  Bindings others;
  for (const auto& [name, size] : bindings) {
    if (!found.find(name)) {
      others.set(name, size);
    }
  }
  TENON_CHECK(this->key(operands, others, key), "resolved shapes have no key");
  return constrained(std::move(found), bindings);
}

bool Binder::key(std::span<const Operand> inputs, const Bindings& known, std::vector<int64_t>& key) const {
  key.resize(key_size_);
  if (inputs.size() != signature_.inputs.size()) {
    return false;
  }
  size_t filled = 0;
  auto rule = rules_.begin();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& pattern = signature_.inputs[i].shape;
    if (inputs[i].dtype != pattern.dtype() || std::ssize(inputs[i].dims) != pattern.rank()) {
      return false;
    }
    for (const int64_t size : inputs[i].dims) {
      const AxisRule& r = *rule++;
      if (r.kind == AxisRule::Kind::goes_into_key) {
        key[filled++] = size;
      } else if (size != (r.kind == AxisRule::Kind::constant ? r.value : key[static_cast<size_t>(r.value)])) {
        return false;
      }
    }
  }
  std::fill(key.begin() + static_cast<std::ptrdiff_t>(filled), key.end(), kNotGiven);
  for (const Given& given : given_) {
    if (inputs[given.input].data == nullptr) {
      continue;  // ahead of a run `known` has them
    }
    int64_t& place = key[names_[given.name].place];
    const int64_t size = element_of(inputs[given.input], given.element);
    if (size < 0 || (place != kNotGiven && place != size)) {
      return false;
    }
    place = size;
  }
  for (const auto& [name, size] : known) {
    const Known* const found = find(name);
    if (found == nullptr || (key[found->place] != kNotGiven && key[found->place] != size)) {
      return false;
    }
    key[found->place] = size;
  }
  return true;
}

}  // namespace tenon::runtime
