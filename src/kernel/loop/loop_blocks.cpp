#include "kernel/loop/loop_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/convert.h"
#include "kernel/scalar/scalar_ops.h"

namespace tenon::loops {
namespace {

/// visit_dtype for what registers hold.
template <class F>
void visit_register(Dtype dtype, const F& f) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (is_half_type<T>) {
      TENON_CHECK(false, "half types are f32 in registers");
    } else {
      f.template operator()<T>();
    }
  });
}

template <class T>
using Running = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <class T>
T worst(bool maximum) {
  if constexpr (std::is_floating_point_v<T>) {
    return maximum ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  } else {
    return maximum ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

template <class T>
T identity(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::any: return T{0};
    case ReduceOp::product:
    case ReduceOp::all: return T{1};
    case ReduceOp::max:
    case ReduceOp::argmax: return worst<T>(true);
    case ReduceOp::min:
    case ReduceOp::argmin: return worst<T>(false);
  }
  TENON_CHECK(false, "reduction {}", static_cast<int>(op));
}

/// f(function that combines two).
template <class A, class F>
void visit_reduction(ReduceOp op, const F& f) {
  switch (op) {
    case ReduceOp::max: return f([](A a, A b) { return scalar::extremum(a, b, false); });
    case ReduceOp::min: return f([](A a, A b) { return scalar::extremum(a, b, true); });
    default: break;
  }
  if constexpr (std::is_same_v<A, bool>) {
    switch (op) {
      case ReduceOp::any: return f([](bool a, bool b) { return a || b; });
      case ReduceOp::all: return f([](bool a, bool b) { return a && b; });
      default: break;
    }
  } else {
    switch (op) {
      case ReduceOp::sum: return f([](A a, A b) { return scalar::add(a, b); });
      case ReduceOp::product: return f([](A a, A b) { return scalar::multiply(a, b); });
      default: break;
    }
  }
  TENON_CHECK(false, "{} of {}", name(op), name(dtype_of<A>()));
}

/// NaN beats any number, then the extreme, then the smaller position.
template <class A>
bool beats(A value, int64_t position, A best, int64_t best_position, bool maximum) {
  if constexpr (std::is_floating_point_v<A>) {
    if (std::isnan(value) || std::isnan(best)) {
      return std::isnan(value) && (!std::isnan(best) || position < best_position);
    }
  }
  return value == best ? position < best_position : maximum ? value > best : value < best;
}

template <class T>
void accumulate_extreme(bool maximum, AccumulatorState state, bool per_lane, const T* input, const int64_t* positions,
                        int64_t lanes) {
  using A = Running<T>;
  auto* values = reinterpret_cast<A*>(state.values);
  for (int64_t i = 0; i < lanes; ++i) {
    const int64_t to = per_lane ? i : 0;
    const auto value = static_cast<A>(input[i]);
    if (beats(value, positions[i], values[to], state.positions[to], maximum)) {
      values[to] = value;
      state.positions[to] = positions[i];
    }
  }
}

}  // namespace

void load_block(Dtype dtype, const std::byte* buffer, Strided at, int64_t lanes, std::byte* target) {
  visit_dtype(dtype, [&]<class T>() {
    const T* from = reinterpret_cast<const T*>(buffer);
    auto* to = reinterpret_cast<ComputeType<T>*>(target);
    for (int64_t i = 0; i < lanes; ++i) {
      to[i] = convert<ComputeType<T>>(from[at.start + i * at.stride]);
    }
  });
}

void store_block(Dtype dtype, std::byte* buffer, Strided at, int64_t lanes, const std::byte* value) {
  visit_dtype(dtype, [&]<class T>() {
    const auto* from = reinterpret_cast<const ComputeType<T>*>(value);
    T* to = reinterpret_cast<T*>(buffer);
    for (int64_t i = 0; i < lanes; ++i) {
      to[at.start + i * at.stride] = convert<T>(from[i]);
    }
  });
}

void load_lanes(Dtype dtype, const std::byte* buffer, const int64_t* index, const bool* active, int64_t lanes,
                std::byte* target) {
  visit_dtype(dtype, [&]<class T>() {
    const T* from = reinterpret_cast<const T*>(buffer);
    auto* to = reinterpret_cast<ComputeType<T>*>(target);
    for (int64_t i = 0; i < lanes; ++i) {
      to[i] = active[i] ? convert<ComputeType<T>>(from[index[i]]) : ComputeType<T>{};
    }
  });
}

void store_lanes(Dtype dtype, std::byte* buffer, const int64_t* index, const bool* active, int64_t lanes,
                 const std::byte* value) {
  visit_dtype(dtype, [&]<class T>() {
    const auto* from = reinterpret_cast<const ComputeType<T>*>(value);
    T* to = reinterpret_cast<T*>(buffer);
    for (int64_t i = 0; i < lanes; ++i) {
      if (active[i]) {
        to[index[i]] = convert<T>(from[i]);
      }
    }
  });
}

void splat(Dtype dtype, std::byte* value, int64_t lanes) {
  visit_register(dtype, [&]<class T>() {
    T* const lane = reinterpret_cast<T*>(value);
    std::fill(lane + 1, lane + std::max<int64_t>(lanes, 1), *lane);
  });
}

int64_t state_bytes(const Accumulator& accumulator) {
  int64_t bytes = 0;
  visit_register(accumulator.dtype, [&]<class T>() { bytes = sizeof(Running<T>); });
  return bytes;
}

void begin(const Accumulator& accumulator, AccumulatorState state, int64_t states) {
  visit_register(accumulator.dtype, [&]<class T>() {
    using A = Running<T>;
    std::fill_n(reinterpret_cast<A*>(state.values), states, identity<A>(accumulator.op));
  });
  if (is_arg(accumulator.op)) {
    std::fill_n(state.positions, states, std::numeric_limits<int64_t>::max());
  }
}

void accumulate(const Accumulator& accumulator, AccumulatorState state, bool per_lane, const std::byte* input,
                const int64_t* positions, int64_t lanes) {
  visit_register(accumulator.dtype, [&]<class T>() {
    using A = Running<T>;
    const T* from = reinterpret_cast<const T*>(input);
    if (is_arg(accumulator.op)) {
      accumulate_extreme<T>(accumulator.op == ReduceOp::argmax, state, per_lane, from, positions, lanes);
      return;
    }
    auto* to = reinterpret_cast<A*>(state.values);
    visit_reduction<A>(accumulator.op, [&](auto combine) {
      if (per_lane) {
        for (int64_t i = 0; i < lanes; ++i) {
          to[i] = combine(to[i], static_cast<A>(from[i]));
        }
      } else {
        *to =
            std::accumulate(from, from + lanes, *to, [&](A all, T each) { return combine(all, static_cast<A>(each)); });
      }
    });
  });
}

void combine_parts(const Accumulator& accumulator, AccumulatorState state, int64_t parts) {
  visit_register(accumulator.dtype, [&]<class T>() {
    using A = Running<T>;
    auto* const values = reinterpret_cast<A*>(state.values);
    const auto rounded = [](A x) { return static_cast<A>(convert<T>(x)); };
    std::transform(values, values + parts, values, rounded);
    const auto in_pairs = [&](const auto& take_in) {
      for (int64_t apart = 1; apart < parts; apart *= 2) {
        for (int64_t i = 0; i + apart < parts; i += 2 * apart) {
          take_in(i, i + apart);
        }
      }
    };
    if (is_arg(accumulator.op)) {
      in_pairs([&](int64_t to, int64_t from) {
        if (beats(values[from], state.positions[from], values[to], state.positions[to],
                  accumulator.op == ReduceOp::argmax)) {
          values[to] = values[from];
          state.positions[to] = state.positions[from];
        }
      });
      return;
    }
    visit_reduction<A>(accumulator.op, [&](auto combine) {
      in_pairs([&](int64_t to, int64_t from) { values[to] = rounded(combine(values[to], values[from])); });
    });
  });
}

void finish(const Accumulator& accumulator, AccumulatorState state, int64_t states, std::byte* target) {
  if (is_arg(accumulator.op)) {
    std::copy_n(state.positions, states, reinterpret_cast<int64_t*>(target));
    return;
  }
  visit_register(accumulator.dtype, [&]<class T>() {
    const auto* from = reinterpret_cast<const Running<T>*>(state.values);
    std::transform(from, from + states, reinterpret_cast<T*>(target), [](Running<T> x) { return convert<T>(x); });
  });
}

}  // namespace tenon::loops
