#include <cmath>

#include "base/fail.h"
#include "tenon/modules.h"

namespace tenon::nn {

MultiheadAttention::MultiheadAttention(int64_t width, int64_t heads, Tensor::Where where)
    : out_proj(child("out_proj", Linear(width, width, true, where))), width_(width), heads_(heads) {
  if (heads < 1 || width % heads != 0) {
    fail("MultiheadAttention: width {} is no multiple of {} heads", width, heads);
  }
  Tensor weight = Tensor::zeros({3 * width, width});
  init::xavier_uniform_(weight, 1, nullptr, where);
  in_proj_weight = parameter("in_proj_weight", weight);
  Tensor bias = Tensor::zeros({3 * width});
  init::constant_(bias, 0);
  in_proj_bias = parameter("in_proj_bias", bias);
}

Tensor MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value, bool causal,
                                      const Tensor& mask) const {
  const auto heads_of = [&](const Tensor& x, int64_t part) {
    const Tensor w = in_proj_weight.narrow(0, part * width_, width_);
    const Tensor b = in_proj_bias.narrow(0, part * width_, width_);
    const Tensor y = dense(x, w.t(), b);
    return y.reshape({y.size(0), y.size(1), heads_, width_ / heads_}).transpose({0, 2, 1, 3});
  };
  const Tensor seen = attention(heads_of(query, 0), heads_of(key, 1), heads_of(value, 2), mask, causal);
  const Tensor joined = seen.transpose({0, 2, 1, 3});
  return out_proj(joined.reshape({joined.size(0), joined.size(1), width_}));
}

}  // namespace tenon::nn
