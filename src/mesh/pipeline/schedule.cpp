#include "mesh/pipeline/schedule.h"

#include <algorithm>

namespace tenon::mesh {

std::vector<PipelineAction> one_forward_one_backward(int stage, int stages, int64_t pieces) {
  const int64_t ahead = std::min<int64_t>(stages - 1 - stage, pieces);
  std::vector<PipelineAction> actions;
  for (int64_t piece = 0; piece < pieces + ahead; ++piece) {
    if (piece < pieces) actions.push_back({.is_forward = true, .piece = piece});
    if (piece >= ahead) actions.push_back({.is_forward = false, .piece = piece - ahead});
  }
  return actions;
}

}  // namespace tenon::mesh
