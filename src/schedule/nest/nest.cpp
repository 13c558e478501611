#include "schedule/nest/nest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/fail.h"
#include "schedule/draft/skipped_nan.h"
#include "schedule/nest/reduction_phases.h"
#include "schedule/nest/share_scratch.h"
#include "schedule/products/products.h"

namespace tenon::schedule {
namespace {

constexpr int kMostSplits = 32;

/// Levels must lie one inside the other: rows, then rows and columns, and so on.
void require_chain(const Draft& draft) {
  std::vector<AxisSet> levels;
  for (const DraftReduction& reduction : draft.reductions) {
    levels.push_back(reduction.level);
  }
  std::ranges::sort(levels, {}, [](AxisSet set) { return std::popcount(set); });
  for (size_t i = 1; i < levels.size(); ++i) {
    if (!is_subset(levels[i - 1], levels[i])) {
      throw Refusal{"its reductions run over different axes", {}};
    }
  }
}

std::vector<size_t> all_stores(const Draft& draft) {
  std::vector<size_t> stores(draft.stores.size());
  std::iota(stores.begin(), stores.end(), 0);
  return stores;
}

/// The level of the reductions inside of rows, of which there must be one.
AxisSet row_level(const Draft& draft) {
  AxisSet level = 0;
  for (const DraftReduction& reduction : draft.reductions) {
    if (reduction.level != 0 && level != 0 && reduction.level != level) {
      throw Refusal{"its rows have rows inside", {}};
    }
    level |= reduction.level;
  }
  if (level == 0) {
    throw Refusal{"it has no rows", {}};
  }
  return level;
}

/// Tiles of a row that is one loop have room in scratch; of several loops only one is cut.
bool keeps_rows(const Draft& draft, RowForm form) {
  return form == RowForm::keep ||
         (form == RowForm::stream &&
          std::ranges::all_of(draft.reductions, [](const DraftReduction& r) { return std::popcount(r.axes) == 1; }));
}

const Constant* constant_of(const Nest& nest, int buffer) {
  const auto i = static_cast<size_t>(buffer);  // scratch comes after them
  return i < nest.buffers.size() ? nest.buffers[i].node().as<Constant>() : nullptr;
}

ConstantOperands constant_operands(const NestRequest& request, const Nest& nest) {
  return {.panel = request.options.panel,
          .bytes_together = request.options.bytes_together,
          .is_constant = [&nest](int buffer) { return constant_of(nest, buffer) != nullptr; },
          .is_small =
              [&nest](int buffer) {
                constexpr float kMost = std::numeric_limits<float>::max() / 32;
                return std::ranges::all_of(constant_of(nest, buffer)->value.values<float>(),
                                           [](float x) { return std::abs(x) <= kMost; });
              }};
}

void write_phases(Draft& draft, const NestRequest& request, Nest& nest) {
  const std::vector<size_t> stores = all_stores(draft);
  const AxisSet grid = common_axes(draft, stores);
  const bool has_root = std::ranges::any_of(draft.reductions, [](const DraftReduction& r) { return r.level == 0; });
  const bool has_loops = std::ranges::any_of(draft.stores, [](const DraftStore& s) { return s.axes != 0; });
  if (grid == 0 && !has_root && (has_loops || !draft.reductions.empty())) {
    throw Refusal{"its parts have no loop in common", {}};
  }
  const bool has_products = !find_products(draft, constant_operands(request, nest)).empty();
  if (has_root && has_products) {
    throw Refusal{"a reduction over the results of many products", {}};
  }
  const bool streams_products = request.rows == RowForm::stream && has_products;
  if (has_root || (request.rows == RowForm::stream && !streams_products)) {
    require_chain(draft);
    choose_vector_axes(draft, grid);
    TreeBuilder tree(draft, keeps_rows(draft, request.rows));
    ReductionPhases phases(draft, tree, stores, request.options.vector_bytes);
    phases.tile(0);
    nest.streamed = request.rows == RowForm::stream ? phases.reduce(row_level(draft)) : 0;
    if (has_root) {
      nest.streamed += phases.reduce(0);
    }
    phases.store_rest();
    nest.repeats = tree.repeats();
    return;
  }
  const TiledProducts tiled = tile_products(draft, stores, constant_operands(request, nest),
                                            {.options = request.options, .streams = streams_products});
  nest.panels = tiled.panels;
  nest.winograd = tiled.winograd;
  nest.streamed_row = tiled.streamed;
  nest.has_products = !tiled.products.empty();
  require_chain(draft);
  choose_vector_axes(draft, nest.has_products ? tiled.around : grid, nest.has_products);
  TreeBuilder tree(draft, request.rows == RowForm::keep);
  if (nest.has_products) {
    tree.add_phase(tiled.grid, tiled.stores, tiled.products, tiled.first, tiled.exception);
    nest.product_loops = draft.kernel.phases.back().grid.size();
  } else {
    // Tiling moved the grid: ask again.
    tree.add_phase(common_axes(draft, stores), stores);
  }
  nest.repeats = tree.repeats();
}

/// The phases of a draft whose products' results are reduced over tiles.
void write_epilogue_phases(Draft& draft, const NestRequest& request, Nest& nest) {
  const std::vector<size_t> stores = all_stores(draft);
  const std::vector<ProductMatch> products = find_products(draft, constant_operands(request, nest));
  const EpilogueReductions found = find_epilogue_reductions(draft, products, stores);
  const int result = draft.reductions[found.reductions[0]].result;
  TiledProducts tiled = tile_products(draft, found.stores, constant_operands(request, nest),
                                      {.options = request.options, .reductions = &found});
  nest.panels = tiled.panels;
  nest.has_products = true;
  choose_vector_axes(draft, tiled.around, true);
  TreeBuilder tree(draft, request.rows == RowForm::keep);
  if (const DraftReduction& first = *draft.reduction_of(result); (first.axes & tiled.grid) != 0) {
    ReductionPhases(draft, tree, stores, request.options.vector_bytes).reduce_tiles(first.level, tiled);
  } else {  // a tile holds all of its loops
    tree.add_phase(tiled.grid, stores, tiled.products);
  }
  nest.product_loops = draft.kernel.phases.front().grid.size();
  nest.repeats = tree.repeats();
}

/// Instructions that the compiler will see, about.
size_t compile_cost(const loops::Kernel& kernel) {
  size_t sum = 0;
  for (const loops::Value& value : kernel.values) {
    const auto* compute = std::get_if<loops::Compute>(&value.what);
    sum += compute ? static_cast<size_t>(cost(compute->prim, Dtype::f32)) : 1;
  }
  return sum;
}

Nest build(const NestRequest& request, const AxisSplits& splits, bool in_epilogue, MapPrograms& programs) {
  Draft draft;
  static const StorageOrders rows;
  const StorageOrders& storage = request.storage ? *request.storage : rows;
  ElementEmitter emitter(draft, request.is_loaded, storage, splits, programs);
  std::vector<Value> outputs = request.outputs;
  // The largest first: its loops are the ones that the others share.
  std::ranges::stable_sort(outputs, std::ranges::greater{}, [](const Value& v) { return v.rank(); });
  struct Emitted {
    Value value;
    Point point;
    int id;
    bool in_place;
  };
  std::vector<Emitted> emitted;
  for (const Value& output : outputs) {
    const bool in_place = request.in_place && request.in_place(output);
    const Value& computed = in_place ? output.node().inputs[1] : output;
    Point point = emitter.iterate(computed);
    const int id = emitter.emit(computed, point);
    emitted.push_back({output, std::move(point), id, in_place});
  }
  for (const Emitted& e : emitted) {
    const auto placement = request.placement ? request.placement(e.value) : std::nullopt;
    Point point = e.in_place ? place_of_update(e.value, e.point) : e.point;
    if (placement) {
      Position& along = point[static_cast<size_t>(placement->axis)];
      along = moved(along, placement->start);
    }
    const Value& target = placement ? placement->whole : e.value;
    const loops::Affine at = stored_at(storage, target, point).affine;
    const int buffer = emitter.output_buffer(target);
    AxisSet axes = 0;  // all of them: along an empty axis `at` has no terms
    for (const Position& position : e.point) {
      axes |= axes_of(position.affine);
    }
    draft.stores.push_back({.buffer = buffer, .at = at, .value = e.id, .axes = axes});
  }
  Nest nest;
  nest.buffers = emitter.buffers();
  nest.reduces = !draft.reductions.empty();
  nest.cost = compile_cost(draft.kernel);
  nest.loads = static_cast<size_t>(std::ranges::count_if(
      draft.kernel.values, [](const loops::Value& v) { return std::holds_alternative<loops::Load>(v.what); }));
  join_axes(draft);
  if (request.shared_code) {
    name_sizes(draft);
  }
  mark_skipped_nan(draft);
  in_epilogue ? write_epilogue_phases(draft, request, nest) : write_phases(draft, request, nest);
  share_scratch(draft.kernel);
  nest.buffers.resize(draft.kernel.buffers.size());
  nest.kernel = std::move(draft.kernel);
  return nest;
}

std::variant<Nest, Refusal> build_nest(const NestRequest& request, bool in_epilogue, MapPrograms& programs) {
  AxisSplits splits;
  try {
    for (int round = 0; round < kMostSplits; ++round) {
      try {
        return build(request, splits, in_epilogue, programs);
      } catch (SplitNeeded& needed) {
        splits = std::move(needed.splits);
      }
    }
  } catch (Refusal& refusal) {
    return std::move(refusal);
  }
  return Refusal{"its reshapes need too many loops", {}};
}

}  // namespace

std::variant<Nest, Refusal> build_nest(const NestRequest& request, MapPrograms& programs) {
  auto built = build_nest(request, false, programs);
  if (request.epilogue_reductions && std::holds_alternative<Refusal>(built)) {
    auto reducing = build_nest(request, true, programs);
    return std::holds_alternative<Nest>(reducing) ? std::move(reducing) : std::move(built);
  }
  return built;
}

}  // namespace tenon::schedule
