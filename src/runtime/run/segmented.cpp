#include "runtime/run/segmented.h"

#include <algorithm>

#include "base/fail.h"
#include "runtime/memory/copy_elements.h"
#include "runtime/memory/device_array.h"
#include "runtime/run/clock.h"

namespace tenon::runtime {
namespace {

std::vector<int64_t> row_major(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

}  // namespace

Segmented::Segmented(Segments segments, const RuntimeOptions& options)
    : signature_(std::move(segments.signature)),
      late_(std::move(segments.late)),
      binder_(signature_, {}, options.names, segments.segments.front().constraints),
      sources_(std::move(segments.outputs)),
      inputs_(ports(signature_.inputs)),
      outputs_(ports(signature_.outputs)),
      compile_ms_(options.compile_ms) {
  RuntimeOptions each = options;
  each.memory_budget = options.memory_budget / std::ssize(segments.segments);
  size_t first_kernel = 0;
  for (Segment& segment : segments.segments) {
    const auto first = steps_.size();
    const size_t kernels = kernel_count(segment.program);
    each.first_step = static_cast<int>(first);
    if (options.before_step) {
      each.before_step = [before = options.before_step, first](size_t step) { before(first + step); };
    }
    Signature own = tenon::signature_of(segment.program);
    Part part{.engine = std::make_unique<Engine>(std::move(segment.program), std::move(own),
                                                 EngineCode{segments.code, first_kernel},
                                                 std::move(segment.constraints), each),
              .inputs = std::move(segment.inputs),
              .binds = std::move(segment.binds),
              .last_use = {}};
    const std::vector<StepReport>& steps = part.engine->steps();
    steps_.insert(steps_.end(), steps.begin(), steps.end());
    SegmentReport report{.first_step = each.first_step, .steps = static_cast<int>(steps.size())};
    for (const BoundAxis& axis : part.binds) {
      report.binds.emplace_back(axis.name, axis.at_most);
    }
    segments_.push_back(std::move(report));
    parts_.push_back(std::move(part));
    first_kernel += kernels;
  }
  find_last_uses();
}

void Segmented::find_last_uses() {
  last_use_.assign(inputs_.size(), -1);
  for (Part& part : parts_) {
    part.last_use.assign(part.engine->outputs().size(), -1);
  }
  const auto use = [&](const SegmentSource& source, int segment) {
    std::vector<int>& uses = source.segment < 0 ? last_use_ : parts_[static_cast<size_t>(source.segment)].last_use;
    uses[static_cast<size_t>(source.index)] = segment;
  };
  for (size_t i = 0; i < parts_.size(); ++i) {
    for (const SegmentSource& source : parts_[i].inputs) {
      use(source, static_cast<int>(i));
    }
  }
  for (const SegmentSource& source : sources_) {
    use(source, static_cast<int>(parts_.size()));
  }
}

Bindings Segmented::bind(std::span<const Operand> inputs, const Bindings& known) const {
  for (const auto& [name, size] : known) {
    if (late_.contains(name)) {
      fail("axis `{}` cannot be given a size: data decide it", name);
    }
  }
  return binder_.bind(inputs, known);
}

Bindings Segmented::known_to(const Part& part, const Bindings& bindings) const {
  Bindings known;
  for (const auto& [name, size] : bindings) {
    if (part.engine->binder().knows(name)) {
      known.set(name, size);
    }
  }
  return known;
}

/// The count is read, and the positions become as many as there are, where they lie.
void Segmented::take_sizes(const Part& part, std::vector<Array>& outputs, Bindings& bindings) const {
  for (const BoundAxis& axis : part.binds) {
    int64_t count = 0;
    device().copy_out(&count, outputs[static_cast<size_t>(axis.count)].storage().address, sizeof(count));
    Array& positions = outputs[static_cast<size_t>(axis.positions)];
    TENON_CHECK(count >= 0 && count <= positions.size(), "axis {} is {}", axis.name, count);
    positions = positions.window(0, {count});
    bindings.set(axis.name, count);
  }
}

void Segmented::free_unused(int segment, Made& made) const {
  for (size_t i = 0; i < made.size(); ++i) {
    for (size_t k = 0; k < made[i].size(); ++k) {
      if (parts_[i].last_use[k] <= segment) {
        made[i][k] = Array();
      }
    }
  }
}

template <class RunOne>
std::vector<Array> Segmented::run_all(Bindings bindings, const RunOptions& options, Made& made, const RunOne& run_one) {
  RunOptions each = options;
  each.results_on_device = true;  // where the next segment reads them
  each.observer = nullptr;        // which knows of no segments
  for (size_t i = 0; i < parts_.size(); ++i) {
    each.bindings = known_to(parts_[i], bindings);
    made.push_back(run_one(i, each));
    take_sizes(parts_[i], made.back(), bindings);
    free_unused(static_cast<int>(i), made);
  }
  std::vector<Array> results;
  for (const SegmentSource& source : sources_) {
    const Array& result = made[static_cast<size_t>(source.segment)][static_cast<size_t>(source.index)];
    const bool stays = device().is_host() || options.results_on_device;
    results.push_back(stays ? result : copied_out(device(), result));
  }
  return results;
}

std::vector<Array> Segmented::run(std::span<const Array> inputs, std::span<Array> donated, const RunOptions& options) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  const TimeInto time(run_ns_);
  std::vector<Operand> operands;
  std::ranges::transform(inputs, std::back_inserter(operands), operand_anywhere);
  Bindings bindings = bind(operands, options.bindings);
  Made made;
  // What is read for the last time is handed over: an output may take its memory.
  return run_all(std::move(bindings), options, made, [&](size_t segment, const RunOptions& each) {
    std::vector<Array> given;
    for (const SegmentSource& source : parts_[segment].inputs) {
      const auto index = static_cast<size_t>(source.index);
      if (source.segment < 0) {
        if (!donated.empty() && last_use_[index] == static_cast<int>(segment)) {
          given.push_back(std::move(donated[index]));
        } else {
          given.push_back(inputs[index]);
        }
        continue;
      }
      const auto from = static_cast<size_t>(source.segment);
      const bool is_last = parts_[from].last_use[index] == static_cast<int>(segment);
      given.push_back(is_last ? std::move(made[from][index]) : made[from][index]);
    }
    return parts_[segment].engine->run(given, given, each);
  });
}

std::vector<Array> Segmented::run(std::span<const TensorView> inputs, const RunOptions& options) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  const TimeInto time(run_ns_);
  std::vector<Operand> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(operand_of(inputs[i], "input", i));
  }
  Bindings bindings = bind(operands, options.bindings);
  Made made;
  return run_all(std::move(bindings), options, made, [&](size_t segment, const RunOptions& each) {
    std::vector<Operand> given;
    for (const SegmentSource& source : parts_[segment].inputs) {
      const auto index = static_cast<size_t>(source.index);
      given.push_back(source.segment < 0 ? operands[index]
                                         : operand_anywhere(made[static_cast<size_t>(source.segment)][index]));
    }
    return parts_[segment].engine->run_operands(given, each);
  });
}

std::vector<StridedArray> Segmented::run_views(std::span<const Array> inputs, const RunOptions& options) {
  std::vector<StridedArray> views;
  RunOptions to_cpu = options;
  to_cpu.results_on_device = false;
  for (Array& result : run(inputs, {}, to_cpu)) {
    std::vector<int64_t> dims = result.dims();
    std::vector<int64_t> strides = row_major(dims);
    views.push_back({.base = std::move(result), .offset = 0, .dims = std::move(dims), .strides = std::move(strides)});
  }
  return views;
}

void Segmented::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                         const RunOptions& options) {
  if (outputs.size() != outputs_.size()) {
    fail("graph `{}` gives {} outputs, but memory was given for {}", signature_.name, outputs_.size(), outputs.size());
  }
  std::vector<Operand> into;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const Axis& axis : outputs_[i].shape.axes()) {
      for (const std::string& name : axis.extent().names()) {
        if (late_.contains(name)) {
          fail("output `{}` is {}, and data decide the size of axis `{}`: no memory can be given for it",
               outputs_[i].name, outputs_[i].shape.to_string(), name);
        }
      }
    }
    into.push_back(operand_of(outputs[i], "output", i));
    if (!into.back().is_injective()) {
      fail("output `{}`: elements of the memory that was given for [{}] with strides [{}] lie on one another",
           outputs_[i].name, fmt::join(into.back().dims, ", "), fmt::join(into.back().strides, ", "));
    }
  }
  RunOptions to_cpu = options;
  to_cpu.results_on_device = false;
  const std::vector<Array> results = run(inputs, to_cpu);
  for (size_t i = 0; i < results.size(); ++i) {
    const Operand from = operand_of(results[i]);
    if (into[i].dtype != from.dtype || !std::ranges::equal(into[i].dims, from.dims)) {
      fail("output `{}` is {}[{}], but memory was given for {}[{}]", outputs_[i].name, tenon::name(from.dtype),
           fmt::join(from.dims, ", "), tenon::name(into[i].dtype), fmt::join(into[i].dims, ", "));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    copy_elements(operand_of(results[i]), into[i]);
  }
}

}  // namespace tenon::runtime
