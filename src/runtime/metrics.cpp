#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/json.h"
#include "runtime/run/runnable.h"
#include "tenon/size_counts.h"

namespace tenon {
namespace {

/// A figure of RunCounters under the name that Prometheus has for it.
struct Metric {
  std::string_view name, type, help;
  double (*value)(const RunCounters&);
};

constexpr double kSecond = 1e3;  // in milliseconds

constexpr Metric kMetrics[] = {
    {"runs_total", "counter", "Runs that were begun.",
     [](const RunCounters& c) { return static_cast<double>(c.runs); }},
    {"run_seconds_total", "counter", "Time in runs, preparing sizes included, of all threads together.",
     [](const RunCounters& c) { return c.run_ms / kSecond; }},
    {"waiting_seconds_total", "counter", "Time in which callers waited for other threads at the ends of steps.",
     [](const RunCounters& c) { return c.waiting_ms / kSecond; }},
    {"compile_seconds_total", "counter", "Time to compile or load the program.",
     [](const RunCounters& c) { return c.compile_ms / kSecond; }},
    {"specialization_hits_total", "counter", "Requests that found their sizes prepared.",
     [](const RunCounters& c) { return static_cast<double>(c.hits); }},
    {"specialization_evictions_total", "counter", "Prepared sizes that were dropped for want of memory budget.",
     [](const RunCounters& c) { return static_cast<double>(c.evictions); }},
    {"reused_results_total", "counter", "Runs that gave an earlier result and computed nothing.",
     [](const RunCounters& c) { return static_cast<double>(c.reused_results); }},
    {"tiles_total", "counter", "Tiles of steps that ran tile by tile.",
     [](const RunCounters& c) { return static_cast<double>(c.tiles); }},
    {"cached_bytes", "gauge", "Memory of the prepared sizes and results that are kept.",
     [](const RunCounters& c) { return static_cast<double>(c.cached_bytes); }},
    {"idle_bytes", "gauge", "Memory that is kept for the next run.",
     [](const RunCounters& c) { return static_cast<double>(c.idle_bytes); }},
    {"memory_bytes", "gauge", "Memory of arenas and outputs, idle or in use.",
     [](const RunCounters& c) { return static_cast<double>(c.memory_bytes); }},
    {"peak_memory_bytes", "gauge", "The most that memory_bytes has been.",
     [](const RunCounters& c) { return static_cast<double>(c.peak_memory_bytes); }},
};

std::string label_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result;
}

/// A label for each executable, no two alike.
std::vector<std::string> labels(std::span<const Executable> executables) {
  std::set<std::string> taken;
  std::vector<std::string> result;
  for (const Executable& executable : executables) {
    const std::string name = valid_utf8(executable.name());
    std::string label = name;
    for (int count = 2; !taken.insert(label).second; ++count) {
      label = fmt::format("{}#{}", name, count);
    }
    result.push_back(label_text(label));
  }
  return result;
}

/// The histogram of times to prepare sizes, where none are listed one by one.
void add_times(std::string& text, std::string_view model, const SizeCounts& counts) {
  int64_t below = 0;
  for (size_t i = 0; i < counts.times.size(); ++i) {
    below += counts.times[i];
    const std::string most = i < SizeCounts::kTimesUpTo.size() ? fmt::format("{}", SizeCounts::kTimesUpTo[i]) : "+Inf";
    text += fmt::format("tenon_specialize_seconds_bucket{{model=\"{}\",le=\"{}\"}} {}\n", model, most, below);
  }
  text +=
      fmt::format("tenon_specialize_seconds_sum{{model=\"{}\"}} {}\n", model, counts.others.specialize_ms / kSecond);
  text += fmt::format("tenon_specialize_seconds_count{{model=\"{}\"}} {}\n", model, below);
}

}  // namespace

SizeCount& SizeCount::operator+=(const SizeCount& other) {
  hits += other.hits;
  specializations += other.specializations;
  evictions += other.evictions;
  bytes += other.bytes;
  specialize_ms += other.specialize_ms;
  return *this;
}

void SizeCounts::keep_most_used(size_t most) {
  std::ranges::stable_sort(sizes, std::ranges::greater(), &SizeCount::uses);
  for (size_t i = most; i < sizes.size(); ++i) {
    others += sizes[i];
    ++other_sizes;
  }
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(std::min(most, sizes.size())), sizes.end());
}

SizeCounts size_counts(const Executable& executable, size_t most) {
  return runtime::Runnable::of(executable).size_counts(most);
}

std::string metrics_text(std::span<const Executable> executables) {
  const std::vector<std::string> models = labels(executables);
  std::vector<RunCounters> counters;
  std::ranges::transform(executables, std::back_inserter(counters), &Executable::counters);
  std::string text;
  const auto head = [&](std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP tenon_{} {}\n# TYPE tenon_{} {}\n", name, help, name, type);
  };
  for (const Metric& metric : kMetrics) {
    head(metric.name, metric.type, metric.help);
    for (size_t i = 0; i < models.size(); ++i) {
      text += fmt::format("tenon_{}{{model=\"{}\"}} {}\n", metric.name, models[i], metric.value(counters[i]));
    }
  }
  head("specialize_seconds", "histogram", "Time to prepare sizes that were not prepared.");
  for (size_t i = 0; i < models.size(); ++i) {
    add_times(text, models[i], size_counts(executables[i], 0));
  }
  return text;
}

std::string metrics_text(const Executable& executable) { return metrics_text({&executable, 1}); }

}  // namespace tenon
