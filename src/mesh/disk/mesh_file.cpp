#include "mesh/disk/mesh_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/fail.h"
#include "saved/file_constants.h"
#include "saved/file_info.h"
#include "tenon/program_file.h"

namespace tenon::mesh {
namespace {

/// An error of what is inside of the file names the file.
template <class Body>
auto naming(const saved::CheckedFile& file, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(fmt::format("`{}`", file.name()))) throw;
    fail("`{}` cannot be loaded: {}", file.name(), error.what());
  }
}

MeshSection section_of(const saved::CheckedFile& file) {
  if (file.find(saved::SectionKind::mesh) == nullptr) {
    fail("`{}` is a program that was built for one process; `tenon build --mesh` makes one for the ranks of a mesh",
         file.name());
  }
  return naming(file, [&] { return mesh_section_from_bytes(file.section(saved::SectionKind::mesh)); });
}

}  // namespace

MeshFile::MeshFile(const std::string& path)
    : file_(saved::CheckedFile::open(path)), info_(saved::info_of(file_)), section_(section_of(file_)) {
  mesh_ = MeshShape::parse(section_.mesh);
}

LoadedRank MeshFile::load(int rank, int threads, bool verify) const {
  return naming(file_, [&] {
    const SavedRank& own = section_.ranks.at(static_cast<size_t>(rank));
    LoadedRank loaded{.plan = {.mesh = mesh_,
                               .coordinates = mesh_.coordinates(rank),
                               .whole = section_.whole,
                               .constraints = {},
                               .input_layouts = section_.input_layouts,
                               .output_layouts = section_.output_layouts,
                               .collectives = section_.collectives,
                               .segments = own.segments,
                               .outputs = own.outputs,
                               .sources = own.sources,
                               .results = own.results,
                               .value_count = own.value_count,
                               .fingerprint = file_.header().check},
                      .runs = {},
                      .values = std::vector<std::optional<Array>>(section_.whole.inputs.size()),
                      .sizes = Bindings::parse(section_.sizes),
                      .shard = section_.shard};
    for (const Constraint& each : info_.constraints) {
      loaded.plan.constraints.add(each);
    }
    for (size_t i = 0; i < own.collective_bytes.size(); ++i) {
      loaded.plan.collectives[i].bytes = own.collective_bytes[i];
    }
    for (size_t s = 0; s < own.parts.size(); ++s) {
      if (own.parts[s] < 0) {
        loaded.runs.emplace_back();
        continue;
      }
      const saved::CheckedFile part = file_.part(own.parts[s], file_.name());
      const std::vector<std::string> names = saved::info_of(part).axes;
      const Executable executable = saved::load(part, {.verify = verify});
      if (executable.inputs().size() != own.segments[s].takes.size() ||
          executable.outputs().size() != own.segments[s].gives.size()) {
        fail("its part {} is of another graph than its mesh says", own.parts[s]);
      }
      loaded.runs.push_back(running(executable, {names.begin(), names.end()}, threads));
    }
    saved::FileConstants constants(file_);
    for (const SavedValue& each : own.values) {
      loaded.values[each.input] = constants(each.constant);
    }
    if (verify) constants.verify();
    return loaded;
  });
}

}  // namespace tenon::mesh
