// Reductions split over threads in phases. The split depends on sizes alone.
#include "schedule/nest/reduction_phases.h"

#include <algorithm>
#include <bit>

#include "base/fail.h"
#include "schedule/draft/refusal.h"

namespace tenon::schedule {
namespace {

// Elements that one iteration of the grid reduces; where it reads them twice, they lie in the first cache.
constexpr int64_t kChunk = 16384;
constexpr int64_t kStreamedChunk = 4096;

}  // namespace

ReductionPhases::ReductionPhases(Draft& draft, TreeBuilder& tree, std::vector<size_t> stores, int64_t vector_bytes)
    : draft_(draft),
      tree_(tree),
      vector_bytes_(vector_bytes),
      pending_(std::move(stores)),
      done_(draft.reductions.size(), false) {}

size_t ReductionPhases::reduce(AxisSet level) {
  tile(level);
  size_t streamed = 0;
  while (!pending_.empty()) {
    std::vector<size_t> ready = ready_reductions();
    if (ready.empty()) {
      break;
    }
    streamed += add_streamed(ready);
    std::vector<size_t> rest = ready;
    while (!rest.empty()) {
      const AxisSet axes = draft_.reductions[rest.front()].axes;
      const int counter = counters_.at(rest.front());
      std::vector<size_t> together;
      std::erase_if(rest, [&](size_t r) {
        return draft_.reductions[r].axes == axes && counters_.at(r) == counter && (together.push_back(r), true);
      });
      reduce_partially(together, axes, counter);
    }
    combine(ready);
  }
  return streamed;
}

/// Which reductions values are computed from.
std::vector<bool> ReductionPhases::reductions_in(const std::vector<int>& values) const {
  std::vector<bool> found(draft_.reductions.size(), false);
  for (const int value : ingredients_of(draft_, values)) {
    if (const DraftReduction* reduction = draft_.reduction_of(value)) {
      found[static_cast<size_t>(reduction - draft_.reductions.data())] = true;
    }
  }
  return found;
}

/// Which reductions stores to do are computed from.
std::vector<bool> ReductionPhases::pending_reductions() const {
  std::vector<int> values;
  for (const size_t store : pending_) {
    values.push_back(draft_.stores[store].value);
  }
  return reductions_in(values);
}

/// Reductions of this level that stores or other such reductions wait for.
std::vector<size_t> ReductionPhases::waiting() const {
  const std::vector<bool> needed = pending_reductions();
  std::vector<size_t> found;
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    if (draft_.reductions[i].level == level_ && !done_[i] && needed[i]) {
      found.push_back(i);
    }
  }
  return found;
}

/// Whether a value needs a reduction that is not there yet, of this level or of one further out.
bool ReductionPhases::waits(int value) const {
  const std::vector<bool> needed = reductions_in({value});
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    if (needed[i] && !done_[i] && is_subset(draft_.reductions[i].level, level_)) {
      return true;
    }
  }
  return false;
}

std::vector<size_t> ReductionPhases::ready_reductions() const {
  std::vector<size_t> ready;
  const std::vector<size_t> all = waiting();
  for (const size_t r : all) {
    const int input = draft_.accumulator(draft_.reductions[r]).input;
    if (!waits(input)) {
      ready.push_back(r);
    }
  }
  if (ready.empty() && !all.empty()) {
    throw Refusal{"its rows need what is reduced over all of them", {}};
  }
  return ready;
}

/// Behind those that are ready, those that tiles can reduce about centres of their own.
size_t ReductionPhases::add_streamed(std::vector<size_t>& ready) {
  size_t count = 0;
  for (const size_t r : waiting()) {
    const auto form = streamed_form(draft_, r);
    if (form && std::ranges::find(ready, r) == ready.end() && std::ranges::find(ready, form->anchor) != ready.end() &&
        !waits(form->x)) {
      streamed_[r] = *form;
      ready.push_back(r);
      ++count;
    }
  }
  return count;
}

/// The loops of a reduction that hold all others: none of the reductions that run in every iteration of it runs over
/// them.
AxisSet ReductionPhases::loops_around(AxisSet axes) const {
  AxisSet around = axes;
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    const AxisSet level = draft_.reductions[i].level;
    if (!done_[i] && level != level_ && (level & axes) != 0) {
      around &= level;
    }
  }
  return around;
}

/// How many elements some loops have together. A tile and the loop that counts it have those of all tiles.
Extent ReductionPhases::elements_of(AxisSet loops) const {
  Extent elements = 1;
  AxisSet counted = 0;
  for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
    const int counter = draft_.axis(axis).tile_of;
    if (contains(loops, axis) && counter >= 0 && contains(loops, counter)) {
      elements *= draft_.axis(axis).total;
      counted |= axis_bit(axis) | axis_bit(counter);
    }
  }
  for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
    if (contains(loops & ~counted, axis)) {
      elements *= draft_.axis(axis).extent;
    }
  }
  return elements;
}

void ReductionPhases::tile(AxisSet level) {
  level_ = level;
  std::vector<size_t> all = waiting();
  const bool streams = std::ranges::any_of(all, [&](size_t r) { return streamed_form(draft_, r).has_value(); });
  // Those over most loops first: a matrix is cut along its rows, whatever a vector beside it is cut along.
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [&](size_t r) { return std::popcount(draft_.reductions[r].axes); });
  for (const size_t r : all) {
    if (!counters_.contains(r)) {
      counters_[r] = tile_reduction(draft_.reductions[r].axes, streams ? kStreamedChunk : kChunk);
    }
  }
}

/// Cut the outermost loop that holds all others, unless one that does is cut already. Gives the loop that counts tiles.
int ReductionPhases::tile_reduction(AxisSet axes, int64_t chunk) {
  const AxisSet around = loops_around(axes);
  const auto cut = std::ranges::find_if(tile_counters_, [&](int counter) { return contains(around, counter); });
  if (cut != tile_counters_.end()) {
    return *cut;
  }
  int chosen = -1;
  AxisSet loops = axes;
  for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
    if (contains(around, axis) && (chosen < 0 || draft_.axis(chosen).binding == loops::Binding::lanes)) {
      chosen = axis;
    }
    if (contains(level_, axis) && draft_.axis(axis).binding == loops::Binding::lanes) {
      loops |= axis_bit(axis);  // lanes side by side, each with a row of its own
    }
  }
  if (chosen < 0) {
    throw Refusal{"its reductions run over different axes", {}};
  }
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    if (!done_[i] && contains(draft_.reductions[i].level, chosen)) {
      loops |= draft_.reductions[i].axes;
    }
  }
  const Extent inside = elements_of(loops & ~axis_bit(chosen));
  const Extent size = inside == Extent(1) ? Extent(chunk) : max(1, floordiv(chunk, max(1, inside)));
  tile_counters_.push_back(tile_axis(draft_, chosen, size));
  return tile_counters_.back();
}

int ReductionPhases::new_buffer(Dtype dtype, const Extent& elements) {
  draft_.kernel.buffers.push_back({.dtype = dtype, .role = loops::Role::partial, .elements = elements});
  return static_cast<int>(draft_.kernel.buffers.size()) - 1;
}

size_t ReductionPhases::add_store(int buffer, const loops::Affine& at, int value, AxisSet axes) {
  draft_.stores.push_back({.buffer = buffer, .at = at, .value = value, .axes = axes});
  return draft_.stores.size() - 1;
}

int ReductionPhases::add_reduction(const loops::Accumulator& accumulator, AxisSet axes, AxisSet level) {
  const int id = static_cast<int>(draft_.kernel.accumulators.size());
  draft_.kernel.accumulators.push_back(accumulator);
  const int result = draft_.values.result(id, is_arg(accumulator.op) ? Dtype::i64 : accumulator.dtype, level);
  draft_.reductions.push_back({.accumulator = id, .result = result, .axes = axes, .level = level});
  done_.push_back(true);
  return result;
}

/// How many elements of `axes` a tile has, where `counters` count tiles: an i64.
int ReductionPhases::tile_elements(AxisSet counters, AxisSet axes) {
  AxisSet whole = axes & ~counters;
  int elements = -1;
  const auto times = [&](int factor) {
    elements = elements < 0 ? factor : draft_.values.compute(Prim::mul, Dtype::i64, {elements, factor});
  };
  for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
    const loops::Axis& a = draft_.axis(axis);
    if (!contains(axes, axis) || a.tile_of < 0 || !contains(counters, a.tile_of)) {
      continue;
    }
    whole &= ~axis_bit(axis);
    loops::Affine left = scale(affine_axis(a.tile_of), -a.extent);
    left.base = a.total;
    times(draft_.values.compute(Prim::min, Dtype::i64,
                                {draft_.values.position(left), draft_.values.position(affine_constant(a.extent))}));
  }
  if (const Extent others = elements_of(whole); elements < 0 || others != Extent(1)) {
    times(draft_.values.position(affine_constant(others)));
  }
  return elements;
}

/// Reductions of every tile on its own: the stores of what they leave.
std::vector<size_t> ReductionPhases::add_partials(const std::vector<size_t>& reductions, AxisSet axes,
                                                  AxisSet counters) {
  const AxisSet tile = level_ | counters;
  const AxisSet inside = axes & ~counters;
  const DensePlace place = tree_.dense(tile);
  std::vector<size_t> stores;
  std::unordered_map<size_t, int> parts;  // of each reduction, in a tile
  for (const size_t r : reductions) {
    const loops::Accumulator accumulator = draft_.accumulator(draft_.reductions[r]);
    Partial partial{.counters = counters, .axes = axes};
    const auto keep = [&](loops::Accumulator part) {
      const int result = add_reduction(part, inside, tile);
      parts.try_emplace(r, result);
      const int buffer = new_buffer(draft_.values.dtype(result), place.elements);
      stores.push_back(add_store(buffer, place.at, result, tile));
      return buffer;
    };
    if (const auto form = streamed_.find(r); form != streamed_.end()) {
      const TileTerms terms =
          tile_terms(draft_, form->second, parts.at(form->second.anchor), tile_elements(counters, axes));
      const auto sum_of = [&](int input) {
        return keep({.op = ReduceOp::sum, .dtype = accumulator.dtype, .input = input, .position = -1});
      };
      partial.values = sum_of(terms.value);
      partial.differences = terms.difference < 0 ? -1 : sum_of(terms.difference);
    } else if (is_arg(accumulator.op)) {
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
  return stores;
}

/// A phase that reduces every tile on its own, and runs the stores that fit into its loops.
void ReductionPhases::reduce_partially(const std::vector<size_t>& reductions, AxisSet axes, int counter) {
  std::vector<size_t> stores = add_partials(reductions, axes, axis_bit(counter));
  std::erase_if(pending_, [&](size_t s) {
    const bool fits = draft_.stores[s].axes == (axes | level_) && !waits(draft_.stores[s].value);
    if (fits) {
      stores.push_back(s);
    }
    return fits;
  });
  const std::vector<size_t> kept = keep_inputs(reductions, axes);
  stores.insert(stores.end(), kept.begin(), kept.end());
  tree_.add_phase(level_ | axis_bit(counter), stores);
  tree_.forget_rows();
}

/// A phase that combines the partial results in order, and runs the stores of rows that need no more.
void ReductionPhases::combine(const std::vector<size_t>& reductions) {
  std::unordered_map<int, int> combined;
  std::unordered_map<int, int> reloaded;
  std::vector<size_t> stores;
  const DensePlace row = tree_.dense(level_);
  for (const size_t r : reductions) {
    const Partial& partial = partials_.at(r);
    const loops::Affine at = tree_.dense(level_ | partial.counters).at;
    loops::Accumulator accumulator = draft_.accumulator(draft_.reductions[r]);
    const auto load = [&](int buffer) {
      return draft_.values.load({.buffer = buffer, .at = at, .inside = {}, .lookups = {}});
    };
    const Dtype dtype = accumulator.dtype;
    const bool sums_floats = accumulator.op == ReduceOp::sum && dtype == Dtype::f32;
    if (sums_floats) {
      accumulator.dtype = Dtype::f64;  // there may be a million tiles; adding them up costs nothing beside making them
    }
    if (const auto form = streamed_.find(r); form != streamed_.end()) {
      std::unordered_map<int, int> by = combined;
      accumulator.input = combined_term(draft_, form->second,
                                        {.anchor = load(partials_.at(form->second.anchor).values),
                                         .value = load(partial.values),
                                         .difference = partial.differences < 0 ? -1 : load(partial.differences),
                                         .elements = tile_elements(partial.counters, partial.axes),
                                         .from = replaced(draft_, form->second.from, by)});
    } else {
      accumulator.input = draft_.values.cast(load(partial.values), accumulator.dtype);
    }
    accumulator.position = partial.positions < 0 ? -1 : load(partial.positions);
    const int original = draft_.reductions[r].result;
    const int result = draft_.values.cast(add_reduction(accumulator, partial.counters, level_),
                                          is_arg(accumulator.op) ? Dtype::i64 : dtype);
    const int buffer = new_buffer(draft_.values.dtype(result), row.elements);
    combined[original] = result;
    reloaded[original] = draft_.values.load({.buffer = buffer, .at = row.at, .inside = {}, .lookups = {}});
    finals_.emplace_back(add_store(buffer, row.at, result, level_), r);
    done_[r] = true;
  }
  std::erase_if(pending_, [&](size_t s) {
    const bool fits = draft_.stores[s].axes == level_ && !waits(draft_.stores[s].value);
    if (fits) {
      draft_.stores[s].value = replaced(draft_, draft_.stores[s].value, combined);
      stores.push_back(s);
    }
    return fits;
  });
  // What later phases need of these results goes through memory.
  const std::vector<bool> needed = pending_reductions();
  for (const auto& [store, r] : finals_) {
    if (needed[r]) {
      stores.push_back(store);
    }
  }
  finals_.clear();
  for (const size_t s : pending_) {
    draft_.stores[s].value = replaced(draft_, draft_.stores[s].value, reloaded);
  }
  for (size_t i = 0; i < draft_.reductions.size(); ++i) {
    if (!done_[i]) {
      loops::Accumulator& accumulator = draft_.accumulator(draft_.reductions[i]);
      accumulator.input = replaced(draft_, accumulator.input, reloaded);
    }
  }
  tree_.add_phase(level_, stores);
  tree_.forget_rows();
}

void ReductionPhases::reduce_tiles(AxisSet level, const TiledProducts& products) {
  level_ = level;
  std::vector<size_t> reductions = ready_reductions();
  add_streamed(reductions);
  const AxisSet axes = draft_.reductions[reductions.front()].axes;
  std::vector<size_t> stores = add_partials(reductions, axes, axes & products.grid);
  std::erase_if(pending_, [&](size_t s) { return std::ranges::find(products.stores, s) != products.stores.end(); });
  stores.insert(stores.begin(), products.stores.begin(), products.stores.end());
  // Channel by channel, where lanes do not run along them: what is stored is summed while it is in the first cache.
  AxisSet first = level_ & ~products.grid;
  for (int axis = 0; axis < static_cast<int>(draft_.kernel.axes.size()); ++axis) {
    first &= draft_.axis(axis).binding == loops::Binding::lanes ? ~axis_bit(axis) : ~AxisSet{0};
  }
  const bool all_run_there =
      std::ranges::all_of(stores, [&](size_t s) { return is_subset(first, draft_.stores[s].axes); });
  tree_.add_phase(products.grid, stores, products.products, all_run_there ? first : 0);
  tree_.forget_rows();
  combine(reductions);
  if (!pending_.empty()) {
    throw Refusal{"it needs what is known after the last tile of a product", {}};
  }
}

void ReductionPhases::store_rest() {
  while (!pending_.empty()) {
    const AxisSet axes = draft_.stores[pending_.front()].axes;
    std::vector<size_t> together;
    std::erase_if(pending_, [&](size_t s) { return draft_.stores[s].axes == axes && (together.push_back(s), true); });
    tree_.add_phase(common_axes(draft_, together), together);
    tree_.forget_rows();
  }
}

}  // namespace tenon::schedule
