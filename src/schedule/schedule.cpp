#include "schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/fail.h"
#include "ops/macs.h"
#include "schedule/alone.h"
#include "schedule/blocks/map_to_blocks.h"
#include "schedule/fuse/attempts.h"
#include "schedule/regions/regions.h"
#include "schedule/shared_panels.h"

namespace tenon::schedule {
namespace {

std::vector<const Node*> nodes_of(const GroupedStep& step) {
  std::vector<const Node*> nodes;
  if (step.alone) {
    nodes.push_back(step.alone);
  }
  for (const Group& group : step.groups) {
    nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  }
  return nodes;
}

/// Why steps that no input decides are computed in every run.
class InputFree {
 public:
  explicit InputFree(const Graph& graph) {
    for (const Node* node : graph.nodes()) {
      const auto any_in = [&](const std::unordered_set<const Node*>& set) {
        return std::ranges::any_of(node->inputs, [&](const Value& value) { return set.contains(&value.node()); });
      };
      const auto is_open = [](const Shape& shape) { return !shape.element_count().is_constant(); };
      const auto* iota = node->as<Iota>();
      if (node->as<Input>() != nullptr || node->as<Random>() != nullptr || node->as<Barrier>() != nullptr ||
          any_in(decided_)) {
        decided_.insert(node);
      } else if (any_in(open_) || std::ranges::any_of(node->shapes, is_open) ||
                 (iota != nullptr && !(iota->start.is_constant() && iota->step.is_constant()))) {
        open_.insert(node);
      }
    }
  }

  /// Empty where an input decides one of the nodes.
  std::string why_computed(const std::vector<const Node*>& nodes) const {
    if (nodes.empty() || std::ranges::any_of(nodes, [&](const Node* node) { return decided_.contains(node); })) {
      return "";
    }
    return std::ranges::any_of(nodes, [&](const Node* node) { return open_.contains(node); })
               ? "no input decides it, but its sizes are known in a run alone"
               : "no input decides it, but it is too large to be kept, or cheaper to compute";
  }

 private:
  std::unordered_set<const Node*> decided_;
  std::unordered_set<const Node*> open_;  // of the others, those that sizes decide which a run has
};

/// Those that the model has for nodes, in their order and each once.
std::vector<std::string> names_of(const std::vector<const Node*>& nodes) {
  std::unordered_set<std::string_view> met;
  std::vector<std::string> names;
  for (const Node* node : nodes) {
    if (!node->place.empty() && met.insert(node->place).second) {
      names.push_back(node->place);
    }
  }
  return names;
}

class Assembler {
 public:
  Assembler(const Graph& graph, const StorageOrders& storage, const StateUpdates& state, const ScheduleOptions& options,
            ScheduleBody schedule_body)
      : graph_(graph),
        input_free_(graph),
        storage_(storage),
        state_(state),
        blocks_(options.blocks),
        upper_bits_(options.upper_bits),
        schedule_body_(std::move(schedule_body)) {
    program_.name = graph.name();
    for (const Output& output : graph.outputs()) {
      visible_.insert(output.value);
    }
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value& value = graph.inputs()[i];
      const int buffer = add_buffer(value, Memory::input, static_cast<int>(i));
      program_.inputs.push_back({.name = value.node().as<Input>()->name, .shape = value.shape(), .buffer = buffer});
    }
  }

  void add(GroupedStep& grouped) {
    Step step;
    step.boundary = grouped.boundary;
    const std::vector<const Node*> nodes = nodes_of(grouped);
    if (grouped.alone) {
      add_alone(step, *grouped.alone);
    } else {
      LaunchStep launch;
      for (Group& group : grouped.groups) {
        for (const Node* node : group.nodes) {
          step.flops = step.flops + 2 * macs(*node);
        }
        add_kernel(step, launch, group);
      }
      step.what = std::move(launch);
      step.label = label_of(grouped.groups);
    }
    step.nodes = names_of(nodes);
    if (const std::string why = input_free_.why_computed(nodes); !why.empty()) {
      step.boundary += fmt::format("{}{}", step.boundary.empty() ? "" : "; ", why);
    }
    program_.steps.push_back(std::move(step));
  }

  Program finish() {
    for (const Output& output : graph_.outputs()) {
      ProgramOutput out{.name = output.name,
                        .shape = output.value.shape(),
                        .buffer = -1,
                        .offset = 0,
                        .strides = {},
                        .aliases = output.aliases};
      if (const auto view = as_strided_view(output.value); view && !buffer_of_.contains(output.value)) {
        out.buffer = buffer_of_.at(view->base);
        out.offset = view->offset;
        out.strides = view->strides;
      } else {
        out.buffer = buffer(output.value);
        out.strides.assign(static_cast<size_t>(output.value.rank()), 1);
        for (int i = output.value.rank() - 1; i-- > 0;) {
          const auto at = static_cast<size_t>(i);
          out.strides[at] = out.strides[at + 1] * output.value.extent(i + 1);
        }
      }
      program_.outputs.push_back(std::move(out));
    }
    return std::move(program_);
  }

 private:
  int add_buffer(const Value& value, Memory memory, int source) {
    const int id = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back(
        {.dtype = value.dtype(), .elements = value.shape().element_count(), .memory = memory, .source = source});
    buffer_of_.emplace(value, id);
    return id;
  }

  int buffer(const Value& value) {
    if (state_.contains(value)) {
      return buffer_of_.at(state_.memory(value));
    }
    if (const auto known = buffer_of_.find(value); known != buffer_of_.end()) {
      return known->second;
    }
    if (value.node().as<Constant>()) {
      return add_buffer(value, Memory::constant, add_constant(value, {}));
    }
    return add_buffer(value, visible_.contains(value) ? Memory::output : Memory::intermediate, -1);
  }

  /// A constant as its elements are to lie in memory.
  int add_constant(const Value& value, const std::optional<layouts::PanelLayout>& panels) {
    const int id = static_cast<int>(program_.constants.size());
    program_.constants.push_back(value.node().as<Constant>()->value);
    if (const std::vector<int>* const order = storage_.of(value)) {
      program_.layouts.push_back({.constant = id, .layout = layouts::StorageOrder{*order}});
    }
    if (panels) {
      program_.layouts.push_back({.constant = id, .layout = *panels});
    }
    return id;
  }

  /// The buffer of a constant in panels.
  int packed(const Value& value, const layouts::PanelLayout& layout) {
    const auto [known, is_new] =
        packed_.try_emplace({&value.node(), layout}, static_cast<int>(program_.buffers.size()));
    if (is_new) {
      program_.buffers.push_back({.dtype = value.dtype(),
                                  .elements = layout.elements(),
                                  .memory = Memory::constant,
                                  .source = add_constant(value, layout)});
    }
    return known->second;
  }

  static void add_unique(std::vector<int>& list, int item) {
    if (std::ranges::find(list, item) == list.end()) {
      list.push_back(item);
    }
  }

  void add_kernel(Step& step, LaunchStep& launch, Group& group) {
    const std::string label = label_of(group);
    const int part = static_cast<int>(launch.parts.size());
    launch.parts.push_back(add_part(step, group.nest, label));
    if (group.long_rows) {
      launch.parts.push_back(add_part(step, group.long_rows->nest, label));
      launch.parts.back().long_rows_of = part;
      launch.parts.back().row_bytes = group.long_rows->row_bytes;
    }
  }

  LaunchPart add_part(Step& step, Nest& nest, const std::string& label) {
    nest.kernel.name = label;
    loops::Kernel mapped = blocks_ ? map_to_blocks(nest.kernel, upper_bits_) : std::move(nest.kernel);
    LaunchPart part{.kernel = tenon::add_kernel(program_, std::move(mapped)), .buffers = {}};
    const loops::Kernel& kernel = program_.kernels.back();
    nest.buffers.resize(kernel.buffers.size());  // blocks of threads may need more scratch
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      const Value& value = nest.buffers[i];
      const auto panels = nest.panels.find(static_cast<int>(i));
      part.buffers.push_back(!value ? -1 : panels == nest.panels.end() ? buffer(value) : packed(value, panels->second));
      if (value && state_.contains(value) && kernel.buffers[i].role == loops::Role::output) {
        step.updates.push_back({part.buffers.back(), StateUpdates::stored(value).shape().element_count()});
      }
      if (value) {
        add_unique(kernel.buffers[i].role == loops::Role::output ? step.writes : step.reads, part.buffers.back());
      }
    }
    return part;
  }

  void add_alone(Step& step, const Node& node) {
    step.label = std::string(op_name(node.op));
    for (const Value& operand : node.inputs) {
      step.reads.push_back(buffer(operand));
    }
    for (size_t i = 0; i < node.shapes.size(); ++i) {
      step.writes.push_back(buffer(Value(&node, static_cast<int>(i))));
    }
    describe_alone(step, node, schedule_body_);
  }

  static std::string label_of(const Group& group) {
    std::string label;
    for (const Node* node : group.nodes) {
      label += (label.empty() ? "" : " ") + std::string(op_name(node->op));
    }
    const int64_t square = group.nest.winograd;
    return square > 0 ? fmt::format("{} (winograd {}x{})", label, square, square) : label;
  }

  /// Groups side by side, equal ones counted.
  static std::string label_of(const std::vector<Group>& groups) {
    std::string label;
    for (size_t i = 0; i < groups.size();) {
      const std::string each = label_of(groups[i]);
      size_t count = 1;
      while (i + count < groups.size() && label_of(groups[i + count]) == each) {
        ++count;
      }
      label += (label.empty() ? "" : " | ") + each + (count > 1 ? fmt::format(" (x{})", count) : "");
      i += count;
    }
    return label;
  }

  const Graph& graph_;
  const InputFree input_free_;
  const StorageOrders& storage_;
  const StateUpdates& state_;
  const bool blocks_, upper_bits_;
  ScheduleBody schedule_body_;
  Program program_;
  std::unordered_set<Value> visible_;
  std::unordered_map<Value, int> buffer_of_;
  std::map<std::pair<const Node*, layouts::PanelLayout>, int> packed_;
};

}  // namespace

Scheduled schedule_graph(const Graph& graph, const ScheduleOptions& options, const OptimizeBody& optimize_body) {
  MapPrograms programs;
  const Roles roles(graph, programs, options);
  const StateUpdates state(graph, roles);
  std::vector<GroupedStep> steps = group(graph, roles, programs, options, state);
  share_panels(steps);
  std::vector<ScheduledBody> inside;  // of the step that is added
  Assembler assembler(graph, roles.storage(), state, options, [&](const Graph& body, bool optimized) {
    Graph inner = optimized && optimize_body ? optimize_body(body) : body;
    Scheduled scheduled = schedule_graph(inner, options, optimize_body);
    inside.push_back(
        {.graph = std::move(inner), .nodes = std::move(scheduled.nodes), .bodies = std::move(scheduled.bodies)});
    return std::move(scheduled.program);
  });
  AttemptLog::keep(graph);
  Scheduled result;
  for (GroupedStep& step : steps) {
    result.nodes.push_back(nodes_of(step));
    assembler.add(step);
    result.bodies.push_back(std::exchange(inside, {}));
  }
  result.program = assembler.finish();
  result.program.most_row_bytes = options.most_row_bytes;
  result.program.least_shared_work = options.least_shared_work;
  result.program.pipelines = options.pipelines;
  find_regions(result.program);
  return result;
}

Program make_program(const Graph& graph, const ScheduleOptions& options, const OptimizeBody& optimize_body) {
  return schedule_graph(graph, options, optimize_body).program;
}

}  // namespace tenon::schedule
