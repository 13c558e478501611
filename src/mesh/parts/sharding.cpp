#include "mesh/parts/sharding.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/fail.h"

namespace tenon::mesh {
namespace {

/// The axis that `word` is of `shape`: a number, or a name that one axis has.
std::optional<int> find_axis(const Shape& shape, std::string_view word) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size()) {
    return number >= 0 && number < shape.rank() ? std::optional(number) : std::nullopt;
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.axis(i).name() == word) return i;
  }
  return std::nullopt;
}

/// Whether `text` is what `pattern` describes, in which `*` stands for any characters.
bool matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t skipped = star; skipped <= text.size(); ++skipped) {
    if (matches(rest, text.substr(skipped))) return true;
  }
  return false;
}

/// The axis of `input` that `key` names, as `input.axis`.
std::optional<int> named_axis(const Value& input, std::string_view key) {
  const std::string_view name = input.name();
  const size_t dot = key.rfind('.');
  if (dot != std::string_view::npos && key.find('*') != std::string_view::npos) {
    return matches(key.substr(0, dot), name) ? find_axis(input.shape(), key.substr(dot + 1)) : std::nullopt;
  }
  if (key.size() <= name.size() + 1 || !key.starts_with(name) || key[name.size()] != '.') return std::nullopt;
  return find_axis(input.shape(), key.substr(name.size() + 1));
}

}  // namespace

Sharding Sharding::parse(std::string_view text) {
  Sharding result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const size_t equals = word.rfind('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == word.size()) {
      fail("sharding `{}`: `{}` is not AXIS=MESH_AXIS, as in `batch=data` or `w.1=model`", text, word);
    }
    if (!result.along.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      fail("sharding `{}`: `{}` is there twice", text, word.substr(0, equals));
    }
    begin = end + 1;
  }
  return result;
}

std::string Sharding::to_string() const {
  std::string text;
  for (const auto& [key, axis] : along) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, axis);
  }
  return text;
}

std::vector<Layout> input_layouts(const Graph& graph, const MeshShape& mesh, const Sharding& sharding) {
  std::vector<Layout> layouts(graph.inputs().size(), whole_layout(mesh));
  for (const auto& [key, mesh_axis] : sharding.along) {
    const auto m = static_cast<size_t>(mesh.find(mesh_axis));
    bool is_used = false;
    for (size_t i = 0; i < layouts.size(); ++i) {
      const Value& input = graph.inputs()[i];
      std::optional<int> axis = named_axis(input, key);
      if (!axis) {
        const auto& axes = input.shape().axes();
        const auto found = std::ranges::find_if(axes, [&](const Axis& each) { return each.name() == key; });
        if (found == axes.end()) continue;
        axis = static_cast<int>(found - axes.begin());
      }
      is_used = true;
      if (!layouts[i][m].is_whole()) {
        fail("input `{}`: axes {} and {} would both lie along `{}` of the mesh", input.name(), layouts[i][m].axis,
             *axis, mesh_axis);
      }
      if (is_split_elsewhere(layouts[i], *axis, m)) {
        fail("input `{}`: axis {} would lie along two axes of the mesh", input.name(), *axis);
      }
      layouts[i][m] = Placement::split(*axis, Cut::of(input.extent(*axis), 1, mesh.axes[m].size));
    }
    if (!is_used) {
      std::set<std::string> names;
      for (const Value& input : graph.inputs()) {
        for (const Axis& axis : input.shape().axes()) {
          if (!axis.name().empty()) names.insert(axis.name());
        }
      }
      fail(
          "no input has an axis `{}` to lie along `{}`; names of axes are {}; INPUT.AXIS (`{}.0`) is one axis of an "
          "input",
          key, mesh_axis, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
          graph.inputs().empty() ? "x" : graph.inputs()[0].name());
    }
  }
  return layouts;
}

}  // namespace tenon::mesh
