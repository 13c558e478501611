// Axes and shapes: a dtype and positional axes whose sizes may be symbolic.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/dtype.h"
#include "tenon/extent.h"

namespace tenon {

/// One axis of a shape: an extent, and possibly a name for it. An immutable value.
///   `batch`       a bare name: the extent is the name
///   `seq+1`       an expression, without a name of its own
///   `hidden=768`  a label: a name for an extent that is not that name
///   `512`         a plain size
///   `-1`          anonymous: a size nobody has named yet; it has no extent, so it can enter no arithmetic
class Axis {
 public:
  /// Any integer: a size; -1 is anonymous, below -1 is an Error.
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  Axis(T size) : Axis(std::in_place, checked_size(size)) {}

  /// The text form; see parse().
  Axis(std::string_view text);
  Axis(const char* text) : Axis(std::string_view(text)) {}
  Axis(const std::string& text) : Axis(std::string_view(text)) {}

  /// Error for a negative constant: -1 is a sentinel in text and in integers, never in extents.
  Axis(Extent extent);

  /// An empty name, and a name that the extent is already, give the axis without a label.
  static Axis named(std::string name, Extent extent);
  static Axis anonymous();

  bool is_anonymous() const { return !extent_.has_value(); }
  /// Anonymous, or of an extent that is not constant.
  bool is_dynamic() const { return !extent_.has_value() || !extent_->is_constant(); }
  bool is_static() const { return !is_dynamic(); }

  /// Error for an anonymous axis.
  const Extent& extent() const;

  /// The label; for a bare name that name; otherwise "".
  std::string name() const;
  /// The label alone; "" for a bare name.
  const std::string& label() const { return label_; }

  /// Replace names in the extent. A bare name that becomes a constant or an expression stays as the label
  /// (`hidden` to `hidden=768`), unless it was generated for an anonymous axis.
  Axis substitute(const std::map<std::string, Extent, std::less<>>& replacements) const;

  /// The text form, which parse() reads back. A name that is no identifier stands in backticks.
  std::string to_string() const;
  static Axis parse(std::string_view text);

  friend bool operator==(const Axis&, const Axis&) = default;
  uint64_t hash() const;

 private:
  Axis(std::in_place_t, int64_t size);
  Axis(std::string label, std::optional<Extent> extent) : label_(std::move(label)), extent_(std::move(extent)) {}

  template <std::integral T>
  static int64_t checked_size(T size) {
    if (!std::in_range<int64_t>(size)) {
      size_out_of_range();
    }
    return static_cast<int64_t>(size);
  }
  [[noreturn]] static void size_out_of_range();

  std::string label_;
  std::optional<Extent> extent_;
};

/// Names with a '.' are generated for anonymous axes (`x.0`: axis 0 of input x). They adopt and broadcast where two
/// names that somebody chose would be an error.
bool is_generated_name(std::string_view name);

/// A dtype and positional axes. Position is identity: a name may occur twice. An immutable value.
class Shape {
 public:
  /// f32[], a scalar.
  Shape() = default;
  Shape(Dtype dtype, std::vector<Axis> axes) : dtype_(dtype), axes_(std::move(axes)) {}

  Dtype dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(axes_.size()); }
  const std::vector<Axis>& axes() const { return axes_; }

  /// A negative index counts from the end; out of range is an Error that names index, rank and shape.
  const Axis& axis(int index) const;
  /// As axis(); also an Error for an anonymous axis.
  const Extent& extent(int index) const;
  /// The index counted from the front, in [0, rank).
  int normalize_axis(int index) const;

  /// Some axis is anonymous or symbolic.
  bool is_dynamic() const;
  /// Some axis has a name, be it a bare name or a label.
  bool has_named_axes() const;
  /// Every size is known.
  bool is_concrete() const { return !is_dynamic(); }

  /// The product of all extents; Error when an axis is anonymous.
  Extent element_count() const;

  /// Sizes in numbers. Each is an Error that names the axis when the shape is not concrete, and when a number
  /// does not fit in 64 bits. A shape with an axis of size 0 has size 0.
  int64_t size() const;
  std::vector<int64_t> dims() const;
  /// Row-major, in elements.
  std::vector<int64_t> strides() const;

  Shape with_dtype(Dtype dtype) const { return {dtype, axes_}; }
  Shape with_axes(std::vector<Axis> axes) const { return {dtype_, std::move(axes)}; }
  /// Axis::substitute on every axis.
  Shape substitute(const std::map<std::string, Extent, std::less<>>& replacements) const;

  /// `f32[batch, seq+1, hidden=768]`. parse() reads it back; its errors carry the text and the column.
  std::string to_string() const;
  static Shape parse(std::string_view text);

  friend bool operator==(const Shape&, const Shape&) = default;
  uint64_t hash() const;

 private:
  Dtype dtype_ = Dtype::f32;
  std::vector<Axis> axes_;
};

/// shape(f32, "batch", 512, "hidden=768", seq + 1)
template <class... A>
Shape shape(Dtype dtype, A&&... axes) {
  return {dtype, std::vector<Axis>{Axis(std::forward<A>(axes))...}};
}

}  // namespace tenon
