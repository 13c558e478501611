// Reductions over all loops of a kernel: split over threads in phases. The split depends on sizes alone.
#include <algorithm>

#include "base/fail.h"
#include "schedule/refusal.h"
#include "schedule/tree.h"

namespace tenon {
namespace {

constexpr int64_t kChunk = 16384;  // elements that one iteration of the grid reduces

class RootPhases {
 public:
  RootPhases(Draft& draft, TreeBuilder& tree) : draft_(draft), tree_(tree) {}

  void build() {
    for (size_t i = 0; i < draft_.stores.size(); ++i) {
      pending_.push_back(i);
    }
    tile_reductions();
    while (!pending_.empty()) {
      const std::vector<size_t> ready = ready_reductions();
      if (ready.empty()) {
        break;
      }
      std::vector<size_t> rest = ready;
      while (!rest.empty()) {
        const AxisSet axes = draft_.reductions[rest.front()].axes;
        std::vector<size_t> together;
        std::erase_if(rest,
                      [&](size_t r) { return draft_.reductions[r].axes == axes && (together.push_back(r), true); });
        reduce_partially(together, axes);
      }
      combine(ready);
    }
    store_rest();
  }

 private:
  /// Root reductions that stores or other root reductions wait for.
  std::vector<size_t> waiting() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < draft_.reductions.size(); ++i) {
      if (draft_.reductions[i].level == 0 && !done_[i] && is_needed(i)) {
        found.push_back(i);
      }
    }
    return found;
  }

  bool is_needed(size_t reduction) const {
    return std::ranges::any_of(pending_, [&](size_t s) { return needs(draft_.stores[s].value, reduction); });
  }

  /// Through other reductions too.
  bool needs(int value, size_t reduction) const {
    std::vector<int> pending{value};
    std::unordered_set<int> seen;
    while (!pending.empty()) {
      const int next = pending.back();
      pending.pop_back();
      if (!seen.insert(next).second) {
        continue;
      }
      if (const DraftReduction* r = draft_.reduction_of(next)) {
        if (static_cast<size_t>(r - draft_.reductions.data()) == reduction) {
          return true;
        }
        pending.push_back(draft_.accumulator(*r).input);
      }
      for (const int operand : operands_of(draft_.value(next))) {
        pending.push_back(operand);
      }
    }
    return false;
  }

  std::vector<size_t> ready_reductions() const {
    std::vector<size_t> ready;
    const std::vector<size_t> all = waiting();
    for (const size_t r : all) {
      const int input = draft_.accumulator(draft_.reductions[r]).input;
      if (std::ranges::none_of(all, [&](size_t other) { return other != r && needs(input, other); })) {
        ready.push_back(r);
      }
    }
    return ready;
  }

  /// Cut one loop of every root reduction into tiles: the outermost that holds all loops inside.
  void tile_reductions() {
    done_.assign(draft_.reductions.size(), false);
    for (const size_t r : waiting()) {
      const AxisSet axes = draft_.reductions[r].axes;
      const bool is_tiled = std::ranges::any_of(tile_counters_, [&](int t) { return contains(axes, t); });
      if (is_tiled) {
        continue;
      }
      // The loops inside: other loops of this reduction, and reductions that run in every iteration of it.
      int chosen = -1;
      AxisSet around = axes;
      for (const DraftReduction& inner : draft_.reductions) {
        if (inner.level != 0 && (inner.level & axes) != 0) {
          around &= inner.level;
        }
      }
      for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
        if (contains(around, axis) && (chosen < 0 || draft_.axis(chosen).vectorized)) {
          chosen = axis;
        }
      }
      if (chosen < 0) {
        throw Refusal{"its reductions run over different axes", {}};
      }
      Extent inside = 1;
      AxisSet loops = axes;
      for (const DraftReduction& inner : draft_.reductions) {
        if (contains(inner.level, chosen)) {
          loops |= inner.axes;
        }
      }
      for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
        if (contains(loops, axis) && axis != chosen) {
          inside *= draft_.axis(axis).extent;
        }
      }
      const Extent size = inside == Extent(1) ? Extent(kChunk) : max(1, floordiv(kChunk, max(1, inside)));
      tile_counters_.push_back(tile_axis(draft_, chosen, size));
    }
  }

  int tile_counter(AxisSet axes) const {
    for (const int counter : tile_counters_) {
      if (contains(axes, counter)) {
        return counter;
      }
    }
    TENON_CHECK(false);
  }

  int new_buffer(Dtype dtype, const Extent& elements) {
    draft_.kernel.buffers.push_back({.dtype = dtype, .role = loops::Role::partial, .elements = elements});
    return static_cast<int>(draft_.kernel.buffers.size()) - 1;
  }

  size_t add_store(int buffer, const loops::Affine& at, int value, AxisSet axes) {
    draft_.stores.push_back({.buffer = buffer, .at = at, .value = value, .axes = axes});
    return draft_.stores.size() - 1;
  }

  int add_reduction(const loops::Accumulator& accumulator, AxisSet axes, AxisSet level) {
    const int id = static_cast<int>(draft_.kernel.accumulators.size());
    draft_.kernel.accumulators.push_back(accumulator);
    const int result = draft_.values.result(id, is_arg(accumulator.op) ? Dtype::i64 : accumulator.dtype, level);
    draft_.reductions.push_back({.accumulator = id, .result = result, .axes = axes, .level = level});
    done_.push_back(true);
    return result;
  }

  struct Partial {
    int values = -1;     // buffer of partial results; of extremes, for argmax and argmin
    int positions = -1;  // buffer, for argmax and argmin
    int counter = -1;
  };

  /// A phase that reduces every tile on its own, and runs the stores that fit into its loops.
  void reduce_partially(const std::vector<size_t>& reductions, AxisSet axes) {
    const int counter = tile_counter(axes);
    const AxisSet tile = axis_bit(counter);
    const Extent tiles = draft_.axis(counter).extent;
    std::vector<size_t> stores;
    for (const size_t r : reductions) {
      const loops::Accumulator accumulator = draft_.accumulator(draft_.reductions[r]);
      Partial partial{.counter = counter};
      const auto keep = [&](loops::Accumulator part) {
        const int result = add_reduction(part, axes & ~tile, tile);
        const int buffer = new_buffer(draft_.values.dtype(result), tiles);
        stores.push_back(add_store(buffer, affine_axis(counter), result, tile));
        return buffer;
      };
      if (is_arg(accumulator.op)) {
        loops::Accumulator extreme = accumulator;
        extreme.op = accumulator.op == ReduceOp::argmax ? ReduceOp::max : ReduceOp::min;
        extreme.position = -1;
        partial.values = keep(extreme);
        partial.positions = keep(accumulator);
      } else {
        partial.values = keep(accumulator);
      }
      partials_[r] = partial;
    }
    std::erase_if(pending_, [&](size_t s) {
      const bool fits = draft_.stores[s].axes == axes && !waits(draft_.stores[s].value);
      if (fits) {
        stores.push_back(s);
      }
      return fits;
    });
    tree_.add_phase(tile, stores);
    tree_.forget_rows();
  }

  bool waits(int value) const {
    return std::ranges::any_of(waiting(), [&](size_t r) { return needs(value, r); });
  }

  /// A phase that combines the partial results in order, and runs the stores of single values that need no more.
  void combine(const std::vector<size_t>& reductions) {
    std::unordered_map<int, int> combined;
    std::unordered_map<int, int> reloaded;
    std::vector<size_t> stores;
    for (const size_t r : reductions) {
      const Partial& partial = partials_.at(r);
      loops::Accumulator accumulator = draft_.accumulator(draft_.reductions[r]);
      const auto load = [&](int buffer) {
        return draft_.values.load({.buffer = buffer, .at = affine_axis(partial.counter), .inside = {}, .lookups = {}});
      };
      const Dtype dtype = accumulator.dtype;
      const bool sums_floats = accumulator.op == ReduceOp::sum && dtype == Dtype::f32;
      if (sums_floats) {
        accumulator.dtype =
            Dtype::f64;  // there may be a million tiles; adding them up costs nothing beside making them
      }
      accumulator.input = draft_.values.cast(load(partial.values), accumulator.dtype);
      accumulator.position = partial.positions < 0 ? -1 : load(partial.positions);
      const int original = draft_.reductions[r].result;
      const int result = draft_.values.cast(add_reduction(accumulator, axis_bit(partial.counter), 0),
                                            is_arg(accumulator.op) ? Dtype::i64 : dtype);
      const int buffer = new_buffer(draft_.values.dtype(result), 1);
      combined[original] = result;
      reloaded[original] = draft_.values.load({.buffer = buffer, .at = {}, .inside = {}, .lookups = {}});
      finals_.emplace_back(add_store(buffer, {}, result, 0), r);
      done_[r] = true;
    }
    std::erase_if(pending_, [&](size_t s) {
      const bool fits = draft_.stores[s].axes == 0 && !waits(draft_.stores[s].value);
      if (fits) {
        draft_.stores[s].value = replaced(draft_, draft_.stores[s].value, combined);
        stores.push_back(s);
      }
      return fits;
    });
    // What later phases need of these results goes through memory.
    for (const auto& [store, r] : finals_) {
      if (std::ranges::any_of(pending_, [&](size_t s) { return needs(draft_.stores[s].value, r); })) {
        stores.push_back(store);
      }
    }
    finals_.clear();
    for (const size_t s : pending_) {
      draft_.stores[s].value = replaced(draft_, draft_.stores[s].value, reloaded);
    }
    const size_t count = draft_.reductions.size();
    for (size_t i = 0; i < count; ++i) {
      if (!is_combination(draft_.reductions[i], reductions)) {
        loops::Accumulator& accumulator = draft_.accumulator(draft_.reductions[i]);
        accumulator.input = replaced(draft_, accumulator.input, reloaded);
      }
    }
    tree_.add_phase(0, stores);
    tree_.forget_rows();
  }

  bool is_combination(const DraftReduction& reduction, const std::vector<size_t>& of) const {
    return std::ranges::any_of(of, [&](size_t r) { return reduction.axes == axis_bit(partials_.at(r).counter); });
  }

  /// What is left is spread over the grid, each group of stores over the loops that they share.
  void store_rest() {
    while (!pending_.empty()) {
      const AxisSet axes = draft_.stores[pending_.front()].axes;
      std::vector<size_t> together;
      std::erase_if(pending_, [&](size_t s) { return draft_.stores[s].axes == axes && (together.push_back(s), true); });
      tree_.add_phase(common_axes(draft_, together), together);
      tree_.forget_rows();
    }
  }

  Draft& draft_;
  TreeBuilder& tree_;
  std::vector<size_t> pending_;  // stores to do
  std::vector<bool> done_;       // of each reduction
  std::vector<int> tile_counters_;
  std::unordered_map<size_t, Partial> partials_;
  std::vector<std::pair<size_t, size_t>> finals_;  // store of a combined result, its reduction
};

}  // namespace

void add_root_phases(Draft& draft, TreeBuilder& tree) { RootPhases(draft, tree).build(); }

}  // namespace tenon
