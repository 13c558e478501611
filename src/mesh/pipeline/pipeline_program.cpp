#include "mesh/pipeline/pipeline_program.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "disk/content_hash.h"
#include "mesh/pipeline/pieces_of_batch.h"
#include "mesh/run/bind_given.h"
#include "mesh/run/measure_costs.h"
#include "mesh/run/pieces.h"
#include "mesh/run/same_on_all.h"
#include "mesh/split/program.h"

namespace tenon::mesh {
namespace {

std::vector<size_t> to_second(size_t bytes) { return {0, bytes}; }

}  // namespace

PipelineProgram::PipelineProgram(const Graph& whole, const std::vector<Graph>& stages, const MeshShape& mesh,
                                 const PipelineOptions& options, Communicator& world, const Engine& engine)
    : whole_(whole), pieces_(options.pieces), world_(world) {
  const auto axis = static_cast<size_t>(mesh.find(options.along));
  stages_ = mesh.axes[axis].size;
  if (world.size() != mesh.rank_count()) {
    fail("the mesh {} has {} ranks, and there are {} processes", mesh.to_string(), mesh.rank_count(), world.size());
  }
  if (std::ssize(stages) != stages_) {
    fail("there are {} stages, and the mesh {} has {} ranks along `{}`", stages.size(), mesh.to_string(), stages_,
         options.along);
  }
  if (pieces_ < 1) fail("a batch cannot be cut into {} pieces", pieces_);
  if (pieces_ > 1) piece_axis_ = piece_axis(whole);
  uint64_t hash = combine_hash(whole.hash(), static_cast<uint64_t>(pieces_));
  for (const Graph& stage : stages) {
    hash = combine_hash(hash, stage.hash());
  }
  require_same_on_all(world, hash, "another program");
  std::vector<int> place = mesh.coordinates(world.rank());
  stage_ = place[axis];
  inner_ = without_axis(mesh, axis);
  place.erase(place.begin() + static_cast<std::ptrdiff_t>(axis));
  inner_place_ = place;
  own_ = world.split(stage_);
  along_ = ranks_along(mesh, axis, world);
  for (int boundary = 0; boundary + 1 < stages_; ++boundary) {
    const bool is_near = stage_ == boundary || stage_ == boundary + 1;
    std::unique_ptr<Communicator> pair = along_->split(is_near ? 0 : 1);
    if (stage_ == boundary) after_ = std::move(pair);
    if (stage_ == boundary + 1) before_ = std::move(pair);
  }
  for (size_t i = 0; i < whole.inputs().size(); ++i) {
    inputs_.emplace(whole.inputs()[i].name(), i);
  }
  plan_stages(stages, options, engine);
}

void PipelineProgram::plan_stages(const std::vector<Graph>& stages, const PipelineOptions& options,
                                  const Engine& engine) {
  const std::vector<Layout> whole_inputs = input_layouts(whole_, inner_, options.sharding);
  std::map<std::string, size_t> made;  // in carried_
  for (int s = 0; s < stages_; ++s) {
    const Graph& graph = stages[static_cast<size_t>(s)];
    std::vector<Layout> layouts;
    for (const Value& input : graph.inputs()) {
      const std::string name(input.name());
      if (const auto found = made.find(name); found != made.end()) {
        Carried& tensor = carried_[found->second];
        tensor.last = std::max(tensor.last, s);
        layouts.push_back(tensor.layout);
      } else if (const auto given = inputs_.find(name); given != inputs_.end()) {
        layouts.push_back(whole_inputs[given->second]);
      } else {
        fail("stage {} needs `{}`, which no stage before it gives", s + 1, name);
      }
    }
    // Every rank lays out all stages, so that it knows how what it gets lies; it compiles its own.
    const int rank = own_->rank();
    const ShardedGraph sharded = shard(graph, inner_, layouts, rank,
                                       {.costs = options.costs, .typical = options.typical, .whole_outputs = false});
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Output& output = graph.outputs()[i];
      made.emplace(output.name, carried_.size());
      carried_.push_back({.name = output.name,
                          .shape = output.value.shape(),
                          .layout = sharded.output_layouts[i],
                          .from = s,
                          .last = s});
    }
    if (s == stage_) program_ = std::make_unique<MeshProgram>(sharded, *own_, engine);
  }
  for (const Output& output : whole_.outputs()) {
    if (!made.contains(output.name)) fail("no stage gives output `{}`", output.name);
  }
}

std::vector<const PipelineProgram::Carried*> PipelineProgram::crossing(int stage) const {
  std::vector<const Carried*> result;
  for (const Carried& each : carried_) {
    if (each.from <= stage && each.last > stage) result.push_back(&each);
  }
  return result;
}

std::vector<int64_t> PipelineProgram::local_dims(const Carried& tensor, const Bindings& bindings) const {
  std::vector<int64_t> dims;
  for (const Axis& axis : local_axes(tensor.shape.axes(), tensor.layout, inner_, inner_place_)) {
    dims.push_back(evaluate(axis.extent(), bindings));
  }
  return dims;
}

/// What a rank has of one piece, and what is on its way from the stage before or to the one behind.
class PipelineProgram::Piece {
 public:
  Piece(PipelineProgram& pipeline, const Bindings& bindings) : pipeline_(pipeline), bindings_(bindings) {}

  /// Begins to take what crosses from the stage before.
  void receive() {
    if (pipeline_.before_ == nullptr) return;
    for (const Carried* each : pipeline_.crossing(pipeline_.stage_ - 1)) {
      Array& array = arrays_[each->name];
      array = Array::uninitialized(each->shape.dtype(), pipeline_.local_dims(*each, bindings_));
      coming_.push_back(pipeline_.before_->all_to_all(nullptr, {0, 0}, array.mutable_data(), {array.byte_count(), 0}));
    }
  }

  void run(const std::vector<Array>& parts, const std::vector<std::string>& names,
           const std::vector<std::string>& results) {
    for (const auto& request : coming_) {
      request->wait();
    }
    coming_.clear();
    std::vector<Array> inputs;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto found = arrays_.find(names[i]);
      inputs.push_back(found == arrays_.end() ? parts[i] : found->second);
    }
    const std::vector<Array> made = pipeline_.program_->run(inputs, bindings_);
    for (size_t i = 0; i < made.size(); ++i) {
      arrays_[results[i]] = made[i];
    }
  }

  /// Begins to give what crosses to the stage behind.
  void send() {
    if (pipeline_.after_ == nullptr) return;
    for (const Carried* each : pipeline_.crossing(pipeline_.stage_)) {
      const Array& array = arrays_.at(each->name);
      going_.push_back(pipeline_.after_->all_to_all(array.data(), to_second(array.byte_count()), nullptr, {0, 0}));
      pipeline_.sent_bytes_ += static_cast<double>(array.byte_count());
    }
  }

  void finish() {
    for (const auto& request : going_) {
      request->wait();
    }
    going_.clear();
    std::erase_if(arrays_, [&](const auto& each) {
      return std::ranges::find(pipeline_.whole_.outputs(), each.first, &Output::name) ==
             pipeline_.whole_.outputs().end();
    });
  }

  Arrays take() { return std::move(arrays_); }

 private:
  PipelineProgram& pipeline_;
  Bindings bindings_;
  Arrays arrays_;
  std::vector<std::unique_ptr<Request>> coming_, going_;
};

std::vector<Array> PipelineProgram::run(const std::vector<Array>& inputs, const Bindings& known) {
  std::vector<const Array*> given;
  for (const Array& each : inputs) {
    given.push_back(&each);
  }
  const Bindings bindings = bind_given(signature_of(whole_), whole_.constraints(), given, known);
  require_same_on_all(world_, bindings.hash(), "inputs of other sizes");
  uint64_t data = 0;  // what is cut into pieces is small beside the work, and ranks may have been given other files
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (whole_.inputs()[i].shape().is_concrete()) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(inputs[i].data()), inputs[i].byte_count());
    data = combine_hash(data, disk::content_hash(bytes).low);
  }
  require_same_on_all(world_, data, "other inputs");
  const int64_t size = piece_axis_.empty() ? 1 : *bindings.find(piece_axis_);
  const int64_t pieces = std::clamp<int64_t>(size, 1, pieces_);
  const RankPlan& plan = program_->plan();
  std::vector<std::string> names, results;
  for (const SignatureInput& input : plan.whole.inputs) {
    names.push_back(input.name);
  }
  for (const SignatureOutput& output : plan.whole.outputs) {
    results.push_back(output.name);
  }
  std::vector<Bindings> sizes;
  std::vector<PieceRange> ranges;
  std::deque<Piece> all;
  for (int64_t p = 0; p < pieces; ++p) {
    ranges.push_back(piece_range(p, pieces, size));
    sizes.push_back(bindings_of_piece(whole_, inputs, piece_axis_, ranges.back(), known));
    all.emplace_back(*this, sizes.back());
  }
  all.front().receive();
  for (int64_t p = 0; p < pieces; ++p) {
    const auto at = static_cast<size_t>(p);
    if (p + 1 < pieces) all[at + 1].receive();  // comes while this one is computed
    std::vector<Array> parts;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto found = inputs_.find(names[i]);
      if (found == inputs_.end()) {
        parts.emplace_back();
        continue;
      }
      const Array whole = piece_of(inputs[found->second], plan.whole.inputs[i].shape, piece_axis_, ranges[at]);
      parts.push_back(program_->part_of_input(i, whole, sizes[at]));
    }
    all[at].run(parts, names, results);
    all[at].send();
  }
  std::vector<Arrays> outputs;
  for (Piece& each : all) {
    each.finish();
    outputs.push_back(each.take());
  }
  std::vector<Array> whole;
  for (size_t i = 0; i < whole_.outputs().size(); ++i) {
    whole.push_back(whole_output(i, outputs, sizes));
  }
  return whole;
}

Array PipelineProgram::whole_output(size_t output, const std::vector<Arrays>& pieces,
                                    const std::vector<Bindings>& sizes) {
  const Output& wanted = whole_.outputs()[output];
  const Carried& tensor = *std::ranges::find(carried_, wanted.name, &Carried::name);
  std::vector<Array> joined;
  std::vector<int64_t> dims;
  const int axis = piece_axis_.empty() ? 0 : axis_named(tensor.shape, piece_axis_).value_or(0);
  for (size_t p = 0; p < pieces.size(); ++p) {
    std::vector<int64_t> own;
    for (const Axis& each : tensor.shape.axes()) {
      own.push_back(evaluate(each.extent(), sizes[p]));
    }
    if (dims.empty()) {
      dims = own;
    } else {
      dims[static_cast<size_t>(axis)] += own[static_cast<size_t>(axis)];
    }
    if (stage_ == tensor.from) {
      joined.push_back(program_->whole_of(tensor.layout, pieces[p].at(tensor.name), sizes[p]));
    }
  }
  // From the stage that made it to all others.
  Array result = Array::uninitialized(tensor.shape.dtype(), dims);
  std::vector<size_t> bytes(static_cast<size_t>(stages_), 0);
  bytes[static_cast<size_t>(tensor.from)] = result.byte_count();
  const Array mine = joined.empty() ? Array() : joined.size() == 1 ? joined[0] : join_along(joined, axis);
  along_->all_gather(joined.empty() ? nullptr : mine.data(), bytes, result.mutable_data())->wait();
  return result;
}

}  // namespace tenon::mesh
