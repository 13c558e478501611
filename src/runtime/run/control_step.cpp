#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/copy_view.h"
#include "runtime/run/executor.h"

namespace tenon::runtime {
namespace {

int64_t bytes_of(const Plan& plan, const Specialization& s, int slot) {
  return s.bytes(plan.slots[static_cast<size_t>(slot)]);
}

/// The body gives the value that it was given as input `i`.
bool is_input(const Plan& plan, const Specialization& s, const OutputPlan& output, size_t i) {
  const Slot& slot = plan.slots[static_cast<size_t>(output.slot)];
  return slot.memory == Memory::input && slot.source == static_cast<int>(i) && s.is_whole(plan, output);
}

/// A body with memory for what it keeps to itself, ready to run again and again.
class Body {
 public:
  /// Body `index` of the program that `outer` runs, for its step `step`; `arena` has what its specialization asks for.
  Body(const Run& outer, int step, uint32_t index, std::byte* arena)
      : context_(outer.context.bodies[index]),
        s_(outer.s.bodies[index]),
        state_(outer.state.bodies[index]),
        run_{.context = context_,
             .s = s_,
             .state = state_,
             .threads = outer.threads,
             .watch = outer.watch,
             .arena = arena,
             .memory_of_bodies = arena + s_.bodies_offset,
             .within = outer.watched(step)},
        executor_(executor_for(context_, outer.threads)),
        results_(context_.plan.outputs.size(), nullptr) {
    const std::vector<Slot>& slots = context_.plan.slots;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].memory == Memory::constant) {
        state_.pointers[i] = context_.constants[static_cast<size_t>(slots[i].source)];
      } else if (slots[i].memory == Memory::intermediate) {
        state_.pointers[i] = arena + s_.offsets[i];
      }
    }
  }

  const Plan& plan() const { return context_.plan; }
  const Specialization& specialization() const { return s_; }

  void set_input(size_t i, std::byte* data) {
    state_.pointers[static_cast<size_t>(context_.program.inputs[i].buffer)] = data;
  }
  /// Where a result goes; none: nobody wants it.
  void set_output(size_t i, std::byte* data) {
    results_[i] = data;
    const OutputPlan& output = context_.plan.outputs[i];
    if (output.is_slot) {
      state_.pointers[static_cast<size_t>(output.slot)] = data;
    }
  }

  void run() {
    std::ranges::transform(context_.plan.arguments, state_.arguments.begin(), [&](int slot) -> void* {
      return slot < 0 ? nullptr : state_.pointers[static_cast<size_t>(slot)];
    });
    executor_(run_);
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!context_.plan.outputs[i].is_slot && results_[i] != nullptr) {
        copy(context_.plan.outputs[i], results_[i]);
      }
    }
  }

 private:
  /// What no step of the body wrote where it is wanted: an input, a constant, or what is given twice.
  void copy(const OutputPlan& output, std::byte* to) const {
    const Slot& slot = context_.plan.slots[static_cast<size_t>(output.slot)];
    std::byte* const from = state_.pointers[static_cast<size_t>(output.slot)];
    if (s_.is_whole(context_.plan, output)) {
      context_.device.copy(to, from, s_.bytes(slot));
      return;
    }
    const std::vector<int64_t> dims = s_.values_of(output.dims);
    const std::vector<int64_t> strides = s_.values_of(output.strides);
    const int64_t offset = s_.value(output.offset) * static_cast<int64_t>(byte_size(slot.dtype));
    copy_view(context_.device, {.dtype = slot.dtype, .dims = dims, .strides = strides, .data = from},
              {.offset = offset, .of_bytes = s_.bytes(slot)}, to);
  }

  const Context& context_;
  const Specialization& s_;
  RunState& state_;
  Run run_;
  Executor executor_;
  std::vector<std::byte*> results_;
};

/// A number that the host and kernels share.
template <class T>
class DeviceScalar {
 public:
  explicit DeviceScalar(const Context& context)
      : device_(context.device), memory_(context.memory, context.device.is_host() ? 0 : int64_t{sizeof(T)}) {}

  std::byte* address() { return device_.is_host() ? reinterpret_cast<std::byte*>(&value_) : memory_.get(); }
  void set(T value) {
    value_ = value;
    if (!device_.is_host()) {
      device_.copy_in(memory_.get(), &value_, sizeof(T));
    }
  }
  T get() {
    if (!device_.is_host()) {
      device_.copy_out(&value_, memory_.get(), sizeof(T));
    }
    return value_;
  }

 private:
  devices::Device& device_;
  PooledBlock memory_;
  T value_ = {};
};

/// The trips of one loop.
class Trips {
 public:
  Trips(const Run& run, int number, const LoopControl& loop)
      : run_(run),
        number_(number),
        loop_(loop),
        step_(run.context.program.steps[static_cast<size_t>(number)]),
        trips_(run.s.value(run.context.plan.steps[static_cast<size_t>(number)].trips)),
        body_(run, number, run.context.plan.steps[static_cast<size_t>(number)].bodies.first, run.memory_of_bodies),
        trip_(run.context),
        goes_on_(run.context) {
    std::byte* spare = run.memory_of_bodies + aligned(body_.specialization().memory.arena_bytes);
    for (size_t i = 0; i < carried(); ++i) {
      const int64_t bytes = bytes_of(run.context.plan, run.s, step_.writes[i]);
      const OutputPlan& output = body_.plan().outputs[first() + i];
      carried_.push_back({.now = pointer(step_.reads[i]),
                          .last = pointer(step_.writes[i]),
                          .other = spare,
                          .bytes = bytes,
                          .stays = is_input(body_.plan(), body_.specialization(), output, 1 + i)});
      spare += aligned(bytes);
    }
  }

  void run() {
    body_.set_input(0, trip_.address());
    if (loop_.conditional) {
      body_.set_output(0, goes_on_.address());
    }
    for (size_t i = 0; i < step_.reads.size(); ++i) {
      body_.set_input(1 + i, pointer(step_.reads[i]));
    }
    bool goes_on = true;
    for (int64_t trip = 0; trip < trips_ && goes_on; ++trip) {
      if (run_.watch != nullptr) {
        run_.watch->before(run_.watched(number_));
      }
      trip_.set(trip);
      run_trip(trip);
      goes_on = !loop_.conditional || goes_on_.get();
    }
    for (const Carried& value : carried_) {
      if (value.now != value.last) {
        run_.context.device.copy(value.last, value.now, value.bytes);
      }
    }
  }

 private:
  /// A value of which one trip reads what the one before wrote, in two places by turns.
  struct Carried {
    std::byte* now = nullptr;
    std::byte* last = nullptr;   // where it must be in the end, and is written by the last trip
    std::byte* other = nullptr;  // written by the last but one, and so on
    int64_t bytes = 0;
    bool stays = false;  // the body gives it as it was
  };

  size_t carried() const { return static_cast<size_t>(loop_.carried); }
  size_t first() const { return loop_.conditional ? 1 : 0; }
  std::byte* pointer(int slot) const { return run_.state.pointers[static_cast<size_t>(slot)]; }

  /// Element `trip` of an array of one for each trip.
  std::byte* element(int slot, int64_t trip) const {
    return pointer(slot) + bytes_of(run_.context.plan, run_.s, slot) / trips_ * trip;
  }

  void run_trip(int64_t trip) {
    const bool to_last = (trips_ - 1 - trip) % 2 == 0;
    for (size_t i = 0; i < carried(); ++i) {
      const Carried& value = carried_[i];
      if (!value.stays) {
        body_.set_input(1 + i, value.now);
        body_.set_output(first() + i, to_last ? value.last : value.other);
      }
    }
    for (size_t i = carried(); i < carried() + static_cast<size_t>(loop_.scanned); ++i) {
      body_.set_input(1 + i, element(step_.reads[i], trip));
    }
    for (size_t i = carried(); i < step_.writes.size(); ++i) {
      body_.set_output(first() + i, element(step_.writes[i], trip));
    }
    body_.run();
    for (Carried& value : carried_) {
      value.now = value.stays ? value.now : to_last ? value.last : value.other;
    }
  }

  const Run& run_;
  int number_;
  const LoopControl& loop_;
  const Step& step_;
  int64_t trips_;
  Body body_;
  std::vector<Carried> carried_;
  DeviceScalar<int64_t> trip_;
  DeviceScalar<bool> goes_on_;
};

void run_once(const Run& run, int number, uint32_t index, size_t first_read) {
  const Step& step = run.context.program.steps[static_cast<size_t>(number)];
  Body body(run, number, index, run.memory_of_bodies);
  for (size_t i = first_read; i < step.reads.size(); ++i) {
    body.set_input(i - first_read, run.state.pointers[static_cast<size_t>(step.reads[i])]);
  }
  for (size_t i = 0; i < step.writes.size(); ++i) {
    body.set_output(i, run.state.pointers[static_cast<size_t>(step.writes[i])]);
  }
  body.run();
}

struct RunControl {
  const Run& run;
  int number;

  uint32_t first() const { return run.context.plan.steps[static_cast<size_t>(number)].bodies.first; }

  void operator()(const LoopControl& loop) const { Trips(run, number, loop).run(); }
  void operator()(const CallControl&) const { run_once(run, number, first(), 0); }
  void operator()(const BranchControl&) const {
    const Step& step = run.context.program.steps[static_cast<size_t>(number)];
    bool condition = false;
    run.context.device.copy_out(&condition, run.state.pointers[static_cast<size_t>(step.reads[0])], sizeof(condition));
    run_once(run, number, first() + (condition ? 0 : 1), 1);
  }
};

/// Whether there is anything to compute: a body does nothing but give values.
bool writes_something(const Run& run, const Step& step) {
  return std::ranges::any_of(step.writes, [&](int slot) { return bytes_of(run.context.plan, run.s, slot) > 0; });
}

}  // namespace

void run_control_step(const Run& run, int step) {
  const Step& described = run.context.program.steps[static_cast<size_t>(step)];
  const auto work = [&] {
    if (writes_something(run, described)) {
      std::visit(RunControl{.run = run, .number = step}, std::get<ControlStep>(described.what).control);
    }
  };
  if (run.watch == nullptr) {
    work();
    return;
  }
  run.watch->before(run.watched(step));
  const int64_t start = run.watch->now();
  work();
  if (run.watch->traces()) {
    run.watch->add(
        {.step = run.watched(step), .inside = inside(run, step), .begin_ns = start, .end_ns = run.watch->now()});
  }
}

}  // namespace tenon::runtime
