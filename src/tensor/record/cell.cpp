#include "tensor/record/cell.h"

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/fail.h"
#include "ir/unify_names.h"
#include "ops/make.h"
#include "tensor/record/kept.h"
#include "tensor/record/leaf.h"

namespace tenon::tensors {
namespace {

/// Never destroyed: tensors in static variables may die after main.
struct Registry {
  std::mutex mutex;
  std::map<uint64_t, Cell*> written;
  struct Known {
    Array array;
    int cells = 0;
  };
  std::unordered_map<Value, Known> known;
  std::atomic<size_t> count = 0;  // of known ones: many programs have none, and ask without a lock
};
Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

uint64_t next_id() {
  static std::atomic<uint64_t> next = 0;
  return next++;
}

}  // namespace

Cell::Cell() : id(next_id()), checked(kept_generation()) {}

Cell::~Cell() {
  forget(*this);
  set_written(*this, false);
  if (value) {
    drop_if_unused(value);
  }
}

namespace {

/// A cell goes on from what was stored along since it was last asked: what that was computed from is not needed any
/// more.
void use_kept_elements(Cell& cell) {
  const uint64_t now = kept_generation();
  if (cell.checked == now) {
    return;
  }
  cell.checked = now;
  if (cell.tracked || cell.value.node().inputs.empty()) {
    return;
  }
  Value upon = upon_kept(cell.value);
  if (upon == cell.value) {
    return;
  }
  const Value before = cell.value;
  const bool is_known = upon.node().inputs.empty();
  set_value(cell, std::move(upon));
  if (is_known) {
    cell.depth = 0;
    cell.origin = {};
    set_written(cell, false);
  }
  drop_if_unused(before);
}

}  // namespace

const Value& Handle::value() {
  use_kept_elements(*cell);
  if (path.empty()) {
    return cell->value;
  }
  if (!seen_ || seen_version_ != cell->version) {
    const UnifyNames lenient;
    Value value = cell->value;
    for (const View& view : path) {
      value = make(as_op(view), {value});
    }
    seen_ = std::move(value);
    seen_version_ = cell->version;
  }
  return seen_;
}

void Access::set_seen(Handle& handle, const Value& value) {
  handle.seen_ = value;
  handle.seen_version_ = handle.cell->version;
}

Handle& Access::handle(const Tensor& tensor) {
  if (!tensor.handle_) {
    fail("an empty Tensor has no elements");
  }
  return *tensor.handle_;
}

Tensor new_tensor(Value value, bool tracked, int depth) {
  auto cell = std::make_shared<Cell>();
  cell->value = std::move(value);
  cell->tracked = tracked;
  cell->depth = depth;
  auto handle = std::make_shared<Handle>();
  handle->cell = std::move(cell);
  return Tensor(std::move(handle));
}

void forget(Cell& cell) {
  if (cell.remembered.empty()) {
    return;
  }
  std::vector<Registry::Known> dropped;  // arrays and nodes die outside of the lock
  std::vector<Value> values = std::exchange(cell.remembered, {});
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const Value& value : values) {
    const auto found = all.known.find(value);
    if (found != all.known.end() && --found->second.cells == 0) {
      dropped.push_back(std::move(found->second));
      all.known.erase(found);
    }
  }
  all.count = all.known.size();
}

const Array* known_elements(const Value& value) {
  Registry& all = registry();
  if (all.count.load(std::memory_order_relaxed) != 0) {
    const std::lock_guard lock(all.mutex);
    const auto found = all.known.find(value);
    if (found != all.known.end()) {
      return &found->second.array;
    }
  }
  return kept_elements(value);
}

void remember(Cell& cell, Array array) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  Registry::Known& known = all.known[cell.value];
  known.array = std::move(array);
  ++known.cells;
  all.count = all.known.size();
  cell.remembered.push_back(cell.value);
}

void set_value(Cell& cell, Value value) {
  cell.value = std::move(value);
  ++cell.version;
}

void set_written(Cell& cell, bool written) {
  if (cell.written == written) {
    return;
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (written) {
    all.written.emplace(cell.id, &cell);
  } else {
    all.written.erase(cell.id);
  }
  cell.written = written;
}

std::vector<std::shared_ptr<Cell>> written_cells() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<std::shared_ptr<Cell>> found;
  for (const auto& [id, cell] : all.written) {
    if (auto alive = cell->weak_from_this().lock()) {
      found.push_back(std::move(alive));
    }
  }
  return found;
}

bool is_tracked(const Tensor& tensor) {
  const Handle& handle = Access::handle(tensor);
  return handle.cell->tracked && !handle.detached;
}

}  // namespace tenon::tensors
