// Convolutions, pools and resizes in the catalog: options that are structs in C++ are parameters here.
#include "ops/catalog/catalog.h"
#include "ops/catalog/catalog_build.h"
#include "tenon/convolution.h"

namespace tenon {
namespace {

using catalog_build::builder;
using Integers = std::vector<int64_t>;
using Extents = std::vector<Extent>;

Value conv_text(const Value& x, const Value& w, const Integers& stride, const Integers& x_dilation,
                const Integers& w_dilation, const Extents& low, const Extents& high, int64_t groups,
                std::optional<Dtype> dtype) {
  return conv(x, w, {stride, w_dilation, low, high, "explicit", groups, x_dilation, dtype});
}

Value conv_transpose_text(const Value& x, const Value& w, const Integers& stride, const Integers& dilation,
                          const Extents& low, const Extents& high, const Extents& output_padding, int64_t groups) {
  return conv_transpose(x, w, {stride, dilation, low, high, output_padding, groups});
}

template <Value (*Pool)(const Value&, const Integers&, const PoolOptions&)>
Value pool_text(const Value& x, const Integers& size, const Integers& stride, const Integers& dilation,
                const Extents& low, const Extents& high, const std::string& padding, bool ceil_mode) {
  return Pool(x, size, {stride, dilation, low, high, padding, ceil_mode});
}

Value average_pool_text(const Value& x, const Integers& size, const Integers& stride, const Integers& dilation,
                        const Extents& low, const Extents& high, const std::string& padding, bool ceil_mode,
                        bool count_include_pad) {
  return average_pool(x, size, {stride, dilation, low, high, padding, ceil_mode, count_include_pad});
}

Value lp_pool_text(const Value& x, const Integers& size, double p, const Integers& stride, const Integers& dilation,
                   const Extents& low, const Extents& high, const std::string& padding, bool ceil_mode) {
  return lp_pool(x, size, p, {stride, dilation, low, high, padding, ceil_mode});
}

Value resize_text(const Value& x, const Axes& axes, const Extents& size, const std::string& mode,
                  const std::string& coordinates, const std::string& rounding, double cubic_coefficient) {
  return resize(x, axes, size, {mode, coordinates, rounding, cubic_coefficient});
}

}  // namespace

std::vector<CatalogEntry> convolution_builders() {
  return {
      builder<&conv_text>("conv",
                          "x, w, stride=[], x_dilation=[], w_dilation=[], low=[], high=[], groups=1, dtype=none",
                          "w[out, channel / groups, offset...] slides along x[batch, channel, position...]"),
      builder<&conv_transpose_text>("conv_transpose",
                                    "x, w, stride=[], dilation=[], low=[], high=[], output_padding=[], groups=1",
                                    "the transpose of conv, with w[channel, out / groups, offset...]"),
      builder<&pool_text<max_pool>>("max_pool",
                                    "x, size, stride=[], dilation=[], low=[], high=[], padding=explicit, "
                                    "ceil_mode=false",
                                    "the largest under a sliding window"),
      builder<&pool_text<sum_pool>>("sum_pool",
                                    "x, size, stride=[], dilation=[], low=[], high=[], padding=explicit, "
                                    "ceil_mode=false",
                                    "the sum under a sliding window"),
      builder<&average_pool_text>("average_pool",
                                  "x, size, stride=[], dilation=[], low=[], high=[], padding=explicit, "
                                  "ceil_mode=false, count_include_pad=true",
                                  "the mean under a sliding window"),
      builder<&lp_pool_text>("lp_pool",
                             "x, size, p=2, stride=[], dilation=[], low=[], high=[], padding=explicit, "
                             "ceil_mode=false",
                             "the p-norm under a sliding window"),
      builder<&global_average_pool>("global_average_pool", "x", "the mean over all positions"),
      builder<&global_max_pool>("global_max_pool", "x", "the largest over all positions"),
      builder<&adaptive_average_pool>("adaptive_average_pool", "x, size", "means of equal parts of each position axis"),
      builder<&resize_text>("resize",
                            "x, axes, size, mode=nearest, coordinates=half_pixel, rounding=round_prefer_floor, "
                            "cubic_coefficient=-0.75",
                            "x sampled at `size` positions along each of the axes"),
  };
}

}  // namespace tenon
