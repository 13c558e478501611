#include "runtime/run/engine.h"

#include <algorithm>

#include "base/fail.h"
#include "devices/cpu/cpu_device.h"
#include "runtime/run/clock.h"
#include "runtime/run/execution.h"

namespace tenon::runtime {
namespace {

/// A run takes longer to touch so much memory for the first time than tiles take to be chosen, and with them it may
/// take less: then they are chosen before it.
constexpr int64_t kMuchMemory = int64_t{64} << 20;

std::vector<StepReport> reports(const Program& program);

StepReport report(const Program& program, const Step& step) {
  const Traffic bytes = traffic(program, step);
  StepReport result{.kind = std::holds_alternative<RoutineStep>(step.what)  ? StepKind::library
                            : std::holds_alternative<LaunchStep>(step.what) ? StepKind::copy
                                                                            : StepKind::control,
                    .label = step.label,
                    .nodes = step.nodes,
                    .boundary = step.boundary,
                    .region_end = step.region_end,
                    .bytes_read = bytes.read,
                    .bytes_written = bytes.written,
                    .flops = step.flops,
                    .parts = static_cast<int>(std::ranges::count(parts_of(step), -1, &LaunchPart::long_rows_of)),
                    .phases = 1,
                    .bodies = {}};
  for (const LaunchPart& part : parts_of(step)) {
    const loops::KernelFacts& kernel = program.facts[static_cast<size_t>(part.kernel)];
    if (part.long_rows_of < 0) {
      result.phases = std::max(result.phases, static_cast<int>(kernel.phases.size()));
    }
    result.integer_products = result.integer_products || kernel.integer_products;
    result.kind = kernel.is_copy ? result.kind : StepKind::kernel;
  }
  for (const Program& body : bodies_of(step)) {
    result.bodies.push_back({.name = body.name, .steps = reports(body)});
  }
  return result;
}

std::vector<StepReport> reports(const Program& program) {
  std::vector<StepReport> result;
  for (const Step& step : program.steps) {
    result.push_back(report(program, step));
    result.back().region_first = static_cast<int>(result.size()) - 1;
  }
  for (const Region& region : program.pipelines.on ? program.regions : std::vector<Region>()) {
    for (int i = region.first; i < region.first + region.count; ++i) {
      result[static_cast<size_t>(i)].region_first = region.first;
      result[static_cast<size_t>(i)].region_steps = region.count;
    }
  }
  return result;
}

}  // namespace

Engine::Engine(Program program, Signature signature, EngineCode code, ConstraintSet constraints, RuntimeOptions options)
    : options_(std::move(options)),
      device_(options_.device ? options_.device : devices::host_device()),
      code_(std::move(code)),
      program_(std::move(program)),
      signature_(std::move(signature)),
      plan_(make_plan(program_)),
      binder_(signature_, plan_.names, options_.names, std::move(constraints)),
      inputs_(ports(signature_.inputs)),
      outputs_(ports(program_.outputs)),
      budget_(options_.memory_budget),
      cache_(options_.memory_budget / 4),
      results_(options_.memory_budget / 4),
      memory_(options_.memory_budget, device_),
      context_(make_context(program_, plan_, *device_, *code_.loaded, code_.first_kernel, memory_)) {
  TENON_CHECK(code_.first_kernel + kernel_count(program_) <= code_.loaded->size(),
              "{} kernels from {} on, and code of {}", kernel_count(program_), code_.first_kernel,
              code_.loaded->size());
  TENON_CHECK(signature_.inputs.size() == program_.inputs.size(), "{} inputs of a program that has {}",
              signature_.inputs.size(), program_.inputs.size());
  TENON_CHECK(program_.layouts.empty(), "{} constants are not laid out", program_.layouts.size());
  steps_ = reports(program_);
  segments_.push_back({.first_step = 0, .steps = static_cast<int>(steps_.size())});
}

Specialization Engine::make(const Bindings& bindings, Tiling tiling) {
  Specialization s = specialize(program_, plan_, bindings, threads(), tile_choices_, tiling);
  if (options_.most_window_elements > 0) {
    for (TiledRegion& region : s.regions) {
      for (RegionBuffer& buffer : region.buffers) {
        buffer.window = std::min(buffer.window, options_.most_window_elements);
      }
    }
  }
  return s;
}

/// To choose tiles takes ten times what the rest takes: the first run at sizes unlike any before goes without.
Specialization Engine::make_for_run(const Bindings& bindings) {
  if (binder_.is_static() || program_.pipelines.rows > 0) {
    return make(bindings);
  }
  Specialization s = make(bindings, Tiling::known);
  return s.lacks_choices && s.memory.arena_bytes > kMuchMemory ? make(bindings) : std::move(s);
}

void Engine::choose_later(const SpecializationCache::Key& key, const Specialization& s) {
  jobs_.add([this, key, bindings = s.bindings] {
    // No run waits for it: it counts in no time.
    cache_.replace(key, std::make_shared<const Specialization>(make(bindings)), 0);
    share_budget();
  });
}

void Engine::widen(const SpecializationCache::Key& key, const Specialization& s) {
  replace(key, [&] { return make(s.bindings, Tiling::exact); });
}

SpecializationCache::Pointer Engine::replace(const SpecializationCache::Key& key,
                                             const std::function<Specialization()>& make_new) {
  const int64_t begin = nanoseconds_now();
  auto made = std::make_shared<const Specialization>(make_new());
  cache_.replace(key, made, nanoseconds_now() - begin);
  return made;
}

SpecializationCache::Pointer Engine::find(const SpecializationCache::Key& key,
                                          std::variant<const Bindings*, Unbound> at) {
  bool fresh = false;
  const auto make_fresh = [&] {
    fresh = true;
    if (const auto* const run = std::get_if<Unbound>(&at)) {
      return make_for_run(binder_.bind(run->inputs, run->known));
    }
    return make(*std::get<const Bindings*>(at));
  };
  if (binder_.is_static()) {
    if (!has_static_.load(std::memory_order_acquire)) {
      const std::lock_guard lock(static_mutex_);
      if (!static_) {
        const TimeInto time(static_ns_);
        static_ = std::make_shared<const Specialization>(make_fresh());
        has_static_.store(true, std::memory_order_release);
      }
    }
    return static_;
  }
  SpecializationCache::Pointer found = cache_.find_or_make(key, make_fresh);
  if (fresh) {
    share_budget();
  }
  if (fresh && found->lacks_choices) {
    choose_later(key, *found);
  }
  return found;
}

void Engine::bind_or_fail(RunState& state, const Bindings& known) const {
  if (!binder_.key(state.inputs, known, state.key)) {
    binder_.bind(state.inputs, known);  // says what is wrong
    TENON_CHECK(false, "inputs that have no key were bound");
  }
  if (binder_.is_static() && !known.empty()) {
    binder_.bind(state.inputs, known);
  }
}

SpecializationCache::Pointer Engine::specialization(const Bindings& bindings) {
  SpecializationCache::Key key;
  const Bindings bound = binder_.bind_ahead(bindings, key);
  SpecializationCache::Pointer found = find(key, &bound);
  if (found->lacks_choices) {
    found = replace(key, [&] { return make(bound); });
  }
  return found;
}

void Engine::pre_specialize(std::span<const Bindings> list) {
  struct Made {
    SpecializationCache::Key key;
    SpecializationCache::Pointer pointer;
    int64_t nanoseconds = 0;
  };
  std::vector<Made> all;
  for (const Bindings& bindings : list) {
    Made made;
    const Bindings bound = binder_.bind_ahead(bindings, made.key);
    if (binder_.is_static()) {
      made.pointer = find(made.key, &bound);
    } else if (made.pointer = cache_.peek(made.key); !made.pointer || made.pointer->lacks_choices) {
      const int64_t begin = nanoseconds_now();
      made.pointer = std::make_shared<const Specialization>(make(bound));
      made.nanoseconds = nanoseconds_now() - begin;
    }
    all.push_back(std::move(made));
  }
  for (const Made& made : all) {
    if (!binder_.is_static()) {
      cache_.insert(made.key, made.pointer, made.nanoseconds);
    }
    prepare_memory(*made.pointer);
  }
  share_budget();
}

std::vector<Shape> Engine::output_shapes(const Bindings& bindings) {
  const SpecializationCache::Pointer s = specialization(bindings);
  std::vector<Shape> shapes;
  for (const Port& output : outputs_) {
    shapes.push_back(resolve(output.shape, s->bindings));
  }
  return shapes;
}

void Engine::prepare_memory(const Specialization& s) {
  std::vector<int64_t> sizes;
  if (s.memory.arena_bytes > 0) {
    sizes.push_back(s.memory.arena_bytes);
  }
  for (const Slot& slot : plan_.slots) {
    if (slot.memory == Memory::output) {
      sizes.push_back(s.bytes(slot));
    }
  }
  memory_.prepare(sizes);
  const RunStates::Lease state(states_);  // there is one then
  Execution::reserve(context_, *state);
  state->key.reserve(binder_.key_size());
  device_->prepare_thread();
}

/// Specializations and results have a quarter each at most; memory between runs has what they leave.
void Engine::share_budget() {
  memory_.set_idle_limit(budget_.load(std::memory_order_relaxed) - cache_.bytes() - results_.counters().bytes);
}

void Engine::set_memory_budget(int64_t bytes) {
  if (bytes < 0) {
    fail("a budget of {} bytes", bytes);
  }
  budget_.store(bytes, std::memory_order_relaxed);
  cache_.set_byte_limit(bytes / 4);
  results_.set_byte_limit(bytes / 4);
  share_budget();
}

}  // namespace tenon::runtime
