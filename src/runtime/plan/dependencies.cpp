#include "runtime/plan/dependencies.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

struct Place {
  int writer = -1;
  std::vector<int> readers = {};  // since it was written
};

}  // namespace

StepGraph derive_dependencies(std::span<const StepUse> steps, size_t places) {
  std::vector<Place> seen(places);
  StepGraph graph;
  graph.first.push_back(0);
  std::vector<int> before;
  for (size_t i = 0; i < steps.size(); ++i) {
    const int step = static_cast<int>(i);
    before.clear();
    const auto wait_for = [&](int other) {
      if (other >= 0 && other != step) {
        before.push_back(other);
      }
    };
    for (const int place : steps[i].reads) {
      Place& p = seen[static_cast<size_t>(place)];
      wait_for(p.writer);
      p.readers.push_back(step);
    }
    for (const int place : steps[i].writes) {
      Place& p = seen[static_cast<size_t>(place)];
      wait_for(p.writer);
      std::ranges::for_each(p.readers, wait_for);
      p.writer = step;
      p.readers.clear();
    }
    std::ranges::sort(before);
    const auto repeated = std::ranges::unique(before);
    graph.before.insert(graph.before.end(), before.begin(), repeated.begin());
    graph.first.push_back(static_cast<uint32_t>(graph.before.size()));
  }
  return graph;
}

}  // namespace tenon::runtime
