// Reductions as phases: partial results over tiles, then their combination, then what uses it.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/draft/stream.h"
#include "schedule/nest/tree.h"
#include "schedule/products/products.h"

namespace tenon::schedule {

/// Writes the phases of a draft whose vector axes are chosen. How reductions are split depends on sizes alone.
class ReductionPhases {
 public:
  /// `stores` are those to be written, `vector_bytes` the length of the machine's vectors: what is long to compute with
  /// them is stored for later phases, not computed again.
  ReductionPhases(Draft& draft, TreeBuilder& tree, std::vector<size_t> stores, int64_t vector_bytes);

  /// Cut one loop of every reduction at a level into tiles. All that is cut is cut before the first phase: others may
  /// run over the same loops.
  void tile(AxisSet level);

  /// Phases for the reductions at a level, and for the stores that fit beside them. Those that need another one only
  /// as stream.h says share its phase. Gives how many did. Throws Refusal where the reductions have no such form.
  size_t reduce(AxisSet level);

  /// Two phases: products, the stores of their tiles, and what each tile adds to the reductions at a level, which run
  /// over loops of the grid; then their combination and all other stores. Throws Refusal where these need more.
  void reduce_tiles(AxisSet level, const TiledProducts& products);

  /// What is left is spread over the grid, each group of stores over the loops that they share.
  void store_rest();

 private:
  /// What the tiles of a reduction leave.
  struct Partial {
    int values = -1;       // buffer of partial results; of extremes, for argmax and argmin
    int positions = -1;    // buffer, for argmax and argmin
    int differences = -1;  // buffer: TileTerms::difference
    AxisSet counters = 0;  // the loops that count tiles
    AxisSet axes = 0;      // of the reduction
  };

  std::vector<bool> reductions_in(const std::vector<int>& values) const;
  std::vector<bool> pending_reductions() const;
  std::vector<size_t> waiting() const;
  bool waits(int value) const;
  std::vector<size_t> ready_reductions() const;
  size_t add_streamed(std::vector<size_t>& ready);
  AxisSet loops_around(AxisSet axes) const;
  Extent elements_of(AxisSet loops) const;
  int tile_reduction(AxisSet axes, int64_t chunk);
  int tile_elements(AxisSet counters, AxisSet axes);
  int new_buffer(Dtype dtype, const Extent& elements);
  size_t add_store(int buffer, const loops::Affine& at, int value, AxisSet axes);
  int add_reduction(const loops::Accumulator& accumulator, AxisSet axes, AxisSet level);
  std::vector<size_t> add_partials(const std::vector<size_t>& reductions, AxisSet axes, AxisSet counters);
  void reduce_partially(const std::vector<size_t>& reductions, AxisSet axes, int counter);
  void combine(const std::vector<size_t>& reductions);
  std::vector<size_t> keep_inputs(const std::vector<size_t>& reductions, AxisSet axes);
  bool is_needed_behind(int value, const std::vector<size_t>& reductions) const;

  Draft& draft_;
  TreeBuilder& tree_;
  int64_t vector_bytes_;
  AxisSet level_ = 0;            // of the reductions at hand
  std::vector<size_t> pending_;  // stores to do
  std::vector<bool> done_;       // of each reduction
  std::vector<int> tile_counters_;
  std::unordered_map<size_t, int> counters_;  // the loop that counts the tiles of each reduction
  std::unordered_map<size_t, Partial> partials_;
  std::unordered_map<size_t, StreamedForm> streamed_;
  std::vector<std::pair<size_t, size_t>> finals_;  // store of a combined result, its reduction
};

}  // namespace tenon::schedule
