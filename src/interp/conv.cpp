#include <algorithm>

#include "base/convert.h"
#include "interp/evaluate.h"
#include "interp/index.h"

namespace tenon {
namespace {

template <class A>
std::vector<A> widened(const Array& x) {
  std::vector<A> result(static_cast<size_t>(x.size()));
  visit_dtype(x.dtype(), [&]<class T>() {
    std::ranges::transform(x.values<T>(), result.begin(), [](T v) { return convert<A>(v); });
  });
  return result;
}

Index positions_of(const Array& x) { return {x.dims().begin() + 2, x.dims().end()}; }

/// A position of the result, and the position of x that one offset of the weights meets there.
struct Meeting {
  size_t out;
  size_t in;
};

/// Where one offset of the weights meets elements of x, and the positions of the result where it meets padding. Zeros
/// between elements are not there, nor are those around an input that has gaps.
struct Meetings {
  std::vector<Meeting> elements;
  std::vector<size_t> padding;
};

std::vector<Meetings> meetings(const Conv& op, const Evaluation& e, const Index& in, const Index& offsets,
                               const Index& out) {
  const Index strides = strides_of(in);
  Index low;
  for (const Extent& padding : op.low) {
    low.push_back(evaluate(padding, e.bindings));
  }
  const bool has_gaps = std::ranges::any_of(op.x_dilation, [](int64_t dilation) { return dilation != 1; });
  std::vector<Meetings> result;
  for_each_index(offsets, [&](const Index& offset, int64_t) {
    Meetings& here = result.emplace_back();
    for_each_index(out, [&](const Index& place, int64_t number) {
      int64_t position = 0;
      for (size_t i = 0; i < place.size(); ++i) {
        const int64_t at = place[i] * op.stride[i] + offset[i] * op.w_dilation[i] - low[i];
        if (at < 0 || at > (in[i] - 1) * op.x_dilation[i]) {
          if (!has_gaps) {
            here.padding.push_back(static_cast<size_t>(number));
          }
          return;
        }
        if (at % op.x_dilation[i] != 0) {
          return;
        }
        position += at / op.x_dilation[i] * strides[i];
      }
      here.elements.push_back({static_cast<size_t>(number), static_cast<size_t>(position)});
    });
  });
  return result;
}

/// out[n, o, p] = sum over the channels c of o's group and offsets k of w[o, c, k] * x[n, c, where k meets p], in A.
template <class A>
void convolve(const Conv& op, const Evaluation& e, Array& out) {
  const auto x = widened<A>(e.inputs[0]);
  const auto w = widened<A>(e.inputs[1]);
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const Index places = positions_of(out);
  const auto met = meetings(op, e, positions_of(e.inputs[0]), positions_of(e.inputs[1]), places);
  const size_t in_plane = size(count_of(positions_of(e.inputs[0])));
  const size_t batch = size(out.dims()[0]);
  const size_t channels = size(e.inputs[0].dims()[1]);
  const size_t outputs = size(out.dims()[1]);
  const size_t group_channels = size(e.inputs[1].dims()[1]);
  const size_t group_outputs = outputs / size(op.groups);
  std::vector<A> plane(size(count_of(places)));
  for (size_t n = 0; n < batch; ++n) {
    for (size_t o = 0; o < outputs; ++o) {
      std::ranges::fill(plane, A{});
      for (size_t c = 0; c < group_channels; ++c) {
        const A* from = x.data() + (n * channels + o / group_outputs * group_channels + c) * in_plane;
        for (size_t k = 0; k < met.size(); ++k) {
          const A weight = w[(o * group_channels + c) * met.size() + k];
          for (const Meeting& meeting : met[k].elements) {
            plane[meeting.out] += weight * from[meeting.in];
          }
          if (weight * A{} != A{}) {  // infinity times the zero of padding
            for (const size_t place : met[k].padding) {
              plane[place] += weight * A{};
            }
          }
        }
      }
      visit_dtype(out.dtype(), [&]<class T>() {
        std::ranges::transform(plane,
                               out.mutable_values<T>().begin() + static_cast<int64_t>((n * outputs + o) * plane.size()),
                               [](A v) { return convert<T>(v); });
      });
    }
  }
}

}  // namespace

Arrays evaluate(const Conv& op, const Evaluation& e) {
  Array out = e.output();
  // Floats accumulate in f64 and round once; integers wrap.
  if (is_float(out.dtype())) {
    convolve<double>(op, e, out);
  } else {
    convolve<uint64_t>(op, e, out);
  }
  return {out};
}

}  // namespace tenon
