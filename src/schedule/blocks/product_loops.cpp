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
using loops::Loop;

constexpr int64_t kSteps = 16;        // of the depth that are in shared memory at once
constexpr int64_t kTileThreads = 16;  // along the columns of a tile, at most
constexpr int64_t kTogether = 4;      // sums of a thread side by side: an access of 16 bytes of f32
constexpr int64_t kRowSums = 4;       // of a thread, at most
constexpr int64_t kColumnSums = 8;    // likewise
/// Elements behind each step of what is in shared memory: threads that write a column of it meet different banks.
constexpr int64_t kGap = 4;

/// Several axes as if they were one, which counts as they do.
struct Joined {
  /// Where index + counter * tile >= size, there is nothing.
  struct Cut {
    int counter = -1;  // an axis that counts tiles
    Extent tile, size;
  };
  Extent extent = 1;
  std::vector<Cut> cuts;
};

/// Tiles inside of other axes are whole, or these run once.
Joined joined(const Kernel& kernel, const std::vector<int>& axes) {
  const auto axis_at = [&](size_t i) -> const loops::Axis& { return kernel.axes[static_cast<size_t>(axes[i])]; };
  Joined all;
  for (size_t i = axes.size(); i-- > 0;) {
    const loops::Axis& axis = axis_at(i);
    if (!is_whole(axis)) {
      Extent around = 1;
      for (size_t j = 0; j < i; ++j)
        around = around * axis_at(j).extent;
      const Extent tile = axis.extent * all.extent;
      all.cuts.push_back(
          {.counter = axis.tile_of, .tile = tile, .size = axis.total * all.extent + (around - 1) * tile});
    }
    all.extent = all.extent * axis.extent;
  }
  return all;
}

/// Where `index`, which runs in pieces of so many, lies inside of all. 0: it may run in any pieces.
std::vector<Bound> bounds_of(const Joined& all, const Affine& index, int64_t piece) {
  std::vector<Bound> inside;
  const std::optional<int64_t> known = all.extent.constant();
  if (!known || piece == 0 || *known % piece != 0) {
    inside.push_back({.index = index, .size = all.extent});
  }
  for (const Joined::Cut& cut : all.cuts) {
    inside.push_back({.index = add(index, scale(affine_axis(cut.counter), cut.tile)), .size = cut.size});
  }
  return inside;
}

/// One side of the tile, worked on in pieces: so many threads along a piece, each with several sums, some side by side.
struct Side {
  Joined all;
  int64_t threads = 1;
  int64_t sums = 1;
  int step = -1;  // axes: of pieces
  int thread = -1;

  int64_t piece() const { return threads * sums; }
  int64_t pitch() const { return piece() + kGap; }
  /// Of a sum, within its piece.
  Affine within(int64_t sum) const {
    const int64_t together = std::min(sums, kTogether);
    const int64_t group = sum / together;
    return add(scale(affine_axis(thread), together), affine_constant(group * threads * together + sum % together));
  }
  Affine at(const Affine& inside) const { return add(scale(affine_axis(step), piece()), inside); }
};

class ProductLoops {
 public:
  ProductLoops(Kernel& kernel, const loops::Product& product, ProductScratch& scratch, const ProductParts& parts)
      : kernel_(kernel),
        product_(product),
        scratch_(scratch),
        operands_(parts.operands),
        depth_part_(parts.part),
        sum_(loops::types_of(kernel, product).tile),
        rows_{.all = joined(kernel, product.rows)},
        columns_{.all = joined(kernel, product.columns)},
        depth_(joined(kernel, product.depth)) {
    TENON_CHECK(product.panel == 0, "a product of panels for blocks of threads");
  }

  loops::Statement run() {
    columns_.threads = std::min(kTileThreads, power(along(columns_)));
    rows_.threads = kProductThreads / columns_.threads;
    rows_.sums = sums_along(rows_, kRowSums);
    columns_.sums = sums_along(columns_, kColumnSums);
    for (Side* const side : {&rows_, &columns_}) {
      side->step = add_axis(kernel_, {.extent = ceildiv(side->all.extent, side->piece()), .name = "piece"});
      side->thread = add_axis(kernel_, {.extent = side->threads, .name = "thread", .binding = loops::Binding::threads});
    }
    const bool is_cut = depth_part_.axis >= 0;
    const Extent steps = is_cut ? depth_part_.length : depth_.extent;
    part_ = add_axis(kernel_, {.extent = ceildiv(steps, kSteps), .name = "depth_part"});
    left_ = staged(scratch_.left, kSteps * rows_.pitch(), loops::Scope::block);
    right_ = staged(scratch_.right, kSteps * columns_.pitch(), loops::Scope::block);
    sums_ = staged(scratch_.sums, rows_.sums * columns_.sums, loops::Scope::iteration);
    loops::Block body;
    body.push_back(by_thread(clear()));
    body.push_back(sum_up());
    body.push_back(by_thread(store()));
    return around(rows_.step, {around(columns_.step, std::move(body))});
  }

 private:
  static int64_t power(int64_t count) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
  }
  static int64_t along(const Side& side) { return side.all.extent.constant().value_or(int64_t{1} << 20); }
  static int64_t sums_along(const Side& side, int64_t most) {
    const int64_t needed = power((along(side) + side.threads - 1) / side.threads);
    return std::min({needed, most, kProductThreads / side.threads});
  }

  static loops::Statement around(int axis, loops::Block body) {
    return {Loop{.axis = axis, .begins = {}, .body = std::move(body), .unless = -1}};
  }

  /// The body, by the thread that has the sums.
  loops::Statement by_thread(loops::Block body) const {
    return around(rows_.thread, {around(columns_.thread, std::move(body))});
  }

  int staged(int& buffer, int64_t elements, loops::Scope scope) {
    if (buffer < 0) {
      buffer = static_cast<int>(kernel_.buffers.size());
      kernel_.buffers.push_back({.dtype = sum_, .role = loops::Role::scratch, .elements = 0, .scope = scope});
    }
    loops::Buffer& made = kernel_.buffers[static_cast<size_t>(buffer)];
    made.elements = std::max(made.elements.constant().value_or(0), elements);
    return buffer;
  }

  int define(loops::Block& block, int value) {
    block.emplace_back(loops::Define{value});
    return value;
  }

  /// An element in the type of the sum.
  int load(loops::Block& block, int buffer, Affine at, std::vector<Bound> inside = {}) {
    const Dtype held = compute_dtype(kernel_.buffers[static_cast<size_t>(buffer)].dtype);
    const loops::Load what{.buffer = buffer, .at = std::move(at), .inside = std::move(inside), .lookups = {}};
    const int loaded = define(block, add_value(kernel_, {.what = what, .dtype = held}));
    return held == sum_ ? loaded : define(block, add_compute(kernel_, Prim::cast, sum_, held, {loaded}));
  }

  static void write(loops::Block& block, int buffer, Affine at, int value, std::vector<Bound> inside = {}) {
    block.emplace_back(
        loops::Store{.buffer = buffer, .at = std::move(at), .inside = std::move(inside), .value = value});
  }

  int64_t count() const { return rows_.sums * columns_.sums; }

  loops::Block clear() {
    loops::Block block;
    const int none = define(block, add_constant(kernel_, sum_, 0));
    for (int64_t i = 0; i < count(); ++i)
      write(block, sums_, affine_constant(i), none);
    return block;
  }

  /// Part by part of the depth: both operands go to shared memory, and what they give is added to the sums.
  loops::Statement sum_up() {
    loops::Block body;
    const loops::Matrix& left = product_.left;
    const loops::Matrix& right = product_.right;
    body.push_back(stage({.matrix = left, .apart = left.row, .step_apart = left.column}, rows_, left_));
    body.push_back(stage({.matrix = right, .apart = right.column, .step_apart = right.row}, columns_, right_));
    body.push_back(by_thread(add_part()));
    return around(part_, std::move(body));
  }

  /// A piece of an operand, steps of the depth apart by the pitch. Threads run along what lies side by side in memory.
  struct Operand {
    const loops::Matrix& matrix;
    const Extent& apart;  // of rows or columns
    const Extent& step_apart;
  };

  loops::Statement stage(const Operand& operand, const Side& side, int to) {
    const auto computed = operands_.find(operand.matrix.buffer);
    const bool steps_inside = computed != operands_.end()
                                  ? computed->second.depth_lies_inside
                                  : operand.step_apart == Extent(1) && operand.apart != Extent(1);
    const int64_t inner = std::min(steps_inside ? kSteps : power(side.piece()), kProductThreads);
    const int64_t outer = kProductThreads / inner;
    const int64_t range = steps_inside ? side.piece() : kSteps;
    const auto thread = [&](int64_t extent) {
      return add_axis(kernel_, {.extent = extent, .name = "copy", .binding = loops::Binding::threads});
    };
    const int outer_thread = thread(outer);
    const int inner_thread = thread(inner);
    const int turn = add_axis(kernel_, {.extent = (range + outer - 1) / outer, .name = "turn"});
    const Affine slow = add(scale(affine_axis(turn), outer), affine_axis(outer_thread));
    const Affine fast = affine_axis(inner_thread);
    const Affine& along = steps_inside ? slow : fast;
    const Affine& step = steps_inside ? fast : slow;
    Affine depth = add(scale(affine_axis(part_), kSteps), step);
    if (depth_part_.axis >= 0) depth = add(depth, scale(affine_axis(depth_part_.axis), depth_part_.length));
    std::vector<Bound> own;  // where threads are more than there is to copy
    if (range % outer != 0) own.push_back({.index = slow, .size = range});
    // Whole steps of the depth may still be cut into parts that are not.
    const std::vector<Bound> of_depth = bounds_of(depth_, depth, depth_part_.axis >= 0 ? 0 : kSteps);
    std::vector<Bound> inside = bounds_of(side.all, side.at(along), side.piece());
    for (const std::vector<Bound>& more : {of_depth, own})
      inside.insert(inside.end(), more.begin(), more.end());
    const Affine at = add(scale(step, side.pitch()), along);
    loops::Block body;
    if (computed != operands_.end()) {
      body = computed_element(computed->second, operand.matrix.buffer, side.at(along), depth, inside, of_depth,
                              loops::Store{.buffer = to, .at = at, .inside = own, .value = -1});
    } else {
      const Affine from = add(operand.matrix.at, add(scale(side.at(along), operand.apart), scale(depth, operand.step_apart)));
      const int value = load(body, operand.matrix.buffer, from, inside);
      write(body, to, at, value, own);
    }
    return around(outer_thread, {around(inner_thread, {around(turn, std::move(body))})});
  }

  /// An element that would have been stored in `scratch`, rounded as it would be there; 0 behind the end of the depth.
  loops::Block computed_element(const OperandLoops& loops, int scratch, const Affine& along, const Affine& depth,
                                const std::vector<Bound>& inside, const std::vector<Bound>& of_depth,
                                loops::Store store) {
    OperandElement element = element_of(kernel_, loops, along, depth, inside);
    loops::Block body = std::move(element.defines);
    int value = element.value;
    const Dtype stored = kernel_.buffers[static_cast<size_t>(scratch)].dtype;
    if (compute_dtype(stored) != stored) {
      value = define(body, add_compute(kernel_, Prim::cast, stored, compute_dtype(stored), {value}));
    }
    if (std::get_if<loops::Load>(&kernel_.values[static_cast<size_t>(element.value)].what) == nullptr) {
      for (const Bound& each : of_depth)
        value = zero_outside(body, value, compute_dtype(stored), each);
    }
    if (compute_dtype(stored) != sum_) {
      value = define(body, add_compute(kernel_, Prim::cast, sum_, compute_dtype(stored), {value}));
    }
    store.value = value;
    body.emplace_back(std::move(store));
    for (size_t i = element.around.size(); i-- > 0;) {
      element.around[i].body = std::move(body);
      body.clear();
      body.push_back({std::move(element.around[i])});
    }
    return body;
  }

  int zero_outside(loops::Block& block, int value, Dtype dtype, const Bound& bound) {
    const auto position = [&](const Affine& at) {
      return define(block, add_value(kernel_, {.what = loops::Position{at}, .dtype = Dtype::i64}));
    };
    const int at = position(bound.index);
    const int end = position(affine_constant(bound.size));
    const int exists = define(block, add_compute(kernel_, Prim::lt, Dtype::boolean, Dtype::i64, {at, end}));
    const int none = define(block, add_constant(kernel_, dtype, 0));
    return define(block, add_compute(kernel_, Prim::select, dtype, dtype, {exists, value, none}));
  }

  int add_accumulator(int input) {
    kernel_.accumulators.push_back({.op = ReduceOp::sum, .dtype = sum_, .input = input});
    return static_cast<int>(kernel_.accumulators.size()) - 1;
  }

  loops::Block add_part() {
    const int axis = add_axis(kernel_, {.extent = kSteps, .name = "depth"});
    loops::Block inner;
    const auto values = [&](int buffer, const Side& side) {
      std::vector<int> all;
      for (int64_t i = 0; i < side.sums; ++i)
        all.push_back(load(inner, buffer, add(scale(affine_axis(axis), side.pitch()), side.within(i))));
      return all;
    };
    const std::vector<int> left = values(left_, rows_);
    const std::vector<int> right = values(right_, columns_);
    std::vector<int> parts;
    for (const int l : left) {
      for (const int r : right) {
        const int product = define(inner, add_compute(kernel_, Prim::mul, sum_, sum_, {l, r}));
        parts.push_back(add_accumulator(product));
        inner.emplace_back(loops::Accumulate{parts.back()});
      }
    }
    loops::Block block;
    block.emplace_back(Loop{.axis = axis, .begins = parts, .body = std::move(inner), .unless = -1});
    for (size_t i = 0; i < parts.size(); ++i) {
      const Affine at = affine_constant(static_cast<int64_t>(i));
      const int part = add_value(kernel_, {.what = loops::Result{parts[i]}, .dtype = sum_});
      const int before = load(block, sums_, at);
      write(block, sums_, at, define(block, add_compute(kernel_, Prim::add, sum_, sum_, {before, part})));
    }
    return block;
  }

  loops::Block store() {
    loops::Block block;
    const loops::Matrix& tile = product_.tile;
    for (int64_t i = 0; i < count(); ++i) {
      const Affine row = rows_.at(rows_.within(i / columns_.sums));
      const Affine column = columns_.at(columns_.within(i % columns_.sums));
      std::vector<Bound> inside = bounds_of(rows_.all, row, rows_.piece());
      const std::vector<Bound> more = bounds_of(columns_.all, column, columns_.piece());
      inside.insert(inside.end(), more.begin(), more.end());
      int value = load(block, sums_, affine_constant(i));
      const Affine at = add(tile.at, add(scale(row, tile.row), scale(column, tile.column)));
      if (product_.adds_after >= 0) {
        const int before = sum_before(at, inside, block);
        value = define(block, add_compute(kernel_, Prim::add, sum_, sum_, {before, value}));
      }
      write(block, tile.buffer, at, value, std::move(inside));
    }
    return block;
  }

  /// What the blocks of the depth before this one left: 0 in the first.
  int sum_before(const Affine& at, const std::vector<Bound>& inside, loops::Block& body) {
    const int none = define(body, add_constant(kernel_, sum_, 0));
    std::vector<Bound> in_first = inside;
    in_first.push_back({.index = scale(affine_axis(product_.adds_after), -1), .size = 1});
    write(body, product_.tile.buffer, at, none, std::move(in_first));
    return load(body, product_.tile.buffer, at, inside);
  }

  Kernel& kernel_;
  const loops::Product& product_;
  ProductScratch& scratch_;
  const OperandsByScratch& operands_;
  DepthPart depth_part_;
  Dtype sum_;
  Side rows_, columns_;
  Joined depth_;
  int part_ = -1;                           // axis
  int left_ = -1, right_ = -1, sums_ = -1;  // buffers
};

}  // namespace

loops::Statement product_loops(Kernel& kernel, const loops::Product& product,
                               std::map<Dtype, ProductScratch>& scratch, const ProductParts& parts) {
  return ProductLoops(kernel, product, scratch[loops::types_of(kernel, product).tile], parts).run();
}

}  // namespace tenon::schedule
