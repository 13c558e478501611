// A graph over a mesh, as one rank runs it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mesh/exchange/communicator.h"
#include "mesh/run/exchange.h"
#include "mesh/run/mesh_trace.h"
#include "mesh/split/program.h"
#include "tenon/array.h"
#include "tenon/compile.h"

namespace tenon::mesh {

/// Who watches a run. The observer may be told of outputs before the run ends.
struct Watchers {
  RunObserver* observer = nullptr;
  Trace* trace = nullptr;
};

/// Runs a graph of one rank on inputs, with names of axes bound.
using SegmentRun = std::function<std::vector<Array>(const std::vector<Array>&, const Bindings&, const Watchers&)>;
/// Makes a graph ready to run.
using Engine = std::function<SegmentRun(const Graph&)>;

Engine interpreting();
Engine compiling(const CompileOptions& options, int threads = 0);
/// Runs what was compiled before. `names` are those that it takes of bindings.
SegmentRun running(Executable executable, std::set<std::string> names, int threads = 0);

/// What a rank has sent so far, by the formula of each collective.
struct Traffic {
  double bytes = 0;
  int64_t collectives = 0;  // small ones that went together count once
};

/// One rank's end of a program over a mesh. All ranks make it and run it together, each in one thread. An Error leaves
/// the other ranks waiting until the communicator tells them.
class MeshProgram {
 public:
  /// Error on every rank: the communicator has another number of ranks than the mesh; ranks have other programs.
  MeshProgram(const ShardedGraph& graph, Communicator& world, const Engine& engine);
  /// `runs` are of the plan's segments; none where a segment gives nothing.
  MeshProgram(RankPlan plan, std::vector<SegmentRun> runs, Communicator& world);

  const RankPlan& plan() const { return plan_; }

  /// The names that whole inputs bind, null for one that is not there: bind_given().
  Bindings bind(std::span<const Array* const> inputs, const Bindings& known = {}) const;

  /// Inputs and results are this rank's parts; `bindings` are the sizes of the whole. Error on every rank: other
  /// bindings on another rank.
  std::vector<Array> run(const std::vector<Array>& inputs, const Bindings& bindings);
  /// The same of whole inputs, of which the rank takes its parts.
  std::vector<Array> run_whole(const std::vector<Array>& inputs, const Bindings& known = {});

  /// Error on every rank unless these arrays are the same on all of them. Takes as long as to read them.
  void require_same_contents(const std::vector<Array>& arrays);

  /// The same of all inputs, whole ones of this graph; null for one that is not to be compared. Of one that lies in
  /// parts a rank reads its own share and the next rank's alone: what is in parts may not fit a rank's memory.
  void require_same_inputs(const std::vector<const Array*>& inputs);

  /// The whole of an input that lies in parts, from this rank's part. All ranks call it together.
  Array whole_input(size_t input, const Array& part, const Bindings& bindings);
  /// The same of a tensor that lies so, of whatever size.
  Array whole_of(const Layout& layout, const Array& part, const Bindings& bindings);
  /// This rank's part of it.
  Array part_of_input(size_t input, const Array& whole, const Bindings& bindings) const;

  const Traffic& traffic() const { return traffic_; }

  /// Called between kernels from now on, by whoever has other exchanges under way.
  void set_beside(std::function<void()> look) { beside_ = std::move(look); }

  /// Runs are written there from now on; null: nowhere.
  void set_trace(MeshTrace* trace) { trace_ = trace; }

 private:
  class Values;

  void require_same_program();
  /// Who needs what, and the groups of ranks along each axis.
  void prepare();
  /// Error on every rank unless all have the same number. `what` says of what.
  void require_same(uint64_t number, const char* what);
  Communicator& group(size_t mesh_axis) { return *groups_[mesh_axis]; }
  /// Which collectives go together at these sizes.
  void plan_exchanges(const Bindings& bindings);

  RankPlan plan_;
  Communicator& world_;
  std::vector<std::unique_ptr<Communicator>> groups_;  // one for each axis of the mesh
  std::vector<SegmentRun> runs_;                       // of segments
  std::vector<std::vector<size_t>> last_;              // values that nobody needs after each segment
  std::optional<Bindings> planned_for_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::vector<size_t>> exchanges_of_;  // that each segment starts, in order
  std::vector<int> giver_;                         // the exchange that gives a value, or -1
  Traffic traffic_;
  std::function<void()> beside_;
  MeshTrace* trace_ = nullptr;
};

}  // namespace tenon::mesh
