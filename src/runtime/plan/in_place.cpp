#include "runtime/plan/in_place.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

/// Looks at one kernel in the order in which it runs.
class Check {
 public:
  Check(const loops::Kernel& kernel, int from, int to) : kernel_(kernel), from_(from), to_(to) {}

  bool run() {
    const loops::Store* store = nullptr;
    for (const loops::Phase& phase : kernel_.phases) {
      find_store(phase.body, store);
    }
    if (store == nullptr || stores_ != 1 || !known_) {
      return false;
    }
    store_ = store;
    mark_needed();
    for (const loops::Phase& phase : kernel_.phases) {
      axes_ = phase.grid;
      if (!walk(phase.body)) {
        return false;
      }
    }
    return true;
  }

 private:
  void find_store(const loops::Block& block, const loops::Store*& found) {
    for (const loops::Statement& statement : block) {
      if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        find_store(loop->body, found);
      } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
        if (store->buffer == to_) {
          found = store;
          ++stores_;
        }
      } else if (const auto* product = std::get_if<loops::Product>(&statement.what)) {
        known_ = known_ && !touches(product->left.buffer) && !touches(product->right.buffer) &&
                 !touches(product->tile.buffer);
      } else if (!std::holds_alternative<loops::Define>(statement.what) &&
                 !std::holds_alternative<loops::Accumulate>(statement.what)) {
        known_ = false;  // a statement that reads and writes in ways of its own
      }
    }
  }

  bool touches(int buffer) const { return buffer == from_ || buffer == to_; }

  bool walk(const loops::Block& block) {
    for (const loops::Statement& statement : block) {
      if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        axes_.push_back(loop->axis);
        const bool fine = walk(loop->body);
        axes_.pop_back();
        if (!fine) {
          return false;
        }
      } else if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
        const auto* load = std::get_if<loops::Load>(&kernel_.values[static_cast<size_t>(define->value)].what);
        if (load != nullptr && load->buffer == from_ && (stored_ || !at_own_place(*load) || !feeds(block, *define))) {
          return false;
        }
      } else if (std::get_if<loops::Store>(&statement.what) == store_) {
        if (!each_element_once(store_->at)) {
          return false;
        }
        stored_ = true;
      }
    }
    return true;
  }

  bool at_own_place(const loops::Load& load) const {
    return load.lookups.empty() && load.at == store_->at && each_element_once(load.at);
  }

  /// No loop around goes over the same elements again.
  bool each_element_once(const loops::Affine& at) const {
    return std::ranges::all_of(
        axes_, [&](int axis) { return std::ranges::find(at.terms, axis, &loops::Term::axis) != at.terms.end(); });
  }

  /// Of a load beside the store the store must need the value: code generators may move what does not depend.
  bool feeds(const loops::Block& block, const loops::Define& define) const {
    const bool beside = std::ranges::any_of(
        block, [&](const loops::Statement& s) { return std::get_if<loops::Store>(&s.what) == store_; });
    return !beside || needed_[static_cast<size_t>(define.value)];
  }

  void mark_needed() {
    needed_.assign(kernel_.values.size(), false);
    std::vector<int> open = {store_->value};
    while (!open.empty()) {
      const auto value = static_cast<size_t>(open.back());
      open.pop_back();
      const auto* compute = std::get_if<loops::Compute>(&kernel_.values[value].what);
      if (!needed_[value] && compute != nullptr) {
        open.insert(open.end(), compute->operands.begin(), compute->operands.end());
      }
      needed_[value] = true;
    }
  }

  const loops::Kernel& kernel_;
  int from_;
  int to_;
  const loops::Store* store_ = nullptr;
  int stores_ = 0;
  bool known_ = true;
  bool stored_ = false;
  std::vector<bool> needed_;  // by value: to compute what is stored
  std::vector<int> axes_;     // of the loops around, the grid's among them
};

int only_use(const Part& part, int buffer) {
  return std::ranges::count(part.buffers, buffer) == 1
             ? static_cast<int>(std::ranges::find(part.buffers, buffer) - part.buffers.begin())
             : -1;
}

}  // namespace

bool runs_in_place(const Program& program, const Step& step, int from, int to) {
  const auto size_of = [&](int buffer) { return byte_size(program.buffers[static_cast<size_t>(buffer)].dtype); };
  if (from == to || step.parts.empty() || size_of(from) != size_of(to)) {
    return false;
  }
  // All that use either use both, and do not run side by side: they are one part and what takes its place.
  int users = 0;
  for (const Part& part : step.parts) {
    const bool reads = std::ranges::find(part.buffers, from) != part.buffers.end();
    const bool writes = std::ranges::find(part.buffers, to) != part.buffers.end();
    if (!reads && !writes) {
      continue;
    }
    users += part.long_rows_of < 0 ? 1 : 0;
    const int source = only_use(part, from);
    const int target = only_use(part, to);
    if (users > 1 || source < 0 || target < 0 ||
        !Check(program.kernels[static_cast<size_t>(part.kernel)], source, target).run()) {
      return false;
    }
  }
  return users == 1;
}

}  // namespace tenon::runtime
