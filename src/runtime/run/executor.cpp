#include "runtime/run/executor.h"

#include <algorithm>

#include "base/clock.h"
#include "runtime/run/announcer.h"
#include "runtime/run/failure.h"

namespace tenon::runtime {
namespace {

void call_unwatched(const Run& run, const KernelCall& call, Failure& failure) {
  const Context& context = run.context;
  const auto kernel = static_cast<size_t>(context.plan.parts[static_cast<size_t>(call.part)].kernel);
  const KernelPlan& plan = context.plan.kernels[kernel];
  const loops::KernelFacts& facts = context.program.facts[kernel];
  const KernelStatus status = context.device.launch({.code = context.code,
                                                     .facts = facts,
                                                     .kernel = context.first_kernel + kernel,
                                                     .phase = call.phase,
                                                     .begin = call.begin,
                                                     .end = call.end,
                                                     .arguments = {call.arguments, facts.arguments.size()},
                                                     .sizes = run.s.sizes.data() + plan.sizes.first,
                                                     .scratch_bytes = run.s.value(plan.scratch),
                                                     .order = call.order});
  if (status.failed != 0) [[unlikely]] {
    failure.report(call.order, facts, status);
  }
}

void call_watched(const Run& run, const KernelCall& call, Failure& failure) {
  const PartPlan& part = run.context.plan.parts[static_cast<size_t>(call.part)];
  run.watch->before(run.watched(part.step));
  const int64_t start = run.watch->now();
  call_unwatched(run, call, failure);
  if (run.watch->traces()) {
    wait_for_launches(run, failure);
    const KernelPlan& kernel = run.context.plan.kernels[static_cast<size_t>(part.kernel)];
    const ExtentId each = run.context.plan.phases[kernel.phases.first + static_cast<size_t>(call.phase)].work;
    run.watch->add({.step = run.watched(part.step),
                    .inside = inside(run, part.step),
                    .phase = call.phase,
                    .tile = call.tile,
                    .work = static_cast<double>(call.end - call.begin) * static_cast<double>(run.s.value(each)),
                    .begin_ns = start,
                    .end_ns = run.watch->now()});
  }
}

/// Iterations [begin, end) of a range.
KernelCall call_of(const Run& run, const Launch& launch, const Range& range, int64_t begin, int64_t end) {
  const PartPlan& part = run.context.plan.parts[static_cast<size_t>(range.part)];
  return {.part = range.part,
          .phase = launch.phase,
          .begin = begin,
          .end = end,
          .arguments = run.state.arguments.data() + part.first_argument,
          .order = range.first_chunk + begin / range.grain};
}

void run_chunk(const Run& run, const Launch& launch, int64_t chunk, Failure& failure) {
  const std::span ranges(run.s.ranges.data() + launch.ranges.first, launch.ranges.count);
  const auto after = std::ranges::upper_bound(ranges, chunk, {}, &Range::first_chunk);
  const Range& range = *(after - 1);
  const int64_t begin = (chunk - range.first_chunk) * range.grain;
  call_kernel(run, call_of(run, launch, range, begin, std::min(range.grain, range.count - begin) + begin), failure);
}

void run_whole(const Run& run, const Launch& launch, Failure& failure) {
  for (uint32_t i = launch.ranges.first; i < launch.ranges.end(); ++i) {
    const Range& range = run.s.ranges[i];
    const int64_t grain = run.watch == nullptr ? range.count : range.grain;
    for (int64_t begin = 0; begin < range.count; begin += grain) {
      call_kernel(run, call_of(run, launch, range, begin, std::min(grain, range.count - begin) + begin), failure);
    }
  }
}

void run_shared(const Run& run, const Launch& launch, Failure& failure) {
  run.state.waited_ns += run.context.workers->parallel_for(
      launch.chunks, 1,
      [&](int64_t first, int64_t last, int) {
        for (int64_t chunk = first; chunk < last; ++chunk) {
          run_chunk(run, launch, chunk, failure);
        }
      },
      run.threads);
}

void run_alone(const Run& run, const Launch& launch, Failure& failure) {
  const int64_t begin = nanoseconds_now();
  run_whole(run, launch, failure);
  const auto taken = static_cast<double>(nanoseconds_now() - begin);
  launch.alone.add(taken);
  run.context.workers->ran_alone(taken);
}

void run_launch(const Run& run, const Launch& launch, Failure& failure) {
  if (launch.chunks <= 1) {
    run_whole(run, launch, failure);
    return;
  }
  Pool& pool = *run.context.workers;
  const bool always = run.context.plan.least_shared_work == 0;
  const auto most = static_cast<int>(std::min<int64_t>(launch.chunks, run.threads > 0 ? run.threads : pool.size()));
  if (always || pool.is_awake(most > 2 ? most / 2 + 1 : most) ||
      pool.is_worth_waking(launch.alone.nanoseconds(launch.work / loops::kWorkOfANanosecond))) {
    run_shared(run, launch, failure);
  } else {
    run_alone(run, launch, failure);
  }
}

void run_stage(const Run& run, const Stage& stage, bool parallel, Failure& failure) {
  if (stage.region >= 0) {
    run_region(run, run.s.regions[static_cast<size_t>(stage.region)], parallel);
    return;
  }
  if (stage.launches.count == 0) {
    const Step& step = run.context.program.steps[static_cast<size_t>(stage.step)];
    const bool is_routine = std::holds_alternative<RoutineStep>(step.what);
    (is_routine ? run_library_step : run_control_step)(run, stage.step);
    return;
  }
  for (uint32_t i = stage.launches.first; i < stage.launches.end(); ++i) {
    const Launch& launch = run.s.launches[i];
    (parallel ? run_launch : run_whole)(run, launch, failure);
    failure.raise();
  }
}

void execute(const Run& run, bool parallel) {
  Failure failure;
  for (size_t i = 0; i < run.s.stages.size(); ++i) {
    run_stage(run, run.s.stages[i], parallel, failure);
    if (run.announcer != nullptr) [[unlikely]] {
      run.announcer->after(i);
    }
  }
  if (run.within < 0) {
    wait_for_launches(run, failure);
    failure.raise();
  }
}

}  // namespace

void wait_for_launches(const Run& run, Failure& failure) {
  if (run.context.is_host) {
    return;
  }
  for (const devices::LaunchFailure& each : run.context.device.wait()) {
    failure.report(each.order, *each.facts, each.status);
  }
}

void call_kernel(const Run& run, const KernelCall& call, Failure& failure) {
  (run.watch == nullptr ? call_unwatched : call_watched)(run, call, failure);
}

Context make_context(const Program& program, const Plan& plan, devices::Device& device, const devices::LoadedCode& code,
                     size_t first_kernel, MemoryPool& memory) {
  Context context{.program = program,
                  .plan = plan,
                  .device = device,
                  .is_host = device.is_host(),
                  .workers = device.workers(),
                  .code = code,
                  .first_kernel = first_kernel,
                  .memory = memory,
                  .uploads = {},
                  .constants = {},
                  .bodies = {}};
  for (const Array& constant : program.constants) {
    if (device.is_host()) {  // kernels and their arguments know no const
      context.constants.push_back(const_cast<std::byte*>(constant.data()));
      continue;
    }
    const auto bytes = static_cast<int64_t>(constant.byte_count());
    context.uploads.push_back(memory.take(bytes));
    context.constants.push_back(context.uploads.back().get());
    device.copy_in(context.constants.back(), constant.data(), bytes);
  }
  first_kernel += program.facts.size();
  for (const Step& step : program.steps) {
    for (const Program& body : bodies_of(step)) {
      context.bodies.push_back(
          make_context(body, plan.bodies[context.bodies.size()], device, code, first_kernel, memory));
      first_kernel += kernel_count(body);
    }
  }
  return context;
}

void execute_inline(const Run& run) { execute(run, false); }
void execute_parallel(const Run& run) {
  const Pool::KeepAwake keep_awake(*run.context.workers);
  execute(run, true);
}

}  // namespace tenon::runtime
