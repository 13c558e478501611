// What a run needs beside its arena, kept from run to run so that none of it is allocated again.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/memory/address_ranges.h"
#include "runtime/memory/operand.h"
#include "runtime/plan/cache.h"

namespace tenon::runtime {

/// Of a body, pointers and arguments alone are used.
struct RunState {
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;  // run_into: the caller's memory
  AddressRanges input_ranges;    // run_into
  AddressRanges output_ranges;
  SpecializationCache::Key key;
  // Of slots:
  std::vector<std::byte*> pointers;
  std::vector<std::shared_ptr<std::byte[]>> made;  // outputs, copies of inputs that kernels cannot take
  std::vector<std::optional<Array>> arrays;        // inputs that are written: given, or copied
  // Of Plan::arguments:
  std::vector<void*> arguments;
  std::vector<RunState> bodies;  // of Plan::bodies
  int64_t waited_ns = 0;         // RunCounters::waiting_ms

  /// Hold nobody's memory any more.
  void forget();
};

/// Hands out states, each to one run at a time. There are as many as ever ran at once.
class RunStates {
 public:
  class Lease {
   public:
    explicit Lease(RunStates& from) : from_(from), state_(from.take()) {}
    ~Lease() { from_.give_back(std::move(state_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    RunState& operator*() const { return *state_; }
    RunState* operator->() const { return state_.get(); }

   private:
    RunStates& from_;
    std::unique_ptr<RunState> state_;
  };

 private:
  std::unique_ptr<RunState> take();
  void give_back(std::unique_ptr<RunState> state) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<RunState>> free_;
  size_t made_ = 0;  // free_ has room for so many
};

}  // namespace tenon::runtime
