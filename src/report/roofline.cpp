#include "report/roofline.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/kernel_work.h"
#include "report/host_roofs.h"
#include "roofs/reuse.h"

namespace tenon::report {
namespace {

constexpr size_t kMostToWin = 3;
/// A step that is so much faster than its limit shows that the roofs are too low.
constexpr double kNoise = 0.97;

double byte_count(const Program& program, int buffer, const Bindings& bindings) {
  const ProgramBuffer& found = program.buffers.at(static_cast<size_t>(buffer));
  return static_cast<double>(evaluate(found.elements, bindings)) * static_cast<double>(byte_size(found.dtype));
}

/// Bytes that a step reads and writes of a buffer of its program.
struct BufferBytes {
  double reads = 0, writes = 0;
};

struct StepCount {
  compiler::Operations operations;
  std::map<int, BufferBytes> buffers;
};

/// Whether a part runs, of those of which one stands for another where rows are long.
bool part_runs(const Program& program, std::span<const LaunchPart> parts, size_t at, const Bindings& bindings) {
  const auto is_long = [&](const LaunchPart& part) {
    return evaluate(part.row_bytes, bindings) > program.most_row_bytes;
  };
  if (parts[at].long_rows_of >= 0) {
    return is_long(parts[at]);
  }
  return std::ranges::none_of(
      parts, [&](const LaunchPart& part) { return part.long_rows_of == static_cast<int>(at) && is_long(part); });
}

compiler::Operations operations_inside(const Program& body, const Bindings& bindings);

void count_launch(const Program& program, const Step& step, const Bindings& bindings, StepCount& count) {
  const std::span<const LaunchPart> parts = parts_of(step);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!part_runs(program, parts, i, bindings)) {
      continue;
    }
    const loops::Kernel& kernel = program.kernels.at(static_cast<size_t>(parts[i].kernel));
    const compiler::KernelWork work = compiler::work_at(kernel, bindings);
    count.operations += work.operations;
    for (size_t k = 0; k < parts[i].buffers.size(); ++k) {
      if (parts[i].buffers[k] >= 0) {
        BufferBytes& bytes = count.buffers[parts[i].buffers[k]];
        const auto size = static_cast<double>(byte_size(kernel.buffers[k].dtype));
        bytes.reads += size * work.reads[k];
        bytes.writes += size * work.writes[k];
      }
    }
  }
  for (auto& [buffer, bytes] : count.buffers) {
    const double all = byte_count(program, buffer, bindings);
    bytes = {.reads = std::min(bytes.reads, all), .writes = std::min(bytes.writes, all)};
  }
}

StepCount count_step(const Program& program, const Step& step, const Bindings& bindings) {
  StepCount count;
  if (std::holds_alternative<LaunchStep>(step.what)) {
    count_launch(program, step, bindings, count);
    return count;
  }
  double trips = 1;
  if (const auto* control = std::get_if<ControlStep>(&step.what)) {
    if (std::holds_alternative<BranchControl>(control->control)) {
      return count;
    }
    if (const auto* loop = std::get_if<LoopControl>(&control->control)) {
      if (loop->conditional) {
        return count;
      }
      trips = static_cast<double>(evaluate(loop->trips, bindings));
    }
    count.operations = operations_inside(control->bodies[0], bindings).times(trips);
  }
  for (const int buffer : trips > 0 ? step.reads : std::vector<int>()) {
    count.buffers[buffer].reads = byte_count(program, buffer, bindings);
  }
  for (const int buffer : trips > 0 ? step.writes : std::vector<int>()) {
    const auto partial = std::ranges::find(step.updates, buffer, &PartialWrite::buffer);
    count.buffers[buffer].writes = partial == step.updates.end()
                                       ? byte_count(program, buffer, bindings)
                                       : static_cast<double>(evaluate(partial->elements, bindings));
  }
  return count;
}

compiler::Operations operations_inside(const Program& body, const Bindings& bindings) {
  compiler::Operations all;
  for (const Step& step : body.steps) {
    all += count_step(body, step, bindings).operations;
  }
  return all;
}

/// The steps of a program, whose intermediates share an arena, one after the other and again.
class Touches {
 public:
  Touches(const compiler::Lowered& lowered, const Executable& executable, const Bindings& bindings)
      : stack_(static_cast<double>(executable.memory(bindings).arena_bytes)),
        arena_(static_cast<double>(executable.memory(bindings).arena_bytes)) {
    size_t first_piece = 0;
    for (const compiler::LoweredSegment& segment : lowered.segments) {
      for (const Step& step : segment.program.steps) {
        counts_.push_back(count_step(segment.program, step, bindings));
        places_.push_back({.program = &segment.program, .first_piece = first_piece});
      }
      first_piece += segment.program.buffers.size();
    }
    for (const PipelineReport& report : executable.pipelines(bindings)) {
      for (int i = report.first_step; report.tiled && i < report.first_step + report.steps; ++i) {
        for (const auto& [buffer, bytes] : counts_[static_cast<size_t>(i)].buffers) {
          if (bytes.writes > 0 && memory_of(static_cast<size_t>(i), buffer) == Memory::intermediate) {
            windows_[{report.first_step, buffer}] = static_cast<double>(report.window_bytes);
          }
          region_of_[i] = report.first_step;
        }
      }
    }
  }

  std::vector<roofs::StepWork> run() {
    pass();
    return pass();
  }

 private:
  struct Place {
    const Program* program = nullptr;
    size_t first_piece = 0;
  };

  Memory memory_of(size_t step, int buffer) const {
    return places_[step].program->buffers.at(static_cast<size_t>(buffer)).memory;
  }

  std::vector<roofs::StepWork> pass() {
    std::vector<roofs::StepWork> works;
    for (size_t i = 0; i < counts_.size(); ++i) {
      roofs::StepWork& work = works.emplace_back();
      const compiler::Operations& operations = counts_[i].operations;
      work.operations = {operations.f32, operations.f64, operations.bf16, operations.i8};
      for (const auto& [buffer, bytes] : counts_[i].buffers) {
        const bool in_arena = memory_of(i, buffer) == Memory::intermediate;
        double distance = stack_.touch(places_[i].first_piece + static_cast<size_t>(buffer),
                                       std::max(bytes.reads, bytes.writes), in_arena);
        if (in_arena && bytes.reads == 0) {
          distance = std::min(distance, arena_);  // what lay there before it was in use not long ago
        }
        if (const auto region = region_of_.find(static_cast<int>(i)); region != region_of_.end()) {
          const auto window = windows_.find({region->second, buffer});
          distance = window == windows_.end() ? distance : std::min(distance, window->second);
        }
        work.touches.push_back({.bytes = bytes.reads + bytes.writes, .distance = distance});
      }
    }
    return works;
  }

  std::vector<StepCount> counts_;
  std::vector<Place> places_;                      // of each step
  std::map<std::pair<int, int>, double> windows_;  // by the first step of a region that runs in tiles, and buffer
  std::map<int, int> region_of_;                   // the first step of it, by step
  roofs::ReuseStack stack_;
  double arena_;
};

std::vector<roofs::Limit> limits_of(const Roofline& roofline, const std::vector<BoundStep>& steps) {
  std::vector<roofs::Limit> limits;
  for (size_t i = 0; i < steps.size(); ++i) {
    limits.push_back(limit_of(roofline.works[i], roofline.roofs, std::max(1, steps[i].threads)));
  }
  return limits;
}

}  // namespace

double time_to_win(const Roofline& roofline, const std::vector<BoundStep>& steps, size_t i) {
  return steps[i].microseconds - roofline.limits[i].seconds * 1e6;
}

std::vector<roofs::StepWork> works_of(const compiler::Lowered& lowered, const Executable& executable,
                                      const Bindings& bindings) {
  return Touches(lowered, executable, bindings).run();
}

Roofline roofline_of(std::vector<roofs::StepWork> works, const std::vector<BoundStep>& steps,
                     const RoofsOptions& options) {
  Roofline result{.roofs = host_roofs(options), .works = std::move(works)};
  result.limits = limits_of(result, steps);
  const auto too_fast = [&](size_t i) {
    return steps[i].microseconds > 0 && steps[i].microseconds < kNoise * result.limits[i].seconds * 1e6;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    if (too_fast(i)) {
      result.roofs = host_roofs_again(result.roofs, options);
      result.limits = limits_of(result, steps);
      break;
    }
  }
  return result;
}

std::vector<size_t> most_to_win(const Roofline& roofline, const std::vector<BoundStep>& steps) {
  std::vector<size_t> order;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!roofline.limits[i].by.empty() && time_to_win(roofline, steps, i) > 0) {
      order.push_back(i);
    }
  }
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return time_to_win(roofline, steps, i); });
  order.resize(std::min(order.size(), kMostToWin));
  return order;
}

Json roofs_json(const Roofline& roofline) {
  Json all = Json::object();
  const roofs::Roofs& roofs = roofline.roofs;
  Json levels = Json::array();
  for (const roofs::Level& level : roofs.levels) {
    levels.push(Json::object().set("name", level.name).set("bytes", level.bytes).set("shared", level.shared));
  }
  Json rates = Json::array();
  for (const roofs::Rates& each : roofs.rates) {
    Json operations = Json::object();
    for (size_t i = 0; i < roofs::kUnits; ++i) {
      operations.set(name(static_cast<roofs::Unit>(i)), each.operations[i]);
    }
    rates.push(Json::object()
                   .set("threads", each.threads)
                   .set("operations_per_second", operations)
                   .set("bytes_per_second", Json(each.bytes)));
  }
  return all.set("levels", levels).set("rates", rates);
}

}  // namespace tenon::report
