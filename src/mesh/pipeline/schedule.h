// In which order a stage works on pieces of a batch when it is trained.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::mesh {

/// A piece on its way through a stage, forward or back.
struct PipelineAction {
  bool is_forward = true;
  int64_t piece = 0;

  friend bool operator==(const PipelineAction&, const PipelineAction&) = default;
};

/// One forward, one backward: a stage first takes as many pieces forward as there are stages behind it, then one back
/// for each one forward, so that it keeps what belongs to at most `stages - stage` pieces. Pieces go in order, both
/// ways. No stage waits for one that waits for it.
std::vector<PipelineAction> one_forward_one_backward(int stage, int stages, int64_t pieces);

}  // namespace tenon::mesh
