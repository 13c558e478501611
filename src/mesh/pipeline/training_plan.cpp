#include "mesh/pipeline/training_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "mesh/pipeline/pieces_of_batch.h"
#include "passes/autodiff/autodiff.h"

namespace tenon::mesh {
namespace {

using passes::name_of;

class TrainingPlanner {
 public:
  TrainingPlanner(const TrainingStages& given, const MeshShape& inner, int stage, int rank,
                  const PipelineOptions& options)
      : given_(given), inner_(inner), own_(static_cast<size_t>(stage)), rank_(rank), options_(options) {
    for (size_t i = 0; i < given.step.inputs().size(); ++i) {
      step_inputs_.emplace(name_of(given.step.inputs()[i]), i);
    }
    for (const Graph& each : given.stages) {
      stages_.push_back(with_statistics(each));
    }
  }

  TrainingPlan run() {
    plan_.step_layouts = input_layouts(given_.step, inner_, options_.sharding);
    find_crossings();
    make_graphs();
    find_weights();
    lay_out_forward();
    lay_out_backward();
    lay_out_update();
    plan_.stage = stages_[own_];
    plan_.graphs = graphs_[own_];
    plan_.step_input = sources_[own_];
    return std::move(plan_);
  }

 private:
  ShardOptions choices() const {
    return {.costs = options_.costs, .typical = options_.typical, .whole_outputs = false, .state_stays = true};
  }

  /// The stage, whose outputs take over statistics as those of the loss do.
  Graph with_statistics(const Graph& stage) const {
    std::vector<Output> outputs = stage.outputs();
    for (Output& output : outputs) {
      const auto whole = std::ranges::find(given_.loss.outputs(), output.name, &Output::name);
      if (whole == given_.loss.outputs().end() || whole->aliases < 0) continue;
      const std::string& name = name_of(given_.loss.inputs()[static_cast<size_t>(whole->aliases)]);
      const auto input = std::ranges::find(stage.inputs(), name, name_of);
      if (input == stage.inputs().end()) {
        fail("a stage of `{}` gives `{}`, which takes over `{}`, and does not read it", given_.loss.name(), output.name,
             name);
      }
      output.aliases = static_cast<int>(input - stage.inputs().begin());
    }
    return {stage.name(), stage.inputs(), std::move(outputs), stage.relations()};
  }

  void find_crossings() {
    std::map<std::string, std::pair<int, size_t>> made;
    for (int s = 0; s < std::ssize(stages_); ++s) {
      const Graph& stage = stages_[static_cast<size_t>(s)];
      sources_.emplace_back();
      for (size_t i = 0; i < stage.inputs().size(); ++i) {
        const std::string& name = name_of(stage.inputs()[i]);
        if (const auto found = made.find(name); found != made.end()) {
          sources_.back().emplace_back();
          plan_.crossings.push_back({.from = found->second.first,
                                     .to = s,
                                     .output = found->second.second,
                                     .input = i,
                                     .shape = stage.inputs()[i].shape()});
        } else if (const auto input = step_inputs_.find(name); input != step_inputs_.end()) {
          sources_.back().emplace_back(input->second);
          plan_.first_stage.emplace(name, s);
        } else {
          fail("stage {} needs `{}`, which no stage before it gives", s + 1, name);
        }
      }
      for (size_t i = 0; i < stage.outputs().size(); ++i) {
        made.emplace(stage.outputs()[i].name, std::pair(s, i));
      }
    }
    for (const Output& output : given_.loss.outputs()) {
      if (!made.contains(output.name)) fail("no stage gives output `{}`", output.name);
    }
    loss_ = made.at(given_.loss.outputs()[0].name);
  }

  bool is_trained(const Value& input) const {
    return std::ranges::find(given_.trained, name_of(input)) != given_.trained.end();
  }

  std::vector<size_t> trained_inputs(size_t s) const {
    std::vector<size_t> result;
    for (size_t i = 0; i < stages_[s].inputs().size(); ++i) {
      if (sources_[s][i] && is_trained(stages_[s].inputs()[i])) result.push_back(i);
    }
    return result;
  }

  /// From the last stage to the first: a stage knows then what its readers give back.
  void make_graphs() {
    const size_t count = stages_.size();
    std::vector<std::vector<size_t>> passed(count);  // inputs that depend on what earlier stages train
    std::vector<std::vector<bool>> reached(count);   // outputs that depend on what is trained so far
    for (size_t s = 0; s < count; ++s) {
      for (const Crossing& each : plan_.crossings) {
        if (each.to == static_cast<int>(s) && reached[static_cast<size_t>(each.from)][each.output]) {
          passed[s].push_back(each.input);
        }
      }
      std::vector<size_t> from = trained_inputs(s);
      from.insert(from.end(), passed[s].begin(), passed[s].end());
      reached[s] = reached_outputs(stages_[s], from);
    }
    graphs_.resize(count);
    for (size_t s = count; s-- > 0;) {
      const int stage = static_cast<int>(s);
      std::vector<OutputGradient> from;
      if (loss_.first == stage) from.push_back({.output = loss_.second, .reader = stage});
      for (const Crossing& each : plan_.crossings) {
        if (each.from == stage && each.flows_back) from.push_back({.output = each.output, .reader = each.to});
      }
      graphs_[s] = stage_graphs(stages_[s], from, trained_inputs(s), passed[s]);
      for (Crossing& each : plan_.crossings) {
        if (each.to != stage) continue;
        each.flows_back = std::ranges::find(graphs_[s].gives, each.input) != graphs_[s].gives.end();
      }
    }
  }

  void find_weights() {
    const size_t states = given_.rule.states.size();
    for (size_t t = 0; t < given_.trained.size(); ++t) {
      const std::string& name = given_.trained[t];
      StageWeight weight{.input = step_inputs_.at(name)};
      for (size_t s = 0; s < stages_.size(); ++s) {
        const auto found = std::ranges::find(stages_[s].inputs(), name, name_of);
        if (found == stages_[s].inputs().end()) continue;
        weight.stages.push_back(static_cast<int>(s));
        if (s == own_) weight.stage_input = static_cast<size_t>(found - stages_[s].inputs().begin());
      }
      if (std::ranges::find(weight.stages, static_cast<int>(own_)) == weight.stages.end()) continue;
      for (size_t k = 0; k < states; ++k) {
        weight.state.push_back(given_.loss.inputs().size() + t * states + k);
      }
      weight.first_output = given_.loss.outputs().size() + t * (states + 1);
      weight.sum_layout = plan_.step_layouts[weight.input];
      plan_.weights.push_back(std::move(weight));
    }
  }

  Crossing& crossing_of(size_t stage, size_t input) {
    return *std::ranges::find_if(plan_.crossings, [&](const Crossing& each) {
      return each.to == static_cast<int>(stage) && each.input == input;
    });
  }

  Layout layout_of_input(size_t stage, size_t input) {
    const std::optional<size_t>& source = sources_[stage][input];
    return source ? plan_.step_layouts[*source] : crossing_of(stage, input).layout;
  }

  void lay_out_forward() {
    for (size_t s = 0; s < stages_.size(); ++s) {
      std::vector<Layout> layouts;
      for (size_t i = 0; i < stages_[s].inputs().size(); ++i) {
        layouts.push_back(layout_of_input(s, i));
      }
      ShardedGraph sharded = shard(graphs_[s].forward, inner_, std::move(layouts), rank_, choices());
      for (Crossing& each : plan_.crossings) {
        if (each.from == static_cast<int>(s)) each.layout = sharded.output_layouts[each.output];
      }
      forward_outputs_.push_back(sharded.output_layouts);
      if (s == own_) plan_.forward = std::move(sharded);
    }
  }

  void lay_out_backward() {
    for (size_t s = stages_.size(); s-- > 0;) {
      const StageGraphs& graphs = graphs_[s];
      if (graphs.sums.empty() && graphs.gives.empty()) continue;
      std::vector<Layout> layouts;
      for (const size_t input : graphs.reads) {
        layouts.push_back(layout_of_input(s, input));
      }
      for (size_t i = stages_[s].outputs().size(); i < forward_outputs_[s].size(); ++i) {
        layouts.push_back(forward_outputs_[s][i]);
      }
      for (const OutputGradient& each : graphs.gets) {
        layouts.push_back(gradient_layout(s, each));
      }
      const size_t first = layouts.size();
      layouts.resize(first + graphs.sums.size(), whole_layout(inner_));
      // Sums over pieces lie as gradients come: terms of sums over ranks are summed once, behind the last piece.
      ShardOptions options = choices();
      options.kept_sums = KeptSums::of_state;
      options.state_stays = false;
      const ShardedGraph as_it_comes = shard(graphs.backward, inner_, layouts, rank_, options);
      std::ranges::copy_n(as_it_comes.output_layouts.begin(), std::ssize(graphs.sums),
                          layouts.begin() + static_cast<std::ptrdiff_t>(first));
      options.state_stays = true;
      ShardedGraph sharded = shard(graphs.backward, inner_, std::move(layouts), rank_, options);
      for (size_t i = 0; i < graphs.gives.size(); ++i) {
        crossing_of(s, graphs.gives[i]).gradient_layout = sharded.output_layouts[graphs.sums.size() + i];
      }
      if (s != own_) continue;
      for (size_t i = 0; i < graphs.sums.size(); ++i) {
        weight_at(graphs.sums[i]).sum_layout = sharded.output_layouts[i];
      }
      plan_.backward = std::move(sharded);
    }
  }

  Layout gradient_layout(size_t stage, const OutputGradient& gradient) const {
    for (const Crossing& each : plan_.crossings) {
      if (each.from == static_cast<int>(stage) && each.output == gradient.output && each.to == gradient.reader) {
        return each.gradient_layout;
      }
    }
    return whole_layout(inner_);  // of the loss
  }

  StageWeight& weight_at(size_t stage_input) {
    return *std::ranges::find(plan_.weights, stage_input, &StageWeight::stage_input);
  }

  void lay_out_update() {
    if (plan_.weights.empty()) return;
    const std::vector<Value>& of_step = given_.step.inputs();
    std::vector<Value> inputs, shared_inputs;
    std::vector<Layout> layouts, shared_layouts;
    std::vector<Output> outputs, shared_outputs;
    const auto add = [&](size_t step_input) {
      inputs.push_back(of_step[step_input]);
      layouts.push_back(plan_.step_layouts[step_input]);
      return static_cast<int>(inputs.size()) - 1;
    };
    std::vector<OptimizerStep> steps;
    std::vector<int> first;
    for (size_t i = 0; i < plan_.weights.size(); ++i) {
      const StageWeight& weight = plan_.weights[i];
      OptimizerStep step{.parameter = of_step[weight.input], .gradient = {}, .states = {}, .count = {}};
      first.push_back(add(weight.input));
      for (const size_t state : weight.state) {
        step.states.push_back(of_step[state]);
        add(state);
      }
      step.gradient = input(fmt::format("gradient {}", i), step.parameter.shape());
      inputs.push_back(step.gradient);
      layouts.push_back(weight.is_shared() ? plan_.step_layouts[weight.input] : weight.sum_layout);
      steps.push_back(step);
      if (!weight.is_shared()) continue;
      shared_outputs.push_back({.name = fmt::format("gradient {} of all", i),
                                .value = step.gradient,
                                .aliases = static_cast<int>(shared_inputs.size()) + 1});
      shared_inputs.insert(shared_inputs.end(), {step.gradient, step.parameter});
      shared_layouts.insert(shared_layouts.end(), {weight.sum_layout, plan_.step_layouts[weight.input]});
    }
    const size_t rate = of_step.size() - 1, count = rate - 1;
    add(count);
    add(rate);
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i].count = of_step[count];
      steps[i].learning_rate = of_step[rate];
      const OptimizerResult result = given_.rule.update(steps[i]);
      outputs.push_back({.name = fmt::format("weight {}", i), .value = result.parameter, .aliases = first[i]});
      for (size_t k = 0; k < result.states.size(); ++k) {
        outputs.push_back({.name = fmt::format("state {} of {}", k, i),
                           .value = result.states[k],
                           .aliases = first[i] + 1 + static_cast<int>(k)});
      }
    }
    plan_.update = shard(Graph(given_.step.name() + ".update", std::move(inputs), std::move(outputs)), inner_,
                         std::move(layouts), rank_, choices());
    if (shared_outputs.empty()) return;
    plan_.shared = shard(Graph(given_.step.name() + ".shared", std::move(shared_inputs), std::move(shared_outputs)),
                         inner_, std::move(shared_layouts), rank_, choices());
  }

  const TrainingStages& given_;
  const MeshShape& inner_;
  const size_t own_;
  const int rank_;
  const PipelineOptions& options_;
  TrainingPlan plan_;
  std::map<std::string, size_t> step_inputs_;
  std::vector<Graph> stages_;
  std::vector<std::vector<std::optional<size_t>>> sources_;  // of inputs of stages: inputs of the step
  std::pair<int, size_t> loss_;                              // the stage and its output
  std::vector<StageGraphs> graphs_;
  std::vector<std::vector<Layout>> forward_outputs_;
};

}  // namespace

TrainingPlan plan_training(const TrainingStages& stages, const MeshShape& inner, int stage, int rank,
                           const PipelineOptions& options) {
  return TrainingPlanner(stages, inner, stage, rank, options).run();
}

}  // namespace tenon::mesh
