#include "kernel/facts/in_place.h"

#include <algorithm>

#include "kernel/loop/loop_threads.h"

namespace tenon::loops {
namespace {

/// Looks at a kernel in the order in which it runs.
class InPlaceSearch {
 public:
  explicit InPlaceSearch(const Kernel& kernel)
      : kernel_(kernel), stores_(kernel.buffers.size()), of_products_(kernel.buffers.size()) {
    for (const Phase& phase : kernel.phases) {
      collect(phase.body);
    }
  }

  std::vector<MayShare> run() {
    std::vector<MayShare> found;
    for (size_t to = 0; to < kernel_.buffers.size(); ++to) {
      if (kernel_.buffers[to].role != Role::output || of_products_[to] || stores_[to].size() != 1) {
        continue;
      }
      store_ = stores_[to].front();
      mark_needed();
      for (size_t from = 0; from < kernel_.buffers.size(); ++from) {
        if (kernel_.buffers[from].role == Role::input && !of_products_[from] &&
            byte_size(kernel_.buffers[from].dtype) == byte_size(kernel_.buffers[to].dtype) &&
            is_read_in_place(static_cast<int>(from))) {
          found.push_back({.input = static_cast<int>(from), .output = static_cast<int>(to)});
        }
      }
    }
    return found;
  }

 private:
  void collect(const Block& block) {
    for (const Statement& statement : block) {
      if (const auto* loop = std::get_if<Loop>(&statement.what)) {
        collect(loop->body);
      } else if (const auto* store = std::get_if<Store>(&statement.what)) {
        stores_[static_cast<size_t>(store->buffer)].push_back(store);
      } else if (const auto* product = std::get_if<Product>(&statement.what)) {
        for (const Matrix* matrix : {&product->left, &product->right, &product->tile}) {
          of_products_[static_cast<size_t>(matrix->buffer)] = true;
        }
      }
    }
  }

  bool is_read_in_place(int from) {
    from_ = from;
    stored_ = false;
    return std::ranges::all_of(kernel_.phases, [&](const Phase& phase) {
      axes_ = phase.grid;
      threads_ = threads_of(kernel_, phase);
      return walk(phase.body);
    });
  }

  bool walk(const Block& block) {
    for (const Statement& statement : block) {
      if (const auto* loop = std::get_if<Loop>(&statement.what)) {
        axes_.push_back(loop->axis);
        const bool fine = walk(loop->body);
        axes_.pop_back();
        if (!fine) {
          return false;
        }
      } else if (const auto* define = std::get_if<Define>(&statement.what)) {
        const auto* load = std::get_if<Load>(&kernel_.values[static_cast<size_t>(define->value)].what);
        if (load != nullptr && load->buffer == from_ && (stored_ || !at_own_place(*load) || !feeds(block, *define))) {
          return false;
        }
      } else if (std::get_if<Store>(&statement.what) == store_) {
        if (!each_element_once(store_->at) || !by_one_thread()) {
          return false;
        }
        stored_ = true;
      }
    }
    return true;
  }

  bool at_own_place(const Load& load) const {
    return load.lookups.empty() && load.at == store_->at && each_element_once(load.at);
  }

  /// No loop around goes over the same elements again.
  bool each_element_once(const Affine& at) const {
    return std::ranges::all_of(
        axes_, [&](int axis) { return std::ranges::find(at.terms, axis, &Term::axis) != at.terms.end(); });
  }

  /// Else threads that compute what one of them stores may read behind that.
  bool by_one_thread() const {
    int64_t count = threads_;
    for (const int axis : axes_) {
      const bool is_of_threads = kernel_.axes[static_cast<size_t>(axis)].binding == Binding::threads;
      count /= is_of_threads ? thread_extent(kernel_, axis) : 1;
    }
    return count == 1;
  }

  /// Of a load beside the store the store must need the value: lanes of a vector may be loaded and stored in any order.
  bool feeds(const Block& block, const Define& define) const {
    const bool beside =
        std::ranges::any_of(block, [&](const Statement& s) { return std::get_if<Store>(&s.what) == store_; });
    return !beside || needed_[static_cast<size_t>(define.value)];
  }

  void mark_needed() {
    needed_.assign(kernel_.values.size(), false);
    std::vector<int> open = {store_->value};
    while (!open.empty()) {
      const auto value = static_cast<size_t>(open.back());
      open.pop_back();
      const auto* compute = std::get_if<Compute>(&kernel_.values[value].what);
      if (!needed_[value] && compute != nullptr) {
        open.insert(open.end(), compute->operands.begin(), compute->operands.end());
      }
      needed_[value] = true;
    }
  }

  const Kernel& kernel_;
  std::vector<std::vector<const Store*>> stores_;  // by buffer
  std::vector<bool> of_products_;                  // likewise: read and written in ways of their own

  const Store* store_ = nullptr;  // of the output that is looked at
  std::vector<bool> needed_;      // by value: to compute what is stored
  int from_ = -1;                 // the input
  bool stored_ = false;
  std::vector<int> axes_;  // of the loops around, the grid's among them
  int64_t threads_ = 1;    // of the phase
};

}  // namespace

std::vector<MayShare> find_may_share(const Kernel& kernel) { return InPlaceSearch(kernel).run(); }

}  // namespace tenon::loops
