#include "kernel/program/program_verify.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>

#include "base/fail.h"
#include "kernel/program/routine_fits.h"

namespace tenon {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : p_(program) {}

  std::vector<Constraint> run() {
    if (!p_.layouts.empty()) {
      fail("{} constants are not laid out", p_.layouts.size());
    }
    if (p_.most_row_bytes < 0 || p_.least_shared_work < 0 || p_.pipelines.rows < 0 || p_.pipelines.cache < 0 ||
        p_.pipelines.last_cache < 0) {
      fail("a limit below 0");
    }
    std::ranges::for_each(p_.buffers, [&](const ProgramBuffer& each) { check(each); });
    check_inputs();
    std::ranges::for_each(p_.outputs, [&](const ProgramOutput& each) { check(each); });
    std::ranges::for_each(p_.facts, [&](const loops::KernelFacts& each) { check(each); });
    std::ranges::for_each(p_.steps, [&](const Step& each) { check(each); });
    check_regions();
    return std::move(needs_);
  }

 private:
  template <class List>
  static bool has(const List& list, int64_t place) {
    return place >= 0 && place < std::ssize(list);
  }

  const ProgramBuffer& buffer(int place, std::string_view user) const {
    if (!has(p_.buffers, place)) {
      fail("{} has buffer {}, of {}", user, place, p_.buffers.size());
    }
    return p_.buffers[static_cast<size_t>(place)];
  }

  void require_equal(const Extent& found, const Extent& wanted, std::string_view what) {
    switch (compare(found, wanted)) {
      case Comparison::equal: return;
      case Comparison::unknown:
        needs_.push_back({.kind = Constraint::Kind::equal,
                          .lhs = found,
                          .rhs = wanted,
                          .needed_by = std::string(what),
                          .place = {}});
        return;
      case Comparison::different:
        fail("{} has {} elements, where {} should be", what, found.to_string(), wanted.to_string());
    }
  }

  void check(const ProgramBuffer& each) const {
    if (each.memory == Memory::input && !has(p_.inputs, each.source)) {
      fail("a buffer is input {}, of {}", each.source, p_.inputs.size());
    }
    if (each.memory != Memory::constant) {
      return;
    }
    if (!has(p_.constants, each.source)) {
      fail("a buffer is constant {}, of {}", each.source, p_.constants.size());
    }
    const Array& constant = p_.constants[static_cast<size_t>(each.source)];
    const std::optional<int64_t> elements = each.elements.constant();
    if (!elements || *elements > constant.size() || constant.dtype() != each.dtype) {
      fail("a buffer of {} {} is constant {}, which has {} {}", each.elements.to_string(), name(each.dtype),
           each.source, constant.size(), name(constant.dtype()));
    }
  }

  void check_inputs() {
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      const ProgramInput& input = p_.inputs[i];
      const ProgramBuffer& lies = buffer(input.buffer, "an input");
      if (lies.memory != Memory::input || lies.source != static_cast<int>(i) || lies.dtype != input.shape.dtype()) {
        fail("input `{}` lies in a buffer that is not its own", input.name);
      }
      require_equal(lies.elements, input.shape.element_count(), "the buffer of an input");
    }
  }

  void check(const ProgramOutput& output) const {
    const ProgramBuffer& lies = buffer(output.buffer, "an output");
    if (lies.memory == Memory::intermediate || lies.dtype != output.shape.dtype() ||
        std::ssize(output.strides) != output.shape.rank()) {
      fail("output `{}` is no view of its buffer", output.name);
    }
    if (output.aliases != -1 && !has(p_.inputs, output.aliases)) {
      fail("output `{}` takes over input {}, of {}", output.name, output.aliases, p_.inputs.size());
    }
  }

  static void check(const loops::KernelFacts& kernel) {
    if (kernel.phases.empty()) {
      fail("kernel `{}` has no phases", kernel.name);
    }
    for (const loops::PhaseFacts& phase : kernel.phases) {
      if (phase.buffers.size() != kernel.arguments.size()) {
        fail("kernel `{}` has {} arguments, and a phase of it {}", kernel.name, kernel.arguments.size(),
             phase.buffers.size());
      }
    }
    for (const loops::MayShare& pair : kernel.may_share) {
      if (!has(kernel.arguments, pair.input) || !has(kernel.arguments, pair.output)) {
        fail("arguments {} and {} of kernel `{}` may share memory, of {}", pair.input, pair.output, kernel.name,
             kernel.arguments.size());
      }
    }
  }

  void check(const Step& step) {
    for (const int each : step.reads) {
      buffer(each, "a step");
    }
    for (const int each : step.writes) {
      const ProgramBuffer& written = buffer(each, "a step");
      if (written.memory == Memory::constant) {
        fail("step `{}` writes buffer {}, which is a constant", step.label, each);
      }
      if (written.memory == Memory::input &&
          std::ranges::find(p_.outputs, written.source, &ProgramOutput::aliases) == p_.outputs.end()) {
        fail("step `{}` writes buffer {}, which is an input that no output takes over", step.label, each);
      }
    }
    for (const PartialWrite& update : step.updates) {
      if (std::ranges::find(step.writes, update.buffer) == step.writes.end()) {
        fail("step `{}` writes a part of buffer {}, and does not say that it writes it", step.label, update.buffer);
      }
    }
    std::visit([&](const auto& what) { check(what, step); }, step.what);
  }

  void check(const LaunchStep& launch, const Step& step) {
    if (launch.parts.empty()) {
      fail("step `{}` launches nothing", step.label);
    }
    for (size_t i = 0; i < launch.parts.size(); ++i) {
      const LaunchPart& part = launch.parts[i];
      if (!has(p_.facts, part.kernel)) {
        fail("step `{}` launches kernel {}, of {}", step.label, part.kernel, p_.facts.size());
      }
      if (part.long_rows_of < -1 || part.long_rows_of >= static_cast<int>(i)) {
        fail("step `{}`: part {} takes the place of part {}", step.label, i, part.long_rows_of);
      }
      const loops::KernelFacts& kernel = p_.facts[static_cast<size_t>(part.kernel)];
      if (part.buffers.size() != kernel.arguments.size()) {
        fail("step `{}` gives kernel `{}` {} buffers, which takes {}", step.label, kernel.name, part.buffers.size(),
             kernel.arguments.size());
      }
      for (size_t k = 0; k < part.buffers.size(); ++k) {
        check_argument(kernel.arguments[k], part.buffers[k], step);
      }
    }
  }

  void check_argument(const loops::Buffer& argument, int given, const Step& step) const {
    const bool is_own = argument.role == loops::Role::scratch || argument.role == loops::Role::partial;
    if (is_own) {
      if (given != -1) fail("step `{}` gives buffer {} for what its kernel has for itself", step.label, given);
      return;
    }
    const std::vector<int>& declared = argument.role == loops::Role::input ? step.reads : step.writes;
    if (std::ranges::find(declared, given) == declared.end()) {
      fail("step `{}` uses buffer {} without saying so", step.label, given);
    }
    if (buffer(given, "a step").dtype != argument.dtype) {
      fail("step `{}`: buffer {} is {}, and its kernel takes {}", step.label, given,
           name(buffer(given, "a step").dtype), name(argument.dtype));
    }
  }

  void check(const RoutineStep& call, const Step& step) {
    if (call.shapes.size() != step.reads.size() + step.writes.size()) {
      fail("step `{}` has {} shapes for {} operands", step.label, call.shapes.size(),
           step.reads.size() + step.writes.size());
    }
    for (size_t i = 0; i < call.shapes.size(); ++i) {
      const int given = i < step.reads.size() ? step.reads[i] : step.writes[i - step.reads.size()];
      const ProgramBuffer& operand = buffer(given, "a step");
      if (operand.dtype != call.shapes[i].dtype()) {
        fail("step `{}`: buffer {} is {}, and not {}", step.label, given, name(operand.dtype),
             call.shapes[i].to_string());
      }
      require_equal(operand.elements, call.shapes[i].element_count(), "an operand of a routine");
    }
    const auto reads = std::span(call.shapes).first(step.reads.size());
    const auto writes = std::span(call.shapes).subspan(step.reads.size());
    if (!fits(call.routine, reads, writes)) {
      fail("step `{}` has operands that its routine does not take", step.label);
    }
  }

  void check(const ControlStep& what, const Step& step) {
    const size_t bodies = std::holds_alternative<BranchControl>(what.control) ? 2 : 1;
    if (what.bodies.size() != bodies) {
      fail("step `{}` has {} bodies", step.label, what.bodies.size());
    }
    std::visit([&](const auto& control) { check_operands(control, what, step); }, what.control);
    for (const Program& body : what.bodies) {
      const std::vector<Constraint> needs = verify_program(body);
      needs_.insert(needs_.end(), needs.begin(), needs.end());
    }
  }

  static void check_counts(const Program& body, size_t inputs, size_t outputs, const Step& step) {
    if (body.inputs.size() != inputs || body.outputs.size() != outputs) {
      fail("body `{}` of step `{}` takes {} and gives {}, not {} and {}", body.name, step.label, body.inputs.size(),
           body.outputs.size(), inputs, outputs);
    }
  }

  /// What body and step hand each other has one dtype and size.
  void check_passed(const Shape& inside, int outside, const Step& step) {
    const ProgramBuffer& there = buffer(outside, "a step");
    if (there.dtype != inside.dtype()) {
      fail("step `{}` hands {} over as {}", step.label, name(there.dtype), name(inside.dtype()));
    }
    require_equal(inside.element_count(), there.elements, "what a body takes or gives");
  }

  void check_operands(const BranchControl&, const ControlStep& what, const Step& step) {
    if (step.reads.empty() || buffer(step.reads[0], "a step").dtype != Dtype::boolean) {
      fail("step `{}` has no condition", step.label);
    }
    for (const Program& body : what.bodies) {
      check_counts(body, step.reads.size() - 1, step.writes.size(), step);
      for (size_t i = 0; i < body.inputs.size(); ++i) {
        check_passed(body.inputs[i].shape, step.reads[i + 1], step);
      }
      check_outputs(body, 0, step.writes.size(), step);
    }
  }

  void check_operands(const CallControl&, const ControlStep& what, const Step& step) {
    const Program& body = what.bodies.front();
    check_counts(body, step.reads.size(), step.writes.size(), step);
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      check_passed(body.inputs[i].shape, step.reads[i], step);
    }
    check_outputs(body, 0, step.writes.size(), step);
  }

  void check_operands(const LoopControl& loop, const ControlStep& what, const Step& step) {
    const Program& body = what.bodies.front();
    const size_t first = loop.conditional ? 1 : 0;
    check_counts(body, step.reads.size() + 1, step.writes.size() + first, step);
    const auto reads = std::ssize(step.reads);
    if (loop.carried < 0 || loop.scanned < 0 || loop.carried > reads || loop.scanned > reads - loop.carried ||
        loop.carried > std::ssize(step.writes)) {
      fail("step `{}` carries {} values and takes {} by elements, of {}", step.label, loop.carried, loop.scanned,
           reads);
    }
    const auto carried = static_cast<size_t>(loop.carried);
    const auto scanned = static_cast<size_t>(loop.scanned);
    const Shape& trip = body.inputs.front().shape;
    if (trip.dtype() != Dtype::i64 || !(trip.element_count() == Extent(1)) ||
        (loop.conditional && body.outputs.front().shape.dtype() != Dtype::boolean)) {
      fail("body `{}` of step `{}` counts no trips", body.name, step.label);
    }
    for (size_t i = 0; i < step.reads.size(); ++i) {
      const bool by_element = i >= carried && i < carried + scanned;
      const Shape& inside = body.inputs[i + 1].shape;
      if (by_element) {
        check_stacked(inside, step.reads[i], loop.trips, step);
      } else {
        check_passed(inside, step.reads[i], step);
      }
    }
    for (size_t i = 0; i < step.writes.size(); ++i) {
      const Shape& inside = body.outputs[i + first].shape;
      if (i < carried) {
        check_passed(inside, step.writes[i], step);
      } else {
        check_stacked(inside, step.writes[i], loop.trips, step);
      }
    }
  }

  /// One element for each trip.
  void check_stacked(const Shape& inside, int outside, const Extent& trips, const Step& step) {
    const ProgramBuffer& there = buffer(outside, "a step");
    if (there.dtype != inside.dtype()) {
      fail("step `{}` hands {} over as {}", step.label, name(there.dtype), name(inside.dtype()));
    }
    require_equal(inside.element_count() * trips, there.elements, "what a loop takes or gives by elements");
  }

  void check_outputs(const Program& body, size_t first, size_t count, const Step& step) {
    for (size_t i = 0; i < count; ++i) {
      check_passed(body.outputs[i + first].shape, step.writes[i], step);
    }
  }

  void check_regions() const {
    int64_t end = 0;
    for (const Region& region : p_.regions) {
      const int64_t last = int64_t{region.first} + region.count;
      if (region.first < end || region.count < 2 || last > std::ssize(p_.steps)) {
        fail("a region of {} steps from {} on, of {}", region.count, region.first, p_.steps.size());
      }
      for (int64_t at = region.first; at < last; ++at) {
        check_tiled(p_.steps[static_cast<size_t>(at)]);
      }
      end = last;
    }
  }

  void check_tiled(const Step& step) const {
    if (parts_of(step).empty()) {
      fail("step `{}` is in a region, and launches no kernels", step.label);
    }
    for (const LaunchPart& part : parts_of(step)) {
      if (p_.facts[static_cast<size_t>(part.kernel)].phases.size() != 1) {
        fail("step `{}` is in a region, and has phases", step.label);
      }
    }
  }

  const Program& p_;
  std::vector<Constraint> needs_;
};

}  // namespace

std::vector<Constraint> verify_program(const Program& program) { return Verifier(program).run(); }

}  // namespace tenon
