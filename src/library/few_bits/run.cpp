// Products by matrices of a few bits: rows are brought into the form that tiles read, then threads share panels.

#include "library/few_bits/product.h"
#include "library/library.h"

namespace tenon::library {

void run(const FewBitsRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers) {
  const Memory& words = reads[1];
  few_bits::Product product{.x = reads[0].values<float>(),
                            .words = words.data,
                            .scales = reads[2].values<float>(),
                            .zeros = reads.size() > 3 ? reads[3].values<uint8_t>() : nullptr,
                            .y = writes[0].values<float>(),
                            .depth = reads[0].dims.back(),
                            .columns = writes[0].dims.back(),
                            .blocks = words.dims[1],
                            .block_words = words.dims[2],
                            .bits = step.bits,
                            .rounds = step.rounds};
  product.rows = product.columns == 0 ? 0 : writes[0].size() / product.columns;
  if (product.rows > 0) {
    few_bits::multiply(few_bits::kernels_for({step.bits, step.code}).front(), product, workers);
  }
}

}  // namespace tenon::library
