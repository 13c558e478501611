// Loop kernels with plain loops beside them: whatever runs loop kernels is held against these.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "kernel/abi.h"
#include "kernel/loop/loop.h"
#include "tenon/array.h"
#include "tenon/bindings.h"

namespace tenon {

/// Sizes are named `rows` and `cols`; what is vectorised runs over `cols`.
struct LoopCase {
  std::string name;
  loops::Kernel kernel;
  /// Computes the outputs from the inputs, in buffers as make_buffers() gives them. Outputs mean nothing where the
  /// status is a failure.
  std::function<KernelStatus(const Bindings& bindings, std::vector<Array>& buffers)> reference;
  /// Makes inputs from random numbers what the kernel takes: positions, a NaN.
  std::function<void(const Bindings& bindings, std::vector<Array>& buffers)> prepare = [](const Bindings&,
                                                                                          std::vector<Array>&) {};
  double relative = 1e-5;  // error allowed of float outputs
  double absolute = 1e-6;

  friend void PrintTo(const LoopCase& each, std::ostream* out) { *out << each.name; }
};

/// Elements one by one over grid tiles of 100: exp(a) * b - 0.5.
LoopCase elementwise_case();
/// A row and a column broadcast, a condition and an integer output: f32, f64, i32, i8 and bool in one loop.
LoopCase mixed_dtypes_case();
/// Softmax over rows, exponentials in scratch.
LoopCase softmax_case();
/// Layer norm of f16 rows: two accumulators in one loop, values rounded by casts on the way.
LoopCase layer_norm_case();
/// Sums over the leading axis: a loop inside the vectorised one.
LoopCase column_sums_case();
/// One accumulator over a whole matrix, fed inside two loops.
LoopCase matrix_sum_case();
/// Sums of rows in tiles of 48: the accumulator outlives the vectorised loop that feeds it.
LoopCase blocked_sum_case();
/// A matrix product by columns: a product accumulates inside the vectorised loop.
LoopCase product_case();
/// Zero padding on all sides by bounds.
LoopCase pad_case();
/// A convolution along columns, borders by bounds inside the reduction.
LoopCase convolution_case();
/// Rows and single elements turned around and transposed: strides of -1 and of a run-time size, also of the store.
LoopCase strides_case();
/// A store that bounds hold back: shifts columns by two inside an output that keeps its first ones.
LoopCase masked_store_case();
/// Rows as they are, but for those that begin below 0: a loop that seldom runs turns their signs.
LoopCase rare_rows_case();
/// Rows of a table by positions; with `failing`, the last one is out of range and the site is reported.
LoopCase gather_rows_case(bool failing);
/// Elements by positions, one a lane, under a bound that hides positions out of range; with `failing` one is not
/// hidden.
LoopCase gather_elements_case(bool failing);
/// A sum split in two phases: partial sums of tiles of 64, then their sum.
LoopCase split_sum_case();
/// argmax or argmin over rows, vectorised, with ties and NaNs.
LoopCase arg_rows_case(ReduceOp op);
/// argmax or argmin over columns: positions and extremes are one a lane.
LoopCase arg_columns_case(ReduceOp op);
/// Reversed copy.
LoopCase copy_case(Dtype dtype);
/// A reduction of rows, not argmax or argmin; bool takes any and all, others all but these.
LoopCase reduce_rows_case(ReduceOp op, Dtype dtype);

/// `n` rows of 64 by a matrix of 64 by 256, as a product statement.
loops::Kernel product_kernel(Dtype operands, Dtype sums);

/// Each of the above, and copy and reduction in every dtype.
std::vector<LoopCase> loop_cases();

/// Sizes around vector widths and blocks: `cols` takes all of `sizes`, `rows` 0, 1 and 5.
std::vector<Bindings> loop_bindings(const std::vector<int64_t>& sizes);

}  // namespace tenon
