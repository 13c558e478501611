#include "runtime/plan/plan.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "base/fail.h"
#include "runtime/plan/in_place.h"
#include "runtime/plan/like_steps.h"

namespace tenon::runtime {
namespace {

class Planner {
 public:
  explicit Planner(const Program& program) : program_(program) {}

  Plan run() {
    plan_.most_row_bytes = program_.most_row_bytes;
    plan_.least_shared_work = static_cast<double>(program_.least_shared_work);
    add_buffers();
    for (const ProgramOutput& output : program_.outputs) {
      add_output(output);
    }
    for (Slot& made : plan_.slots) {
      if (made.memory == Memory::output && made.outputs == 0) {
        made.memory = Memory::intermediate;  // the output is a view of something else
      }
    }
    for (const loops::KernelFacts& kernel : program_.facts) {
      add_kernel(kernel);
    }
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      add_step(program_.steps[i], static_cast<int>(i));
    }
    add_work();
    for (const Region& region : program_.regions) {
      add_region(region);
    }
    find_in_place();
    find_state();
    find_like_steps(program_, plan_);
    find_dependencies();
    collect_names();
    plan_.program = ExtentProgram(plan_.names, plan_.extents);
    plan_.row_program = ExtentProgram(plan_.names, plan_.row_extents);
    return std::move(plan_);
  }

 private:
  using Ids = std::unordered_map<Extent, int>;
  static int number(Ids& ids, std::vector<Extent>& extents, const Extent& extent) {
    const auto [found, fresh] = ids.emplace(extent, static_cast<int>(extents.size()));
    if (fresh) {
      extents.push_back(extent);
    }
    return found->second;
  }
  ExtentId id(const Extent& extent) { return number(ids_, plan_.extents, extent); }
  RowExtentId row_id(const Extent& extent) { return number(row_ids_, plan_.row_extents, extent); }

  std::vector<ExtentId> ids(const std::vector<Extent>& extents) {
    std::vector<ExtentId> result;
    std::transform(extents.begin(), extents.end(), std::back_inserter(result), [&](const Extent& e) { return id(e); });
    return result;
  }

  std::vector<ExtentId> dims(const Shape& shape) {
    std::vector<ExtentId> result;
    for (const Axis& axis : shape.axes()) {
      result.push_back(id(axis.extent()));
    }
    return result;
  }

  void add_buffers() {
    for (const ProgramBuffer& buffer : program_.buffers) {
      const auto limit = buffer.memory == Memory::input      ? std::ssize(program_.inputs)
                         : buffer.memory == Memory::constant ? std::ssize(program_.constants)
                                                             : 0;
      TENON_CHECK(limit == 0 || (buffer.source >= 0 && buffer.source < limit), "a buffer of source {}, of {}",
                  buffer.source, limit);
      plan_.slots.push_back(
          {.dtype = buffer.dtype, .memory = buffer.memory, .source = buffer.source, .elements = id(buffer.elements)});
    }
  }

  void add_output(const ProgramOutput& output) {
    TENON_CHECK(output.strides.size() == output.shape.axes().size(), "output `{}`: {} strides for {}", output.name,
                output.strides.size(), output.shape.to_string());
    TENON_CHECK(slot(output.buffer).memory != Memory::intermediate, "output `{}` is an intermediate", output.name);
    const int others = slot(output.buffer).outputs;
    slot(output.buffer).outputs += 1;
    if (others == 0) {
      slot(output.buffer).output = static_cast<int>(plan_.outputs.size());
    }
    const bool is_slot = slot(output.buffer).memory == Memory::output && others == 0;
    plan_.outputs.push_back({.slot = output.buffer,
                             .offset = id(output.offset),
                             .dims = dims(output.shape),
                             .strides = ids(output.strides),
                             .is_slot = is_slot});
  }

  void add_kernel(const loops::KernelFacts& kernel) {
    KernelPlan plan{.sizes = {.first = count(plan_.sizes)}, .phases = {.first = count(plan_.phases)}};
    for (const Extent& size : kernel.sizes) {
      plan_.sizes.push_back(id(size));
    }
    for (const loops::PhaseFacts& phase : kernel.phases) {
      plan_.phases.push_back({.grid = id(phase.grid)});
    }
    plan.sizes.count = count(plan_.sizes) - plan.sizes.first;
    plan.phases.count = count(plan_.phases) - plan.phases.first;
    plan.scratch = id(kernel.scratch_bytes);
    plan_.kernels.push_back(plan);
  }

  /// Last, so that a size out of range is reported of a buffer or an output.
  void add_work() {
    size_t at = 0;
    for (const loops::KernelFacts& kernel : program_.facts) {
      for (const loops::PhaseFacts& phase : kernel.phases) {
        plan_.phases[at++].work = id(phase.work);
      }
    }
  }

  void add_region(const Region& region) {
    TENON_CHECK(region.first >= 0 && region.count > 1 && region.first + region.count <= std::ssize(program_.steps),
                "a region of {} steps from {}", region.count, region.first);
    if (!program_.pipelines.on) {
      return;
    }
    std::set<int> written;
    for (int at = region.first; at < region.first + region.count; ++at) {
      written.insert(program_.steps[index(at)].writes.begin(), program_.steps[index(at)].writes.end());
    }
    for (int at = region.first; at < region.first + region.count; ++at) {
      const Span& parts = plan_.steps[index(at)].parts;
      for (uint32_t i = 0; i < parts.count; ++i) {
        add_rows(plan_.parts[parts.first + i], parts_of(program_.steps[index(at)])[i], written);
      }
    }
  }

  void add_rows(PartPlan& plan, const LaunchPart& part, const std::set<int>& written) {
    const loops::KernelFacts& facts = program_.facts[index(part.kernel)];
    TENON_CHECK(facts.phases.size() == 1, "a kernel of {} phases in a region", facts.phases.size());
    const loops::PhaseFacts& phase = facts.phases.front();
    plan.rows = {.items = row_id(phase.items), .rows = row_id(phase.rows), .uses = {.first = count(plan_.row_uses)}};
    for (size_t i = 0; i < part.buffers.size(); ++i) {
      if (written.contains(part.buffers[i])) {
        add_row_use(part.buffers[i], static_cast<int>(i), false, phase.buffers[i].reads);
        add_row_use(part.buffers[i], static_cast<int>(i), true, phase.buffers[i].writes);
      }
    }
    plan.rows.uses.count = count(plan_.row_uses) - plan.rows.uses.first;
  }

  void add_row_use(int slot, int argument, bool writes, const loops::Footprint& footprint) {
    if (footprint.empty()) {
      return;
    }
    TENON_CHECK(!footprint.whole, "data decides which rows of a region touch buffer {}", slot);
    RowUsePlan use{.slot = slot, .argument = argument, .writes = writes, .touched = {.first = count(plan_.touched)}};
    for (const loops::Touched& range : footprint.ranges) {
      plan_.touched.push_back({.first = row_id(range.first),
                               .last = row_id(range.last),
                               .step = row_id(range.step),
                               .item_step = row_id(range.item_step),
                               .least = range.least ? row_id(*range.least) : -1,
                               .most = range.most ? row_id(*range.most) : -1});
    }
    use.touched.count = count(plan_.touched) - use.touched.first;
    plan_.row_uses.push_back(use);
  }

  /// State is written by the step that makes what takes its place.
  void find_dependencies() {
    std::vector<std::vector<int>> writes;
    std::vector<StepUse> uses;
    for (const Step& step : program_.steps) {
      writes.push_back(step.writes);
    }
    for (const Slot& made : plan_.slots) {
      if (made.memory == Memory::output && made.in_place >= 0) {
        writes[index(made.first)].push_back(made.in_place);
      }
    }
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      uses.push_back({.reads = program_.steps[i].reads, .writes = writes[i]});
    }
    plan_.dependencies = derive_dependencies(uses, program_.buffers.size());
  }

  /// An output may take the memory of the input that the graph says it aliases, when the step that makes it is the last
  /// to read that.
  void find_state() {
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const ProgramOutput& output = program_.outputs[i];
      Slot& made = slot(output.buffer);
      const auto from = std::ranges::find_if(plan_.slots, [&](const Slot& s) {
        return s.memory == Memory::input && s.source == output.aliases && !s.written;
      });
      if (output.aliases < 0 || from == plan_.slots.end() || made.memory != Memory::output || made.first < 0 ||
          made.outputs != 1) {
        continue;
      }
      const int state = static_cast<int>(from - plan_.slots.begin());
      if (from->outputs == 0 && (from->last < made.first ||
                                 (from->last == made.first &&
                                  runs_in_place(program_, program_.steps[index(made.first)], state, output.buffer)))) {
        made.in_place = state;
      }
    }
  }

  /// An intermediate that a step makes may take the memory of one that the step is the last to read.
  void find_in_place() {
    for (size_t at = 0; at < program_.steps.size(); ++at) {
      const Step& step = program_.steps[at];
      std::vector<int> taken;
      for (const int to : step.writes) {
        Slot& made = slot(to);
        if (made.memory != Memory::intermediate || made.first != static_cast<int>(at)) {
          continue;
        }
        const auto from = std::ranges::find_if(step.reads, [&](int read) {
          return slot(read).memory == Memory::intermediate && slot(read).last == static_cast<int>(at) &&
                 std::ranges::find(taken, read) == taken.end() && runs_in_place(program_, step, read, to);
        });
        if (from != step.reads.end()) {
          made.in_place = *from;
          taken.push_back(*from);
        }
      }
    }
  }

  void add_step(const Step& step, int at) {
    for (const int buffer : step.reads) {
      const Slot& read = slot(buffer);
      TENON_CHECK(read.memory == Memory::input || read.memory == Memory::constant || read.written,
                  "step `{}` reads buffer {} before any step writes it", step.label, buffer);
      use(buffer, at);
    }
    for (const int buffer : step.writes) {
      TENON_CHECK(slot(buffer).memory != Memory::constant, "step `{}` writes constant {}", step.label, buffer);
      slot(buffer).written = true;
      use(buffer, at);
    }
    StepPlan plan{.parts = {.first = count(plan_.parts)}, .bodies = {.first = count(plan_.bodies)}, .dims = {}};
    std::visit([&](const auto& what) { add(what, step, at, plan); }, step.what);
    plan_.steps.push_back(std::move(plan));
  }

  void add(const LaunchStep& launch, const Step& step, int at, StepPlan& plan) {
    TENON_CHECK(!launch.parts.empty(), "step `{}` launches nothing", step.label);
    for (const LaunchPart& part : launch.parts) {
      plan_.parts.push_back(add_part(part, step, at));
      if (part.long_rows_of >= 0) {
        const int last = static_cast<int>(plan_.parts.size()) - 1;
        const int other = static_cast<int>(plan.parts.first) + part.long_rows_of;
        TENON_CHECK(other < last, "step `{}`: part {} is not there yet", step.label, part.long_rows_of);
        plan_.parts[index(last)].long_rows_of = other;
        plan_.parts[index(last)].row_bytes = id(part.row_bytes);
        plan_.parts[index(other)].long_rows = last;
      }
      const auto phases = program_.facts[index(part.kernel)].phases.size();
      plan.phases = std::max(plan.phases, static_cast<int>(phases));
      plan_.ranges += phases;
    }
    plan.parts.count = count(plan_.parts) - plan.parts.first;
    plan_.launches += index(plan.phases);
  }

  void add(const RoutineStep& call, const Step& step, int /*at*/, StepPlan& plan) {
    TENON_CHECK(call.shapes.size() == step.reads.size() + step.writes.size(), "step `{}`: {} shapes", step.label,
                call.shapes.size());
    std::transform(call.shapes.begin(), call.shapes.end(), std::back_inserter(plan.dims),
                   [&](const Shape& shape) { return dims(shape); });
  }

  /// Bodies take and give what the kind of the step says.
  void add(const ControlStep& what, const Step& step, int /*at*/, StepPlan& plan) {
    size_t inputs = step.reads.size();
    size_t outputs = step.writes.size();
    if (const auto* loop = std::get_if<LoopControl>(&what.control)) {
      plan.trips = id(loop->trips);
      inputs += 1;
      outputs += loop->conditional ? 1 : 0;
    } else if (std::holds_alternative<BranchControl>(what.control)) {
      inputs -= 1;
    }
    const size_t wanted = std::holds_alternative<BranchControl>(what.control) ? 2 : 1;
    TENON_CHECK(what.bodies.size() == wanted, "step `{}` has {} bodies", step.label, what.bodies.size());
    for (const Program& body : what.bodies) {
      TENON_CHECK(body.inputs.size() == inputs && body.outputs.size() == outputs,
                  "body `{}` of step `{}` takes {} and gives {}, not {} and {}", body.name, step.label,
                  body.inputs.size(), body.outputs.size(), inputs, outputs);
      plan_.bodies.push_back(make_plan(body));
    }
    plan.bodies.count = count(plan_.bodies) - plan.bodies.first;
  }

  PartPlan add_part(const LaunchPart& part, const Step& step, int at) {
    TENON_CHECK(part.kernel >= 0 && part.kernel < std::ssize(program_.facts), "kernel {}", part.kernel);
    const loops::KernelFacts& kernel = program_.facts[index(part.kernel)];
    TENON_CHECK(part.buffers.size() == kernel.arguments.size(), "kernel `{}`: {} buffers for {}", kernel.name,
                part.buffers.size(), kernel.arguments.size());
    PartPlan plan{.kernel = part.kernel, .step = at, .first_argument = plan_.arguments.size()};
    plan.writes = add_writes(part);
    // Memory for long rows is for long rows alone.
    const Extent is_used = part.long_rows_of < 0 ? Extent(1) : min(1, max(0, part.row_bytes - program_.most_row_bytes));
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const loops::Buffer& buffer = kernel.arguments[i];
      switch (buffer.role) {
        case loops::Role::input: require(step.reads, part.buffers[i], step); break;
        case loops::Role::output: require(step.writes, part.buffers[i], step); break;
        case loops::Role::scratch: plan_.arguments.push_back(-1); continue;
        case loops::Role::partial:
          plan_.arguments.push_back(static_cast<int>(plan_.slots.size()));
          plan_.slots.push_back({.dtype = buffer.dtype,
                                 .elements = id(buffer.elements * is_used),
                                 .first = at,
                                 .last = at,
                                 .written = true});
          continue;
      }
      plan_.arguments.push_back(part.buffers[i]);
    }
    return plan;
  }

  /// A lookup may fail, which is an effect too.
  Span add_writes(const LaunchPart& part) {
    Span writes{.first = count(plan_.writes)};
    const loops::KernelFacts& kernel = program_.facts[index(part.kernel)];
    for (size_t i = 0; i < kernel.arguments.size() && !kernel.may_fail(); ++i) {
      if (kernel.arguments[i].role == loops::Role::output) {
        plan_.writes.push_back(part.buffers[i]);
      }
    }
    writes.count = count(plan_.writes) - writes.first;
    return writes;
  }

  /// Lifetimes come from what steps declare, so a part must stay within that.
  static void require(const std::vector<int>& declared, int buffer, const Step& step) {
    TENON_CHECK(std::find(declared.begin(), declared.end(), buffer) != declared.end(),
                "step `{}` uses buffer {} without saying so", step.label, buffer);
  }

  void use(int buffer, int at) {
    Slot& used = slot(buffer);
    used.first = used.first < 0 ? at : used.first;
    used.last = at;
  }

  Slot& slot(int buffer) {
    TENON_CHECK(buffer >= 0 && buffer < std::ssize(program_.buffers), "buffer {}", buffer);
    return plan_.slots[index(buffer)];
  }

  static size_t index(int i) { return static_cast<size_t>(i); }

  template <class T>
  static uint32_t count(const std::vector<T>& list) {
    return static_cast<uint32_t>(list.size());
  }

  void collect_names() {
    std::set<std::string> names;
    for (const std::vector<Extent>* extents : {&plan_.extents, &plan_.row_extents}) {
      for (const Extent& extent : *extents) {
        for (std::string& name : extent.names()) {
          names.insert(std::move(name));
        }
      }
    }
    for (const Plan& body : plan_.bodies) {
      names.insert(body.names.begin(), body.names.end());
    }
    plan_.names.assign(names.begin(), names.end());
  }

  const Program& program_;
  Plan plan_;
  Ids ids_, row_ids_;
};

}  // namespace

Plan make_plan(const Program& program) { return Planner(program).run(); }

}  // namespace tenon::runtime
