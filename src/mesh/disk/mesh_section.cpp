#include "mesh/disk/mesh_section.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/fail.h"
#include "kernel/loop/loop_fields.h"

namespace tenon::bytes {
template <>
inline constexpr int kLast<mesh::CollectiveKind> = static_cast<int>(spellings(mesh::CollectiveKind()).size()) - 1;
template <>
inline constexpr int kLast<mesh::Placement::Kind> = static_cast<int>(mesh::Placement::Kind::partial);
}  // namespace tenon::bytes

namespace tenon {

static void fields(bytes::Writer& archive, Shape& shape) { archive.repeated(shape.to_string()); }
static void fields(bytes::Reader& archive, Shape& shape) { shape = archive.repeated<Shape>(Shape::parse); }
static void fields(auto& archive, SignatureInput& x) { archive(x.name, x.shape, x.gives); }
static void fields(auto& archive, SignatureOutput& x) { archive(x.name, x.shape); }
static void fields(auto& archive, Signature& x) { archive(x.name, x.inputs, x.outputs); }

namespace saved {
static void fields(auto& archive, ConstantReference& x) { archive(x.number, x.dtype, x.dims); }
}  // namespace saved

namespace mesh {

static void fields(auto& archive, Reach& x) { archive(x.stride, x.low, x.span, x.size); }
static void fields(auto& archive, Cut& x) { archive(x.parts, x.unit, x.reach); }
static void fields(auto& archive, Placement& x) { archive(x.kind, x.axis, x.cut, x.op); }
static void fields(auto& archive, Collective& x) {
  archive(x.kind, x.mesh_axis, x.from, x.to, x.whole, x.level, x.is_late, x.depth, x.of, x.reason);
}
static void fields(auto& archive, SegmentPlan& x) { archive(x.takes, x.gives, x.collectives); }
static void fields(auto& archive, SavedValue& x) { archive(x.input, x.constant); }
static void fields(auto& archive, SavedRank& x) {
  archive(x.segments, x.parts, x.outputs, x.sources, x.results, x.value_count, x.collective_bytes, x.values);
}
static void fields(auto& archive, MeshSection& x) {
  archive(x.mesh, x.shard, x.whole, x.sizes, x.input_layouts, x.output_layouts, x.collectives, x.ranks);
}

namespace {

void require(bool holds, std::string_view what) {
  if (!holds) fail("what it says of the ranks of its mesh does not hold together: {}", what);
}

bool are_below(const std::vector<size_t>& numbers, size_t end) {
  return std::ranges::all_of(numbers, [&](size_t each) { return each < end; });
}

bool fits(const Placement& placement, const Shape& shape) {
  return !placement.is_split() || (placement.axis >= 0 && placement.axis < shape.rank());
}

bool fits(const Layout& layout, const Shape& shape, const MeshShape& mesh) {
  return layout.size() == mesh.axes.size() &&
         std::ranges::all_of(layout, [&](const Placement& each) { return fits(each, shape); });
}

void verify_rank(const SavedRank& rank, const MeshSection& section) {
  const size_t values = rank.value_count;
  const size_t collectives = section.collectives.size();
  require(values >= section.whole.inputs.size(), "inputs without values");
  require(rank.parts.size() == rank.segments.size(), "segments and graphs");
  require(rank.outputs.size() == section.whole.outputs.size() && are_below(rank.outputs, values), "outputs");
  require(rank.sources.size() == collectives && are_below(rank.sources, values) && rank.results.size() == collectives &&
              are_below(rank.results, values) && rank.collective_bytes.size() == collectives,
          "what is sent");
  std::vector<int> starts(collectives, 0);
  for (size_t s = 0; s < rank.segments.size(); ++s) {
    const SegmentPlan& segment = rank.segments[s];
    require(are_below(segment.takes, values) && are_below(segment.gives, values), "values of a segment");
    require(are_below(segment.collectives, collectives), "collectives of a segment");
    require((rank.parts[s] >= 0) == !segment.gives.empty(), "a segment that gives something has a graph");
    for (const size_t each : segment.collectives) {
      ++starts[each];
    }
  }
  require(std::ranges::all_of(starts, [](int count) { return count == 1; }), "each collective starts once");
  for (const SavedValue& each : rank.values) {
    require(each.input < section.whole.inputs.size(), "a value of an input");
  }
}

void verify(const MeshSection& section) {
  const MeshShape mesh = MeshShape::parse(section.mesh);
  require(section.ranks.size() == static_cast<size_t>(mesh.rank_count()), "the number of ranks");
  require(section.input_layouts.size() == section.whole.inputs.size() &&
              section.output_layouts.size() == section.whole.outputs.size(),
          "layouts");
  for (size_t i = 0; i < section.input_layouts.size(); ++i) {
    require(fits(section.input_layouts[i], section.whole.inputs[i].shape, mesh), "the layout of an input");
  }
  for (size_t i = 0; i < section.output_layouts.size(); ++i) {
    require(fits(section.output_layouts[i], section.whole.outputs[i].shape, mesh), "the layout of an output");
  }
  for (const Collective& each : section.collectives) {
    require(each.mesh_axis < mesh.axes.size() && fits(each.from, each.whole) && fits(each.to, each.whole),
            "a collective");
  }
  for (const SavedRank& rank : section.ranks) {
    verify_rank(rank, section);
  }
}

}  // namespace

std::vector<std::byte> to_bytes(const MeshSection& section) {
  MeshSection copy = section;
  bytes::Writer writer;
  writer(copy);
  return writer.take();
}

MeshSection mesh_section_from_bytes(std::span<const std::byte> bytes) {
  bytes::Reader reader(bytes);
  MeshSection section;
  reader(section);
  reader.end();
  verify(section);
  return section;
}

}  // namespace mesh
}  // namespace tenon
