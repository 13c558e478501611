#include "tensor/record/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/fail.h"
#include "shape/not_representable.h"

namespace tenon::tensors {
namespace {

constexpr std::string_view kUnnamed = "n";

/// What is known of a number that came from one place.
struct GivenNumber {
  int64_t size = 0;
  int64_t below = 0;  // the size of an axis, when it first came
  bool size_changed = false;
  bool below_changed = false;
};

/// Never destroyed: tensors in static variables may die after main.
struct SymbolTable {
  std::mutex mutex;
  std::map<std::pair<std::string, int64_t>, Extent, std::less<>> symbols;
  std::unordered_map<std::string, SymbolInfo> infos;
  /// Sizes that arrays had where they came from: -1 for those that changed.
  std::map<std::tuple<UserLine, Dtype, int>, std::vector<int64_t>> places;
  /// ... and sizes that were given as numbers, by place and position.
  std::map<std::pair<UserLine, int>, GivenNumber> numbers;
};
SymbolTable& symbol_table() {
  static auto& instance = *new SymbolTable;
  return instance;
}

std::atomic<UserLineSource>& user_line_source() {
  static std::atomic<UserLineSource> source{nullptr};
  return source;
}

}  // namespace

LazySettings& lazy_settings() {
  thread_local LazySettings settings;
  return settings;
}

UserLine user_line(const std::source_location& where) {
  const LazySettings& settings = lazy_settings();
  if (!settings.file.empty()) {
    return {settings.file, settings.line};
  }
  const UserLineSource source = user_line_source().load();
  UserLine said = source == nullptr ? UserLine() : source();
  return said.file.empty() ? UserLine{where.file_name(), where.line(), where.column()} : std::move(said);
}

void set_user_line_source(UserLineSource source) { user_line_source() = source; }

Extent symbol(std::string_view base, int64_t size) {
  SymbolTable& all = symbol_table();
  const std::lock_guard lock(all.mutex);
  const auto [at, fresh] = all.symbols.try_emplace({std::string(base), size});
  if (fresh) {
    std::string name(base);
    if (all.infos.contains(name)) {
      name = fmt::format("{}~{}", base, size);
    }
    all.infos.emplace(name, SymbolInfo{std::string(base), size});
    at->second = Extent::name(name);
  }
  return at->second;
}

std::optional<SymbolInfo> symbol_info(std::string_view name) {
  SymbolTable& all = symbol_table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.infos.find(std::string(name));
  return found == all.infos.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> size_of(const Extent& extent) {
  if (extent.is_constant()) {
    return extent.constant();
  }
  bool all_known = true;
  const auto lookup = [&](std::string_view name) -> std::optional<int64_t> {
    const auto info = symbol_info(name);
    all_known &= info.has_value();
    return info ? info->size : 1;
  };
  try {
    const int64_t size = extent.evaluate(lookup);
    return all_known ? std::optional(size) : std::nullopt;
  } catch (const NotRepresentable&) {
    return {};
  }
}

bool holds(const Constraint& constraint) {
  const auto lhs = size_of(constraint.lhs);
  const auto rhs = size_of(constraint.rhs);
  if (!lhs || !rhs) {
    return true;
  }
  return decide({.kind = constraint.kind, .lhs = *lhs, .rhs = *rhs}) != Verdict::fails;
}

Shape named_shape(const Array& array, const std::vector<Axis>& axes) {
  const auto mismatch = [&] {
    fail("tensor: the array is {}[{}], the axes are {}", name(array.dtype()), fmt::join(array.dims(), ", "),
         Shape(array.dtype(), axes).to_string());
  };
  if (axes.size() != array.dims().size()) {
    mismatch();
  }
  std::vector<Axis> named;
  std::map<std::string, int64_t> given;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = array.dims()[i];
    const Axis& axis = axes[i];
    if (axis.is_anonymous()) {
      named.emplace_back(symbol(kUnnamed, size));
    } else if (const auto bare = axis.extent().as_name()) {
      if (!given.emplace(*bare, size).second && given.at(*bare) != size) {
        mismatch();
      }
      named.emplace_back(symbol(symbol_info(*bare) ? symbol_info(*bare)->base : *bare, size));
    } else {
      if (size_of(axis.extent()) != size) {
        mismatch();
      }
      named.push_back(axis);
    }
  }
  return {array.dtype(), std::move(named)};
}

Shape shape_from(const Array& array, const std::source_location& where) {
  std::vector<Axis> axes(array.dims().begin(), array.dims().end());
  std::vector<int64_t> seen;
  {
    SymbolTable& all = symbol_table();
    const std::lock_guard lock(all.mutex);
    const auto [at, fresh] = all.places.try_emplace({user_line(where), array.dtype(), array.rank()}, array.dims());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (at->second[i] != array.dims()[i]) {
        at->second[i] = -1;
      }
    }
    seen = at->second;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (seen[i] == -1) {
      axes[i] = Axis(symbol(kUnnamed, array.dims()[i]));
    }
  }
  return {array.dtype(), std::move(axes)};
}

Extent size_from(int64_t size, int position, const std::source_location& where, const std::optional<Extent>& whole) {
  const auto whole_size = whole ? size_of(*whole) : std::nullopt;
  const int64_t below = whole_size.value_or(size) - size;
  GivenNumber seen;
  {
    SymbolTable& all = symbol_table();
    const std::lock_guard lock(all.mutex);
    GivenNumber& known = all.numbers.try_emplace({user_line(where), position}, GivenNumber{size, below}).first->second;
    known.size_changed |= known.size != size;
    known.below_changed |= known.below != below || !whole_size;
    seen = known;
  }
  if (!seen.size_changed) {
    return size;
  }
  return seen.below_changed ? symbol(kUnnamed, size) : *whole - below;
}

Shape shape_of_result(const Array& array, const Shape& shape) {
  std::vector<Axis> axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const Axis& axis = shape.axis(i);
    const auto name = axis.extent().as_name();
    const bool stays = axis.extent().is_constant() || (name && symbol_info(*name));
    axes.push_back(stays ? axis : Axis(symbol(kUnnamed, array.dims()[static_cast<size_t>(i)])));
  }
  return {array.dtype(), std::move(axes)};
}

}  // namespace tenon::tensors

namespace tenon {

WithLazySettings::WithLazySettings(LazySettings settings)
    : previous_(std::exchange(tensors::lazy_settings(), std::move(settings))) {}
WithLazySettings::~WithLazySettings() { tensors::lazy_settings() = std::move(previous_); }

}  // namespace tenon
