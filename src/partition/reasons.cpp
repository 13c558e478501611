#include "partition/reasons.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/fail.h"
#include "partition/cut/by_profile.h"
#include "partition/plan/estimate.h"

namespace tenon::partition {
namespace {

/// What leaves a part, each tensor once.
struct Leaving {
  std::set<int> tensors;
  int64_t bytes = 0;

  std::string text() const {
    return fmt::format("{} activation{} of {} bytes leave{} here", tensors.size(), tensors.size() == 1 ? "" : "s",
                       bytes, tensors.size() == 1 ? "s" : "");
  }
};

class Reasons {
 public:
  Reasons(const Plan& plan, const Stages& stages, const Profile& profile)
      : plan_(plan), stages_(stages), graph_(stages.graph()), profile_(profile), leaving_(plan.parts.size()) {
    for (const Transfer& transfer : plan.transfers) {
      Leaving& leaving = leaving_[static_cast<size_t>(transfer.from)];
      leaving.bytes += leaving.tensors.insert(transfer.tensor).second ? graph_.tensor(transfer.tensor).written() : 0;
    }
    for (const Part& part : plan.parts) {
      slowest_ = std::max(slowest_, part.figures.seconds);
    }
  }

  std::string of(size_t p) const {
    const Part& part = plan_.parts[p];
    if (!part.again.empty()) {
      return part.again.size() == part.operators.size()
                 ? "computed again: it would take memory until here"
                 : fmt::format("{} of {} operators are computed again: they would take memory until here",
                               part.again.size(), part.operators.size());
    }
    if (leaving_[p].tensors.empty()) {
      return "its results are outputs of the model";
    }
    if (plan_.by == "fusion") {
      return by_strategies(part);
    }
    const std::string leaves = leaving_[p].text();
    if (plan_.by == "blocks") {
      return leaves;
    }
    if (plan_.by == "parts") {
      const double mean = plan_.totals.flops / static_cast<double>(plan_.parts.size());
      return mean > 0
                 ? fmt::format("{}; it has {:.2f} of the arithmetic of a mean part", leaves, part.figures.flops / mean)
                 : leaves;
    }
    if (plan_.by == "pipeline") {
      return fmt::format("{}; its time is {:.2f} of that of the slowest stage", leaves,
                         slowest_ > 0 ? part.figures.seconds / slowest_ : 1);
    }
    if (plan_.by == "resources") {
      return by_resources(p) + leaves;
    }
    fail("there is no partitioner `{}`", plan_.by);
  }

 private:
  /// What the strategies say of the last operator that another part reads.
  std::string by_strategies(const Part& part) const {
    const auto inside = [&](int op) { return std::ranges::find(part.operators, op) != part.operators.end(); };
    for (auto op = part.operators.rbegin(); op != part.operators.rend(); ++op) {
      for (const int tensor : graph_.op(*op).writes) {
        for (const int reader : graph_.tensor(tensor).readers) {
          if (!inside(reader)) {
            return text_of(*op, reader);
          }
        }
      }
    }
    return "its results are outputs of the model";
  }

  std::string text_of(int producer, int reader) const {
    std::vector<std::string> texts;
    for (size_t i = 0; i < stages_.strategies().size(); ++i) {
      std::string text = stages_.refusal(i, producer, reader);
      if (std::ranges::find(texts, text) == texts.end()) {
        texts.push_back(std::move(text));
      }
    }
    return texts.empty() ? "each operator is a part" : fmt::format("{}", fmt::join(texts, "; "));
  }

  /// What would not be kept if the next part were joined to it.
  std::string by_resources(size_t p) const {
    if (p + 1 == plan_.parts.size()) {
      return "";
    }
    const Unit& unit = main_unit(profile_);
    std::vector<int> both = plan_.parts[p].operators;
    both.insert(both.end(), plan_.parts[p + 1].operators.begin(), plan_.parts[p + 1].operators.end());
    const int64_t bytes = working_set(graph_, both, flow_alone(graph_, both));
    const Memory& memory = profile_.memory(unit.memory);
    if (bytes > memory.bytes) {
      return fmt::format("with the next part it would work on {} bytes, and memory `{}` has {}; ", bytes, memory.name,
                         memory.bytes);
    }
    const double flops = plan_.parts[p].figures.flops + plan_.parts[p + 1].figures.flops;
    if (plan_.limits.flops > 0 && flops > plan_.limits.flops) {
      return fmt::format("with the next part it would have {} FLOPs, and a part may have {}; ", flops,
                         plan_.limits.flops);
    }
    const int64_t limit = plan_.limits.parallelism;
    const int64_t here = plan_.parts[p].figures.parallelism;
    const int64_t there = plan_.parts[p + 1].figures.parallelism;
    return (here >= limit) != (there >= limit)
               ? fmt::format("its parallelism is {} and that of the next part {}, on both sides of {}; ", here, there,
                             limit)
               : "";
  }

  const Plan& plan_;
  const Stages& stages_;
  const SizedGraph& graph_;
  const Profile& profile_;
  std::vector<Leaving> leaving_;
  double slowest_ = 0;
};

/// A part of several groups has at most the arithmetic that is allowed, and all of them the parallelism or none.
void check_limits(const Plan& plan, const Groups& groups) {
  const SizedGraph& graph = groups.graph();
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    const Part& part = plan.parts[p];
    std::map<int, std::vector<int>> members;
    for (const int op : part.operators) {
      members[groups.find(op)].push_back(op);
    }
    if (members.size() > 1 && plan.limits.flops > 0 && part.figures.flops > plan.limits.flops * (1 + 1e-9)) {
      fail("part {}, which begins with operator `{}`, has {} FLOPs, and the plan promises {}", p + 1,
           graph.op(part.operators[0]).name, part.figures.flops, plan.limits.flops);
    }
    const auto is_wide = [&](const auto& member) {
      return parallelism_of(graph, member.second) >= plan.limits.parallelism;
    };
    const auto wide = static_cast<size_t>(std::ranges::count_if(members, is_wide));
    if (wide != 0 && wide != members.size()) {
      fail("part {}, which begins with operator `{}`, has groups of more and of less parallelism than {}", p + 1,
           graph.op(part.operators[0]).name, plan.limits.parallelism);
    }
  }
}

}  // namespace

std::vector<std::string> strategies_of(const Plan& plan) {
  std::vector<std::string> names;
  for (size_t at = 0; at < plan.fuse.size();) {
    const size_t end = std::min(plan.fuse.find(',', at), plan.fuse.size());
    names.push_back(plan.fuse.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

std::vector<std::string> refusals(const Stages& stages, int producer, int reader) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < stages.strategies().size(); ++i) {
    lines.push_back(fmt::format("{}: {}", stages.strategies()[i], stages.refusal(i, producer, reader)));
  }
  return lines;
}

std::vector<std::string> reasons(const Plan& plan, const Stages& stages, const Profile& profile) {
  const Reasons all(plan, stages, profile);
  std::vector<std::string> result;
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    result.push_back(all.of(p));
  }
  return result;
}

void verify_reasons(const Plan& plan, const Stages& stages, const Profile& profile) {
  check_limits(plan, stages.groups());
  const Reasons all(plan, stages, profile);
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    const std::string right = all.of(p);
    if (plan.parts[p].why != right) {
      fail("part {}, which begins with operator `{}`, is said to end because `{}`, and that is not so: {}", p + 1,
           stages.graph().op(plan.parts[p].operators[0]).name, plan.parts[p].why, right);
    }
  }
}

}  // namespace tenon::partition
