#include "mesh/pipeline/training_pipeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "disk/content_hash.h"
#include "mesh/run/bind_given.h"
#include "mesh/run/measure_costs.h"
#include "mesh/run/pieces.h"
#include "mesh/run/same_on_all.h"
#include "mesh/split/program.h"

namespace tenon::mesh {

/// What a stage has of a piece between its way forward and its way back.
struct TrainingPipeline::Piece {
  Bindings bindings;
  PieceRange range;
  double share = 1;           // of the batch
  std::vector<Array> inputs;  // of the stage
  std::vector<Array> kept;
  std::vector<Array> gradients;                             // of outputs
  std::vector<std::shared_ptr<Request>> forward, backward;  // that it waits for
};

namespace {

int forward_tag(size_t crossing) { return 2 * static_cast<int>(crossing); }
int backward_tag(size_t crossing) { return 2 * static_cast<int>(crossing) + 1; }

void wait_for(std::vector<std::shared_ptr<Request>>& requests) {
  for (const auto& each : requests) {
    each->wait();
  }
  requests.clear();
}

}  // namespace

TrainingPipeline::TrainingPipeline(TrainingStages stages, const MeshShape& mesh, const PipelineOptions& options,
                                   Communicator& world, const Engine& engine)
    : stages_(std::move(stages)), pieces_(options.pieces), world_(world) {
  const auto axis = static_cast<size_t>(mesh.find(options.along));
  count_ = mesh.axes[axis].size;
  if (world.size() != mesh.rank_count()) {
    fail("the mesh {} has {} ranks, and there are {} processes", mesh.to_string(), mesh.rank_count(), world.size());
  }
  if (std::ssize(stages_.stages) != count_) {
    fail("there are {} stages, and the mesh {} has {} ranks along `{}`", stages_.stages.size(), mesh.to_string(),
         count_, options.along);
  }
  if (pieces_ < 1) fail("a batch cannot be cut into {} pieces", pieces_);
  require_same_program(mesh);
  std::vector<int> place = mesh.coordinates(world.rank());
  stage_ = place[axis];
  inner_ = without_axis(mesh, axis);
  place.erase(place.begin() + static_cast<std::ptrdiff_t>(axis));
  inner_place_ = place;
  own_ = world.split(stage_);
  along_ = ranks_along(mesh, axis, world);
  plan_ = plan_training(stages_, inner_, stage_, own_->rank(), options);
  if (2 * plan_.crossings.size() + stages_.step.inputs().size() > kMostTags) {
    fail("the stages of `{}` exchange {} tensors, which are too many", stages_.loss.name(), plan_.crossings.size());
  }
  forward_ = std::make_unique<MeshProgram>(plan_.forward, *own_, engine);
  const auto program_of = [&](const std::optional<ShardedGraph>& graph) {
    return graph ? std::make_unique<MeshProgram>(*graph, *own_, engine) : nullptr;
  };
  backward_ = program_of(plan_.backward);
  shared_ = program_of(plan_.shared);
  update_ = program_of(plan_.update);
  for (MeshProgram* each : {forward_.get(), backward_.get()}) {
    if (each != nullptr) each->set_beside([this] { look(); });
  }
}

void TrainingPipeline::require_same_program(const MeshShape& mesh) {
  uint64_t hash = combine_hash(stages_.step.hash(), static_cast<uint64_t>(pieces_));
  for (const Graph& stage : stages_.stages) {
    hash = combine_hash(hash, stage.hash());
  }
  for (const char c : mesh.to_string()) {
    hash = combine_hash(hash, static_cast<unsigned char>(c));
  }
  require_same_on_all(world_, hash, "another program");
}

std::vector<int64_t> TrainingPipeline::local_dims(const Shape& shape, const Layout& layout,
                                                  const Bindings& bindings) const {
  std::vector<int64_t> dims;
  for (const Axis& axis : local_axes(shape.axes(), layout, inner_, inner_place_)) {
    dims.push_back(evaluate(axis.extent(), bindings));
  }
  return dims;
}

void TrainingPipeline::look() {
  for (const auto& each : coming_) {
    each->is_done();
  }
  for (const auto& [request, array] : going_) {
    request->is_done();
  }
}

void TrainingPipeline::send(Array array, int to, int tag) {
  std::shared_ptr<Request> request = along_->send(array.data(), array.byte_count(), to, tag);
  sent_bytes_ += static_cast<double>(array.byte_count());
  going_.emplace_back(std::move(request), std::move(array));
}

void TrainingPipeline::drop_what_is_done() {
  std::erase_if(coming_, [](const auto& each) { return each->is_done(); });
  std::erase_if(going_, [](const auto& each) { return each.first->is_done(); });
}

void TrainingPipeline::finish_sends() {
  for (const auto& [request, array] : going_) {
    request->wait();
  }
  going_.clear();
  coming_.clear();
}

void TrainingPipeline::receive(const PipelineAction& action, Piece& piece) {
  const auto take = [&](const Shape& shape, const Layout& layout, int from, int tag,
                        std::vector<std::shared_ptr<Request>>& into) {
    Array array = Array::uninitialized(shape.dtype(), local_dims(shape, layout, piece.bindings));
    into.push_back(along_->receive(array.mutable_data(), array.byte_count(), from, tag));
    coming_.push_back(into.back());
    return array;
  };
  if (action.is_forward) piece.inputs.resize(plan_.stage.inputs().size());
  if (!action.is_forward) piece.gradients.resize(plan_.graphs.gets.size());
  for (size_t i = 0; i < plan_.crossings.size(); ++i) {
    const Crossing& each = plan_.crossings[i];
    if (action.is_forward && each.to == stage_) {
      piece.inputs[each.input] = take(each.shape, each.layout, each.from, forward_tag(i), piece.forward);
    } else if (!action.is_forward && each.from == stage_ && each.flows_back) {
      const auto place = std::ranges::find(plan_.graphs.gets, OutputGradient{each.output, each.to});
      piece.gradients[static_cast<size_t>(place - plan_.graphs.gets.begin())] =
          take(each.shape, each.gradient_layout, each.to, backward_tag(i), piece.backward);
    }
  }
}

void TrainingPipeline::run_forward(Piece& piece, const std::vector<Array>& inputs) {
  wait_for(piece.forward);
  for (size_t i = 0; i < plan_.step_input.size(); ++i) {
    const std::optional<size_t> source = plan_.step_input[i];
    if (!source) continue;
    const Array& given = inputs[*source];
    piece.inputs[i] =
        *source < stages_.data_inputs
            ? forward_->part_of_input(
                  i, piece_of(given, stages_.step.inputs()[*source].shape(), stages_.piece_axis, piece.range),
                  piece.bindings)
            : given;
  }
  std::vector<Array> outputs = forward_->run(piece.inputs, piece.bindings);
  for (size_t i = 0; i < plan_.crossings.size(); ++i) {
    const Crossing& each = plan_.crossings[i];
    if (each.from == stage_) send(outputs[each.output], each.to, forward_tag(i));
  }
  const size_t own = plan_.stage.outputs().size();
  for (size_t i = 0; i < own; ++i) {
    given_.insert_or_assign(plan_.stage.outputs()[i].name, outputs[i]);
  }
  if (const auto found = given_.find(stages_.loss.outputs()[0].name); found != given_.end()) {
    loss_ += piece.share * found->second.at(0);
  }
  if (backward_ == nullptr) {
    piece.inputs.clear();
    return;
  }
  piece.kept.assign(std::make_move_iterator(outputs.begin() + static_cast<std::ptrdiff_t>(own)),
                    std::make_move_iterator(outputs.end()));
}

void TrainingPipeline::run_backward(Piece& piece) {
  wait_for(piece.backward);
  if (backward_ == nullptr) return;
  std::vector<Array> operands;
  for (const size_t input : plan_.graphs.reads) {
    operands.push_back(piece.inputs[input]);
  }
  operands.insert(operands.end(), piece.kept.begin(), piece.kept.end());
  for (size_t i = 0; i < plan_.graphs.gets.size(); ++i) {
    const OutputGradient& each = plan_.graphs.gets[i];
    const bool is_loss = each.reader == stage_;
    operands.push_back(is_loss ? Array::scalar(plan_.stage.outputs()[each.output].value.dtype(), piece.share)
                               : piece.gradients[i]);
  }
  std::vector<size_t> weights;
  for (const size_t input : plan_.graphs.sums) {
    const auto found = std::ranges::find(plan_.weights, input, &StageWeight::stage_input);
    weights.push_back(static_cast<size_t>(found - plan_.weights.begin()));
    operands.push_back(std::exchange(sums_[weights.back()], Array()));
  }
  std::vector<Array> outputs = backward_->run(operands, piece.bindings);
  for (size_t i = 0; i < weights.size(); ++i) {
    sums_[weights[i]] = std::move(outputs[i]);
  }
  for (size_t i = 0; i < plan_.crossings.size(); ++i) {
    const Crossing& each = plan_.crossings[i];
    if (each.to != stage_ || !each.flows_back) continue;
    const auto place = std::ranges::find(plan_.graphs.gives, each.input) - plan_.graphs.gives.begin();
    send(outputs[weights.size() + static_cast<size_t>(place)], each.from, backward_tag(i));
  }
  piece = Piece();
}

std::vector<Array> TrainingPipeline::run(std::vector<Array>&& inputs, const Bindings& known) {
  const std::span<const Array> data(inputs.data(), stages_.data_inputs);
  std::vector<const Array*> given;
  uint64_t contents = 0;  // a batch is small beside the work of a step, and ranks may have been given other files
  for (const Array& each : data) {
    given.push_back(&each);
    const std::string_view bytes(reinterpret_cast<const char*>(each.data()), each.byte_count());
    contents = combine_hash(contents, disk::content_hash(bytes).low);
  }
  const Bindings bindings = bind_given(signature_of(stages_.step), stages_.step.constraints(), given, known);
  require_same_on_all(world_, bindings.hash(), "inputs of other sizes");
  require_same_on_all(world_, contents, "other inputs");

  const int64_t size = stages_.piece_axis.empty() ? 1 : *bindings.find(stages_.piece_axis);
  const int64_t count = std::clamp<int64_t>(size, 1, pieces_);
  std::vector<Piece> pieces(static_cast<size_t>(count));
  for (int64_t p = 0; p < count; ++p) {
    Piece& piece = pieces[static_cast<size_t>(p)];
    piece.range = piece_range(p, count, size);
    piece.share = size == 0 ? 1 : static_cast<double>(piece.range.size) / static_cast<double>(size);
    piece.bindings = bindings_of_piece(stages_.loss, data, stages_.piece_axis, piece.range, known);
  }
  sums_.clear();
  for (const StageWeight& each : plan_.weights) {
    const Shape& shape = stages_.step.inputs()[each.input].shape();
    sums_.emplace_back(shape.dtype(), local_dims(shape, each.sum_layout, bindings));
  }
  loss_ = 0;
  given_.clear();

  const std::vector<PipelineAction> actions = one_forward_one_backward(stage_, count_, count);
  const auto piece_at = [&](size_t i) -> Piece& { return pieces[static_cast<size_t>(actions[i].piece)]; };
  int64_t alive = 0;
  receive(actions[0], piece_at(0));
  for (size_t i = 0; i < actions.size(); ++i) {
    if (i + 1 < actions.size()) receive(actions[i + 1], piece_at(i + 1));  // comes while this one is computed
    actions[i].is_forward ? run_forward(piece_at(i), inputs) : run_backward(piece_at(i));
    alive += actions[i].is_forward ? 1 : -1;
    most_pieces_ = std::max(most_pieces_, alive);
    drop_what_is_done();
  }
  finish_sends();
  sum_over_stages(inputs);
  std::vector<Array> results(stages_.step.outputs().size());
  update(inputs, results);
  results[0] = Array::scalar(stages_.loss.outputs()[0].value.dtype(), loss_of_all());
  return results;
}

void TrainingPipeline::sum_over_stages(const std::vector<Array>& inputs) {
  if (shared_ == nullptr) return;
  std::vector<Array> operands;
  std::vector<size_t> weights;
  for (size_t i = 0; i < plan_.weights.size(); ++i) {
    if (!plan_.weights[i].is_shared()) continue;
    weights.push_back(i);
    operands.push_back(std::move(sums_[i]));
    operands.push_back(inputs[plan_.weights[i].input]);
  }
  std::vector<Array> own = shared_->run(operands, {});
  const auto tag_of = [&](size_t i) {
    return static_cast<int>(2 * plan_.crossings.size() + plan_.weights[weights[i]].input);
  };
  // The first stage adds, in the order of stages, and gives what comes of it to the others.
  for (size_t i = 0; i < weights.size(); ++i) {
    const int first = plan_.weights[weights[i]].stages[0];
    if (first != stage_) send(own[i], first, tag_of(i));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::vector<int>& readers = plan_.weights[weights[i]].stages;
    if (readers[0] != stage_) continue;
    for (size_t k = 1; k < readers.size(); ++k) {
      Array other = Array::uninitialized(own[i].dtype(), own[i].dims());
      along_->receive(other.mutable_data(), other.byte_count(), readers[k], tag_of(i))->wait();
      combine_function(ReduceOp::sum, own[i].dtype())(other.data(), own[i].mutable_data(),
                                                      static_cast<size_t>(own[i].size()));
    }
    for (size_t k = 1; k < readers.size(); ++k) {
      send(own[i], readers[k], tag_of(i));
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const int first = plan_.weights[weights[i]].stages[0];
    if (first != stage_) {
      Array all = Array::uninitialized(own[i].dtype(), own[i].dims());
      along_->receive(all.mutable_data(), all.byte_count(), first, tag_of(i))->wait();
      own[i] = std::move(all);
    }
  }
  finish_sends();
  for (size_t i = 0; i < weights.size(); ++i) {
    sums_[weights[i]] = std::move(own[i]);
  }
}

void TrainingPipeline::update(const std::vector<Array>& inputs, std::vector<Array>& results) {
  const size_t rate = stages_.step.inputs().size() - 1, count = rate - 1;
  for (size_t i = 1; i < stages_.loss.outputs().size(); ++i) {
    const auto found = given_.find(stages_.loss.outputs()[i].name);
    if (found != given_.end()) results[i] = found->second;
  }
  results.back() = Array::scalar(Dtype::i64, inputs[count].at(0) + 1);
  if (update_ == nullptr) return;
  std::vector<Array> operands;
  for (size_t i = 0; i < plan_.weights.size(); ++i) {
    operands.push_back(inputs[plan_.weights[i].input]);
    for (const size_t state : plan_.weights[i].state) {
      operands.push_back(inputs[state]);
    }
    operands.push_back(std::move(sums_[i]));
  }
  operands.push_back(inputs[count]);
  operands.push_back(inputs[rate]);
  std::vector<Array> outputs = update_->run(operands, {});
  size_t next = 0;
  for (const StageWeight& each : plan_.weights) {
    for (size_t k = 0; k <= each.state.size(); ++k) {
      results[each.first_output + k] = std::move(outputs[next++]);
    }
  }
}

double TrainingPipeline::loss_of_all() const {
  const bool has_it = given_.contains(stages_.loss.outputs()[0].name);
  std::vector<double> all(static_cast<size_t>(count_));
  const std::vector<size_t> bytes(all.size(), sizeof(double));
  const double mine = has_it ? loss_ : 0;
  along_->all_gather(reinterpret_cast<const std::byte*>(&mine), bytes, reinterpret_cast<std::byte*>(all.data()))
      ->wait();
  double sum = 0;
  for (const double each : all) {
    sum += each;
  }
  return sum;
}

int TrainingPipeline::owner_of(size_t input) const {
  const size_t parameters = stages_.loss.inputs().size(), states = stages_.rule.states.size();
  const bool is_state = input >= parameters && input - parameters < stages_.trained.size() * states;
  const std::string name =
      is_state ? stages_.trained[(input - parameters) / states] : std::string(stages_.step.inputs()[input].name());
  const auto found = plan_.first_stage.find(name);
  return found == plan_.first_stage.end() ? 0 : found->second;
}

Array TrainingPipeline::keep(size_t input, const Array& whole) const {
  const auto has = [&](const StageWeight& each) {
    return each.input == input || std::ranges::find(each.state, input) != each.state.end();
  };
  const bool is_mine = owner_of(input) == stage_ || std::ranges::any_of(plan_.weights, has) ||
                       std::ranges::find(plan_.step_input, input) != plan_.step_input.end() ||
                       input + 2 >= stages_.step.inputs().size();
  return is_mine ? part_of(whole, plan_.step_layouts[input], inner_, inner_place_, {}) : Array();
}

Array TrainingPipeline::whole(size_t input, const Array& part) {
  const Shape& shape = stages_.step.inputs()[input].shape();
  std::vector<int64_t> dims;
  for (const Axis& axis : shape.axes()) {
    dims.push_back(evaluate(axis.extent(), {}));
  }
  const int owner = owner_of(input);
  Array result = Array::uninitialized(shape.dtype(), dims);
  std::vector<size_t> bytes(static_cast<size_t>(count_), 0);
  bytes[static_cast<size_t>(owner)] = result.byte_count();
  const Array mine = owner == stage_ ? forward_->whole_of(plan_.step_layouts[input], part, {}) : Array();
  along_->all_gather(mine.data(), bytes, result.mutable_data())->wait();
  return result;
}

double TrainingPipeline::sent_bytes() const {
  double sum = sent_bytes_;
  for (const MeshProgram* each : {forward_.get(), backward_.get(), shared_.get(), update_.get()}) {
    if (each != nullptr) sum += each->traffic().bytes;
  }
  return sum;
}

}  // namespace tenon::mesh
