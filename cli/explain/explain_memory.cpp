#include "cli/explain/explain_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/print/units.h"
#include "kernel/program/step_text.h"

namespace tenon::cli {
namespace {

constexpr int kBarWidth = 40;
/// Longer programs have several moments in a line: the fullest of them.
constexpr size_t kMostBars = 60;
constexpr size_t kMostBlocks = 8;

/// Eighths of a character, so that small differences are seen.
std::string bar(int64_t bytes, int64_t most) {
  const double share = most == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(most);
  const auto eighths = static_cast<int>(std::lround(share * 8 * kBarWidth));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) {
    text += "\u2588";
  }
  constexpr const char* kParts[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
  const int part = eighths % 8;
  text += kParts[part];
  return text + std::string(static_cast<size_t>(kBarWidth - eighths / 8 - (part > 0 ? 1 : 0)), ' ');
}

/// "3", or "3-7" of several.
std::string steps_text(std::vector<int> steps) {
  std::ranges::sort(steps);
  return steps.size() == 1 ? std::to_string(steps[0] + 1) : fmt::format("{}-{}", steps.front() + 1, steps.back() + 1);
}

/// Equal stretches of moments, the last may be shorter.
std::vector<std::vector<size_t>> lines_of(size_t moments) {
  const size_t each = (moments + kMostBars - 1) / kMostBars;
  std::vector<std::vector<size_t>> lines;
  for (size_t i = 0; i < moments; ++i) {
    if (i % each == 0) {
      lines.emplace_back();
    }
    lines.back().push_back(i);
  }
  return lines;
}

std::string bars_text(const MemoryTimeline& timeline) {
  const size_t peak = timeline.peak();
  const int64_t most = timeline.moments[peak].live_bytes;
  std::string text = fmt::format("  {:>9}  in use\n", "step");
  for (const std::vector<size_t>& line : lines_of(timeline.moments.size())) {
    std::vector<int> steps;
    int64_t bytes = 0;
    for (const size_t moment : line) {
      const MemoryMoment& each = timeline.moments[moment];
      steps.insert(steps.end(), each.steps.begin(), each.steps.end());
      bytes = std::max(bytes, each.live_bytes);
    }
    const bool has_peak = line.front() <= peak && peak <= line.back();
    text += fmt::format("  {:>9}  {}  {:>10}{}\n", steps_text(steps), bar(bytes, most), bytes_text(bytes),
                        has_peak ? "  the peak" : "");
  }
  return text;
}

std::string label_of(const Executable& executable, int step) {
  const StepReport& report = executable.steps()[static_cast<size_t>(step)];
  return fmt::format("step {} `{}`", step + 1, step_title(report.nodes, report.label));
}

std::string block_text(const MemoryBlock& block, const Executable& executable) {
  switch (block.use) {
    case MemoryUse::window: return fmt::format("rows between steps {} to {}", block.made_by + 1, block.last_use + 1);
    case MemoryUse::bodies: return fmt::format("inside of {}", label_of(executable, block.made_by));
    case MemoryUse::value: break;
  }
  return block.made_by == block.last_use
             ? fmt::format("of {} alone", label_of(executable, block.made_by))
             : fmt::format("made by {}, in use up to step {}", label_of(executable, block.made_by), block.last_use + 1);
}

std::string peak_text(const MemoryTimeline& timeline, const Executable& executable) {
  const MemoryMoment& peak = timeline.moments[timeline.peak()];
  const std::vector<MemoryBlock> blocks = timeline.at(timeline.peak());
  std::string text = fmt::format(
      "the peak is {} during {}\n", bytes_text(peak.live_bytes),
      peak.steps.size() == 1 ? label_of(executable, peak.steps[0]) : fmt::format("steps {}", steps_text(peak.steps)));
  for (size_t i = 0; i < std::min(blocks.size(), kMostBlocks); ++i) {
    text += fmt::format("  {:>10}  {}\n", bytes_text(blocks[i].bytes), block_text(blocks[i], executable));
  }
  if (blocks.size() > kMostBlocks) {
    int64_t rest = 0;
    for (size_t i = kMostBlocks; i < blocks.size(); ++i) {
      rest += blocks[i].bytes;
    }
    text += fmt::format("  {:>10}  {} smaller ones\n", bytes_text(rest), blocks.size() - kMostBlocks);
  }
  text += fmt::format("  as an expression of the axes: {} bytes\n", timeline.peak_size().to_string());
  const std::string more = report::arena_beyond_peak(timeline);
  return more.empty() ? text : fmt::format("{}  {}\n", text, more);
}

std::string others_text(const std::vector<OtherSize>& others) {
  std::string text;
  for (size_t i = 0; i < others.size(); ++i) {
    const bool is_first = i == 0 || others[i - 1].axis != others[i].axis;
    text += is_first ? fmt::format("{}  {:<12}", i == 0 ? "" : "\n", others[i].axis) : "";
    text += fmt::format("  {:>6}: {:<10}", others[i].size,
                        others[i].memory ? bytes_text(others[i].memory->arena_bytes) : "-");
  }
  return text.empty() ? "" : "the arena at other sizes of one axis\n" + text + '\n';
}

}  // namespace

std::string memory_text(const MemoryAtSizes& memory, const Executable& executable, CodeOrigin origin) {
  const MemoryTimeline& timeline = memory.timeline;
  const MemoryReport& sums = timeline.memory;
  std::string text = fmt::format("{}{}\n", memory.title,
                                 memory.bindings.empty() ? "" : fmt::format(" at {}", memory.bindings.to_string()));
  text += fmt::format("  arena    {:>10}  {} of intermediates share it\n", bytes_text(sums.arena_bytes),
                      bytes_text(sums.intermediate_bytes));
  if (timeline.untiled_arena_bytes != sums.arena_bytes) {
    text += fmt::format("           {:>10}  if no steps ran tile by tile\n", bytes_text(timeline.untiled_arena_bytes));
  }
  text += fmt::format("  outputs  {:>10}\n", bytes_text(sums.output_bytes));
  text += fmt::format("  weights  {:>10}  constants as kernels read them\n", bytes_text(timeline.constant_bytes));
  text += fmt::format("  code     {:>10}  {}\n", bytes_text(timeline.code_bytes),
                      origin == CodeOrigin::file ? "of kernels and of products, which the file brings along"
                                                 : "of kernels that were compiled for the program");
  if (timeline.blocks.empty()) {
    return text + "there are no intermediates\n";
  }
  return text + bars_text(timeline) + peak_text(timeline, executable) + others_text(memory.others);
}

}  // namespace tenon::cli
