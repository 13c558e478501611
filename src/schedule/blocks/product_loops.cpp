#include "schedule/blocks/product_loops.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/blocks/product_sides.h"
#include "schedule/blocks/product_sums.h"
#include "schedule/blocks/statements.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Bound;
using loops::Kernel;
using loops::Loop;

constexpr int64_t kSteps = 16;      // of the depth that are in shared memory at once
constexpr int64_t kHalfSteps = 32;  // likewise, of operands of two bytes
/// Elements behind each step, or row, of what is in shared memory: threads that write a column of it meet different
/// banks.
constexpr int64_t kGap = 4;
constexpr int64_t kMatrixGap = 8;     // the same for threads that read matrices of operands of two bytes, or by rows
constexpr int64_t kLeastDepth = 16;   // steps that instructions on matrices are worth it for
constexpr int64_t kTileThreads = 16;  // along the columns of a tile, at most
constexpr int64_t kRowSums = 4;       // of a thread, at most
constexpr int64_t kColumnSums = 8;    // likewise

class ProductLoops {
 public:
  ProductLoops(Kernel& kernel, const loops::Product& product, ScratchOfProducts& scratch, const ProductParts& parts)
      : kernel_(kernel),
        product_(product),
        all_scratch_(scratch),
        operands_(parts.operands),
        depth_part_(parts.part),
        upper_bits_(parts.upper_bits),
        types_(loops::types_of(kernel, product)),
        sum_(types_.tile),
        rows_{.all = joined(kernel, product.rows)},
        columns_{.all = joined(kernel, product.columns)},
        depth_(joined(kernel, product.depth)) {
    TENON_CHECK(product.together == 1, "a product of steps that lie together for blocks of threads");
  }

  loops::Statement run() {
    columns_.threads = std::min(kTileThreads, power(along(columns_)));
    rows_.threads = kProductThreads / columns_.threads;
    rows_.sums = sums_along(rows_, kRowSums);
    columns_.sums = sums_along(columns_, kColumnSums);
    if (may_be_by_warps()) make_warps();
    scratch_ = &all_scratch_[{sum_, staged_}];
    for (Side* const side : {&rows_, &columns_}) {
      side->step = add_axis(kernel_, {.extent = ceildiv(side->all.extent, side->piece()), .name = "piece"});
      const int64_t threads = side->order == nullptr ? side->threads : side->order->threads;
      side->thread = thread_axis(threads, "thread");
      if (side->order != nullptr) side->warp = thread_axis(side->threads / threads, "warp");
    }
    const Extent steps = is_part() ? depth_part_.length : depth_.extent;
    pair_ = add_axis(kernel_, {.extent = ceildiv(steps, 2 * steps_), .name = "depth_parts"});
    const loops::Matrix& left = product_.left;
    const loops::Matrix& right = product_.right;
    left_.emplace(staging({.matrix = left, .apart = left.row, .step_apart = left.column}, rows_, scratch_->left));
    right_.emplace(staging({.matrix = right, .apart = right.column, .step_apart = right.row, .panel = product_.panel},
                           columns_, scratch_->right));
    sums_ = staged(scratch_->sums, sum_, rows_.sums * columns_.sums, loops::Scope::iteration);
    loops::Block body;
    body.push_back(by_thread(clear()));
    fetch(body, {});
    put(body, &ProductScratch::Operand::even);
    body.push_back(sum_up());
    body.push_back(by_thread(store()));
    return loop_around(rows_.step, {loop_around(columns_.step, std::move(body))});
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

  int thread_axis(int64_t extent, const char* name) {
    return add_axis(kernel_, {.extent = extent, .name = name, .binding = loops::Binding::threads});
  }

  /// Whether machines have instructions on matrices for it: of two operands of the same half type, or of f32 where the
  /// upper bits of these are enough, for a tile in which each warp has whole matrices.
  bool may_be_by_warps() const {
    const bool is_half = types_.left == Dtype::f16 || types_.left == Dtype::bf16;
    const bool has_matrices = rows_.threads == kTileThreads && columns_.threads == kTileThreads && rows_.sums > 1 &&
                              columns_.sums > 1 && depth_.extent.constant().value_or(kLeastDepth) >= kLeastDepth;
    return sum_ == Dtype::f32 && types_.left == types_.right && has_matrices &&
           (is_half || (upper_bits_ && types_.left == Dtype::f32));
  }

  void make_warps() {
    rows_.order = &kWarpRows;
    columns_.order = &kWarpColumns;
    staged_ = types_.left;
    if (staged_ != Dtype::f32) steps_ = kHalfSteps;
  }

  bool is_by_warps() const { return rows_.order != nullptr; }

  /// The body, by the thread that has the sums.
  loops::Statement by_thread(loops::Block body) const {
    loops::Statement nest = loop_around(rows_.thread, {loop_around(columns_.thread, std::move(body))});
    return is_by_warps() ? loop_around(rows_.warp, {loop_around(columns_.warp, {std::move(nest)})}) : nest;
  }

  int staged(int& buffer, Dtype dtype, int64_t elements, loops::Scope scope) {
    if (buffer < 0) {
      buffer = static_cast<int>(kernel_.buffers.size());
      kernel_.buffers.push_back({.dtype = dtype, .role = loops::Role::scratch, .elements = 0, .scope = scope});
    }
    loops::Buffer& made = kernel_.buffers[static_cast<size_t>(buffer)];
    made.elements = std::max(made.elements.constant().value_or(0), elements);
    return buffer;
  }

  int load(loops::Block& block, int buffer, Affine at, std::vector<Bound> inside = {}) {
    return load_as(kernel_, block, sum_, buffer, std::move(at), std::move(inside));
  }

  bool is_part() const { return depth_part_.axis >= 0; }
  int64_t count() const { return rows_.sums * columns_.sums; }

  loops::Block clear() {
    loops::Block block;
    const int none = define(block, add_constant(kernel_, sum_, 0));
    for (int64_t i = 0; i < count(); ++i)
      write(block, sums_, affine_constant(i), none);
    return block;
  }

  /// A matrix, and how far apart its rows or columns lie, or panels of so many of them, and steps of the depth.
  struct Operand {
    const loops::Matrix& matrix;
    const Extent& apart;
    const Extent& step_apart;
    int64_t panel = 0;
  };

  /// A piece of an operand on its way: `outer` by `inner` threads take it in turns. They run along what lies side by
  /// side in memory.
  struct Staging {
    Operand operand;
    const Side& side;
    ProductScratch::Operand& scratch;
    SharedPart shared = {};
    bool steps_inside = false;  // threads run along the depth
    int64_t range = 0;          // that is not the threads' inner one
    int64_t outer = 0;
    int outer_thread = -1, inner_thread = -1;

    int64_t turns() const { return (range + outer - 1) / outer; }
    Affine slow(int64_t turn) const { return add(affine_constant(turn * outer), affine_axis(outer_thread)); }
    Affine along(int64_t turn) const { return steps_inside ? slow(turn) : affine_axis(inner_thread); }
    Affine step(int64_t turn) const { return steps_inside ? affine_axis(inner_thread) : slow(turn); }
    /// Where threads are more than there is to copy.
    std::vector<Bound> own(int64_t turn) const {
      return (turn + 1) * outer <= range ? std::vector<Bound>{}
                                         : std::vector<Bound>{{.index = slow(turn), .size = range}};
    }
    Affine place(int64_t turn) const { return shared.place(along(turn), step(turn)); }
  };

  Staging staging(const Operand& operand, const Side& side, ProductScratch::Operand& scratch) {
    const auto computed = operands_.find(operand.matrix.buffer);
    Staging made{.operand = operand, .side = side, .scratch = scratch};
    made.steps_inside = computed != operands_.end()
                            ? computed->second.depth_lies_inside
                            : operand.panel == 0 && operand.step_apart == Extent(1) && operand.apart != Extent(1);
    const int64_t inner = std::min(made.steps_inside ? steps_ : power(side.piece()), kProductThreads);
    made.outer = kProductThreads / inner;
    made.range = made.steps_inside ? side.piece() : steps_;
    const auto thread = [&](int64_t extent) {
      return add_axis(kernel_, {.extent = extent, .name = "copy", .binding = loops::Binding::threads});
    };
    made.outer_thread = thread(made.outer);
    made.inner_thread = thread(inner);
    made.shared.steps_inside = is_by_warps() && made.steps_inside;
    const bool is_half = staged_ != sum_;
    const int64_t gap = is_by_warps() && (is_half || !made.shared.steps_inside) ? kMatrixGap : kGap;
    made.shared.pitch = gap + (made.shared.steps_inside ? steps_ : side.piece());
    const int64_t elements = made.shared.pitch * (made.shared.steps_inside ? side.piece() : steps_);
    staged(scratch.even, staged_, elements, loops::Scope::block);
    staged(scratch.odd, staged_, elements, loops::Scope::block);
    staged(scratch.held, staged_, made.turns(), loops::Scope::iteration);
    return made;
  }

  loops::Statement by_copying(const Staging& staging, loops::Block body) const {
    return loop_around(staging.outer_thread, {loop_around(staging.inner_thread, std::move(body))});
  }

  /// Reads the part of both operands that begins at `first` steps of the depth.
  void fetch(loops::Block& body, const Affine& first) {
    for (const Staging* const each : {&*left_, &*right_}) {
      loops::Block held;
      for (int64_t turn = 0; turn < each->turns(); ++turn)
        fetch_one(held, *each, first, turn);
      body.push_back(by_copying(*each, std::move(held)));
    }
  }

  void fetch_one(loops::Block& body, const Staging& staging, const Affine& first, int64_t turn) {
    const Affine within = add(first, staging.step(turn));
    const Affine depth = is_part() ? add(within, scale(affine_axis(depth_part_.axis), depth_part_.length)) : within;
    std::vector<Bound> of_depth = bounds_of(depth_, depth, 0);  // the last part of a pair may be behind the end
    if (is_part()) of_depth.push_back({.index = within, .size = depth_part_.length});
    const Affine at = staging.side.at(staging.along(turn));
    std::vector<Bound> inside = bounds_of(staging.side.all, at, staging.side.piece());
    for (const std::vector<Bound>& more : {of_depth, staging.own(turn)})
      inside.insert(inside.end(), more.begin(), more.end());
    const loops::Matrix& matrix = staging.operand.matrix;
    const int to = staging.scratch.held;
    if (const auto computed = operands_.find(matrix.buffer); computed != operands_.end()) {
      const loops::Store store{.buffer = to, .at = affine_constant(turn), .inside = {}, .value = -1};
      for (loops::Statement& each :
           computed_element(computed->second, matrix.buffer, at, depth, inside, of_depth, store)) {
        body.push_back(std::move(each));
      }
      return;
    }
    if (staging.operand.panel > 0) {
      fetch_of_panel(body, staging.operand, {.along = at, .depth = depth, .inside = inside}, {to, turn});
      return;
    }
    const Affine from = add(matrix.at, add(scale(at, staging.operand.apart), scale(depth, staging.operand.step_apart)));
    write(body, to, affine_constant(turn), load(body, matrix.buffer, from, inside));
  }

  struct Position {
    const Affine& along;
    const Affine& depth;
    const std::vector<Bound>& inside;
  };

  /// An element of constants that lie in panels goes to an element of a buffer.
  void fetch_of_panel(loops::Block& body, const Operand& operand, const Position& position,
                      std::pair<int, int64_t> to) {
    const int panel = add_axis(kernel_, {.extent = ceildiv(columns_.all.extent, operand.panel), .name = "panel"});
    const int within = add_axis(kernel_, {.extent = operand.panel, .name = "within"});
    const Affine place = add(scale(affine_axis(panel), operand.apart), affine_axis(within));
    const Affine from = add(operand.matrix.at, add(place, scale(position.depth, operand.step_apart)));
    loops::Block inner;
    write(inner, to.first, affine_constant(to.second), load(inner, operand.matrix.buffer, from, position.inside));
    const auto digit = [&](int axis, const Extent& apart, loops::Block block) {
      return loops::Statement{
          Loop{.axis = axis,
               .begins = {},
               .body = std::move(block),
               .unless = -1,
               .digit = loops::Digit{.of = position.along, .apart = apart, .is_first = axis == panel}}};
    };
    loops::Block around_it;
    around_it.push_back(digit(within, 1, std::move(inner)));
    body.push_back(digit(panel, operand.panel, std::move(around_it)));
  }

  /// Writes what was read to the memory that the block shares.
  void put(loops::Block& body, int ProductScratch::Operand::* where) {
    for (const Staging* const each : {&*left_, &*right_}) {
      loops::Block shared;
      for (int64_t turn = 0; turn < each->turns(); ++turn) {
        const int value = load(shared, each->scratch.held, affine_constant(turn));
        write(shared, each->scratch.*where, each->place(turn), value, each->own(turn));
      }
      body.push_back(by_copying(*each, std::move(shared)));
    }
  }

  /// Part by part of the depth: while one is summed up, the next one is fetched.
  loops::Statement sum_up() {
    loops::Block body;
    const Affine first = scale(affine_axis(pair_), 2 * steps_);
    fetch(body, add(first, affine_constant(steps_)));
    body.push_back(by_thread(add_up(&ProductScratch::Operand::even)));
    put(body, &ProductScratch::Operand::odd);
    fetch(body, add(first, affine_constant(2 * steps_)));
    body.push_back(by_thread(add_up(&ProductScratch::Operand::odd)));
    put(body, &ProductScratch::Operand::even);
    return loop_around(pair_, std::move(body));
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
        value = zero_outside(kernel_, body, value, compute_dtype(stored), each);
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

  loops::Block add_up(int ProductScratch::Operand::* where) {
    const auto part = [&](const Staging& staging) {
      SharedPart shared = staging.shared;
      shared.buffer = staging.scratch.*where;
      return shared;
    };
    const PartProduct product{.left = part(*left_),
                              .right = part(*right_),
                              .rows = rows_,
                              .columns = columns_,
                              .steps = steps_,
                              .sums = sums_,
                              .sum = sum_};
    return is_by_warps() ? add_part_by_warps(kernel_, product) : add_part(kernel_, product);
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
  ScratchOfProducts& all_scratch_;
  ProductScratch* scratch_ = nullptr;
  const OperandsByScratch& operands_;
  DepthPart depth_part_;
  bool upper_bits_;
  ProductTypes types_;
  Dtype sum_;
  Dtype staged_ = sum_;  // what is in shared memory
  int64_t steps_ = kSteps;
  Side rows_, columns_;
  Joined depth_;
  int pair_ = -1;  // axis
  std::optional<Staging> left_, right_;
  int sums_ = -1;  // buffer
};

}  // namespace

loops::Statement product_loops(Kernel& kernel, const loops::Product& product, ScratchOfProducts& scratch,
                               const ProductParts& parts) {
  return ProductLoops(kernel, product, scratch, parts).run();
}

}  // namespace tenon::schedule
