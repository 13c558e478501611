#include "schedule/blocks/block_phase.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/fail.h"
#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/barriers.h"
#include "schedule/blocks/flat_nest.h"
#include "schedule/blocks/operand_loops.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/blocks/product_loops.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Binding;
using loops::Block;
using loops::Bound;
using loops::Kernel;
using loops::Loop;

constexpr int64_t kLeastThreads = 32;

bool has_stores_or_lanes(const Kernel& kernel, const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const loops::Statement& statement) {
    const auto* loop = std::get_if<Loop>(&statement.what);
    found = found || std::get_if<loops::Store>(&statement.what) || std::get_if<loops::Product>(&statement.what) ||
            (loop != nullptr && kernel.axes[static_cast<size_t>(loop->axis)].binding == Binding::lanes);
  });
  return found;
}

/// An axis whose iterations threads share: step * threads + thread.
struct Shared {
  int step = -1;
  int thread = -1;
  std::optional<Bound> inside;  // of a tile that is not whole
};

class BlockPhase {
 public:
  BlockPhase(Kernel& kernel, const BlockForm& form)
      : kernel_(kernel), phase_(kernel.phases.front()), form_(form), most_threads_(form.most_threads) {}

  void run() {
    if (may_skip_loops()) {
      run_alone();
      return;
    }
    if (loops::has_products(kernel_)) operands_ = take_operand_loops(kernel_, phase_.body);
    if (is_flat()) share_flat_nests(kernel_, phase_.body, kProductThreads, steps_);
    find_kept(phase_.body, false);
    threads_ = count_threads();
    for (loops::Buffer& buffer : kernel_.buffers) {
      if (buffer.role == loops::Role::scratch) buffer.scope = loops::Scope::block;
    }
    share(phase_.body);
    for (const auto& [axis, shared] : shared_) {
      substitute_axis(kernel_, axis, add(scale(affine_axis(shared.step), threads_), affine_axis(shared.thread)));
    }
    bind_grid();
    add_barriers(kernel_, steps_);
  }

 private:
  bool is_flat() const { return form_.is_flat || loops::has_products(kernel_); }

  void bind_grid() {
    for (const int axis : phase_.grid) {
      kernel_.axes[static_cast<size_t>(axis)].binding = Binding::blocks;
    }
  }

  bool may_skip_loops() const {
    bool found = false;
    for_each_statement(phase_.body, [&](const loops::Statement& statement) {
      const auto* const loop = std::get_if<Loop>(&statement.what);
      found = found || (loop != nullptr && loop->unless >= 0);
    });
    return found;
  }

  /// Threads cannot wait for each other in a loop that may not run: a block has one.
  void run_alone() {
    TENON_CHECK(!loops::has_products(kernel_), "{}: products beside loops that may not run", kernel_.name);
    for (loops::Axis& axis : kernel_.axes) {
      axis.binding = Binding::serial;
    }
    bind_grid();
  }

  /// It only reduces, and stands where each of its iterations would run on all threads.
  bool is_reduction(const Loop& loop) const {
    return !loop.begins.empty() && loop.unless < 0 && !has_stores_or_lanes(kernel_, loop.body);
  }

  bool is_shared(const Loop& loop) const {
    const Binding binding = kernel_.axes[static_cast<size_t>(loop.axis)].binding;
    return binding == Binding::lanes || shared_.contains(loop.axis) ||
           (!kept_whole_.contains(loop.axis) && is_reduction(loop));
  }

  /// Axes of loops that run as they are: other loops over them do, too.
  void find_kept(const Block& block, bool in_shared) {
    for (const loops::Statement& statement : block) {
      const auto* const loop = std::get_if<Loop>(&statement.what);
      if (loop == nullptr) continue;
      const bool is_lanes = kernel_.axes[static_cast<size_t>(loop->axis)].binding == Binding::lanes;
      const bool shares = !in_shared && (is_lanes || is_reduction(*loop));
      if (!shares) kept_whole_.insert(loop->axis);
      find_kept(loop->body, in_shared || shares);
    }
  }

  /// As many as the longest shared loop has iterations.
  int64_t count_threads() const {
    if (is_flat()) return kProductThreads;
    int64_t most = kLeastThreads;
    for_each_statement(phase_.body, [&](const loops::Statement& statement) {
      const auto* const loop = std::get_if<Loop>(&statement.what);
      if (loop == nullptr || !is_shared(*loop)) return;
      const auto known = kernel_.axes[static_cast<size_t>(loop->axis)].extent.constant();
      most = std::max(most, std::min(known.value_or(most_threads_), most_threads_));
    });
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(most)));
  }

  void share(Block& block) {
    for (loops::Statement& statement : block) {
      if (const auto* const product = std::get_if<loops::Product>(&statement.what)) {
        kernel_.buffers[static_cast<size_t>(product->work)].elements = 0;
        statement = product_loops(kernel_, *product, of_products_,
                                  {.operands = operands_, .part = form_.part, .upper_bits = form_.upper_bits});
      } else if (auto* const loop = std::get_if<Loop>(&statement.what)) {
        const bool is_flat = steps_.contains(loop->axis) && !is_of_shared(loop->axis);
        if (!is_flat) is_shared(*loop) ? share(*loop) : share(loop->body);
      }
    }
  }

  /// It counts the steps of an axis that is shared here, and not of a nest.
  bool is_of_shared(int axis) const {
    return std::ranges::any_of(shared_, [&](const auto& each) { return each.second.step == axis; });
  }

  const Shared& shared(int axis) {
    const auto [entry, is_new] = shared_.try_emplace(axis);
    Shared& made = entry->second;
    if (!is_new) return made;
    const loops::Axis given = kernel_.axes[static_cast<size_t>(axis)];
    made.step = add_axis(kernel_, {.extent = ceildiv(given.extent, threads_), .name = given.name + "_step"});
    made.thread = add_axis(kernel_, {.extent = threads_,
                                     .name = given.name,
                                     .tile_of = made.step,
                                     .total = given.extent,
                                     .binding = Binding::threads});
    steps_.insert(made.step);
    const auto size = given.extent.constant();
    const auto total = given.total.constant();
    if (given.tile_of >= 0 && !(size && total && *size > 0 && *total % *size == 0)) {
      made.inside =
          Bound{.index = add(affine_axis(axis), scale(affine_axis(given.tile_of), given.extent)), .size = given.total};
    }
    kernel_.axes[static_cast<size_t>(axis)].binding = Binding::serial;
    return made;
  }

  void share(Loop& loop) {
    const int axis = loop.axis;
    const Shared& made = shared(axis);
    if (made.inside) {
      const Block whole = loop.body;
      guard(loop.body, {axis, *made.inside}, whole);
    }
    Block of_thread;
    of_thread.push_back({Loop{.axis = made.thread, .begins = {}, .body = std::move(loop.body), .unless = -1}});
    loop.axis = made.step;
    loop.body = std::move(of_thread);
  }

  static void add_bound(std::vector<Bound>& inside, const Bound& bound) {
    if (std::ranges::find(inside, bound) == inside.end()) inside.push_back(bound);
  }

  struct End {
    int axis = -1;
    const Bound& inside;
  };

  /// What lies past the end of the last tile is not read, written, or reduced by accumulators from outside.
  void guard(Block& block, const End& end, const Block& whole) {
    for (size_t i = 0; i < block.size(); ++i) {
      if (const auto* const define = std::get_if<loops::Define>(&block[i].what)) {
        auto* const load = std::get_if<loops::Load>(&kernel_.values[static_cast<size_t>(define->value)].what);
        const bool moves = load != nullptr && scale_along(load->at, end.axis) != Extent(0);
        if (moves || (load != nullptr && !load->lookups.empty())) add_bound(load->inside, end.inside);
      } else if (auto* const store = std::get_if<loops::Store>(&block[i].what)) {
        add_bound(store->inside, end.inside);
      } else if (auto* const loop = std::get_if<Loop>(&block[i].what)) {
        guard(loop->body, end, whole);
      } else if (const auto* const fed = std::get_if<loops::Accumulate>(&block[i].what)) {
        if (!begins_in(whole, fed->accumulator)) {
          const Block& selected = select_input(fed->accumulator, end.inside);
          block.insert(block.begin() + static_cast<std::ptrdiff_t>(i), selected.begin(), selected.end());
          i += selected.size();
        }
      }
    }
  }

  static bool begins_in(const Block& block, int accumulator) {
    bool found = false;
    for_each_statement(block, [&](const loops::Statement& statement) {
      const auto* const loop = std::get_if<Loop>(&statement.what);
      found = found || (loop != nullptr && std::ranges::find(loop->begins, accumulator) != loop->begins.end());
    });
    return found;
  }

  /// The accumulator takes its identity past the end.
  const Block& select_input(int index, const Bound& inside) {
    const auto [entry, is_new] = selected_.try_emplace(index);
    Block& defines = entry->second;
    if (!is_new) return defines;
    loops::Accumulator& accumulator = kernel_.accumulators[static_cast<size_t>(index)];
    const auto define = [&](int value) {
      defines.push_back({loops::Define{value}});
      return value;
    };
    const int at = define(add_value(kernel_, {.what = loops::Position{inside.index}, .dtype = Dtype::i64}));
    const int end =
        define(add_value(kernel_, {.what = loops::Position{affine_constant(inside.size)}, .dtype = Dtype::i64}));
    const int exists = define(add_compute(kernel_, Prim::lt, Dtype::boolean, Dtype::i64, {at, end}));
    const auto select = [&](int value, Dtype dtype, double otherwise) {
      const int none = define(add_constant(kernel_, dtype, otherwise));
      return define(add_compute(kernel_, Prim::select, dtype, dtype, {exists, value, none}));
    };
    accumulator.input = select(accumulator.input, accumulator.dtype, identity(accumulator));
    if (accumulator.position >= 0) {
      accumulator.position =
          select(accumulator.position, Dtype::i64, static_cast<double>(std::numeric_limits<int64_t>::max()));
    }
    return defines;
  }

  static double identity(const loops::Accumulator& accumulator) {
    switch (accumulator.op) {
      case ReduceOp::sum:
      case ReduceOp::any: return 0;
      case ReduceOp::product:
      case ReduceOp::all: return 1;
      case ReduceOp::max:
      case ReduceOp::argmax: return -std::numeric_limits<double>::infinity();
      case ReduceOp::min:
      case ReduceOp::argmin: return std::numeric_limits<double>::infinity();
    }
    return 0;
  }

  Kernel& kernel_;
  loops::Phase& phase_;
  const BlockForm& form_;
  int64_t most_threads_ = kLeastThreads;  // of a block without products
  int64_t threads_ = kLeastThreads;
  std::map<int, Shared> shared_;
  std::map<int, Block> selected_;  // by accumulator: what computes the input that it takes
  std::set<int> kept_whole_, steps_;
  OperandsByScratch operands_;
  ScratchOfProducts of_products_;
};

}  // namespace

void map_to_threads_of_blocks(Kernel& kernel, const BlockForm& form) { BlockPhase(kernel, form).run(); }

}  // namespace tenon::schedule
