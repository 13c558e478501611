#include "passes/spread_inputs.h"

#include <algorithm>

#include "ops/conv_elements.h"
#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/spread_axis.h"

namespace tenon::passes {
namespace {

/// Whether what two elements give may fall on the same place.
bool overlaps(const Conv& conv, const Value& w) {
  for (size_t i = 0; i < conv.x_dilation.size(); ++i) {
    const std::optional<int64_t> taps = w.extent(static_cast<int>(i) + 2).constant();
    if (!taps || (*taps - 1) * conv.w_dilation[i] >= conv.x_dilation[i]) {
      return true;
    }
  }
  return false;
}

}  // namespace

Graph spread_inputs(Graph graph) {
  return rewrite(graph, [](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    const auto* conv = node.as<Conv>();
    if (conv == nullptr || std::ranges::all_of(conv->x_dilation, [](int64_t spread) { return spread == 1; })) {
      return {};
    }
    // Images whose channels lie side by side stay so through a convolution, and not through sums of parts.
    const bool keeps_layout = operands[0].rank() > 3 && overlaps(*conv, operands[1]) && is_finite_constant(operands[1]);
    if (const auto sums = keeps_layout ? std::nullopt : conv_of_elements(*conv, operands[0], operands[1])) {
      return std::vector<Value>{*sums};
    }
    Conv plain = *conv;
    Value x = operands[0];
    for (size_t i = 0; i < conv->x_dilation.size(); ++i) {
      const int64_t spread = conv->x_dilation[i];
      if (spread != 1) {
        x = spread_axis(x, static_cast<int>(i) + 2, spread);
        plain.x_dilation[i] = 1;
        plain.high[i] = plain.high[i] - (spread - 1);
      }
    }
    return std::vector<Value>{make(std::move(plain), {x, operands[1]})};
  });
}

}  // namespace tenon::passes
