#include "mesh/parts/mesh_shape.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/fail.h"

namespace tenon::mesh {
namespace {

constexpr int kMostRanks = 4096;

MeshAxis parse_axis(std::string_view word, std::string_view text) {
  const size_t equals = word.find('=');
  MeshAxis axis{.name = std::string(word.substr(0, equals)), .size = 0};
  if (equals != std::string_view::npos) {
    const std::string_view digits = word.substr(equals + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), axis.size);
    if (error != std::errc() || end != digits.data() + digits.size()) axis.size = 0;
  }
  if (axis.name.empty() || axis.size < 1) {
    fail("mesh `{}`: `{}` is not NAME=SIZE with a size of at least 1, as in `data=2,model=2`", text, word);
  }
  return axis;
}

}  // namespace

MeshShape MeshShape::parse(std::string_view text) {
  MeshShape mesh;
  int64_t ranks = 1;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    MeshAxis axis = parse_axis(text.substr(begin, end - begin), text);
    if (std::ranges::find(mesh.axes, axis.name, &MeshAxis::name) != mesh.axes.end()) {
      fail("mesh `{}`: the axis `{}` is there twice", text, axis.name);
    }
    ranks *= axis.size;
    if (ranks > kMostRanks) {
      fail("mesh `{}`: more than {} ranks", text, kMostRanks);
    }
    mesh.axes.push_back(std::move(axis));
    begin = end + 1;
  }
  return mesh;
}

std::string MeshShape::to_string() const {
  std::string text;
  for (const MeshAxis& axis : axes) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text;
}

int MeshShape::rank_count() const {
  int count = 1;
  for (const MeshAxis& axis : axes) {
    count *= axis.size;
  }
  return count;
}

std::vector<int> MeshShape::coordinates(int rank) const {
  std::vector<int> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return result;
}

int MeshShape::find(std::string_view name) const {
  const auto found = std::ranges::find(axes, name, &MeshAxis::name);
  if (found == axes.end()) {
    fail("the mesh {} has no axis `{}`", to_string(), name);
  }
  return static_cast<int>(found - axes.begin());
}

}  // namespace tenon::mesh
