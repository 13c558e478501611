// Sizes: extents as arithmetic on the shapes of inputs, and the views that take sizes.
#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "ir/data_axes.h"
#include "onnx/export/export_writer.h"
#include "ops/axes.h"
#include "shape/constraint_set.h"
#include "shape/extent_walk.h"
#include "tenon/assumptions.h"

namespace tenon::exporter {
namespace {

/// A tensor and what it is the size of.
struct Size {
  std::string tensor;
  Extent extent;
};

/// Writes an extent's arithmetic.
struct SizeMachine {
  using Value = Size;
  OnnxWriter& to;
  const std::function<std::string(const std::string&)>& size_of_name;

  Value constant(int64_t value) { return {to.ints({value}), value}; }
  Value name(const std::string& axis) { return {size_of_name(axis), Extent::name(axis)}; }
  Value add(const Value& a, const Value& b) { return {to.node("Add", {a.tensor, b.tensor}), a.extent + b.extent}; }
  Value multiply(const Value& a, const Value& b) { return {to.node("Mul", {a.tensor, b.tensor}), a.extent * b.extent}; }
  Value scale(const Value& a, int64_t by) { return multiply(a, constant(by)); }
  Value offset(const Value& a, int64_t by) { return add(a, constant(by)); }
  Value min(const Value& a, const Value& b) {
    return {to.node("Min", {a.tensor, b.tensor}), tenon::min(a.extent, b.extent)};
  }
  Value max(const Value& a, const Value& b) {
    return {to.node("Max", {a.tensor, b.tensor}), tenon::max(a.extent, b.extent)};
  }

  /// ONNX's quotient rounds toward zero: it is the floor of what is not negative. Multiples of the divisor make a
  /// dividend so that is bounded below.
  Value floordiv(const Value& a, const Value& b) {
    const Extent whole = tenon::floordiv(a.extent, b.extent);
    const std::optional<int64_t> least = Assumptions().range(a.extent).low;
    if (least && proves_at_least(b.extent, 1) && *least < 0 && *least > -kMostShift) {
      const Value shifted = add(a, scale(b, -*least));
      return {to.node("Add", {to.node("Div", {shifted.tensor, b.tensor}), to.ints({*least})}), whole};
    }
    if (least && *least >= 0 && proves_at_least(b.extent, 0)) {
      return {to.node("Div", {a.tensor, b.tensor}), whole};
    }
    // Less its remainder, which has the sign of the divisor, a dividend is a multiple.
    return {to.node("Div", {to.node("Sub", {a.tensor, to.node("Mod", {a.tensor, b.tensor})}), b.tensor}), whole};
  }
  static constexpr int64_t kMostShift = int64_t{1} << 20;
};

std::optional<std::vector<int64_t>> constants(const std::vector<Extent>& extents) {
  std::vector<int64_t> values;
  for (const Extent& extent : extents) {
    if (!extent.is_constant()) {
      return std::nullopt;
    }
    values.push_back(*extent.constant());
  }
  return values;
}

}  // namespace

std::string OnnxWriter::size(const Extent& extent) {
  const std::function<std::string(const std::string&)> by_name = [&](const std::string& name) {
    return name_size(name);
  };
  SizeMachine machine{*this, by_name};
  return algebra::walk(extent, machine).tensor;
}

std::optional<std::string> OnnxWriter::size_from_inputs(const std::string& name) {
  for (const Value& value : graph_.inputs()) {
    for (int axis = 0; axis < value.rank(); ++axis) {
      if (value.extent(axis).as_name() == name) {
        return node("Shape", {tensor(value)}, {{"start", int64_t{axis}}, {"end", int64_t{axis} + 1}});
      }
    }
  }
  // An expression that is linear in the name, with other names that are known.
  const Extent unknown = Extent::name(name);
  for (const Value& value : graph_.inputs()) {
    for (int axis = 0; axis < value.rank(); ++axis) {
      const Extent& extent = value.extent(axis);
      const Extent rest = extent.substitute({{name, 0}});
      const Extent factor = extent.substitute({{name, 1}}) - rest;
      const auto names = (rest + factor).names();
      const bool circular = std::ranges::any_of(names, [&](const std::string& n) { return solving_.contains(n); });
      if (factor != Extent(0) && rest + factor * unknown == extent && !circular) {
        const std::string whole =
            node("Shape", {tensor(value)}, {{"start", int64_t{axis}}, {"end", int64_t{axis} + 1}});
        const std::string part = rest == Extent(0) ? whole : node("Sub", {whole, size(rest)});
        return factor == Extent(1) ? part : node("Div", {part, size(factor)});
      }
    }
  }
  return std::nullopt;
}

/// What decides the size has been written: nodes that need a name come behind the one that binds it.
std::optional<std::string> OnnxWriter::size_from_data(const std::string& name) {
  for (const Node* node : graph_.nodes()) {
    if (bound_axis(*node) == name) {
      return this->node("Shape", {tensor(Value(node, 0))});
    }
  }
  return std::nullopt;
}

std::string OnnxWriter::name_size(const std::string& name) {
  solving_.insert(name);
  std::optional<std::string> found = size_from_data(name);
  if (!found) {
    found = size_from_inputs(name);
  }
  if (!found) {
    // Another name that the graph's constraints make equal, or an expression of others.
    const auto& substitutions = graph_.constraints().substitutions();
    if (const auto other = substitutions.find(name); other != substitutions.end()) {
      found = size(other->second);
    }
  }
  solving_.erase(name);
  if (found) {
    return *found;
  }
  auto& extra = extra_inputs_[name];
  if (extra.empty()) {
    extra = fresh(name);
    describe(*main_.add_input(), extra, Shape(i64, {}));
  }
  return node("Unsqueeze", {extra, ints({0})});
}

std::string OnnxWriter::scalar_size(const Extent& extent) {
  if (const auto value = extent.constant()) {
    return constant(Array::from<int64_t>({}, {*value}));
  }
  return squeeze(size(extent), {0});
}

std::string OnnxWriter::sizes(const std::vector<Extent>& extents) {
  if (const auto values = constants(extents)) {
    return ints(*values);
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < extents.size();) {
    std::vector<int64_t> run;  // constants side by side are one tensor
    for (; i < extents.size() && extents[i].is_constant(); ++i) {
      run.push_back(*extents[i].constant());
    }
    if (!run.empty()) {
      parts.push_back(ints(run));
    } else {
      parts.push_back(size(extents[i++]));
    }
  }
  return parts.size() == 1 ? parts[0] : node("Concat", parts, {{"axis", int64_t{0}}});
}

std::string OnnxWriter::sizes_of(const Shape& shape) { return sizes(extents_of(shape.axes())); }

std::string OnnxWriter::reshape(const std::string& x, const std::vector<Extent>& to) {
  // A 0 is a size only where the operator is told so; one size that is not known follows from the others.
  const auto unknown = std::ranges::count_if(to, [](const Extent& extent) { return !extent.is_constant(); });
  const bool has_zero = std::ranges::find(to, Extent(0)) != to.end();
  if (unknown > 1 || has_zero) {
    return node("Reshape", {x, sizes(to)}, {{"allowzero", int64_t{1}}});
  }
  std::vector<int64_t> known;
  for (const Extent& extent : to) {
    known.push_back(extent.constant().value_or(-1));
  }
  return node("Reshape", {x, ints(known)});
}

std::string OnnxWriter::transpose(const std::string& x, const std::vector<int>& axes) {
  if (std::ranges::is_sorted(axes)) {
    return x;
  }
  return node("Transpose", {x}, {{"perm", std::vector<int64_t>(axes.begin(), axes.end())}});
}

std::string OnnxWriter::unsqueeze(const std::string& x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : node("Unsqueeze", {x, ints(axes)});
}

std::string OnnxWriter::squeeze(const std::string& x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : node("Squeeze", {x, ints(axes)});
}

std::string OnnxWriter::slice(const std::string& x, const std::vector<Extent>& starts, const std::vector<Extent>& ends,
                              const std::vector<int64_t>& axes, const std::vector<int64_t>& steps) {
  return axes.empty() ? x : node("Slice", {x, sizes(starts), sizes(ends), ints(axes), ints(steps)});
}

std::string OnnxWriter::expand(const std::string& x, const Shape& to) {
  return to.rank() == 0 ? x : node("Expand", {x, sizes_of(to)});
}

std::string OnnxWriter::pad(const std::string& x, const Shape& shape, const std::vector<Extent>& low,
                            const std::vector<Extent>& high, const Array& fill) {
  std::vector<Extent> amounts;
  std::vector<Extent> starts;
  std::vector<Extent> ends;
  std::vector<int64_t> cropped;
  const auto added = [](const Extent& amount) { return proves_at_least(amount, 0) ? amount : max(amount, 0); };
  const auto cut = [&](const Extent& amount) { return added(amount) - amount; };
  for (const auto* side : {&low, &high}) {
    std::ranges::transform(*side, std::back_inserter(amounts), added);
  }
  for (size_t i = 0; i < low.size(); ++i) {
    if (cut(low[i]) != Extent(0) || cut(high[i]) != Extent(0)) {
      cropped.push_back(static_cast<int64_t>(i));
      starts.push_back(cut(low[i]));
      ends.push_back(shape.extent(static_cast<int>(i)) - cut(high[i]));
    }
  }
  const std::string inside = slice(x, starts, ends, cropped, std::vector<int64_t>(cropped.size(), 1));
  if (std::ranges::all_of(amounts, [](const Extent& amount) { return amount == Extent(0); })) {
    return inside;
  }
  return node("Pad", {inside, sizes(amounts), constant(fill)}, {{"mode", std::string("constant")}});
}

}  // namespace tenon::exporter
