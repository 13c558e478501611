#include "tensor/record/user_lines.h"

#include <atomic>
#include <utility>

#include "ir/node.h"

namespace tenon::tensors {
namespace {

std::atomic<int>& explaining() {
  static std::atomic<int> count{0};
  return count;
}

std::atomic<LineSource>& line_source() {
  static std::atomic<LineSource> source{nullptr};
  return source;
}

}  // namespace

bool keeps_lines() { return explaining().load(std::memory_order_relaxed) > 0; }

void count_explaining(int by) { explaining() += by; }

void set_line_source(LineSource source) { line_source() = source; }

RecordingLine::RecordingLine() {
  const LineSource source = keeps_lines() ? line_source().load() : nullptr;
  if (source != nullptr && build_context().place.empty()) {
    std::string line = source();
    if (!line.empty()) {
      place_.emplace(std::move(line));
    }
  }
}

}  // namespace tenon::tensors
