#include "mesh/run/mesh_program.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "base/fail.h"
#include "base/hash.h"
#include "disk/content_hash.h"
#include "mesh/run/bind_given.h"
#include "mesh/run/buckets.h"
#include "mesh/run/measure_costs.h"
#include "mesh/run/pieces.h"
#include "mesh/run/same_on_all.h"

namespace tenon::mesh {

/// What a rank has while it runs.
class MeshProgram::Values : public RunObserver {
 public:
  Values(MeshProgram& program, const std::vector<Array>& inputs, const Bindings& bindings)
      : program_(program), bindings_(bindings), arrays_(program.plan_.value_count), has_(arrays_.size(), false) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      set(i, inputs[i]);
    }
  }

  /// Segment `s` runs from now on. Its exchanges start, one after the other, as soon as what they send is there.
  void begin(size_t s) {
    segment_ = s;
    next_ = 0;
  }

  /// The segment has run.
  void end() {
    start_what_can();
    TENON_CHECK(next_ == waiting().size(), "{} exchanges had nothing to send", waiting().size() - next_);
  }

  void set(size_t value, Array array) {
    arrays_[value] = std::move(array);
    has_[value] = true;
  }

  /// The value, once the exchange that gives it is done.
  const Array& take(size_t value) {
    if (const int giver = program_.giver_[value]; !has_[value] && giver >= 0) {
      finish(*program_.exchanges_[static_cast<size_t>(giver)]);
    }
    return arrays_[value];
  }

  void forget(size_t value) { arrays_[value] = Array(); }

  void finish_all() {
    while (!under_way_.empty()) {
      finish(*under_way_.front().exchange);
    }
  }

  void on_output(size_t output, const Array& array) override {
    set(program_.plan_.segments[segment_].gives[output], array);
    start_what_can();
  }

  void between_steps() override {
    for (const UnderWay& each : under_way_) {
      each.exchange->look();
    }
    if (program_.beside_) program_.beside_();
  }

 private:
  struct UnderWay {
    Exchange* exchange = nullptr;
    int64_t began_ns = 0;
  };

  int64_t now() const { return program_.trace_ == nullptr ? 0 : program_.trace_->now_ns(); }
  const std::vector<size_t>& waiting() const { return program_.exchanges_of_[segment_]; }

  bool is_there(size_t value) const { return has_[value] || is_under_way(value); }

  bool is_under_way(size_t value) const {
    const int giver = program_.giver_[value];
    return giver >= 0 && program_.exchanges_[static_cast<size_t>(giver)]->is_started();
  }

  /// In order: all ranks start the same.
  void start_what_can() {
    for (; next_ < waiting().size(); ++next_) {
      Exchange& exchange = *program_.exchanges_[waiting()[next_]];
      const auto source_of = [&](size_t each) { return program_.plan_.sources[each]; };
      if (!std::ranges::all_of(exchange.collectives(), [&](size_t each) { return is_there(source_of(each)); })) return;
      std::vector<Array> sources;
      for (const size_t each : exchange.collectives()) {
        sources.push_back(take(source_of(each)));
      }
      const Collective& first = program_.plan_.collectives[exchange.collectives()[0]];
      exchange.start(std::move(sources), program_.group(first.mesh_axis), bindings_);
      under_way_.push_back({&exchange, now()});
      program_.traffic_.bytes += exchange.sent_bytes();
      ++program_.traffic_.collectives;
    }
  }

  void finish(Exchange& exchange) {
    const auto found = std::ranges::find(under_way_, &exchange, &UnderWay::exchange);
    const int64_t began = found->began_ns, waits = now();
    under_way_.erase(found);
    const std::string label = program_.trace_ == nullptr ? "" : exchange.label();
    std::vector<Array> results = exchange.finish();
    if (program_.trace_ != nullptr) {
      program_.trace_->add_exchange(label, began, now());
      program_.trace_->add_wait(label, waits, now());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      set(program_.plan_.results[exchange.collectives()[i]], std::move(results[i]));
    }
  }

  MeshProgram& program_;
  const Bindings& bindings_;
  std::vector<Array> arrays_;
  std::vector<bool> has_;  // which are there, or were
  size_t segment_ = 0;
  size_t next_ = 0;  // of the exchanges that the segment starts
  std::vector<UnderWay> under_way_;
};

namespace {

std::vector<SegmentRun> runs_of(const RankPlan& plan, const std::vector<Graph>& graphs, const Engine& engine) {
  std::vector<SegmentRun> runs;
  for (size_t s = 0; s < graphs.size(); ++s) {
    runs.push_back(plan.segments[s].gives.empty() ? SegmentRun() : engine(graphs[s]));
  }
  return runs;
}

}  // namespace

MeshProgram::MeshProgram(const ShardedGraph& graph, Communicator& world, const Engine& engine) : world_(world) {
  RankProgram program = cut_into_segments(graph);
  plan_ = std::move(program.plan);
  require_same_program();
  runs_ = runs_of(plan_, program.graphs, engine);
  prepare();
}

MeshProgram::MeshProgram(RankPlan plan, std::vector<SegmentRun> runs, Communicator& world)
    : plan_(std::move(plan)), world_(world), runs_(std::move(runs)) {
  require_same_program();
  prepare();
}

void MeshProgram::require_same_program() {
  if (world_.size() != plan_.mesh.rank_count()) {
    fail("the mesh {} has {} ranks, and there are {} processes", plan_.mesh.to_string(), plan_.mesh.rank_count(),
         world_.size());
  }
  require_same(plan_.fingerprint, "another program");
}

void MeshProgram::prepare() {
  for (size_t m = 0; m < plan_.mesh.axes.size(); ++m) {
    groups_.push_back(ranks_along(plan_.mesh, m, world_));
  }
  std::vector<size_t> last(plan_.value_count, 0);
  for (size_t s = 0; s < plan_.segments.size(); ++s) {
    for (const size_t value : plan_.segments[s].takes) {
      last[value] = s;
    }
    for (const size_t each : plan_.segments[s].collectives) {
      last[plan_.sources[each]] = s;
    }
  }
  for (const size_t value : plan_.outputs) {
    last[value] = plan_.segments.size();
  }
  last_.resize(plan_.segments.size() + 1);
  for (size_t value = 0; value < last.size(); ++value) {
    last_[last[value]].push_back(value);
  }
}

void MeshProgram::require_same(uint64_t number, const char* what) { require_same_on_all(world_, number, what); }

Bindings MeshProgram::bind(std::span<const Array* const> inputs, const Bindings& known) const {
  return bind_given(plan_.whole, plan_.constraints, inputs, known);
}

std::vector<Array> MeshProgram::run_whole(const std::vector<Array>& inputs, const Bindings& known) {
  std::vector<const Array*> given;
  for (const Array& each : inputs) {
    given.push_back(&each);
  }
  const Bindings bindings = bind(given, known);
  std::vector<Array> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parts.push_back(part_of_input(i, inputs[i], bindings));
  }
  return run(parts, bindings);
}

void MeshProgram::require_same_contents(const std::vector<Array>& arrays) {
  uint64_t hash = 0;
  for (const Array& array : arrays) {
    const std::string_view bytes(reinterpret_cast<const char*>(array.data()), array.byte_count());
    hash = combine_hash(hash, disk::content_hash(bytes).low);
  }
  require_same(hash, "other inputs");
}

void MeshProgram::require_same_inputs(const std::vector<const Array*>& inputs) {
  const auto ranks = static_cast<size_t>(world_.size());
  const auto own = static_cast<size_t>(world_.rank());
  uint64_t whole = 0, mine = 0, next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(inputs[i]->data()), inputs[i]->byte_count());
    const auto hash_of = [&](size_t share) {
      const size_t begin = bytes.size() / ranks * share;
      const size_t end = share + 1 == ranks ? bytes.size() : bytes.size() / ranks * (share + 1);
      return disk::content_hash(bytes.substr(begin, end - begin)).low;
    };
    if (std::ranges::none_of(plan_.input_layouts[i], &Placement::is_split)) {
      whole = combine_hash(whole, disk::content_hash(bytes).low);
    } else {
      mine = combine_hash(mine, hash_of(own));
      next = combine_hash(next, hash_of((own + 1) % ranks));
    }
  }
  require_same(whole, "other inputs");
  const std::array<uint64_t, 2> both{mine, next};
  std::vector<std::array<uint64_t, 2>> all(ranks);
  world_
      .all_gather(reinterpret_cast<const std::byte*>(&both), std::vector<size_t>(ranks, sizeof(both)),
                  reinterpret_cast<std::byte*>(all.data()))
      ->wait();
  for (size_t rank = 0; rank < ranks; ++rank) {
    const size_t after = (rank + 1) % ranks;
    if (all[rank][1] == all[after][0]) continue;
    fail("rank {} of the mesh has other inputs than rank {}; start every rank with the same command and the same files",
         std::max(rank, after), std::min(rank, after));
  }
}

Array MeshProgram::part_of_input(size_t input, const Array& whole, const Bindings& bindings) const {
  return part_of(whole, plan_.input_layouts[input], plan_.mesh, plan_.coordinates, bindings);
}

Array MeshProgram::whole_input(size_t input, const Array& part, const Bindings& bindings) {
  return whole_of(plan_.input_layouts[input], part, bindings);
}

Array MeshProgram::whole_of(const Layout& layout, const Array& part, const Bindings& bindings) {
  Array result = part;
  for (size_t m = 0; m < layout.size(); ++m) {
    if (!layout[m].is_split()) continue;
    Communicator& ranks = group(m);
    const int axis = layout[m].axis;
    std::vector<size_t> bytes;
    std::vector<int64_t> dims = result.dims();
    dims[static_cast<size_t>(axis)] = 1;
    const size_t along = Array::uninitialized(result.dtype(), dims).byte_count();
    const std::vector<int64_t> sizes = sizes_of(layout[m].cut, ranks.size(), bindings);
    for (const int64_t size : sizes) {
      bytes.push_back(static_cast<size_t>(size) * along);
    }
    const size_t total = std::accumulate(bytes.begin(), bytes.end(), size_t{0});
    Array all = Array::uninitialized(result.dtype(), {static_cast<int64_t>(total / byte_size(result.dtype()))});
    ranks.all_gather(result.data(), bytes, all.mutable_data())->wait();
    std::vector<Array> pieces;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      dims[static_cast<size_t>(axis)] = size;
      pieces.push_back(all.window(begin, dims));
      begin += pieces.back().size();
    }
    result = join_along(pieces, axis);
  }
  return result;
}

void MeshProgram::plan_exchanges(const Bindings& bindings) {
  if (planned_for_ == bindings) return;
  planned_for_.reset();
  exchanges_.clear();
  exchanges_of_.assign(plan_.segments.size(), {});
  giver_.assign(plan_.value_count, -1);
  for (size_t s = 0; s < plan_.segments.size(); ++s) {
    for (std::vector<size_t>& together : buckets(plan_.collectives, plan_.segments[s].collectives, bindings)) {
      for (const size_t each : together) {
        giver_[plan_.results[each]] = static_cast<int>(exchanges_.size());
      }
      exchanges_of_[s].push_back(exchanges_.size());
      exchanges_.push_back(std::make_unique<Exchange>(plan_, std::move(together)));
    }
  }
  planned_for_ = bindings;
}

std::vector<Array> MeshProgram::run(const std::vector<Array>& inputs, const Bindings& bindings) {
  require_same(bindings.hash(), "inputs of other sizes");
  plan_exchanges(bindings);
  Values values(*this, inputs, bindings);
  for (size_t s = 0; s < plan_.segments.size(); ++s) {
    const SegmentPlan& segment = plan_.segments[s];
    values.begin(s);
    if (runs_[s]) {
      std::vector<Array> operands;
      for (const size_t value : segment.takes) {
        operands.push_back(values.take(value));
      }
      std::vector<Array> results =
          runs_[s](operands, bindings, {.observer = &values, .trace = trace_ == nullptr ? nullptr : &trace_->steps()});
      for (size_t i = 0; i < results.size(); ++i) {
        values.set(segment.gives[i], std::move(results[i]));
      }
    }
    values.end();
    for (const size_t value : last_[s]) {
      values.forget(value);
    }
  }
  std::vector<Array> outputs;
  for (const size_t value : plan_.outputs) {
    outputs.push_back(values.take(value));
  }
  values.finish_all();
  return outputs;
}

}  // namespace tenon::mesh
