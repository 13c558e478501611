#include "mesh/run/buckets.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tenon::mesh {
namespace {

/// Enough for a network's bandwidth to count, not its latency.
constexpr int64_t kBytes = int64_t{1} << 20;
/// So many go alone: a copy into a message would take longer than a message of their own.
constexpr int64_t kBytesAlone = int64_t{256} << 10;

struct Bucket {
  std::vector<size_t> collectives;
  int64_t bytes = 0;
};

}  // namespace

std::vector<std::vector<size_t>> buckets(const std::vector<Collective>& all, std::vector<size_t> collectives,
                                         const Bindings& bindings) {
  std::ranges::stable_sort(collectives, {}, [&](size_t each) { return all[each].depth; });
  std::vector<std::vector<size_t>> result;
  // A map keeps the same order on every rank.
  std::map<std::tuple<CollectiveKind, size_t, ReduceOp, Dtype>, Bucket> open;
  for (const size_t each : collectives) {
    const Collective& step = all[each];
    const int64_t bytes =
        evaluate(step.whole.element_count(), bindings) * static_cast<int64_t>(byte_size(step.whole.dtype()));
    const bool moves_parts = step.kind == CollectiveKind::all_to_all || step.kind == CollectiveKind::halo_exchange;
    if (moves_parts || bytes >= kBytesAlone) {
      result.push_back({each});
      continue;
    }
    const ReduceOp op = step.kind == CollectiveKind::all_gather ? ReduceOp::sum : step.from.op;
    Bucket& bucket = open[{step.kind, step.mesh_axis, op, step.whole.dtype()}];
    bucket.collectives.push_back(each);
    bucket.bytes += bytes;
    if (bucket.bytes >= kBytes) result.push_back(std::move(std::exchange(bucket, {}).collectives));
  }
  for (auto& [key, bucket] : open) {
    if (!bucket.collectives.empty()) result.push_back(std::move(bucket.collectives));
  }
  return result;
}

}  // namespace tenon::mesh
