// Positions out of range that kernels found.
#pragma once

#include <cstdint>
#include <mutex>

#include "kernel/abi.h"
#include "kernel/facts/kernel_facts.h"

namespace tenon::runtime {

/// What failed first in the order of chunks, whichever thread came to it first.
class Failure {
 public:
  void report(int64_t chunk, const loops::KernelFacts& kernel, const KernelStatus& status);

  /// An Error if anything was reported. Nobody may report at the same time.
  void raise() const {
    if (kernel_ != nullptr) [[unlikely]] {
      raise_error();
    }
  }

 private:
  [[noreturn]] void raise_error() const;

  std::mutex mutex_;
  const loops::KernelFacts* kernel_ = nullptr;
  int64_t chunk_ = 0;
  KernelStatus status_;
};

}  // namespace tenon::runtime
