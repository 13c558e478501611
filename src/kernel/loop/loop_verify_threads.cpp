#include "kernel/loop/loop_verify_threads.h"

#include <algorithm>

#include "base/fail.h"
#include "kernel/loop/loop_print.h"
#include "kernel/loop/loop_threads.h"

namespace tenon::loops {
namespace {

/// Walks the kernel as it runs and keeps which threads are at each place.
class ThreadVerifier {
 public:
  explicit ThreadVerifier(const Kernel& kernel)
      : kernel_(kernel), begun_in_(kernel.accumulators.size()), parts_(kernel.accumulators.size()) {}

  void run() {
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& buffer = kernel_.buffers[i];
      require(buffer.scope == Scope::iteration || buffer.role == Role::scratch,
              "b{} belongs to a block, and is no scratch", i);
    }
    for (const Phase& phase : kernel_.phases) {
      check_phase(phase);
    }
  }

 private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    TENON_CHECK(holds, "kernel `{}`: {}{}", kernel_.name, fmt::format(format, std::forward<Args>(args)...),
                here_ == nullptr ? "" : "\n  at " + describe(kernel_, *here_));
  }

  const Axis& axis(int i) const { return kernel_.axes[static_cast<size_t>(i)]; }

  void check_phase(const Phase& phase) {
    here_ = nullptr;
    const auto in_blocks = [&](int each) { return axis(each).binding == Binding::blocks; };
    has_blocks_ = std::ranges::all_of(phase.grid, in_blocks);
    require(has_blocks_ || std::ranges::none_of(phase.grid, in_blocks), "the grid is bound to blocks in part");
    for (const int each : phase.grid) {
      require(axis(each).binding != Binding::threads, "the grid runs over an axis bound to threads");
    }
    threads_ = threads_of(kernel_, phase);
    check_block(phase.body);
  }

  void check_block(const Block& block) {
    for (const Statement& statement : block) {
      here_ = &statement;
      std::visit([&](const auto& what) { check(what); }, statement.what);
    }
  }

  void check(const Define& define) const {
    const Value& value = kernel_.values[static_cast<size_t>(define.value)];
    if (const auto* load = std::get_if<Load>(&value.what)) {
      check_owner(load->buffer);
    }
  }

  void check(const Store& store) const { check_owner(store.buffer); }

  void check(const Product& product) const {
    require(outside_ == 1, "a product inside a loop bound to threads");
    for (const int buffer : {product.left.buffer, product.right.buffer, product.tile.buffer, product.work}) {
      check_owner(buffer);
    }
  }

  void check(const Barrier&) const {
    require(has_blocks_, "a barrier in a phase whose grid is not bound to blocks");
    require(loops_of_threads_ == 0, "a barrier inside a loop bound to threads");
    require(!in_lanes_, "a barrier inside a vectorised loop");
    require(!may_not_run_, "a barrier inside a loop that may not run");
  }

  void check(const Accumulate& accumulate) {
    const auto i = static_cast<size_t>(accumulate.accumulator);
    const int64_t parts = outside_ / begun_in_[i];
    require(parts == parts_[i], "a{} is fed in {} parts, and in {} before", i, parts, parts_[i]);
  }

  void check(const Loop& loop) {
    const Statement* const here = here_;
    const Axis& over = axis(loop.axis);
    require(over.binding != Binding::blocks, "a loop over an axis bound to blocks");
    for (const int accumulator : loop.begins) {
      begun_in_[static_cast<size_t>(accumulator)] = outside_;
      parts_[static_cast<size_t>(accumulator)] = parts_of(kernel_, loop, accumulator);
    }
    const bool in_lanes = in_lanes_;
    const bool may_not_run = may_not_run_;
    in_lanes_ |= over.binding == Binding::lanes;
    may_not_run_ |= loop.unless >= 0;
    if (over.binding == Binding::threads) {
      check_threads(loop);
    } else {
      check_block(loop.body);
    }
    in_lanes_ = in_lanes;
    may_not_run_ = may_not_run;
    here_ = here;
  }

  void check_threads(const Loop& loop) {
    require(has_blocks_, "a loop bound to threads in a phase whose grid is not bound to blocks");
    require(!in_lanes_, "a loop bound to threads inside a vectorised loop");
    const Extent& extent = axis(loop.axis).extent;
    const int64_t known = extent.constant().value_or(0);
    require(known >= 1 && known <= kMostThreads,
            "a loop bound to threads runs {} times, which is no number from 1 to {}", extent.to_string(), kMostThreads);
    const Statement* const here = here_;
    const int64_t outside = outside_;
    const int64_t nested = ++loops_of_threads_ + ended_;
    outside_ *= known;
    require(outside_ <= kMostThreads, "a block has more than {} threads", kMostThreads);
    check_block(loop.body);
    here_ = here;
    const bool is_innermost = loops_of_threads_ + ended_ == nested;
    require(!is_innermost || outside_ == threads_, "a nest of loops bound to {} threads, and one to {}", outside_,
            threads_);
    outside_ = outside;
    --loops_of_threads_;
    ++ended_;
  }

  /// What belongs to a thread is used where one thread runs.
  void check_owner(int buffer) const {
    const Buffer& used = kernel_.buffers[static_cast<size_t>(buffer)];
    require(!is_private_scratch(used) || outside_ == threads_, "b{} belongs to a thread, and several run here", buffer);
  }

  const Kernel& kernel_;
  const Statement* here_ = nullptr;
  bool has_blocks_ = false;
  bool in_lanes_ = false;
  bool may_not_run_ = false;
  int64_t threads_ = 1;            // of the phase
  int64_t outside_ = 1;            // iterations of the loops bound to threads that are open
  int64_t loops_of_threads_ = 0;   // that are open
  int64_t ended_ = 0;              // that are closed
  std::vector<int64_t> begun_in_;  // by accumulator: outside_ where it began
  std::vector<int64_t> parts_;     // by accumulator: as parts_of() says
};

}  // namespace

void verify_threads(const Kernel& kernel) { ThreadVerifier(kernel).run(); }

}  // namespace tenon::loops
