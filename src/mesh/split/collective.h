// The steps between ranks, as data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/node.h"
#include "mesh/parts/placement.h"

namespace tenon::mesh {

enum class CollectiveKind : uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, halo_exchange };

constexpr std::array<std::string_view, 5> spellings(CollectiveKind) {
  return {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "halo_exchange"};
}
constexpr std::string_view name(CollectiveKind kind) { return spellings(kind)[static_cast<size_t>(kind)]; }

/// What all ranks along one axis of the mesh do with a tensor: its placement along that axis goes from `from` to `to`.
///   all_reduce      partial to whole      all_gather    split to whole
///   reduce_scatter  partial to split      all_to_all    split along one axis to split along another
///   halo_exchange   split to other parts of the same axis, such as those that windows read
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  size_t mesh_axis = 0;
  Placement from, to;
  Value source;          // what the rank has
  Value result;          // an input without a value in the graph: what it gets
  Shape whole;           // of the tensor over all ranks
  Extent bytes;          // that the ranks along the axis hold of it together, when it is whole; what a rank in their
                         // middle gets in a halo_exchange
  size_t level = 0;      // it starts when so many segments have run; those behind are its level and more; on all ranks
  bool is_late = false;  // outputs alone wait for it
  size_t depth = 0;  // of the tensor in the whole graph: its longest way from an input, in nodes; the same on all ranks
  std::string of, reason;  // what the tensor is, and who needs it so

  /// Bytes that one rank sends, of `bytes`: 2(n-1)/n of them for all_reduce, (n-1)/n for all_gather and
  /// reduce_scatter, (n-1)/n^2 for all_to_all, all for halo_exchange.
  static double sent_share(CollectiveKind kind, int ranks);
};

}  // namespace tenon::mesh
