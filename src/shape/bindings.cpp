#include "tenon/bindings.h"

#include <algorithm>
#include <charconv>

#include "base/fail.h"
#include "base/hash.h"
#include "base/refused.h"
#include "shape/extent_names.h"
#include "shape/shape_text.h"

namespace tenon {
namespace {

constexpr auto kNameBefore = [](const std::pair<std::string, int64_t>& a, std::string_view name) {
  return a.first < name;
};

[[noreturn]] void fail_unbound(std::string_view name, const Bindings& bindings) {
  if (bindings.empty()) {
    refuse("axis `{}` is not bound (nothing is)", name);
  }
  refuse("axis `{}` is not bound (bound: {})", name, bindings.to_string());
}

/// ` (seq=3)`: the bindings that an expression used, for a message that has shown the expression itself.
std::string used_bindings(const Extent& extent, const Bindings& bindings) {
  std::string text;
  for (const std::string& name : extent.names()) {
    text += fmt::format("{}{}={}", text.empty() ? " (" : ", ", algebra::quoted_name(name), bindings.at(name));
  }
  return text.empty() ? text : text + ")";
}

}  // namespace

Bindings::Bindings(std::initializer_list<std::pair<std::string_view, int64_t>> sizes) {
  for (const auto& [name, size] : sizes) {
    set(name, size);
  }
}

void Bindings::set(std::string_view name, int64_t size) {
  if (name.empty()) {
    fail("an axis without a name cannot be bound to {}", size);
  }
  if (size < 0) {
    refuse("axis `{}`: size {} is negative", name, size);
  }
  const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), name, kNameBefore);
  if (at == sizes_.end() || at->first != name) {
    sizes_.emplace(at, name, size);
  } else if (at->second != size) {
    refuse("axis `{}` is bound to {}, cannot be bound to {}", name, at->second, size);
  }
}

std::optional<int64_t> Bindings::find(std::string_view name) const {
  const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), name, kNameBefore);
  return at != sizes_.end() && at->first == name ? std::optional(at->second) : std::nullopt;
}

int64_t Bindings::at(std::string_view name) const {
  if (const std::optional<int64_t> size = find(name)) {
    return *size;
  }
  fail_unbound(name, *this);
}

uint64_t Bindings::hash() const {
  uint64_t hash = sizes_.size();
  for (const auto& [name, size] : sizes_) {
    hash = combine_hash(hash_bytes(name, hash), static_cast<uint64_t>(size));
  }
  return hash;
}

std::string Bindings::to_string() const {
  std::string text;
  for (const auto& [name, size] : sizes_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", algebra::quoted_name(name), size);
  }
  return text;
}

Bindings Bindings::parse(std::string_view text) {
  Bindings result;
  size_t at = skip_blanks(text, 0);
  while (at < text.size()) {
    const size_t end = expression_end(text, at, ",");
    const size_t equals = expression_end(text.substr(0, end), at, "=");
    if (equals == end) {
      fail_at(text, at, "expected name=size");
    }
    const std::optional<std::string> name = parse_extent_part(text, at, equals).as_name();
    if (!name) {
      fail_at(text, at, "expected the name of an axis");
    }
    const size_t value = skip_blanks(text, equals + 1);
    int64_t size = 0;
    const auto [stop, status] = std::from_chars(text.data() + value, text.data() + end, size);
    const size_t after = skip_blanks(text, static_cast<size_t>(stop - text.data()));
    if (value >= end || status != std::errc() || after != end) {
      fail_at(text, value, fmt::format("expected a size for `{}`, an integer from 0 to 9223372036854775807", *name));
    }
    result.set(*name, size);
    at = skip_blanks(text, end + 1);
    if (end < text.size() && at >= text.size()) {
      fail_at(text, text.size(), "expected name=size");
    }
  }
  return result;
}

int64_t evaluate(const Extent& extent, const Bindings& bindings) {
  return extent.evaluate([&](std::string_view name) -> std::optional<int64_t> { return bindings.at(name); });
}

int64_t resolve(const Extent& extent, const Bindings& bindings) {
  const int64_t size = evaluate(extent, bindings);
  if (size < 0) {
    refuse("axis `{}` is {}, cannot be negative{}", extent.to_string(), size, used_bindings(extent, bindings));
  }
  return size;
}

Shape resolve(const Shape& shape, const Bindings& bindings) {
  std::vector<Axis> axes;
  axes.reserve(shape.axes().size());
  for (int i = 0; i < shape.rank(); ++i) {
    const Axis& axis = shape.axis(i);
    if (axis.is_anonymous()) {
      fail("axis {} of {} is anonymous, no name binds it", i, shape.to_string());
    }
    try {
      axes.push_back(Axis::named(axis.name(), resolve(axis.extent(), bindings)));
    } catch (Error& error) {
      error.note(fmt::format("in axis {} of {}", i, shape.to_string()));
      throw;
    }
  }
  return shape.with_axes(std::move(axes));
}

}  // namespace tenon
