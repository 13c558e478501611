#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "partition/cut/by_profile.h"
#include "partition/plan/estimate.h"

namespace tenon::partition {
namespace {

/// Groups that a part may have: beyond, a plan says nothing any more.
constexpr int kMostGroups = 48;

struct StretchFlow {
  PartFlow flow;
  std::vector<int> operators;
};

/// What enters and leaves a stretch of groups, by itself.
StretchFlow flow_of_stretch(const SizedGraph& graph, const std::vector<std::vector<int>>& groups, int begin, int end) {
  StretchFlow result;
  for (int g = begin; g < end; ++g) {
    const std::vector<int>& group = groups[static_cast<size_t>(g)];
    result.operators.insert(result.operators.end(), group.begin(), group.end());
  }
  std::vector<int> sorted = result.operators;
  std::ranges::sort(sorted);
  const auto inside = [&](int op) { return std::ranges::binary_search(sorted, op); };
  for (const int op : result.operators) {
    for (const SizedRead& read : graph.op(op).reads) {
      const SizedTensor& tensor = graph.tensor(read.tensor);
      if (!inside(tensor.producer) || (tensor.kept > 0 && read.bytes > 0)) {
        result.flow.in.push_back({read.tensor, -1, read.bytes});
      }
    }
    for (const int tensor : graph.op(op).writes) {
      const SizedTensor& written = graph.tensor(tensor);
      if (written.output || !std::ranges::all_of(written.readers, inside)) {
        result.flow.out.push_back(tensor);
      }
    }
  }
  std::vector<PartFlow::In>& in = result.flow.in;
  std::ranges::sort(
      in, [](const auto& a, const auto& b) { return a.tensor != b.tensor ? a.tensor < b.tensor : a.bytes > b.bytes; });
  const auto rest = std::ranges::unique(in, {}, &PartFlow::In::tensor);
  in.erase(rest.begin(), rest.end());
  std::ranges::sort(result.flow.out);
  return result;
}

int64_t moved_bytes(const SizedGraph& graph, const PartFlow& flow) {
  int64_t sum = 0;
  for (const PartFlow::In& in : flow.in) {
    sum += in.bytes;
  }
  for (const int tensor : flow.out) {
    sum += graph.tensor(tensor).written();
  }
  return sum;
}

/// The unit whose memory decides: of those for products the one with the most arithmetic.
const Unit& main_unit(const Profile& profile) {
  return *std::ranges::max_element(profile.units, {}, [](const Unit& unit) {
    return static_cast<double>(unit.count) * rate_of(unit.flops, "f32", rate_of(unit.flops, "any", 1)) *
           rate_of(unit.efficiency, name(Role::product), 1);
  });
}

}  // namespace

ProfileCut cut_by_resources(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                            const Profile& profile) {
  const Unit& unit = main_unit(profile);
  const int64_t capacity = profile.memory(unit.memory).bytes;
  const auto n = static_cast<int>(groups.size());
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> best(groups.size() + 1, kNone);
  std::vector<int> from(groups.size() + 1, -1);
  std::vector<int64_t> needed(groups.size() + 1, 0);  // by the stretch from here that was too large
  best[0] = 0;
  const int most = n > 20'000 ? 8 : kMostGroups;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j <= std::min(n, i + most); ++j) {
      const StretchFlow stretch = flow_of_stretch(graph, groups, i, j);
      const int64_t bytes = working_set(graph, stretch.operators, stretch.flow);
      if (j == i + 1) {
        tiles_for(graph, stretch.operators, bytes, profile, unit);  // the smallest pieces fit
      } else if (bytes > capacity) {
        needed[static_cast<size_t>(i)] = bytes;
        break;
      }
      const int64_t cost = best[static_cast<size_t>(i)] + moved_bytes(graph, stretch.flow);
      if (cost < best[static_cast<size_t>(j)]) {
        best[static_cast<size_t>(j)] = cost;
        from[static_cast<size_t>(j)] = i;
      }
    }
  }
  ProfileCut cut;
  for (int j = n; j > 0; j = from[static_cast<size_t>(j)]) {
    const int i = from[static_cast<size_t>(j)];
    cut.parts.push_back(flow_of_stretch(graph, groups, i, j).operators);
    const int64_t more = needed[static_cast<size_t>(i)];
    cut.why.push_back(j == n     ? "its results are outputs of the model"
                      : more > 0 ? fmt::format("with more it would work on {} bytes, and memory `{}` has {}", more,
                                               unit.memory, capacity)
                                 : std::string("fewest bytes move when it ends here"));
  }
  std::ranges::reverse(cut.parts);
  std::ranges::reverse(cut.why);
  return cut;
}

}  // namespace tenon::partition
