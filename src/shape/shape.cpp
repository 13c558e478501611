#include "tenon/shape.h"

#include <algorithm>

#include "base/checked.h"
#include "base/hash.h"
#include "base/refused.h"

namespace tenon {
namespace {

/// The size of a static axis, or an Error that says which axis of which shape has none.
int64_t known_size(const Shape& shape, int index, std::string_view wanted) {
  const Axis& axis = shape.axis(index);
  if (axis.is_anonymous()) {
    refuse("{} of {}: axis {} is anonymous", wanted, shape.to_string(), index);
  }
  if (const std::optional<int64_t> size = axis.extent().constant()) {
    return *size;
  }
  refuse("{} of {}: axis `{}` is not bound", wanted, shape.to_string(), axis.to_string());
}

}  // namespace

bool is_generated_name(std::string_view name) { return name.find('.') != std::string_view::npos; }

Axis::Axis(std::in_place_t, int64_t size) {
  if (size < -1) {
    refuse("axis size {} is negative", size);
  }
  if (size >= 0) {
    extent_ = Extent(size);
  }
}

Axis::Axis(std::string_view text) : Axis(parse(text)) {}

Axis::Axis(Extent extent) : Axis(named("", std::move(extent))) {}

Axis Axis::named(std::string name, Extent extent) {
  if (const std::optional<int64_t> size = extent.constant(); size && *size < 0) {
    if (name.empty()) {
      refuse("axis size {} is negative", *size);
    }
    refuse("axis `{}`: size {} is negative", name, *size);
  }
  if (extent.as_name() == name) {
    name.clear();
  }
  return Axis(std::move(name), std::move(extent));
}

Axis Axis::anonymous() { return Axis(std::string(), std::nullopt); }

void Axis::size_out_of_range() { refuse("axis size is above 2^63-1"); }

const Extent& Axis::extent() const {
  if (!extent_) {
    refuse("an anonymous axis has no extent");
  }
  return *extent_;
}

std::string Axis::name() const {
  if (!label_.empty() || !extent_) {
    return label_;
  }
  return extent_->as_name().value_or("");
}

Axis Axis::substitute(const std::map<std::string, Extent, std::less<>>& replacements) const {
  if (!extent_ || extent_->is_constant()) {
    return *this;
  }
  Extent replaced = extent_->substitute(replacements);
  std::string kept = label_;
  if (kept.empty() && !replaced.as_name()) {
    kept = extent_->as_name().value_or("");
    if (is_generated_name(kept)) {
      kept.clear();
    }
  }
  return named(std::move(kept), std::move(replaced));
}

uint64_t Axis::hash() const { return combine_hash(hash_bytes(label_), extent_ ? combine_hash(1, extent_->hash()) : 0); }

int Shape::normalize_axis(int index) const {
  const int normal = index < 0 ? index + rank() : index;
  if (normal < 0 || normal >= rank()) {
    refuse("axis {} is out of range for rank {}: {}", index, rank(), to_string());
  }
  return normal;
}

const Axis& Shape::axis(int index) const { return axes_[static_cast<size_t>(normalize_axis(index))]; }

const Extent& Shape::extent(int index) const {
  const Axis& found = axis(index);
  if (found.is_anonymous()) {
    refuse("axis {} of {} is anonymous", normalize_axis(index), to_string());
  }
  return found.extent();
}

bool Shape::is_dynamic() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return a.is_dynamic(); });
}

bool Shape::has_named_axes() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return !a.name().empty(); });
}

Extent Shape::element_count() const {
  Extent count = 1;
  for (int i = 0; i < rank(); ++i) {
    count = count * extent(i);
  }
  return count;
}

std::vector<int64_t> Shape::dims() const {
  std::vector<int64_t> result(axes_.size());
  for (int i = 0; i < rank(); ++i) {
    result[static_cast<size_t>(i)] = known_size(*this, i, "dims");
  }
  return result;
}

int64_t Shape::size() const {
  // All axes are read first: an unbound axis is an error also beside a 0, and a 0 decides before anything overflows.
  std::vector<int64_t> sizes(axes_.size());
  for (int i = 0; i < rank(); ++i) {
    sizes[static_cast<size_t>(i)] = known_size(*this, i, "size");
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) {
    return 0;
  }
  int64_t count = 1;
  for (const int64_t size : sizes) {
    const std::optional<int64_t> product = checked_mul(count, size);
    if (!product) {
      refuse("size of {} does not fit in 64 bits", to_string());
    }
    count = *product;
  }
  return count;
}

std::vector<int64_t> Shape::strides() const {
  std::vector<int64_t> result(axes_.size());
  int64_t stride = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    result[static_cast<size_t>(i)] = stride;
    const int64_t size = known_size(*this, i, "strides");
    if (i > 0) {
      const std::optional<int64_t> product = checked_mul(stride, size);
      if (!product) {
        refuse("strides of {} do not fit in 64 bits", to_string());
      }
      stride = *product;
    }
  }
  return result;
}

Shape Shape::substitute(const std::map<std::string, Extent, std::less<>>& replacements) const {
  std::vector<Axis> replaced;
  replaced.reserve(axes_.size());
  for (const Axis& a : axes_) {
    replaced.push_back(a.substitute(replacements));
  }
  return with_axes(std::move(replaced));
}

uint64_t Shape::hash() const {
  uint64_t hash = combine_hash(static_cast<uint64_t>(dtype_), axes_.size());
  for (const Axis& a : axes_) {
    hash = combine_hash(hash, a.hash());
  }
  return hash;
}

}  // namespace tenon
