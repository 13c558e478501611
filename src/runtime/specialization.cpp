#include "runtime/specialization.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "runtime/arena.h"

namespace tenon::runtime {
namespace {

/// Below this much work of a launch, in the units of work.h, a second thread costs more than it gives.
constexpr int64_t kInlineWork = 32768;
/// The least work of a chunk, against the cost of claiming it.
constexpr int64_t kChunkWork = 8192;
/// Chunks for each thread: enough that threads end together though some chunks take longer.
constexpr int64_t kChunksPerThread = 4;

class Specializer {
 public:
  Specializer(const Program& program, const Plan& plan, int threads)
      : program_(program), plan_(plan), threads_(threads) {}

  Specialization run(const Bindings& bindings) {
    s_.bindings = bindings;
    compute_values();
    check_outputs();
    lay_out();
    for (const KernelPlan& kernel : plan_.kernels) {
      s_.kernel_sizes.push_back(s_.values_of(kernel.sizes));
    }
    s_.launches.reserve(plan_.steps.size());
    for (const StepPlan& step : plan_.steps) {
      std::vector<Launch>& launches = s_.launches.emplace_back();
      for (int phase = 0; phase < step.phases; ++phase) {
        launches.push_back(launch(step, phase));
      }
    }
    return std::move(s_);
  }

 private:
  void compute_values() {
    std::vector<int64_t> names;
    for (const std::string& name : plan_.names) {
      names.push_back(s_.bindings.at(name));
    }
    std::vector<int64_t> registers(plan_.sizes.register_count());
    const ExtentProgram::Status status = plan_.sizes.run(names, registers);
    if (!status.ok()) {
      evaluate(plan_.extents[status.extent], s_.bindings);  // says what went wrong
      TENON_CHECK(false, "extent `{}` has a value after all", plan_.extents[status.extent].to_string());
    }
    for (size_t i = 0; i < plan_.extents.size(); ++i) {
      s_.values.push_back(registers[plan_.sizes.result(i)]);
    }
  }

  void check_outputs() const {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const OutputPlan& output = plan_.outputs[i];
      const std::vector<int64_t> dims = s_.values_of(output.dims);
      if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) {
        resolve(program_.outputs[i].shape, s_.bindings);  // says which axis
      }
      Array::require_memory(program_.outputs[i].shape.dtype(), dims);
      check_inside(i, dims);
    }
  }

  /// Every element of a view lies in its buffer.
  void check_inside(size_t i, const std::vector<int64_t>& dims) const {
    const OutputPlan& output = plan_.outputs[i];
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
      return;
    }
    int64_t lowest = s_.value(output.offset);
    int64_t highest = lowest;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const std::optional<int64_t> reach = checked_mul(dims[axis] - 1, s_.value(output.strides[axis]));
      const std::optional<int64_t> end = reach ? checked_add(*reach < 0 ? lowest : highest, *reach) : std::nullopt;
      TENON_CHECK(end, "output `{}` lies beyond 64 bits", program_.outputs[i].name);
      (*reach < 0 ? lowest : highest) = *end;
    }
    const int64_t elements = s_.value(plan_.slots[static_cast<size_t>(output.slot)].elements);
    TENON_CHECK(lowest >= 0 && highest < elements, "output `{}` has elements {} to {} of a buffer of {}",
                program_.outputs[i].name, lowest, highest, elements);
  }

  void lay_out() {
    std::vector<Block> blocks;
    std::vector<size_t> placed;
    s_.offsets.assign(plan_.slots.size(), 0);
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      const Slot& slot = plan_.slots[i];
      const int64_t elements = s_.value(slot.elements);
      if (elements < 0) {
        resolve(plan_.extents[static_cast<size_t>(slot.elements)], s_.bindings);  // says so
      }
      Array::require_memory(slot.dtype, {elements});
      s_.bytes.push_back(elements * static_cast<int64_t>(byte_size(slot.dtype)));
      if (slot.memory == Memory::intermediate && slot.first >= 0) {
        blocks.push_back({s_.bytes[i], slot.first, slot.last});
        placed.push_back(i);
        s_.memory.intermediate_bytes += s_.bytes[i];
      } else if (slot.memory == Memory::output) {
        s_.memory.output_bytes += s_.bytes[i];
      }
    }
    std::vector<int64_t> offsets(blocks.size());
    try {
      s_.memory.arena_bytes = place(blocks, offsets);
      Array::require_memory(Dtype::u8,
                            {checked_add(s_.memory.arena_bytes, s_.memory.output_bytes).value_or(INT64_MAX)});
    } catch (Error& error) {
      throw std::move(error.note(
          fmt::format("for the intermediates and outputs of `{}` at {}", program_.name, s_.bindings.to_string())));
    }
    for (size_t i = 0; i < placed.size(); ++i) {
      s_.offsets[placed[i]] = offsets[i];
    }
  }

  struct Load {
    int64_t iterations = 0;
    double each = 0;  // work of one
  };

  bool has_long_rows(const PartPlan& part) const {
    return s_.value(plan_.kernels[static_cast<size_t>(part.kernel)].scratch) > kMostScratch;
  }

  /// Whether the part runs at all: not when another takes its place.
  bool is_chosen(const StepPlan& step, const PartPlan& part) const {
    if (part.long_rows_of >= 0) {
      return has_long_rows(step.parts[static_cast<size_t>(part.long_rows_of)]);
    }
    return part.long_rows < 0 || !has_long_rows(part);
  }

  Load load(const StepPlan& step, const PartPlan& part, int phase) const {
    if (!is_chosen(step, part)) {
      return {};
    }
    const KernelPlan& kernel = plan_.kernels[static_cast<size_t>(part.kernel)];
    const auto p = static_cast<size_t>(phase);
    if (p >= kernel.grids.size()) {
      return {};
    }
    return {std::max<int64_t>(0, s_.value(kernel.grids[p])),
            static_cast<double>(std::max<int64_t>(1, s_.value(kernel.work[p])))};
  }

  Launch launch(const StepPlan& step, int phase) const {
    Launch result{.phase = phase, .ranges = {}, .chunks = 0};
    double total = 0;
    for (const PartPlan& part : step.parts) {
      const Load l = load(step, part, phase);
      total += static_cast<double>(l.iterations) * l.each;
    }
    const bool alone = threads_ == 1 || total < static_cast<double>(kInlineWork);
    const double chunk =
        std::max(static_cast<double>(kChunkWork), total / static_cast<double>(kChunksPerThread * threads_));
    for (size_t i = 0; i < step.parts.size(); ++i) {
      const Load l = load(step, step.parts[i], phase);
      if (l.iterations == 0) {
        continue;
      }
      const auto grain = alone ? l.iterations : std::max<int64_t>(1, static_cast<int64_t>(chunk / l.each));
      result.ranges.push_back({.part = static_cast<int>(i),
                               .count = l.iterations,
                               .grain = std::min(grain, l.iterations),
                               .first_chunk = result.chunks});
      result.chunks += (l.iterations - 1) / result.ranges.back().grain + 1;
    }
    if (alone) {
      result.chunks = std::min<int64_t>(result.chunks, 1);
    }
    return result;
  }

  const Program& program_;
  const Plan& plan_;
  int threads_;
  Specialization s_;
};

template <class T>
int64_t bytes_of(const std::vector<T>& v) {
  return static_cast<int64_t>(v.capacity() * sizeof(T));
}

}  // namespace

std::vector<int64_t> Specialization::values_of(const std::vector<ExtentId>& ids) const {
  std::vector<int64_t> result;
  result.reserve(ids.size());
  for (const ExtentId id : ids) {
    result.push_back(value(id));
  }
  return result;
}

int64_t Specialization::byte_count() const {
  int64_t total = static_cast<int64_t>(sizeof(Specialization)) + bytes_of(values) + bytes_of(bytes) +
                  bytes_of(offsets) + bytes_of(kernel_sizes) + bytes_of(launches);
  for (const auto& [name, size] : bindings) {
    total += static_cast<int64_t>(sizeof(std::pair<std::string, int64_t>) + name.capacity());
  }
  for (const std::vector<int64_t>& sizes : kernel_sizes) {
    total += bytes_of(sizes);
  }
  for (const std::vector<Launch>& step : launches) {
    total += bytes_of(step);
    for (const Launch& launch : step) {
      total += bytes_of(launch.ranges);
    }
  }
  return total;
}

Specialization specialize(const Program& program, const Plan& plan, const Bindings& bindings, int threads) {
  return Specializer(program, plan, threads).run(bindings);
}

}  // namespace tenon::runtime
