#include "support/loop_kernels.h"

#include "support/arrays.h"

namespace tenon {

std::vector<LoopCase> loop_cases() {
  std::vector<LoopCase> cases = {elementwise_case(),
                                 mixed_dtypes_case(),
                                 softmax_case(),
                                 layer_norm_case(),
                                 column_sums_case(),
                                 matrix_sum_case(),
                                 blocked_sum_case(),
                                 product_case(),
                                 pad_case(),
                                 convolution_case(),
                                 strides_case(),
                                 masked_store_case(),
                                 rare_rows_case(),
                                 gather_rows_case(false),
                                 gather_rows_case(true),
                                 gather_elements_case(false),
                                 gather_elements_case(true),
                                 split_sum_case(),
                                 arg_rows_case(ReduceOp::argmax),
                                 arg_rows_case(ReduceOp::argmin),
                                 arg_columns_case(ReduceOp::argmax),
                                 arg_columns_case(ReduceOp::argmin)};
  for (const Dtype dtype : all_dtypes()) {
    cases.push_back(copy_case(dtype));
    const std::vector<ReduceOp> ops = dtype == boolean
                                          ? std::vector{ReduceOp::any, ReduceOp::all}
                                          : std::vector{ReduceOp::sum, ReduceOp::product, ReduceOp::max, ReduceOp::min};
    for (const ReduceOp op : ops) {
      cases.push_back(reduce_rows_case(op, dtype));
    }
  }
  return cases;
}

std::vector<Bindings> loop_bindings(const std::vector<int64_t>& sizes) {
  std::vector<Bindings> result;
  for (const int64_t cols : sizes) {
    for (const int64_t rows : {0, 1, 5}) {
      result.push_back({{"rows", rows}, {"cols", cols}});
    }
  }
  return result;
}

}  // namespace tenon
