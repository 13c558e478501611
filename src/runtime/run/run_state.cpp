#include "runtime/run/run_state.h"

namespace tenon::runtime {

void RunState::forget() {
  for (std::shared_ptr<std::byte[]>& memory : made) {
    memory.reset();
  }
  for (std::optional<Array>& array : arrays) {
    array.reset();
  }
}

std::unique_ptr<RunState> RunStates::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<RunState> state = std::move(free_.back());
      free_.pop_back();
      return state;
    }
    free_.reserve(++made_);
  }
  return std::make_unique<RunState>();
}

void RunStates::give_back(std::unique_ptr<RunState> state) noexcept {
  state->forget();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(state));
}

}  // namespace tenon::runtime
