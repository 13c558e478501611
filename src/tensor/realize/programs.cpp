#include "tensor/realize/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "base/hash.h"
#include "base/refused.h"
#include "ir/data_axes.h"
#include "tenon/realizations.h"
#include "tenon/unsupported.h"
#include "tensor/realize/changing_numbers.h"
#include "tensor/realize/difference.h"
#include "tensor/realize/generalize.h"
#include "tensor/realize/interpret_small.h"
#include "tensor/realize/plain_names.h"
#include "tensor/realize/weights.h"
#include "tensor/record/symbols.h"

namespace tenon::tensors {
namespace {

/// A structure as it was met, names of sizes and all, with its program.
struct Met {
  uint64_t hash = 0;
  uint64_t skeleton = 0;  // the same at other sizes
  std::string place;
  std::shared_ptr<const Pending> pending;
  std::vector<int> aliases;
  std::shared_ptr<const Program> program;
  Bindings bindings;
};

/// What was met before and differs in sizes, if in anything.
struct Relatives {
  std::vector<std::shared_ptr<const Program>> programs;  // each once
  std::vector<std::shared_ptr<const Pending>> recorded;  // those from the same place, the last ones
};
/// So many recordings show how sizes follow from each other, and that a loop is behind them rather than two layers.
constexpr size_t kFewestRecordings = 2;
constexpr size_t kMostRecordings = 4;

constexpr size_t kMostRefused = 64;

/// Structures that were met, those met last at the front. Several may share a program: they differ in sizes.
struct ProgramTable {
  std::mutex mutex;
  size_t limit = 256;
  CompileOptions options;
  std::list<Met> met;
  std::unordered_multimap<uint64_t, std::list<Met>::iterator> by_hash;
  std::deque<Graph> refused;  // graphs with symbols of which no program can be made, the last ones

  bool is_refused(const Graph& graph) {
    const std::lock_guard lock(mutex);
    return std::ranges::find(refused, graph) != refused.end();
  }

  void remember_refused(Graph graph) {
    const std::lock_guard lock(mutex);
    refused.push_front(std::move(graph));
    if (refused.size() > kMostRefused) {
      refused.pop_back();
    }
  }

  void shrink() {
    while (met.size() > limit) {
      const auto [begin, end] = by_hash.equal_range(met.back().hash);
      for (auto at = begin; at != end; ++at) {
        if (at->second == std::prev(met.end())) {
          by_hash.erase(at);
          break;
        }
      }
      met.pop_back();
    }
  }

  const Met* find(uint64_t hash, const Pending& pending, const std::vector<int>& aliases) {
    const auto [begin, end] = by_hash.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      if (at->second->aliases == aliases && *at->second->pending == pending) {
        met.splice(met.begin(), met, at->second);
        return &met.front();
      }
    }
    return nullptr;
  }

  /// What was met last at this place, of the same structure but for sizes where there is such.
  std::shared_ptr<const Pending> nearest(uint64_t skeleton, std::string_view place) const {
    std::shared_ptr<const Pending> found;
    for (const Met& one : met) {
      if (one.place == place && one.skeleton == skeleton) {
        return one.pending;
      }
      if (one.place == place && found == nullptr) {
        found = one.pending;
      }
    }
    return found;
  }

  Relatives relatives(uint64_t skeleton, std::string_view place, const std::vector<int>& aliases) const {
    Relatives found;
    for (const Met& one : met) {
      if (one.skeleton != skeleton || one.aliases != aliases) {
        continue;
      }
      if (std::ranges::find(found.programs, one.program) == found.programs.end()) {
        found.programs.push_back(one.program);
      }
      if (one.place == place && found.recorded.size() < kMostRecordings) {
        found.recorded.push_back(one.pending);
      }
    }
    return found;
  }
};
ProgramTable& program_table() {
  static auto& instance = *new ProgramTable;
  return instance;
}

/// Of these sizes those of names that the graph needs and no input has.
Bindings free_sizes(const Graph& graph, const std::map<std::string, int64_t, std::less<>>& sizes) {
  AxisNames needed;
  for (const Node* node : graph.nodes()) {
    needed.merge(needed_axes(*node));
  }
  for (const Value& in : graph.inputs()) {
    for (const Axis& axis : in.shape().axes()) {
      if (const auto name = axis.extent().as_name()) {
        needed.erase(*name);
      }
    }
  }
  Bindings bindings;
  for (const auto& [name, size] : sizes) {
    if (needed.contains(name)) {
      bindings.set(name, size);
    }
  }
  return bindings;
}

}  // namespace

Graph plain_graph(const Pending& pending, const std::vector<int>& aliases) {
  return graph_of(with_names(pending, plain_names(names_of(pending))), aliases);
}

void set_compile_options(const CompileOptions& options) {
  ProgramTable& all = program_table();
  const std::lock_guard lock(all.mutex);
  all.options = options;
  all.refused.clear();  // other options may serve
}

CompileOptions compile_options() {
  ProgramTable& all = program_table();
  const std::lock_guard lock(all.mutex);
  return all.options;
}

namespace {

/// What a Pending is under other names, and the sizes of those that no leaf has.
struct Renamed {
  Renamed(const Pending& pending, const std::vector<int>& aliases, const passes::Substitution& by)
      : plain(with_names(pending, by)), graph(graph_of(plain, aliases)), bindings(free_sizes(graph, plain_sizes(by))) {}

  Pending plain;
  Graph graph;
  Bindings bindings;
};

/// The program of the graph: one that is there, or a new one.
FoundProgram make_program(ProgramTable& all, Renamed what, const std::vector<int>& aliases) {
  FoundProgram result{.program = {}, .bindings = std::move(what.bindings)};
  CompileOptions options;
  {
    const std::lock_guard lock(all.mutex);
    options = all.options;
    const auto same = std::ranges::find_if(all.met, [&](const Met& met) { return met.program->graph == what.graph; });
    if (same != all.met.end()) {
      result.program = same->program;
      return result;
    }
  }
  const int64_t start = nanoseconds_now();
  const std::shared_ptr<Program> program = compile_program(what.graph, aliases, options);
  program->graph = std::move(what.graph);
  program->plain = std::make_shared<const Pending>(std::move(what.plain));
  program->weights = std::make_shared<WeightPrograms>(program->graph, aliases);
  result.program = program;
  result.compiled = true;
  result.compile_ms = static_cast<double>(nanoseconds_now() - start) / 1e6;
  return result;
}

/// One of the programs, of which this is a case at certain sizes.
std::optional<FoundProgram> find_general(const Pending& pending,
                                         const std::vector<std::shared_ptr<const Program>>& programs) {
  for (const auto& program : programs) {
    if (const auto sizes = sizes_as(pending, *program->plain); sizes && !sizes->empty()) {
      return FoundProgram{.program = program, .bindings = free_sizes(program->graph, *sizes)};
    }
  }
  return {};
}

/// A program for the symbols that a recording has; nothing where no kernel can be made of them (a reshape that holds at
/// some sizes alone).
std::optional<FoundProgram> made_of_symbols(ProgramTable& all, const Pending& pending,
                                            const std::vector<int>& aliases) {
  std::optional<Graph> graph;
  try {
    Renamed what(pending, aliases, plain_names(names_of(pending)));
    if (all.is_refused(what.graph)) {
      return {};
    }
    graph = what.graph;
    return make_program(all, std::move(what), aliases);
  } catch (const Refused&) {      // NOLINT(bugprone-empty-catch): remembered below
  } catch (const Unsupported&) {  // NOLINT(bugprone-empty-catch): likewise
  }
  if (graph) {
    all.remember_refused(*std::move(graph));
  }
  return {};
}

/// A program for all sizes like these; nothing where there is none.
std::optional<FoundProgram> make_general(ProgramTable& all, const Pending& pending, const std::vector<int>& aliases,
                                         const Relatives& relatives) {
  if (relatives.recorded.size() < kFewestRecordings) {
    return {};
  }
  const auto general = generalized(pending, relatives.recorded);
  return general ? made_of_symbols(all, *general, aliases) : std::nullopt;
}

/// A program for the symbols that the recording has, or else for the numbers that they stand for.
FoundProgram make_as_recorded(ProgramTable& all, const Pending& pending, const std::vector<int>& aliases) {
  const std::vector<std::string> names = names_of(pending);
  const passes::Substitution numbers = known_sizes(names);
  if (numbers.empty()) {
    return make_program(all, Renamed(pending, aliases, plain_names(names)), aliases);
  }
  std::optional<FoundProgram> found = made_of_symbols(all, pending, aliases);
  return found ? *std::move(found) : make_program(all, Renamed(pending, aliases, numbers), aliases);
}

}  // namespace

FoundProgram find_program(const Pending& pending, const std::vector<int>& aliases, std::string_view place) {
  ProgramTable& all = program_table();
  uint64_t hash = pending.hash();
  for (const int alias : aliases) {
    hash = combine_hash(hash, static_cast<uint64_t>(alias));
  }
  const uint64_t skeleton = pending.skeleton_hash();
  Relatives relatives;
  std::shared_ptr<const Pending> nearest;
  {
    const std::lock_guard lock(all.mutex);
    if (const Met* found = all.find(hash, pending, aliases)) {
      return {.program = found->program, .bindings = found->bindings};
    }
    relatives = all.relatives(skeleton, place, aliases);
    nearest = all.nearest(skeleton, place);
  }
  std::optional<FoundProgram> result = find_general(pending, relatives.programs);
  if (!result) {
    result = make_general(all, pending, aliases, relatives);
  }
  if (!result) {
    result = make_as_recorded(all, pending, aliases);
  }
  if (result->compiled && nearest != nullptr) {
    result->why = difference(pending, *nearest);
    result->why = result->why.empty() ? "memory: results may take over that of other inputs" : result->why;
  }
  const std::lock_guard lock(all.mutex);
  all.met.push_front({hash, skeleton, std::string(place), std::make_shared<const Pending>(pending.on_own_inputs()),
                      aliases, result->program, result->bindings});
  all.by_hash.emplace(hash, all.met.begin());
  all.shrink();
  return *std::move(result);
}

}  // namespace tenon::tensors

namespace tenon {

void set_program_limit(int programs) {
  tensors::ProgramTable& all = tensors::program_table();
  const std::lock_guard lock(all.mutex);
  all.limit = static_cast<size_t>(std::max(programs, 1));
  all.shrink();
}

void clear_programs() {
  tensors::ProgramTable& all = tensors::program_table();
  const std::lock_guard lock(all.mutex);
  all.by_hash.clear();
  all.met.clear();
  all.refused.clear();
  tensors::forget_changing_numbers();
  tensors::forget_interpreted();
}

}  // namespace tenon
