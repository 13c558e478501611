// Windows, Fourier transforms and mel filters.
#include <cmath>
#include <numbers>

#include "base/refused.h"
#include "onnx/import/registry.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), with N the size, or one less when it is not periodic.
Importing window(double a0, double a1, double a2) {
  return [=](const NodeCall& call) -> Results {
    const Extent size = call.extent(0);
    const Extent period = call.flag("periodic", true) ? size : size - 1;
    const Value angle = iota(shape(Dtype::f64, size), 0) * (2 * std::numbers::pi) / extent_value(period, Dtype::f64);
    const Value sum = cos(angle * 2) * a2 - cos(angle) * a1 + a0;
    return cast(sum, call.dtype_attribute("output_datatype", Dtype::f32));
  };
}

struct Fourier {
  Extent size;     // of the input, as much as is looked at
  Extent results;  // how many frequencies, or elements of the signal
  Extent period;   // of the signal
  bool inverse = false;
};

/// cos and sin of 2 pi k n / N for n along the first axis and k along the second. The product is reduced before it
/// becomes an angle, so that long transforms stay exact.
std::pair<Value, Value> waves(const Fourier& by, Dtype dtype) {
  const Shape table = shape(Dtype::i64, by.size, by.results);
  const Value turns = mod(iota(table, 0) * iota(table, 1), extent_value(by.period));
  const Value angle = cast(turns, Dtype::f64) * (2 * std::numbers::pi) / extent_value(by.period, Dtype::f64);
  return {cast(cos(angle), dtype), cast(sin(angle), dtype)};
}

/// x[..., n, 1 or 2] to [..., k, 2].
Value transform(const Value& x, const Fourier& by) {
  const auto [cosine, sine] = waves(by, x.dtype());
  const auto product = [](const Value& part, const Value& table) {
    return contract(part, table, {.lhs_contract = {-1}, .rhs_contract = {0}});
  };
  const Value real = squeeze(slice_axis(x, -1, 0, 1), {-1});
  Value re = product(real, cosine);
  Value im = by.inverse ? product(real, sine) : -product(real, sine);
  if (x.extent(-1) != Extent(1)) {
    const Value imaginary = squeeze(slice_axis(x, -1, 1, 2), {-1});
    const Value turned = product(imaginary, sine);
    re = by.inverse ? re - turned : re + turned;
    im = im + product(imaginary, cosine);
  }
  const Value both = stack({re, im}, -1);
  return by.inverse ? both / extent_value(by.period, x.dtype()) : both;
}

/// The real signal of `size` elements whose frequencies x[..., k, 2] are the lower half of: those between the first and
/// the middle one stand for two.
Value real_signal(const Value& x, const Extent& size) {
  const Extent& half = x.extent(-2);
  const Value k = iota(shape(Dtype::i64, half));
  const Value is_one = logical_or(eq(k, 0), eq(k * 2, extent_value(size)));
  const Value times = select(is_one, scalar(x.dtype(), 1), scalar(x.dtype(), 2));
  const Value whole =
      transform(x * expand_dims(times, {1}), {.size = half, .results = size, .period = size, .inverse = true});
  return slice_axis(whole, -1, 0, 1);
}

/// `size` elements of an axis: cut, or filled up with zeros.
Value fitted(const Value& x, int axis, const Extent& size) {
  const Extent& have = x.extent(axis);
  if (have == size) {
    return x;
  }
  std::vector<Extent> low(static_cast<size_t>(x.rank()), 0);
  std::vector<Extent> high = low;
  high[static_cast<size_t>(axis)] = max(size - have, 0);
  return slice_axis(pad(x, low, high), axis, 0, size);
}

Results dft(const NodeCall& call) {
  const Value& x = call.x(0);
  int axis = call.version() >= 20 ? (call.has(2) ? static_cast<int>(call.integer(2)) : -2) : call.axis("axis", 1);
  axis = x.shape().normalize_axis(axis);
  if (axis == x.rank() - 1) {
    refuse("the axis is the one of real and imaginary parts");
  }
  const bool inverse = call.flag("inverse");
  const bool onesided = call.flag("onesided");
  const Extent usual = inverse && onesided ? 2 * (x.extent(axis) - 1) : x.extent(axis);
  const Extent size = call.has(1) ? call.extent(1) : usual;
  Axes order;
  for (int i = 0; i + 1 < x.rank(); ++i) {
    if (i != axis) {
      order.push_back(i);
    }
  }
  order.push_back(axis);
  order.push_back(x.rank() - 1);
  Axes back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  const Extent half = floordiv(size, 2) + 1;
  if (inverse && onesided) {
    return transpose(real_signal(transpose(fitted(x, axis, half), order), size), back);
  }
  const Value moved = transpose(fitted(x, axis, size), order);
  return transpose(
      transform(moved, {.size = size, .results = onesided ? half : size, .period = size, .inverse = inverse}), back);
}

/// Frames of a signal[batch, n] or [batch, n, 1 or 2] that begin `step` apart, each times the window, transformed.
Results stft(const NodeCall& call) {
  const Value signal = call.x(0).rank() == 2 ? expand_dims(call.x(0), {2}) : call.x(0);
  const Extent step = call.extent(1);
  const Extent length = call.has(3) ? call.extent(3) : call.has(2) ? call.x(2).extent(0) : Extent(0);
  const std::optional<int64_t> known_step = step.constant();
  if (!known_step || *known_step < 1 || length == Extent(0)) {
    refuse("a frame of {} every {} elements is not supported", length.to_string(), step.to_string());
  }
  const std::string frame = fmt::format("a frame of {} samples of STFT", length.to_string());
  if (proves_at_least(length, signal.extent(1) + 1)) {
    refuse("the signal is shorter than {}: {}", frame, call.x(0).shape().to_string());
  }
  call.require_at_least(signal.extent(1), length, frame);
  const Extent frames = floordiv(signal.extent(1) - length, *known_step) + 1;
  const Shape grid = shape(Dtype::i64, frames, length);
  const Value positions = iota(grid, 0, 0, *known_step) + iota(grid, 1);
  Value framed = take(signal, positions, 1);  // [batch, frame, length, part]
  if (call.has(2)) {
    framed = framed * expand_dims(cast(call.x(2), signal.dtype()), {1});
  }
  const Extent results = call.flag("onesided", true) ? floordiv(length, 2) + 1 : length;
  return transform(framed, {.size = length, .results = results, .period = length});
}

double to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double to_hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// Triangles over the bins of a transform, evenly spaced as one hears them.
Results mel_weights(const NodeCall& call) {
  const int64_t bands = call.integer(0);
  const int64_t length = call.integer(1);
  const int64_t rate = call.integer(2);
  const double low = to_mel(call.number(3));
  const double high = to_mel(call.number(4));
  const int64_t bins = length / 2 + 1;
  if (bands < 1 || bands > 65536 || bins < 1 || bins > (1 << 20) || bands * bins > (1 << 24) || rate < 1) {
    refuse("{} bands of {} bins at {} Hz are not supported", bands, bins, rate);
  }
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = to_hertz(low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2));
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  std::vector<double> weights(static_cast<size_t>(bins * bands), 0);
  const auto set = [&](int64_t bin, int64_t band, double weight) {
    if (bin >= 0 && bin < bins) {
      weights[static_cast<size_t>(bin * bands + band)] = weight;
    }
  };
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t begin = edges[static_cast<size_t>(band)];
    const int64_t peak = edges[static_cast<size_t>(band) + 1];
    const int64_t end = edges[static_cast<size_t>(band) + 2];
    if (peak == begin) {
      set(peak, band, 1);
    }
    for (int64_t bin = begin; peak != begin && bin <= peak; ++bin) {
      set(bin, band, static_cast<double>(bin - begin) / static_cast<double>(peak - begin));
    }
    for (int64_t bin = peak; peak != end && bin < end; ++bin) {
      set(bin, band, static_cast<double>(end - bin) / static_cast<double>(end - peak));
    }
  }
  const Dtype dtype = call.dtype_attribute("output_datatype", Dtype::f32);
  return constant(Array::from<double>({bins, bands}, weights).cast(dtype));
}

}  // namespace

std::vector<OperatorEntry> signal_operators() {
  return {
      {"", "HannWindow", 17, window(0.5, 0.5, 0)},
      {"", "HammingWindow", 17, window(25.0 / 46, 21.0 / 46, 0)},
      {"", "BlackmanWindow", 17, window(0.42, 0.5, 0.08)},
      {"", "DFT", 17, dft},
      {"", "STFT", 17, stft},
      {"", "MelWeightMatrix", 17, mel_weights},
  };
}

}  // namespace tenon::importer
