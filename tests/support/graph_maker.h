// What random_graph() builds with: a pool of values whose size and error are known roughly.
#pragma once

#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

/// A value, with bounds that hold for finite elements.
struct Traced {
  Value value;
  double bound = 0;   // of magnitudes; infinity where there is none
  double error = 0;   // of another right evaluation
  bool exact = true;  // every right evaluation gives these elements

  bool is_tame() const;
};

/// The step between neighbouring numbers near 1, with room for functions that are a few steps off.
double rounding_step(Dtype dtype);

/// Adds random operations to a pool. A step that finds no fitting operands adds nothing.
class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed) : rng_(seed) {}

  void add_inputs();
  void add_step();

  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<Traced>& pool() const { return pool_; }
  /// A whole number in [low, high].
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

 private:
  using Result = std::optional<Traced>;

  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(0, static_cast<int64_t>(list.size()) - 1))];
  }
  std::vector<int> shuffled(int count);
  std::vector<int> some_axes(int rank);
  Extent some_extent();
  Dtype some_dtype();

  Traced add_input(const Shape& shape);
  /// A value of the pool, recent ones more often.
  const Traced& any();
  template <class F>
  const Traced* find(F&& fits) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      if (const Traced& x = any(); fits(x)) {
        return &x;
      }
    }
    return nullptr;
  }
  const Traced* find_float();
  /// Of rank 3 or 4 as [batch, channel, position...]; made from some value where there is none.
  Result find_image();
  /// Something that can be combined with x by an elementwise function: of the same dtype, broadcasting to its shape.
  Traced partner(const Traced& x);
  /// i64 positions into an axis of this size.
  Value positions(const Extent& size);
  /// Brings what may be large or wild back to where arithmetic is tame.
  Traced squashed(const Traced& x);

  Traced exact(const Value& value, double bound) const;
  Traced rounded(const Value& value, double bound, double error) const;
  Traced like(const Value& value, const Traced& x) const { return {value, x.bound, x.error, x.exact}; }

  // Steps. graph_maker_maps.cpp
  Result unary();
  Result binary();
  Result conditional();
  Result cast_step();
  Result any_row();
  // graph_maker_views.cpp
  Result reshape_step();
  Result transpose_step();
  Result broadcast_step();
  Result slice_step();
  Result pad_step();
  Result flip_step();
  Result concat_step();
  Result gather_step();
  Result arrange();
  Result iota_step();
  Result random_step();
  Result update_step();
  // graph_maker_sums.cpp
  Result reduction();
  Result row_composite();
  Result residual();
  Result pool_step();
  Result contract_step();
  Result conv_step();
  Result ordering();

  struct Step {
    int weight;
    Result (GraphMaker::*make)();
  };
  static const std::vector<Step>& steps();

  std::mt19937_64 rng_;
  std::vector<Value> inputs_;
  std::vector<Traced> pool_;
};

/// How many elements an extent is at most, for bounds of sums.
double largest_count(const Extent& extent);

}  // namespace tenon
