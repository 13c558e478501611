#include <algorithm>
#include <set>

#include "base/fail.h"
#include "build/make_program.h"
#include "compiler/lowered.h"
#include "mesh/disk/mesh_file.h"
#include "mesh/run/bind_given.h"
#include "mesh/run/pieces.h"
#include "mesh/split/program.h"
#include "saved/info_bytes.h"
#include "saved/write.h"

namespace tenon::mesh {
namespace {

class MeshWriter {
 public:
  MeshWriter(const Graph& graph, const MeshBuild& build) : graph_(graph), build_(build) {}

  saved::FileLayout run() {
    find_values();
    section_.mesh = build_.mesh.to_string();
    section_.shard = build_.sharding.to_string();
    for (int rank = 0; rank < build_.mesh.rank_count(); ++rank) {
      add_rank(cut_into_segments(shard(graph_, build_.mesh, build_.sharding, rank, build_.shard)));
    }
    saved::FileLayout layout;
    layout.add(saved::SectionKind::info, -1, saved::to_bytes(info()));
    add_values(layout);
    layout.add(saved::SectionKind::mesh, -1, to_bytes(section_));
    for (size_t i = 0; i < parts_.size(); ++i) {
      layout.add(saved::SectionKind::part, static_cast<int32_t>(i), std::move(parts_[i].bytes));
    }
    layout.finish();
    return layout;
  }

 private:
  /// A graph that some ranks run, compiled.
  struct Part {
    size_t segment = 0;
    Graph graph;
    std::vector<std::byte> bytes;
  };

  void find_values() {
    for (const auto& [name, value] : build_.values) {
      if (std::ranges::find(graph_.inputs(), name, &Value::name) == graph_.inputs().end()) {
        fail("there is a value of `{}`, and graph `{}` has no such input", name, graph_.name());
      }
    }
    for (const Value& input : graph_.inputs()) {
      const auto found = build_.values.find(input.name());
      values_.push_back(found == build_.values.end() ? nullptr : &found->second);
    }
    sizes_ = bind_given(signature_of(graph_), graph_.constraints(), values_);
    section_.sizes = sizes_.to_string();
  }

  void add_rank(RankProgram program) {
    RankPlan& plan = program.plan;
    SavedRank rank;
    for (size_t s = 0; s < plan.segments.size(); ++s) {
      rank.parts.push_back(plan.segments[s].gives.empty() ? -1 : part_of_segment(s, program.graphs[s]));
    }
    for (const Collective& each : plan.collectives) {
      rank.collective_bytes.push_back(each.bytes);
    }
    rank.segments = std::move(plan.segments);
    rank.outputs = std::move(plan.outputs);
    rank.sources = std::move(plan.sources);
    rank.results = std::move(plan.results);
    rank.value_count = plan.value_count;
    if (section_.ranks.empty()) {
      section_.whole = std::move(plan.whole);
      section_.input_layouts = std::move(plan.input_layouts);
      section_.output_layouts = std::move(plan.output_layouts);
      section_.collectives = std::move(plan.collectives);
    }
    section_.ranks.push_back(std::move(rank));
  }

  /// The number of the part that has the graph. Ranks of equal sizes have equal graphs.
  int part_of_segment(size_t segment, const Graph& graph) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].segment == segment && parts_[i].graph == graph) return static_cast<int>(i);
    }
    BuildOptions options = build_.build;
    options.metadata.clear();
    options.usual = {};
    const saved::SavedProgram program = make_program(graph, options);
    machines_.clear();
    for (const saved::MachineProgram& each : program.machines) {
      machines_.push_back({.machine = each.machine, .code = each.code.description});
    }
    parts_.push_back({.segment = segment, .graph = graph, .bytes = saved::program_bytes(program)});
    return static_cast<int>(parts_.size()) - 1;
  }

  /// Each part of a weight that some ranks have is in the file once.
  void add_values(saved::FileLayout& layout) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == nullptr) continue;
      const Array value = *values_[i];
      std::map<std::vector<int>, saved::ConstantReference> known;  // by where ranks are along axes that split it
      for (size_t rank = 0; rank < section_.ranks.size(); ++rank) {
        const std::vector<int> coordinates = build_.mesh.coordinates(static_cast<int>(rank));
        std::vector<int> where;
        for (size_t m = 0; m < coordinates.size(); ++m) {
          where.push_back(section_.input_layouts[i][m].is_split() ? coordinates[m] : 0);
        }
        const auto [found, is_new] = known.try_emplace(where);
        if (is_new) found->second = add_value(layout, value, section_.input_layouts[i], coordinates);
        section_.ranks[rank].values.push_back({.input = i, .constant = found->second});
      }
    }
  }

  saved::ConstantReference add_value(saved::FileLayout& layout, const Array& value, const Layout& lies,
                                     const std::vector<int>& coordinates) const {
    const auto make = [value, lies, coordinates, mesh = build_.mesh, sizes = sizes_] {
      return mesh::part_of(value, lies, mesh, coordinates, sizes);
    };
    const bool is_split = std::ranges::any_of(lies, &Placement::is_split);
    return {.number = is_split ? layout.number_of_made(make) : layout.number_of(value),
            .dtype = value.dtype(),
            .dims = is_split ? make().dims() : value.dims()};
  }

  ProgramFileInfo info() const {
    ProgramFileInfo info = describe_program(graph_, build_.build);
    std::vector<ProgramFileInput> given;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == nullptr) given.push_back(info.inputs[i]);
    }
    info.inputs = std::move(given);
    for (ProgramFileOutput& output : info.outputs) {
      output.aliases = -1;
    }
    info.axes = compiler::names_of(graph_);
    info.constraints = graph_.constraints().added();
    info.machines = machines_;
    for (const auto& [key, text] : {std::pair("mesh", section_.mesh), std::pair("shard", section_.shard)}) {
      if (!info.metadata.emplace(key, text).second) {
        fail("metadata `{}` cannot be `{}`: Tenon writes it itself; take another name", key, info.metadata.at(key));
      }
    }
    return info;
  }

  const Graph& graph_;
  const MeshBuild& build_;
  std::vector<const Array*> values_;  // of inputs, null where runs are given it
  Bindings sizes_;
  MeshSection section_;
  std::vector<Part> parts_;
  std::vector<ProgramFileMachine> machines_;
};

}  // namespace

void write_mesh_program(const Graph& graph, const std::string& path, const MeshBuild& build) {
  const saved::FileLayout layout = MeshWriter(graph, build).run();
  const auto progress = [&](int64_t done, int64_t of) {
    if (build.build.progress) build.build.progress({.what = "writing", .machine = "", .done = done, .of = of});
  };
  progress(0, 0);
  saved::write_file(layout, path, {.progress = progress});
}

}  // namespace tenon::mesh
