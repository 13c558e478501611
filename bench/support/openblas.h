// OpenBLAS: the opponent in benchmarks of products, where it is installed.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/product/product.h"

namespace bench {

/// Loaded when it is first asked for, so that nothing of it is linked.
class OpenBlas {
 public:
  /// Null where it is not installed.
  static const OpenBlas* find();

  /// The product of f32 that `call` describes; panels are not for it.
  void multiply(const tenon::ProductCall& call) const;

  /// How many threads it uses from now on; 1 at first.
  void use_threads(int threads) const { set_threads_(threads); }

  /// The processor that its kernels are for.
  const std::string& core() const { return core_; }

 private:
  using Sgemm = void (*)(int order, int left, int right, int rows, int columns, int depth, float alpha, const float*,
                         int, const float*, int, float beta, float*, int);
  OpenBlas() = default;

  Sgemm sgemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
  std::string core_;
};

}  // namespace bench
