#include <cmath>
#include <limits>

#include "base/convert.h"
#include "interp/evaluate.h"
#include "interp/index.h"

namespace tenon {
namespace {

/// Floats combine in f64 and round once; integers in 64 bits of their own sign, where sums and products wrap.
template <class T>
using Wide = std::conditional_t<is_float_type<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

/// What leaves every other value of T as it is.
template <class T>
Wide<T> identity(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return 0;
    case ReduceOp::product: return 1;
    default: break;
  }
  if constexpr (is_float_type<T>) {
    const double infinity = std::numeric_limits<double>::infinity();
    return op == ReduceOp::max ? -infinity : infinity;
  } else {
    return op == ReduceOp::max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

template <class W>
W combine(ReduceOp op, W a, W b) {
  if constexpr (std::is_same_v<W, double>) {
    if (op == ReduceOp::sum || op == ReduceOp::product) {
      return op == ReduceOp::sum ? a + b : a * b;
    }
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) ? a : b;
    }
  } else if (op == ReduceOp::sum || op == ReduceOp::product) {
    const auto left = static_cast<uint64_t>(a);
    const auto right = static_cast<uint64_t>(b);
    return static_cast<W>(op == ReduceOp::sum ? left + right : left * right);
  }
  return (op == ReduceOp::max ? b > a : b < a) ? b : a;
}

}  // namespace

Arrays evaluate(const Window& op, const Evaluation& e) {
  const Array& in = e.inputs[0];
  const Index strides = strides_of(in.dims());
  Index low;
  for (const Extent& padding : op.low) {
    low.push_back(evaluate(padding, e.bindings));
  }
  // The element of x at `offset` of the window at `place`; -1 for padding.
  const auto source = [&](const Index& place, const Index& offset) -> int64_t {
    int64_t position = 0;
    for (size_t i = 0; i < place.size(); ++i) {
      const int64_t at = place[i] * op.stride[i] + offset[i] * op.dilation[i] - low[i];
      if (at < 0 || at >= in.dims()[i]) {
        return -1;
      }
      position += at * strides[i];
    }
    return position;
  };
  Array out = e.output();
  visit_dtype(in.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto x = in.values<T>();
      const auto y = out.mutable_values<T>();
      for_each_index(out.dims(), [&](const Index& place, int64_t i) {
        Wide<T> all = identity<T>(op.op);
        for_each_index(op.size, [&](const Index& offset, int64_t) {
          if (const int64_t from = source(place, offset); from >= 0) {
            all = combine(op.op, all, convert<Wide<T>>(x[static_cast<size_t>(from)]));
          }
        });
        y[static_cast<size_t>(i)] = convert<T>(all);
      });
    }
  });
  return {out};
}

}  // namespace tenon
