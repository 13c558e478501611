#include "runtime/run/step_reads.h"

#include <algorithm>

namespace tenon::runtime {

StepReads step_reads(const Program& program, int first_step, std::span<const int> inputs) {
  std::vector<int> writer(program.buffers.size(), -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    writer[static_cast<size_t>(program.inputs[i].buffer)] = inputs[i];
  }
  StepReads result;
  for (const Step& step : program.steps) {
    std::vector<int>& reads = result.of_steps.emplace_back();
    const auto read = [&](int buffer) {
      if (const int from = writer[static_cast<size_t>(buffer)]; from >= 0) {
        reads.push_back(from);
      }
    };
    std::ranges::for_each(step.reads, read);
    for (const PartialWrite& update : step.updates) {
      read(update.buffer);
    }
    std::ranges::sort(reads);
    reads.erase(std::ranges::unique(reads).begin(), reads.end());
    const int number = first_step + static_cast<int>(result.of_steps.size()) - 1;
    for (const int buffer : step.writes) {
      writer[static_cast<size_t>(buffer)] = number;
    }
  }
  for (const ProgramOutput& output : program.outputs) {
    result.of_outputs.push_back(writer[static_cast<size_t>(output.buffer)]);
  }
  return result;
}

}  // namespace tenon::runtime
