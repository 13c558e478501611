#include "support/loop_kernels.h"

#include "kernel/product/product.h"
#include "support/arrays.h"
#include "support/loop_builder.h"

namespace tenon {

loops::Kernel product_kernel(Dtype operands, Dtype sums) {
  const Extent rows = Extent::name("n");
  LoopBuilder k("product");
  const int row = k.axis("r", rows);
  const int column = k.axis("c", 256);
  const int depth = k.axis("d", 64);
  const int left = k.input(operands, rows * 64);
  const int right = k.input(operands, 64 * 256);
  const int out = k.output(sums, rows * 256);
  const int work = k.buffer(u8, loops::Role::scratch, kProductScratchBytes);
  const auto matrix = [](int buffer, int64_t columns) {
    return loops::Matrix{.buffer = buffer, .at = {}, .row = columns, .column = 1};
  };
  k.phase({}, [&] {
    k.product({.left = matrix(left, 64),
               .right = matrix(right, 256),
               .tile = matrix(out, 256),
               .rows = {row},
               .columns = {column},
               .depth = {depth},
               .work = work});
  });
  return k.kernel();
}

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
