// Random kernels of the loop IR whose results are exact, so that any two ways to run them must agree.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/loop_builder.h"

namespace tenon {

/// Makes one well-formed kernel of a seed. Sizes are `rows`, `cols` and `stride`, which is small.
///
/// Elementwise primitives are the exactly rounded ones. What is accumulated is a small integer, so that every order of
/// summation gives the same.
class RandomKernel {
 public:
  explicit RandomKernel(uint64_t seed) : rng_(seed), b_("random") {}

  loops::Kernel make() {
    switch (pick(6)) {
      case 0: elementwise_in_tiles(); break;
      case 1: elementwise_by_rows(); break;
      case 2: rows(); break;
      case 3: columns(); break;
      case 4: whole(); break;
      case 5: windows(); break;
      default: break;
    }
    return b_.kernel();
  }

  /// Inputs of i64 that hold positions in [0, rows + 1); the last of these is out of range.
  const std::vector<int>& position_buffers() const { return position_buffers_; }

 private:
  struct Operand {
    int value = 0;
    Dtype dtype = Dtype::f32;
  };

  int pick(int count) { return static_cast<int>(rng_() % static_cast<uint64_t>(count)); }
  bool chance(int percent) { return pick(100) < percent; }
  Dtype memory_dtype() { return static_cast<Dtype>(pick(kDtypeCount)); }

  // Kinds of kernels --------------------------------------------------------------------------------------------------

  void elementwise_in_tiles() {
    const int tile = chance(50) ? 100 : 64;
    const int t = b_.axis("t", ceildiv(cols_, tile));
    const int c = b_.tile("c", tile, t, cols_, chance(80));
    row_ = -1;
    column_ = affine({{t, tile}, {c, 1}});
    b_.phase({t}, [&] { b_.loop(c, [&] { map(2 + pick(8)); }); });
  }

  void elementwise_by_rows() {
    const int r = b_.axis("r", rows_);
    const int m = b_.axis("m", 1 + pick(5));
    const int c = column_axis();
    row_ = r;
    column_ = affine({{c, 1}});
    const bool flat = chance(50);
    b_.phase(flat ? std::vector{r, m} : std::vector{r}, [&] {
      const auto columns = [&] { b_.loop(c, [&] { map(2 + pick(8)); }); };
      if (flat) {
        columns();
      } else {
        b_.loop(m, columns);
      }
    });
  }

  /// Several reductions of rows, and maps of their results, some through scratch.
  void rows() {
    const int r = b_.axis("r", rows_);
    row_ = r;
    b_.phase({r}, [&] {
      std::vector<Operand> results;
      const int scratch = chance(50) ? b_.buffer(memory_dtype(), loops::Role::scratch, cols_) : -1;
      for (int pass = 1 + pick(2); pass > 0; --pass) {
        const int c = column_axis();
        column_ = affine({{c, 1}});
        const auto reduced = reduce(c, [&] {
          std::vector<Operand> values = expressions(1 + pick(5), results);
          if (scratch >= 0) store_as(scratch, column_, values.back());
          return values;
        });
        results.insert(results.end(), reduced.begin(), reduced.end());
      }
      if (scratch >= 0 && chance(80)) {
        const int c = column_axis();
        column_ = affine({{c, 1}});
        b_.loop(c, [&] {
          results.push_back({b_.load(scratch, column_), compute_dtype(dtype_of_buffer(scratch))});
          map(1 + pick(4), results);
        });
      } else {
        store_new(affine({{r, 1}}), rows_, combined(results));
      }
    });
  }

  /// Reductions over rows, one for each column: a loop inside the vectorised one.
  void columns() {
    const int c = column_axis();
    const int r = b_.axis("r", rows_);
    column_ = affine({{c, 1}});
    b_.phase({}, [&] {
      b_.loop(c, [&] {
        row_ = r;
        const std::vector<Operand> results = reduce(r, [&] { return expressions(1 + pick(5), {}); });
        row_ = -1;
        store_new(column_, cols_, combined(results));
      });
    });
  }

  /// One reduction of everything: accumulators that live through the rows and are fed in the vectorised loop.
  void whole() {
    const int r = b_.axis("r", rows_);
    const int c = column_axis();
    row_ = r;
    column_ = affine({{c, 1}});
    b_.phase({}, [&] {
      const std::vector<Operand> results = reduce(
          r, [&] { return expressions(1 + pick(5), {}); },
          [&](const std::function<void()>& body) { b_.loop(c, body); });
      store_new(affine({}), 1, combined(results));
    });
  }

  /// Sums over a small window around each element, cut off by bounds.
  void windows() {
    const int r = b_.axis("r", rows_);
    const int c = column_axis();
    const int k = b_.axis("k", 1 + pick(6));
    row_ = r;
    column_ = affine({{c, 1}});
    b_.phase({r}, [&] {
      b_.loop(c, [&] {
        const std::vector<Operand> results = reduce(k, [&] {
          const int buffer = b_.input(memory_dtype(), rows_ * cols_);
          const loops::Affine across = affine({{c, 1 + pick(2)}, {k, 1}}, -2);
          const loops::Affine down = affine({{r, 1}, {k, 1}}, -1);
          loops::Affine at = affine({{c, across.terms[0].scale}, {k, cols_ + 1}, {r, cols_}}, -2 - cols_);
          const int loaded = b_.load(buffer, at, {{across, cols_}, {down, rows_}});
          std::vector<Operand> values = expressions(pick(3), {{loaded, compute_dtype(dtype_of_buffer(buffer))}});
          return values;
        });
        store_new(element(), rows_ * cols_, combined(results));
      });
    });
  }

  // Parts of kernels --------------------------------------------------------------------------------------------------

  int column_axis() {
    const bool vectorized = chance(85);
    return vectorized ? b_.vector_axis("c", cols_) : b_.axis("c", cols_);
  }

  Dtype dtype_of_buffer(int buffer) { return b_.kernel().buffers[static_cast<size_t>(buffer)].dtype; }

  loops::Affine scaled(const loops::Affine& at, const Extent& by) {
    std::vector<loops::Term> terms = at.terms;
    for (loops::Term& term : terms)
      term.scale *= by;
    return affine(terms, at.base * by);
  }
  loops::Affine sum(const loops::Affine& a, const loops::Affine& b) {
    std::vector<loops::Term> terms = a.terms;
    terms.insert(terms.end(), b.terms.begin(), b.terms.end());
    return affine(terms, a.base + b.base);
  }
  loops::Affine row_position() { return row_ < 0 ? affine({}) : affine({{row_, 1}}); }

  /// row * cols + column.
  loops::Affine element() { return sum(scaled(row_position(), cols_), column_); }

  Operand load() {
    const Dtype dtype = memory_dtype();
    const Extent all = rows_ * cols_ + cols_;  // no row axis: as if there were one row
    loops::Affine at = element();
    Extent elements = all;
    std::vector<loops::Bound> inside;
    std::vector<loops::Lookup> lookups;
    switch (pick(12)) {
      case 0:  // transposed
        at = sum(scaled(column_, rows_ + 1), row_position());
        elements = (rows_ + 1) * (cols_ + 1);
        break;
      case 1: at = sum(scaled(row_position(), cols_), sum(scaled(column_, -1), affine({}, cols_ - 1))); break;
      case 2: at = column_; break;
      case 3: at = row_position(); break;
      case 4:
        at = scaled(at, 3);
        elements = 3 * all;
        break;
      case 5: {  // a stride of 0, 1 or 2
        const Extent stride = Extent::name("stride");
        at = sum(scaled(row_position(), 2 * cols_), scaled(column_, stride));
        elements = 3 * all + 1;
        break;
      }
      case 6: {  // shifted, with zeros around
        const loops::Affine shifted = sum(column_, affine({}, pick(7) - 3));
        at = sum(scaled(row_position(), cols_), shifted);
        inside.push_back({shifted, cols_});
        break;
      }
      case 7: {  // mirrored, with zeros around
        const loops::Affine mirrored = sum(scaled(column_, -1), affine({}, pick(9)));
        at = sum(scaled(row_position(), cols_), mirrored);
        inside.push_back({mirrored, cols_});
        break;
      }
      case 8: {  // every second one, with zeros after, and rows shifted
        const loops::Affine twice = scaled(column_, 2);
        const loops::Affine down = sum(row_position(), affine({}, pick(3) - 1));
        at = sum(scaled(down, cols_), twice);
        inside = {{twice, cols_}, {down, row_ < 0 ? Extent(1) : rows_}};
        break;
      }
      case 9: {  // one element under a bound that depends on the column
        at = row_position();
        inside.push_back({sum(column_, affine({}, -5)), 20});
        break;
      }
      case 10: {  // rows of a table by positions, one a column or one for all
        at = chance(50) ? column_ : affine({});
        const bool by_column = chance(60);
        const int positions = b_.input(Dtype::i64, rows_ + cols_ + 1);
        position_buffers_.push_back(positions);
        if (chance(30)) inside.push_back({sum(column_, affine({}, -1)), cols_});
        const int site = b_.site("position {position} of {size}");
        const int value = b_.load(positions, by_column ? column_ : row_position());
        lookups.push_back({.value = value, .stride = cols_, .size = rows_, .site = site});
        break;
      }
      default: break;
    }
    const int buffer = b_.input(dtype, elements + 4);
    return {b_.load(buffer, at, inside, lookups), compute_dtype(dtype)};
  }

  Operand as(Operand from, Dtype to) {
    if (from.dtype == to) return from;
    return {b_.cast(from.value, to), compute_dtype(to)};
  }

  Operand apply(const std::vector<Operand>& pool) {
    const auto any = [&] { return pool[static_cast<size_t>(pick(static_cast<int>(pool.size())))]; };
    const Operand a = any();
    const auto other = [&] { return as(any(), a.dtype).value; };
    const auto one_of = [&](std::vector<Prim> prims) {
      return prims[static_cast<size_t>(pick(static_cast<int>(prims.size())))];
    };
    if (chance(15)) {
      const Dtype to = memory_dtype();
      return {b_.cast(a.value, to), compute_dtype(to)};
    }
    if (chance(15)) return {b_.compute(one_of({Prim::lt, Prim::le, Prim::eq}), {a.value, other()}), Dtype::boolean};
    if (chance(15)) return {b_.compute(Prim::select, {as(any(), Dtype::boolean).value, a.value, other()}), a.dtype};
    if (a.dtype == Dtype::boolean) {
      return {b_.compute(one_of({Prim::bit_and, Prim::bit_or, Prim::bit_xor}), {a.value, other()}), a.dtype};
    }
    if (chance(25)) {
      const Prim prim = is_float(a.dtype) ? one_of({Prim::neg, Prim::abs, Prim::floor, Prim::round, Prim::sqrt})
                                          : one_of({Prim::neg, Prim::abs});
      return {b_.compute(prim, {a.value}), a.dtype};
    }
    const Prim prim = is_float(a.dtype)
                          ? one_of({Prim::add, Prim::sub, Prim::mul, Prim::div, Prim::min, Prim::max})
                          : one_of({Prim::add, Prim::sub, Prim::mul, Prim::div, Prim::rem, Prim::min, Prim::max,
                                    Prim::bit_and, Prim::bit_or, Prim::bit_xor, Prim::shl, Prim::shr});
    return {b_.compute(prim, {a.value, other()}), a.dtype};
  }

  /// Loads, positions and constants, and `count` primitives over them and over `given`.
  std::vector<Operand> expressions(int count, const std::vector<Operand>& given) {
    std::vector<Operand> pool = given;
    for (int i = 1 + pick(3); i > 0; --i)
      pool.push_back(load());
    if (chance(30)) pool.push_back({b_.position(chance(50) ? column_ : element()), Dtype::i64});
    if (chance(30)) pool.push_back({b_.position(row_position()), Dtype::i64});
    if (chance(30)) pool.push_back({b_.constant(Dtype::f32, pick(9) - 4), Dtype::f32});
    for (int i = 0; i < count; ++i)
      pool.push_back(apply(pool));
    return pool;
  }

  void map(int count, const std::vector<Operand>& given = {}) {
    const std::vector<Operand> pool = expressions(count, given);
    for (int i = 1 + pick(2); i > 0; --i) {
      const Operand value = i == 1 ? pool.back() : pool[static_cast<size_t>(pick(static_cast<int>(pool.size())))];
      switch (pick(5)) {
        case 0:
          store_new(sum(scaled(column_, -1), sum(scaled(row_position(), cols_), affine({}, cols_ - 1))),
                    rows_ * cols_ + cols_, value);
          break;
        case 1: store_new(sum(scaled(column_, rows_ + 1), row_position()), (rows_ + 1) * (cols_ + 1), value); break;
        case 2: store_new(element(), rows_ * cols_ + cols_, value, {{sum(column_, affine({}, -2)), cols_ - 2}}); break;
        default: store_new(element(), rows_ * cols_ + cols_, value); break;
      }
    }
  }

  void store_as(int buffer, const loops::Affine& at, Operand value, std::vector<loops::Bound> inside = {}) {
    b_.store(buffer, at, as(value, compute_dtype(dtype_of_buffer(buffer))).value, std::move(inside));
  }
  void store_new(const loops::Affine& at, const Extent& elements, Operand value,
                 std::vector<loops::Bound> inside = {}) {
    store_as(b_.output(memory_dtype(), elements), at, value, std::move(inside));
  }

  Operand combined(const std::vector<Operand>& results) {
    Operand all = results[0];
    for (size_t i = 1; i < results.size(); ++i) {
      if (results[i].dtype == Dtype::boolean) continue;
      all = as(all, results[i].dtype);
      all = {b_.compute(Prim::max, {all.value, results[i].value}), all.dtype};
    }
    return all;
  }

  /// An integer in [-limit, limit], or NaN, of the same dtype.
  Operand small(Operand from, int limit) {
    if (from.dtype == Dtype::boolean) return from;
    int value = is_float(from.dtype) ? b_.compute(Prim::floor, {from.value}) : from.value;
    value = b_.compute(Prim::min, {value, b_.constant(from.dtype, limit)});
    const int low = is_unsigned_integer(from.dtype) ? 0 : -limit;
    return {b_.compute(Prim::max, {value, b_.constant(from.dtype, low)}), from.dtype};
  }

  /// Up to three reductions of what `body` gives, in a loop over `axis`; `inside` puts a further loop around the body.
  std::vector<Operand> reduce(
      int axis, const std::function<std::vector<Operand>()>& body,
      const std::function<void(const std::function<void()>&)>& inside = [](const auto& code) { code(); }) {
    // Accumulators are made before their loop, which decides their dtypes.
    std::vector<int> accumulators;
    std::vector<Dtype> dtypes;
    std::vector<ReduceOp> ops;
    for (int i = 1 + pick(3); i > 0; --i) {
      ops.push_back(static_cast<ReduceOp>(pick(8)));
      const bool logical = ops.back() == ReduceOp::any || ops.back() == ReduceOp::all;
      Dtype dtype = compute_dtype(memory_dtype());
      if (dtype == Dtype::boolean) dtype = Dtype::f32;
      dtypes.push_back(logical ? Dtype::boolean : dtype);
      accumulators.push_back(b_.accumulator(ops.back(), dtypes.back()));
    }
    b_.loop(axis, accumulators, [&] {
      inside([&] {
        const std::vector<Operand> pool = body();
        for (size_t i = 0; i < accumulators.size(); ++i) {
          Operand input = as(pool[pool.size() - 1 - i % pool.size()], dtypes[i]);
          if (ops[i] == ReduceOp::sum && chance(50) && input.dtype != Dtype::boolean) {
            input = small(input, 4);
            input = {b_.compute(Prim::mul, {input.value, input.value}), input.dtype};  // adds with one rounding
          } else if (ops[i] == ReduceOp::sum || ops[i] == ReduceOp::product) {
            input = small(input, ops[i] == ReduceOp::sum ? 8 : 1);
          }
          b_.accumulate(accumulators[i], input.value, is_arg(ops[i]) ? b_.position(element()) : -1);
        }
      });
    });
    std::vector<Operand> results;
    for (size_t i = 0; i < accumulators.size(); ++i) {
      results.push_back({b_.result(accumulators[i]), is_arg(ops[i]) ? Dtype::i64 : dtypes[i]});
    }
    return results;
  }

  std::mt19937_64 rng_;
  LoopBuilder b_;
  Extent rows_ = Extent::name("rows");
  Extent cols_ = Extent::name("cols");
  int row_ = -1;          // the axis that counts rows; -1: none
  loops::Affine column_;  // the column
  std::vector<int> position_buffers_;
};

}  // namespace tenon
