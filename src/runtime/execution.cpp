#include "runtime/execution.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/fail.h"
#include "runtime/scratch.h"

namespace tenon::runtime {
namespace {

std::string replace_all(std::string text, std::string_view word, int64_t number) {
  const std::string digits = fmt::format("{}", number);
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + digits.size())) {
    text.replace(at, word.size(), digits);
  }
  return text;
}

/// An arena of no bytes is null, which memcpy must not see.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

/// What failed first in the order of chunks, whichever thread came to it first.
class Failure {
 public:
  void report(int64_t chunk, const loops::Kernel& kernel, const KernelStatus& status) {
    const std::lock_guard lock(mutex_);
    if (!kernel_ || chunk < chunk_) {
      kernel_ = &kernel;
      chunk_ = chunk;
      status_ = status;
    }
  }

  void raise() const {
    if (kernel_ != nullptr) {
      const std::string& site = kernel_->sites.at(static_cast<size_t>(status_.failed - 1));
      const int64_t given = status_.position < 0 ? status_.position - status_.size : status_.position;
      std::string text = replace_all(site, "{position}", status_.position);
      text = replace_all(std::move(text), "{given}", given);
      throw Error(replace_all(std::move(text), "{size}", status_.size));
    }
  }

 private:
  std::mutex mutex_;
  const loops::Kernel* kernel_ = nullptr;
  int64_t chunk_ = 0;
  KernelStatus status_;
};

class Execution {
 public:
  Execution(const Context& context, const Specialization& specialization, std::span<const Array> inputs,
            std::span<Array> donated, int threads)
      : c_(context), s_(specialization), threads_(threads) {
    if (s_.memory.arena_bytes > 0) {
      arena_ = c_.memory.take(s_.memory.arena_bytes);
    }
    provide_slots(inputs, donated);
    arguments_.reserve(c_.plan.arguments.size());
    for (const int slot : c_.plan.arguments) {
      arguments_.push_back(slot < 0 ? nullptr : pointers_[static_cast<size_t>(slot)]);
    }
  }

  std::vector<StridedArray> run() {
    for (size_t i = 0; i < c_.program.steps.size(); ++i) {
      if (c_.program.steps[i].host) {
        run_host(c_.program.steps[i], c_.plan.steps[i]);
      } else {
        for (const Launch& launch : s_.launches[i]) {
          run_launch(c_.plan.steps[i], launch);
        }
      }
    }
    std::vector<StridedArray> outputs;
    for (const OutputPlan& output : c_.plan.outputs) {
      outputs.push_back({.base = *arrays_[static_cast<size_t>(output.slot)],
                         .offset = s_.value(output.offset),
                         .dims = s_.values_of(output.dims),
                         .strides = s_.values_of(output.strides)});
    }
    return outputs;
  }

 private:
  void provide_slots(std::span<const Array> inputs, std::span<Array> donated) {
    const std::vector<Slot>& slots = c_.plan.slots;
    pointers_.resize(slots.size());
    arrays_.resize(slots.size());
    owned_.reserve(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      const Slot& slot = slots[i];
      const auto source = static_cast<size_t>(slot.source);
      switch (slot.memory) {
        case Memory::input:
          if (!slot.written) {
            borrow(i, inputs[source]);
          } else if (donated.empty()) {
            own(i, inputs[source]);
          } else {
            own(i, std::move(donated[source]));
          }
          break;
        case Memory::constant: borrow(i, c_.program.constants[source]); break;
        case Memory::intermediate: pointers_[i] = arena_.get() + s_.offsets[i]; break;
        case Memory::output:
          own(i, Array::adopt(slot.dtype, {s_.value(slot.elements)}, c_.memory.take(s_.bytes[i])));
          break;
      }
    }
  }

  /// For reading: kernels and their arguments know no const.
  void borrow(size_t slot, const Array& array) {
    arrays_[slot] = &array;
    pointers_[slot] = const_cast<std::byte*>(array.data());
  }

  /// For writing, which copies memory that somebody else holds too.
  void own(size_t slot, Array array) {
    owned_.push_back(std::move(array));
    arrays_[slot] = &owned_.back();
    pointers_[slot] = owned_.back().mutable_data();
  }

  void run_launch(const StepPlan& step, const Launch& launch) {
    Failure failure;
    if (launch.chunks <= 1 || threads_ == 1) {
      for (const Range& range : launch.ranges) {
        call(step, launch, range, range.first_chunk, 0, range.count, failure);
      }
    } else {
      c_.pool.parallel_for(
          launch.chunks, 1,
          [&](int64_t first, int64_t last, int) {
            for (int64_t chunk = first; chunk < last; ++chunk) {
              run_chunk(step, launch, chunk, failure);
            }
          },
          threads_);
    }
    failure.raise();
  }

  void run_chunk(const StepPlan& step, const Launch& launch, int64_t chunk, Failure& failure) {
    const auto after = std::upper_bound(launch.ranges.begin(), launch.ranges.end(), chunk,
                                        [](int64_t c, const Range& range) { return c < range.first_chunk; });
    const Range& range = *(after - 1);
    const int64_t begin = (chunk - range.first_chunk) * range.grain;
    call(step, launch, range, chunk, begin, std::min(range.grain, range.count - begin) + begin, failure);
  }

  void call(const StepPlan& step, const Launch& launch, const Range& range, int64_t chunk, int64_t begin, int64_t end,
            Failure& failure) {
    const PartPlan& part = step.parts[static_cast<size_t>(range.part)];
    const auto kernel = static_cast<size_t>(part.kernel);
    KernelStatus status;
    const KernelArgs args{
        .buffers = arguments_.data() + part.first_argument, .sizes = s_.kernel_sizes[kernel].data(), .status = &status};
    c_.code[kernel](&args, launch.phase, begin, end, thread_scratch(s_.value(c_.plan.kernels[kernel].scratch)));
    if (status.failed != 0) {
      failure.report(chunk, c_.program.kernels[kernel], status);
    }
  }

  void run_host(const Step& step, const StepPlan& plan) {
    std::vector<Array> inputs;
    for (size_t i = 0; i < step.reads.size(); ++i) {
      const auto slot = static_cast<size_t>(step.reads[i]);
      const Dtype dtype = c_.plan.slots[slot].dtype;
      const std::vector<int64_t> dims = s_.values_of(plan.dims[i]);
      if (arrays_[slot] != nullptr && !c_.plan.slots[slot].written) {
        inputs.push_back(arrays_[slot]->reshaped(dims));
      } else {  // a step may write there again while the function keeps its array
        inputs.push_back(Array::uninitialized(dtype, dims));
        copy_bytes(inputs.back().mutable_data(), pointers_[slot], inputs.back().byte_count());
      }
    }
    const std::vector<Array> results = step.host(inputs, s_.bindings);
    TENON_CHECK(results.size() == step.writes.size(), "step `{}` gave {} arrays", step.label, results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      const auto slot = static_cast<size_t>(step.writes[i]);
      TENON_CHECK(results[i].dtype() == c_.plan.slots[slot].dtype &&
                      results[i].dims() == s_.values_of(plan.dims[step.reads.size() + i]),
                  "step `{}` gave {}", step.label, results[i].to_string(0));
      copy_bytes(pointers_[slot], results[i].data(), results[i].byte_count());
    }
  }

  const Context& c_;
  const Specialization& s_;
  int threads_;
  std::shared_ptr<std::byte[]> arena_;
  std::vector<Array> owned_;          // does not grow beyond its reserve: arrays_ points into it
  std::vector<const Array*> arrays_;  // of each slot that is one
  std::vector<std::byte*> pointers_;  // of each slot
  std::vector<void*> arguments_;      // Plan::arguments
};

}  // namespace

std::vector<StridedArray> execute(const Context& context, const Specialization& specialization,
                                  std::span<const Array> inputs, std::span<Array> donated, int threads) {
  return Execution(context, specialization, inputs, donated, threads).run();
}

}  // namespace tenon::runtime
