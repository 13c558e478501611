// One run of a program at one binding: memory for its slots, its steps, and what becomes of its outputs.
#pragma once

#include <span>
#include <vector>

#include "runtime/run/executor.h"
#include "tenon/strided_array.h"

namespace tenon::runtime {

/// Lives for one run. `state` has the inputs, and the outputs of run_into(); the others it fills in.
class Execution {
 public:
  /// `donated` is empty or the inputs, which may then be taken. Error: outputs of run_into() that do not fit.
  Execution(const Context& context, const Specialization& s, RunState& state, std::span<Array> donated);

  /// Have the state's lists have their sizes, so that a run allocates none of them.
  static void reserve(const Context& context, RunState& state);

  /// `observer` is told of outputs while it goes on; null where nobody is.
  void run(Executor executor, int threads, Watch* watch, RunObserver* observer);

  // After run(), one of:
  /// In the CPU's memory, or where the device has them.
  std::vector<Array> arrays(bool on_device) const;
  std::vector<StridedArray> views() const;
  void write_outputs() const;

 private:
  void execute(Executor executor, int threads, Watch* watch, RunObserver* observer);
  void check_outputs();
  void copy_input(const Operand& input, std::byte* to);
  void provide_input(size_t slot, std::span<Array> donated);
  std::byte* input_on_device(size_t slot, std::span<Array> donated);
  std::byte* provide_output(size_t slot, std::span<Array> donated);
  bool is_given(size_t source, std::span<const Array> donated);
  std::byte* memory_of_result(size_t slot) const;
  std::byte* take_state(size_t slot, const Slot& from, std::span<Array> donated);
  bool is_overwritten(const Slot& slot, const Operand& input) const;
  bool is_updated_in_place(size_t slot, const Operand& input) const;
  Array base(size_t slot) const;
  Array base_on_cpu(size_t slot) const;
  Array array_on_device(const OutputPlan& output) const;
  Array array_from_device(const OutputPlan& output) const;
  Array array_of_view(const OutputPlan& output) const;
  Array array(const OutputPlan& output) const;

  const Context& c_;
  const Specialization& s_;
  RunState& state_;
  PooledBlock arena_;
  bool knows_ranges_ = false;  // RunState::input_ranges are those of this run, where there are no outputs
};

}  // namespace tenon::runtime
