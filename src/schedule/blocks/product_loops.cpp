#include "schedule/blocks/product_loops.h"

#include <algorithm>
#include <bit>

#include "base/fail.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Bound;
using loops::Kernel;

/// Several axes as if they were one, which counts as they do.
struct Joined {
  Extent extent = 1;
  int counter = -1;  // that counts tiles of so many, of which all together have `total`; -1: there is one
  Extent total = 0;
};

Joined joined(const Kernel& kernel, const std::vector<int>& axes) {
  Joined all;
  for (size_t i = axes.size(); i-- > 0;) {
    const loops::Axis& axis = kernel.axes[static_cast<size_t>(axes[i])];
    if (i == 0 && axis.tile_of >= 0) {
      all.counter = axis.tile_of;
      all.total = axis.total * all.extent;
    }
    all.extent = all.extent * axis.extent;
  }
  return all;
}

/// One side of the tile: so many threads along it, each with `sums`, `threads` apart.
struct Side {
  Joined all;
  int64_t threads = 1;
  int64_t sums = 1;
  int step = -1;  // axes: steps of threads * sums
  int thread = -1;
  std::vector<Affine> at = {};                  // of each sum
  std::vector<std::vector<Bound>> inside = {};  // likewise
};

class ProductLoops {
 public:
  ProductLoops(Kernel& kernel, const loops::Product& product)
      : kernel_(kernel),
        product_(product),
        sum_(loops::types_of(kernel, product).tile),
        rows_{.all = joined(kernel, product.rows)},
        columns_{.all = joined(kernel, product.columns)},
        depth_(joined(kernel, product.depth)) {
    TENON_CHECK(product.panel == 0, "a product of panels for blocks of threads");
  }

  loops::Statement run(std::set<int>& steps) {
    const auto along = [](const Side& side) { return side.all.extent.constant().value_or(int64_t{1} << 20); };
    const auto power = [](int64_t count) {
      return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
    };
    columns_.threads = std::min<int64_t>(32, power(along(columns_)));
    rows_.threads = kProductThreads / columns_.threads;
    for (Side* const side : {&rows_, &columns_}) {
      side->sums = std::clamp<int64_t>((along(*side) + side->threads - 1) / side->threads, 1, 4);
      prepare(*side);
    }
    steps.insert({rows_.step, columns_.step});
    loops::Block body;
    sum_up(body);
    store(body);
    for (const int axis : {columns_.thread, rows_.thread, columns_.step}) {
      loops::Block outer;
      outer.push_back({loops::Loop{.axis = axis, .begins = {}, .body = std::move(body), .unless = -1}});
      body = std::move(outer);
    }
    return {loops::Loop{.axis = rows_.step, .begins = {}, .body = std::move(body), .unless = -1}};
  }

 private:
  void prepare(Side& side) {
    const Extent piece = side.threads * side.sums;
    side.step = add_axis(kernel_, {.extent = ceildiv(side.all.extent, piece), .name = "step"});
    side.thread = add_axis(kernel_, {.extent = side.threads, .name = "thread", .binding = loops::Binding::threads});
    for (int64_t i = 0; i < side.sums; ++i) {
      const Affine at =
          add(add(scale(affine_axis(side.step), piece), affine_axis(side.thread)), affine_constant(i * side.threads));
      side.at.push_back(at);
      std::vector<Bound> inside;
      const std::optional<int64_t> known = side.all.extent.constant();
      if (!known || *known % (side.threads * side.sums) != 0) {
        inside.push_back({.index = at, .size = side.all.extent});
      }
      if (side.all.counter >= 0) {
        inside.push_back(
            {.index = add(at, scale(affine_axis(side.all.counter), side.all.extent)), .size = side.all.total});
      }
      side.inside.push_back(std::move(inside));
    }
  }

  int load(const loops::Matrix& matrix, const Affine& row, const Affine& column, const std::vector<Bound>& inside,
           loops::Block& block) {
    const Dtype held = compute_dtype(kernel_.buffers[static_cast<size_t>(matrix.buffer)].dtype);
    const int loaded = add_value(
        kernel_, {.what = loops::Load{.buffer = matrix.buffer,
                                      .at = add(matrix.at, add(scale(row, matrix.row), scale(column, matrix.column))),
                                      .inside = inside,
                                      .lookups = {}},
                  .dtype = held});
    block.push_back({loops::Define{loaded}});
    if (held == sum_) return loaded;
    const int widened = add_compute(kernel_, Prim::cast, sum_, held, {loaded});
    block.push_back({loops::Define{widened}});
    return widened;
  }

  int add_accumulator(int input) {
    kernel_.accumulators.push_back({.op = ReduceOp::sum, .dtype = sum_, .input = input});
    return static_cast<int>(kernel_.accumulators.size()) - 1;
  }

  int result_of(int accumulator) { return add_value(kernel_, {.what = loops::Result{accumulator}, .dtype = sum_}); }

  /// The sums over all of the depth: results_.
  void sum_up(loops::Block& body) {
    const std::optional<int64_t> known = depth_.extent.constant();
    const bool is_long = is_float(sum_) && depth_.counter < 0 && (!known || *known > kLongestSum);
    int outer = -1;
    loops::Axis along{.extent = depth_.extent, .name = "depth"};
    if (depth_.counter >= 0) {
      along.tile_of = depth_.counter;
      along.total = depth_.total;
    }
    Affine step;
    if (is_long) {
      outer = add_axis(kernel_, {.extent = ceildiv(depth_.extent, kPartOfSum), .name = "depth_part"});
      along = {.extent = kPartOfSum, .name = "depth", .tile_of = outer, .total = depth_.extent};
      step = scale(affine_axis(outer), kPartOfSum);
    }
    const int axis = add_axis(kernel_, along);
    step = add(step, affine_axis(axis));
    loops::Block inner;
    std::vector<int> left, right, sums;
    for (size_t i = 0; i < rows_.at.size(); ++i) {
      left.push_back(load(product_.left, rows_.at[i], step, rows_.inside[i], inner));
    }
    for (size_t i = 0; i < columns_.at.size(); ++i) {
      right.push_back(load(product_.right, step, columns_.at[i], columns_.inside[i], inner));
    }
    for (const int l : left) {
      for (const int r : right) {
        const int product = add_compute(kernel_, Prim::mul, sum_, sum_, {l, r});
        sums.push_back(add_accumulator(product));
        inner.push_back({loops::Define{product}});
        inner.push_back({loops::Accumulate{sums.back()}});
      }
    }
    for (const int each : sums) {
      results_.push_back(result_of(each));
    }
    loops::Statement loop{loops::Loop{.axis = axis, .begins = sums, .body = std::move(inner), .unless = -1}};
    if (!is_long) {
      body.push_back(std::move(loop));
      return;
    }
    loops::Block parts;
    parts.push_back(std::move(loop));
    std::vector<int> totals;
    for (int& result : results_) {
      totals.push_back(add_accumulator(result));
      parts.push_back({loops::Accumulate{totals.back()}});
      result = result_of(totals.back());
    }
    body.push_back({loops::Loop{.axis = outer, .begins = totals, .body = std::move(parts), .unless = -1}});
  }

  void store(loops::Block& body) {
    const loops::Matrix& tile = product_.tile;
    size_t next = 0;
    for (size_t i = 0; i < rows_.at.size(); ++i) {
      for (size_t j = 0; j < columns_.at.size(); ++j) {
        std::vector<Bound> inside = rows_.inside[i];
        inside.insert(inside.end(), columns_.inside[j].begin(), columns_.inside[j].end());
        int value = results_[next++];
        const Affine at = add(tile.at, add(scale(rows_.at[i], tile.row), scale(columns_.at[j], tile.column)));
        if (product_.adds_after >= 0) {
          const int before = sum_before(at, rows_.at[i], columns_.at[j], inside, body);
          value = add_compute(kernel_, Prim::add, sum_, sum_, {before, value});
          body.push_back({loops::Define{value}});
        }
        body.push_back({loops::Store{.buffer = tile.buffer, .at = at, .inside = std::move(inside), .value = value}});
      }
    }
  }

  /// What the blocks of the depth before this one left: 0 in the first.
  int sum_before(const Affine& at, const Affine& row, const Affine& column, const std::vector<Bound>& inside,
                 loops::Block& body) {
    const int none = add_constant(kernel_, sum_, 0);
    body.push_back({loops::Define{none}});
    std::vector<Bound> in_first = inside;
    in_first.push_back({.index = scale(affine_axis(product_.adds_after), -1), .size = 1});
    body.push_back(
        {loops::Store{.buffer = product_.tile.buffer, .at = at, .inside = std::move(in_first), .value = none}});
    return load(product_.tile, row, column, inside, body);
  }

  Kernel& kernel_;
  const loops::Product& product_;
  Dtype sum_;
  Side rows_, columns_;
  Joined depth_;
  std::vector<int> results_;  // row by row
};

}  // namespace

loops::Statement product_loops(Kernel& kernel, const loops::Product& product, std::set<int>& steps) {
  return ProductLoops(kernel, product).run(steps);
}

}  // namespace tenon::schedule
