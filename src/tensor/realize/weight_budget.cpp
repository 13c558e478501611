#include "tensor/realize/weight_budget.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "tenon/realizations.h"

namespace tenon::tensors {
namespace {

/// Never destroyed, as other tables of lazy tensors.
struct Budget {
  std::mutex mutex;
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} / 4 * sysconf(_SC_PAGESIZE);
  std::vector<std::weak_ptr<Budgeted>> all;
  std::atomic<int64_t> held = 0;
  std::atomic<uint64_t> now = 0;
};
Budget& budget() {
  static auto& instance = *new Budget;
  return instance;
}

/// Drop those that were used longest ago until the others fit; `stays` is none of them.
void make_room(const Budgeted* stays) {
  Budget& all = budget();
  std::vector<std::shared_ptr<Budgeted>> there;
  int64_t most = 0;
  {
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.all, [](const auto& one) { return one.expired(); });
    for (const auto& one : all.all) {
      if (auto version = one.lock(); version != nullptr && version.get() != stays) {
        there.push_back(std::move(version));
      }
    }
    most = all.bytes;
  }
  std::ranges::sort(there, {}, [](const auto& version) { return version->last_use(); });
  int64_t held = all.held;
  for (const auto& version : there) {
    if (held <= most) {
      return;
    }
    held -= version->bytes();
    version->drop();
  }
}

}  // namespace

Budgeted::Budgeted(int64_t bytes) : bytes_(bytes), last_use_(++budget().now) { budget().held += bytes; }

Budgeted::~Budgeted() { budget().held -= bytes_; }

void Budgeted::use() { last_use_ = ++budget().now; }

int64_t weight_budget() {
  const std::lock_guard lock(budget().mutex);
  return budget().bytes;
}

bool admit(const std::shared_ptr<Budgeted>& made) {
  if (made->bytes() > weight_budget()) {
    return false;
  }
  make_room(made.get());
  const std::lock_guard lock(budget().mutex);
  budget().all.push_back(made);
  return true;
}

}  // namespace tenon::tensors

namespace tenon {

void set_weight_budget(int64_t bytes) {
  {
    const std::lock_guard lock(tensors::budget().mutex);
    tensors::budget().bytes = std::max<int64_t>(bytes, 0);
  }
  tensors::make_room(nullptr);
}

}  // namespace tenon
