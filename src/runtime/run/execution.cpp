#include "runtime/run/execution.h"

#include <algorithm>

#include "base/fail.h"
#include "runtime/memory/copy_elements.h"
#include "runtime/memory/copy_view.h"
#include "runtime/memory/device_array.h"
#include "runtime/run/announcer.h"

namespace tenon::runtime {

Execution::Execution(const Context& context, const Specialization& s, RunState& state, std::span<Array> donated)
    : c_(context), s_(s), state_(state), arena_(context.memory, s.memory.arena_bytes) {
  check_outputs();
  reserve(context, state);
  const std::vector<Slot>& slots = c_.plan.slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    switch (slots[i].memory) {
      case Memory::input: provide_input(i, donated); break;
      case Memory::constant: state_.pointers[i] = c_.constants[static_cast<size_t>(slots[i].source)]; break;
      case Memory::intermediate: state_.pointers[i] = arena_.get() + s_.offsets[i]; break;
      case Memory::output: state_.pointers[i] = provide_output(i, donated); break;
    }
  }
  std::ranges::transform(c_.plan.arguments, state_.arguments.begin(),
                         [&](int slot) { return slot < 0 ? nullptr : state_.pointers[static_cast<size_t>(slot)]; });
}

namespace {

void reserve_bodies(const Context& context, RunState& state) {
  state.bodies.resize(context.bodies.size());
  for (size_t i = 0; i < state.bodies.size(); ++i) {
    state.bodies[i].pointers.resize(context.bodies[i].plan.slots.size());
    state.bodies[i].arguments.resize(context.bodies[i].plan.arguments.size());
    reserve_bodies(context.bodies[i], state.bodies[i]);
  }
}

}  // namespace

void Execution::reserve(const Context& context, RunState& state) {
  const size_t slots = context.plan.slots.size();
  reserve_bodies(context, state);
  state.inputs.reserve(context.program.inputs.size());
  state.outputs.reserve(context.program.outputs.size());
  state.input_ranges.reserve(context.program.inputs.size());
  state.output_ranges.reserve(context.program.outputs.size());
  state.pointers.resize(slots);
  state.made.resize(slots);
  state.arrays.resize(slots);
  state.arguments.resize(context.plan.arguments.size());
}

void Execution::run(Executor executor, int threads, Watch* watch, RunObserver* observer) {
  try {
    execute(executor, threads, watch, observer);
  } catch (...) {
    c_.device.wait();  // what was launched uses memory that goes back; it failed for another reason already
    throw;
  }
}

void Execution::execute(Executor executor, int threads, Watch* watch, RunObserver* observer) {
  std::optional<Announcer> announcer;
  if (observer != nullptr && c_.is_host) announcer.emplace(c_, s_, state_, *observer);
  executor({.context = c_,
            .s = s_,
            .state = state_,
            .threads = threads,
            .watch = watch,
            .arena = arena_.get(),
            .memory_of_bodies = arena_.get() + s_.bodies_offset,
            .announcer = announcer ? &*announcer : nullptr});
}

void Execution::check_outputs() {
  for (size_t i = 0; i < state_.outputs.size(); ++i) {
    const Operand& given = state_.outputs[i];
    const ProgramOutput& declared = c_.program.outputs[i];
    const bool fits =
        given.dtype == declared.shape.dtype() &&
        std::ranges::equal(given.dims, c_.plan.outputs[i].dims, {}, {}, [&](ExtentId id) { return s_.value(id); });
    if (!fits) {
      fail("output `{}` is {}[{}] at {}, but memory was given for {}[{}]", declared.name, name(declared.shape.dtype()),
           fmt::join(s_.values_of(c_.plan.outputs[i].dims), ", "), s_.bindings.to_string(), name(given.dtype),
           fmt::join(given.dims, ", "));
    }
    if (!given.is_injective()) {
      fail("output `{}`: elements of the memory that was given for [{}] with strides [{}] lie on one another",
           declared.name, fmt::join(given.dims, ", "), fmt::join(given.strides, ", "));
    }
  }
  if (state_.outputs.empty()) {
    return;
  }
  state_.input_ranges.assign(state_.inputs, AddressRanges::Which::all);
  state_.output_ranges.assign(state_.outputs, AddressRanges::Which::plain);  // others may lie in each other's gaps
  if (const auto [first, second] = state_.output_ranges.overlapping(); first != second) {
    fail("outputs `{}` and `{}` were given memory that overlaps", c_.program.outputs[first].name,
         c_.program.outputs[second].name);
  }
}

/// On the device, wherever the caller has it.
void Execution::copy_input(const Operand& input, std::byte* to) {
  if (c_.is_host) {
    copy_elements(input, {.dtype = input.dtype, .dims = input.dims, .data = to});
    return;
  }
  const int64_t bytes = input.size() * static_cast<int64_t>(byte_size(input.dtype));
  if (input.is_row_major()) {
    c_.device.copy_in(to, input.data, bytes);
    return;
  }
  Array rows = Array::uninitialized(input.dtype, {input.dims.begin(), input.dims.end()});
  copy_elements(input, {.dtype = input.dtype, .dims = input.dims, .data = rows.mutable_data()});
  c_.device.copy_in(to, rows.data(), bytes);
}

void Execution::provide_input(size_t slot, std::span<Array> donated) {
  const Slot& plan = c_.plan.slots[slot];
  const auto source = static_cast<size_t>(plan.source);
  const Operand& input = state_.inputs[source];
  if (!c_.is_host) {
    state_.pointers[slot] = input_on_device(slot, donated);
    return;
  }
  if (!plan.written) {
    if (input.is_plain() && !is_overwritten(plan, input)) {
      state_.pointers[slot] = input.data;
      return;
    }
    state_.made[slot] = c_.memory.take(s_.bytes(plan));
    state_.pointers[slot] = state_.made[slot].get();
    copy_input(input, state_.pointers[slot]);
    return;
  }
  if (is_updated_in_place(slot, input)) {
    state_.pointers[slot] = input.data;
    return;
  }
  if (is_given(source, donated)) {
    state_.pointers[slot] = state_.arrays[slot].emplace(std::move(donated[source])).mutable_data();
    return;
  }
  state_.pointers[slot] = memory_of_result(slot);
  if (state_.pointers[slot] == nullptr) {
    state_.made[slot] = c_.memory.take(s_.bytes(plan));
    state_.pointers[slot] = state_.made[slot].get();
  }
  copy_input(input, state_.pointers[slot]);
}

/// Where an input lies on a device whose memory is not the host's: as it is, or in a copy.
std::byte* Execution::input_on_device(size_t slot, std::span<Array> donated) {
  const Slot& plan = c_.plan.slots[slot];
  const auto source = static_cast<size_t>(plan.source);
  const Operand& input = state_.inputs[source];
  const bool is_there = input.array != nullptr && input.array->place().kind != DeviceKind::cpu;
  if (is_there && !plan.written) {
    return input.data;
  }
  if (is_there && is_given(source, donated)) {
    return state_.arrays[slot].emplace(std::move(donated[source])).storage().address;
  }
  state_.made[slot] = c_.memory.take(s_.bytes(plan));
  std::byte* const copy = state_.made[slot].get();
  if (is_there) {
    c_.device.copy(copy, input.data, s_.bytes(plan));
  } else {
    copy_input(input, copy);
  }
  return copy;
}

/// Whether an input may be written: it was given, nobody else holds its memory, and no other input lies there, as
/// memory that the caller lends twice would.
bool Execution::is_given(size_t source, std::span<const Array> donated) {
  if (donated.empty() || donated[source].is_shared()) {
    return false;
  }
  if (!knows_ranges_) {
    state_.input_ranges.assign(state_.inputs, AddressRanges::Which::all);
    knows_ranges_ = true;
  }
  return state_.input_ranges.count_overlaps(address_range(state_.inputs[source])) <= 1;
}

/// Where the caller of run_into() wants what lies in a slot, if kernels can write there; else null.
std::byte* Execution::memory_of_result(size_t slot) const {
  const Slot& plan = c_.plan.slots[slot];
  if (plan.outputs != 1 || state_.outputs.empty() || !c_.is_host) {
    return nullptr;
  }
  const auto output = static_cast<size_t>(plan.output);
  const Operand& given = state_.outputs[output];
  return s_.is_whole(c_.plan, c_.plan.outputs[output]) && given.is_plain() &&
                 state_.input_ranges.count_overlaps(address_range(given)) == 0
             ? given.data
             : nullptr;
}

/// Outputs that are views of an input are copied from it when all steps have run, and other outputs may lie there then.
bool Execution::is_overwritten(const Slot& slot, const Operand& input) const {
  const AddressRange mine = address_range(input);
  return slot.outputs > 0 && std::ranges::any_of(state_.outputs, [&](const Operand& output) {
           return address_range(output).overlaps(mine);
         });
}

/// The caller of run_into() wants the result where the input is.
bool Execution::is_updated_in_place(size_t slot, const Operand& input) const {
  for (size_t i = 0; i < state_.outputs.size(); ++i) {
    const OutputPlan& output = c_.plan.outputs[i];
    if (output.slot == static_cast<int>(slot) && state_.outputs[i].data == input.data && input.data != nullptr) {
      return s_.is_whole(c_.plan, output) && input.is_plain() && state_.outputs[i].is_plain() &&
             state_.input_ranges.count_overlaps(address_range(input)) == 1;  // no other input is read there
    }
  }
  return false;
}

std::byte* Execution::provide_output(size_t slot, std::span<Array> donated) {
  if (const int from = c_.plan.slots[slot].in_place; from >= 0) {
    if (std::byte* const state = take_state(slot, c_.plan.slots[static_cast<size_t>(from)], donated)) {
      return state;
    }
  }
  if (std::byte* const wanted = memory_of_result(slot)) {
    return wanted;
  }
  state_.made[slot] = c_.memory.take(s_.bytes(c_.plan.slots[slot]));
  return state_.made[slot].get();
}

/// The memory of the input `from` for output `slot`, when that was given and nobody else has it, or when the caller of
/// run_into() wants the result there; else null.
std::byte* Execution::take_state(size_t slot, const Slot& from, std::span<Array> donated) {
  const auto source = static_cast<size_t>(from.source);
  const Operand& input = state_.inputs[source];
  const auto output = static_cast<size_t>(c_.plan.slots[slot].output);
  if (!c_.is_host || !input.is_plain() || input.data == nullptr || !s_.is_whole(c_.plan, c_.plan.outputs[output]) ||
      s_.bytes(from) != s_.bytes(c_.plan.slots[slot])) {
    return nullptr;
  }
  if (!donated.empty()) {
    return is_given(source, donated) ? state_.arrays[slot].emplace(std::move(donated[source])).mutable_data() : nullptr;
  }
  if (state_.outputs.empty()) {
    return nullptr;
  }
  const Operand& wanted = state_.outputs[output];
  return wanted.data == input.data && wanted.is_plain() &&
                 state_.input_ranges.count_overlaps(address_range(wanted)) == 1
             ? wanted.data
             : nullptr;
}

/// The array that a slot is, or memory that was made for it: on the device.
Array Execution::base(size_t slot) const {
  const Slot& plan = c_.plan.slots[slot];
  if (state_.made[slot]) {
    return c_.is_host ? Array::adopt(plan.dtype, {s_.value(plan.elements)}, state_.made[slot])
                      : array_on(c_.device, plan.dtype, {s_.value(plan.elements)}, state_.made[slot]);
  }
  if (state_.arrays[slot]) {
    return *state_.arrays[slot];
  }
  const auto source = static_cast<size_t>(plan.source);
  if (plan.memory != Memory::constant) {
    return *state_.inputs[source].array;
  }
  const Array& constant = c_.program.constants[source];
  return c_.is_host ? constant : array_on(c_.device, plan.dtype, constant.dims(), c_.uploads[source]);
}

Array Execution::base_on_cpu(size_t slot) const {
  const Slot& plan = c_.plan.slots[slot];
  if (c_.is_host) {
    return base(slot);
  }
  const bool is_constant = plan.memory == Memory::constant && !state_.made[slot] && !state_.arrays[slot];
  return is_constant ? c_.program.constants[static_cast<size_t>(plan.source)] : copied_out(c_.device, base(slot));
}

/// On a device whose memory is not the host's.
Array Execution::array_on_device(const OutputPlan& output) const {
  const auto slot = static_cast<size_t>(output.slot);
  const Slot& plan = c_.plan.slots[slot];
  const Array whole = base(slot);
  std::vector<int64_t> dims = s_.values_of(output.dims);
  if (s_.is_whole(c_.plan, output)) {
    return whole.reshaped(std::move(dims));
  }
  const std::vector<int64_t> strides = s_.values_of(output.strides);
  const Operand view{.dtype = plan.dtype, .dims = dims, .strides = strides, .data = whole.storage().address};
  const auto element = static_cast<int64_t>(byte_size(plan.dtype));
  std::shared_ptr<std::byte[]> rows = c_.memory.take(view.size() * element);
  copy_view(c_.device, view, {.offset = s_.value(output.offset) * element, .of_bytes = s_.bytes(plan)}, rows.get());
  return array_on(c_.device, plan.dtype, dims, std::move(rows));
}

Array Execution::array(const OutputPlan& output) const {
  const auto slot = static_cast<size_t>(output.slot);
  const Slot& plan = c_.plan.slots[slot];
  if (c_.is_host && state_.made[slot] && s_.is_whole(c_.plan, output)) {  // what most outputs are
    return Array::adopt(plan.dtype, s_.values_of(output.dims), state_.made[slot]);
  }
  return c_.is_host ? array_of_view(output) : array_from_device(output);
}

Array Execution::array_from_device(const OutputPlan& output) const {
  return s_.is_whole(c_.plan, output)
             ? base_on_cpu(static_cast<size_t>(output.slot)).reshaped(s_.values_of(output.dims))
             : copied_out(c_.device, array_on_device(output));
}

Array Execution::array_of_view(const OutputPlan& output) const {
  const auto slot = static_cast<size_t>(output.slot);
  const Slot& plan = c_.plan.slots[slot];
  const bool borrowed = plan.memory == Memory::input && !state_.made[slot] && !state_.arrays[slot] &&
                        state_.inputs[static_cast<size_t>(plan.source)].array == nullptr;
  StridedArray view{.base = borrowed ? Array() : base(slot),
                    .offset = s_.value(output.offset),
                    .dims = s_.values_of(output.dims),
                    .strides = s_.values_of(output.strides)};
  if (!borrowed) {
    return view.contiguous();
  }
  Array copy = Array::uninitialized(plan.dtype, view.dims);
  const int64_t offset = view.offset * static_cast<int64_t>(byte_size(plan.dtype));
  copy_elements(
      {.dtype = plan.dtype, .dims = view.dims, .strides = view.strides, .data = state_.pointers[slot] + offset},
      operand_of(copy));
  return copy;
}

std::vector<Array> Execution::arrays(bool on_device) const {
  std::vector<Array> result;
  result.reserve(c_.plan.outputs.size());
  const bool stay = on_device && !c_.is_host;
  for (const OutputPlan& output : c_.plan.outputs) {
    result.push_back(stay ? array_on_device(output) : array(output));
  }
  if (stay) {
    c_.device.wait();  // for copies: what was launched has been waited for
  }
  return result;
}

std::vector<StridedArray> Execution::views() const {
  std::vector<StridedArray> result;
  result.reserve(c_.plan.outputs.size());
  std::vector<std::optional<Array>> bases(c_.plan.slots.size());  // one for each slot, as views of one share it
  for (const OutputPlan& output : c_.plan.outputs) {
    std::optional<Array>& base_array = bases[static_cast<size_t>(output.slot)];
    if (!base_array) {
      base_array = base_on_cpu(static_cast<size_t>(output.slot));
    }
    result.push_back({.base = *base_array,
                      .offset = s_.value(output.offset),
                      .dims = s_.values_of(output.dims),
                      .strides = s_.values_of(output.strides)});
  }
  return result;
}

void Execution::write_outputs() const {
  for (size_t i = 0; i < state_.outputs.size(); ++i) {
    const OutputPlan& output = c_.plan.outputs[i];
    const Operand& to = state_.outputs[i];
    const auto slot = static_cast<size_t>(output.slot);
    if (state_.pointers[slot] == to.data && s_.is_whole(c_.plan, output) && to.is_plain()) {
      continue;  // it is there
    }
    if (!c_.is_host) {
      const Array rows = array(output);
      copy_elements(operand_of(rows), to);
      continue;
    }
    const std::vector<int64_t> strides = s_.values_of(output.strides);
    const int64_t offset = s_.value(output.offset) * static_cast<int64_t>(byte_size(to.dtype));
    copy_elements({.dtype = to.dtype, .dims = to.dims, .strides = strides, .data = state_.pointers[slot] + offset}, to);
  }
}

}  // namespace tenon::runtime
