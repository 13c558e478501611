#include "interp/evaluate.h"
#include "kernel/scalar/philox.h"

namespace tenon {

Arrays evaluate(const Random&, const Evaluation& e) {
  const uint64_t key = e.inputs[0].values<uint64_t>()[0];
  const uint64_t counter = e.inputs[1].values<uint64_t>()[0];
  Array out = e.output();
  if (out.dtype() == Dtype::u32) {
    uint64_t position = 0;
    for (uint32_t& word : out.mutable_values<uint32_t>()) {
      word = random_word(key, counter, position++);
    }
  } else {
    uint64_t position = 0;
    for (uint64_t& word : out.mutable_values<uint64_t>()) {
      const uint64_t low = random_word(key, counter, position++);
      word = low | static_cast<uint64_t>(random_word(key, counter, position++)) << 32;
    }
  }
  return {out};
}

}  // namespace tenon
