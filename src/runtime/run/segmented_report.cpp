// What is asked of several segments ahead of runs, and what they say of themselves.
#include <algorithm>

#include "base/fail.h"
#include "runtime/run/segmented.h"

namespace tenon::runtime {
namespace {

const std::string* first_of(const Extent& extent, const std::set<std::string, std::less<>>& names,
                            const Bindings& bound) {
  for (const std::string& name : extent.names()) {
    if (const auto found = names.find(name); found != names.end() && !bound.find(name)) {
      return &*found;
    }
  }
  return nullptr;
}

}  // namespace

/// Names that data decide are what the caller says; the segments up to the first that needs another can be prepared.
Segmented::Ahead Segmented::bind_ahead(const Bindings& given) const {
  Bindings early;
  for (const auto& [name, size] : given) {
    if (!late_.contains(name)) {
      early.set(name, size);
    }
  }
  std::vector<int64_t> key;
  Ahead ahead{.bindings = binder_.bind_ahead(early, key), .before = {}};
  for (const Part& part : parts_) {
    ahead.before.push_back(known_to(part, ahead.bindings));
    for (const BoundAxis& axis : part.binds) {
      const std::optional<int64_t> size = given.find(axis.name);
      if (!size) {
        return ahead;
      }
      if (const int64_t most = evaluate(axis.at_most, ahead.bindings); *size > most) {
        fail("axis `{}` cannot be {}: it is at most {}, {} here", axis.name, *size, axis.at_most.to_string(), most);
      }
      ahead.bindings.set(axis.name, *size);
    }
  }
  return ahead;
}

std::vector<Shape> Segmented::output_shapes(const Bindings& bindings) {
  const Ahead ahead = bind_ahead(bindings);
  std::vector<Shape> shapes;
  for (const Port& output : outputs_) {
    for (const Axis& axis : output.shape.axes()) {
      if (const std::string* const name = first_of(axis.extent(), late_, ahead.bindings)) {
        fail("output `{}` is {}, and data decide the size of axis `{}`: give it one to ask what the shape is then",
             output.name, output.shape.to_string(), *name);
      }
    }
    shapes.push_back(resolve(output.shape, ahead.bindings));
  }
  return shapes;
}

void Segmented::pre_specialize(std::span<const Bindings> list) {
  std::vector<std::vector<Bindings>> all(parts_.size());
  std::vector<int64_t> key;
  for (const Bindings& bindings : list) {
    const Ahead ahead = bind_ahead(bindings);
    for (size_t i = 0; i < ahead.before.size(); ++i) {
      parts_[i].engine->binder().bind_ahead(ahead.before[i], key);  // an Error before anything is prepared
      all[i].push_back(ahead.before[i]);
    }
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].engine->pre_specialize(all[i]);
  }
}

/// Error: data decide a size that was not given.
Segmented::Ahead Segmented::bind_all(const Bindings& bindings) const {
  Ahead ahead = bind_ahead(bindings);
  if (ahead.before.size() < parts_.size()) {
    for (const BoundAxis& axis : parts_[ahead.before.size() - 1].binds) {
      if (!ahead.bindings.find(axis.name)) {
        fail("data decide the size of axis `{}`: give it one to ask what a run takes then", axis.name);
      }
    }
  }
  return ahead;
}

std::vector<PipelineReport> Segmented::pipelines(const Bindings& bindings) {
  const Ahead ahead = bind_all(bindings);
  std::vector<PipelineReport> reports;
  int first_step = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    for (PipelineReport& report : parts_[i].engine->pipelines(ahead.before[i])) {
      report.first_step += first_step;
      reports.push_back(std::move(report));
    }
    first_step += static_cast<int>(parts_[i].engine->steps().size());
  }
  return reports;
}

MemoryReport Segmented::memory(const Bindings& bindings) {
  const Ahead ahead = bind_all(bindings);
  MemoryReport report;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const MemoryReport one = parts_[i].engine->memory(ahead.before[i]);
    report.arena_bytes += one.arena_bytes;
    report.live_bytes = std::max(report.live_bytes, one.live_bytes);
    report.intermediate_bytes += one.intermediate_bytes;
    report.output_bytes += one.output_bytes;
  }
  return report;
}

void Segmented::set_memory_budget(int64_t bytes) {
  if (bytes < 0) {
    fail("a budget of {} bytes", bytes);
  }
  for (const Part& part : parts_) {
    part.engine->set_memory_budget(bytes / std::ssize(parts_));
  }
}

RunCounters Segmented::counters() const {
  RunCounters sum;
  for (const Part& part : parts_) {
    const RunCounters one = part.engine->counters();
    sum.specializations += one.specializations;
    sum.hits += one.hits;
    sum.evictions += one.evictions;
    sum.tiles += one.tiles;
    sum.kept_bytes += one.kept_bytes;
    sum.reused_results += one.reused_results;
    sum.cached_bytes += one.cached_bytes;
    sum.idle_bytes += one.idle_bytes;
    sum.memory_bytes += one.memory_bytes;
    sum.peak_memory_bytes += one.peak_memory_bytes;
    sum.specialize_ms += one.specialize_ms;
    sum.waiting_ms += one.waiting_ms;
  }
  constexpr double kMillisecond = 1e6;
  sum.runs = runs_.load(std::memory_order_relaxed);
  sum.compile_ms = compile_ms_;
  sum.run_ms = static_cast<double>(run_ns_.load(std::memory_order_relaxed)) / kMillisecond;
  return sum;
}

SizeCounts Segmented::size_counts(size_t most) const {
  SizeCounts all;
  for (size_t i = 0; i < parts_.size(); ++i) {
    SizeCounts one = parts_[i].engine->size_counts(most);
    for (SizeCount& size : one.sizes) {
      size.segment = static_cast<int>(i);
    }
    all.sizes.insert(all.sizes.end(), std::make_move_iterator(one.sizes.begin()),
                     std::make_move_iterator(one.sizes.end()));
    all.others += one.others;
    all.other_sizes += one.other_sizes;
    std::ranges::transform(all.times, one.times, all.times.begin(), std::plus<>());
  }
  all.keep_most_used(most);
  return all;
}

}  // namespace tenon::runtime
