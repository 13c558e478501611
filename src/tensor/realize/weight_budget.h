// The memory that weights take where they were laid out, of all programs together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace tenon::tensors {

/// A program in which weights are constants. Its bytes count as long as it lives.
class Budgeted {
 public:
  explicit Budgeted(int64_t bytes);
  virtual ~Budgeted();
  Budgeted(const Budgeted&) = delete;
  Budgeted& operator=(const Budgeted&) = delete;

  /// Whoever owns it lets go of it: others need its memory. Called on any thread, without a lock of the budget.
  virtual void drop() = 0;
  /// It serves a run: of all programs it is the one that was used last.
  void use();

  int64_t bytes() const { return bytes_; }
  uint64_t last_use() const { return last_use_; }

 private:
  int64_t bytes_;
  std::atomic<uint64_t> last_use_;
};

/// What set_weight_budget() says.
int64_t weight_budget();
/// Drop those that were used longest ago until all fit; false where this one alone is larger than the budget. From here
/// on others may ask for its memory. Its owner keeps it if true.
bool admit(const std::shared_ptr<Budgeted>& made);

}  // namespace tenon::tensors
