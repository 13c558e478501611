#include <algorithm>

#include "passes/autodiff/autodiff.h"

namespace tenon::passes {
namespace {

constexpr size_t kMostBodies = 1024;

}  // namespace

GradientBodies*& GradientBodies::current() {
  thread_local GradientBodies* bodies = nullptr;
  return bodies;
}

GradientBodies::Made GradientBodies::find_or_make(const Graph& of, const std::vector<Shape>& shapes,
                                                  const std::vector<bool>& given, const std::vector<bool>& wanted,
                                                  const std::function<Made()>& make) {
  const auto [begin, end] = made_.equal_range(of.hash());
  const auto found = std::find_if(begin, end, [&](const auto& one) {
    const Made& made = one.second;
    return made.given == given && made.wanted == wanted && made.shapes == shapes && made.of == of;
  });
  if (found != end) {
    return found->second;
  }
  if (made_.size() >= kMostBodies) {
    made_.clear();
  }
  return made_.emplace(of.hash(), make())->second;
}

}  // namespace tenon::passes
