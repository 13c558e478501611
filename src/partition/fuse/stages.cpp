#include "partition/fuse/stages.h"

#include <fmt/format.h>

#include "partition/fuse/strategies.h"

namespace tenon::partition {

Stages::Stages(const SizedGraph& graph, std::vector<std::string> strategies) : strategies_(std::move(strategies)) {
  states_.emplace_back(graph);
  for (const std::string& name : strategies_) {
    Groups next = states_.back();
    find_strategy(name).run(next);
    states_.push_back(std::move(next));
  }
}

std::string Stages::refusal(size_t at, int producer, int reader) const {
  const Strategy& strategy = find_strategy(strategies_[at]);
  const Groups& found = states_[at];
  const Groups& left = states_[at + 1];
  const std::string& first = graph().op(producer).name;
  const std::string& second = graph().op(reader).name;
  if (found.same(producer, reader)) {
    return fmt::format("`{}` and `{}` were joined before it ran, and this plan has them apart", first, second);
  }
  if (left.same(producer, reader)) {
    return fmt::format("it joins `{}` and `{}`, and this plan has them apart", first, second);
  }
  for (const Groups* groups : {&found, &left}) {
    if (std::string why = strategy.refuses(*groups, producer, reader); !why.empty()) {
      return why;
    }
  }
  if (left.would_circle(producer, reader)) {
    return fmt::format("with `{}` it would lie in a circle", second);
  }
  return strategy.passes_over(left, producer, reader);
}

}  // namespace tenon::partition
