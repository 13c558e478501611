// The derivatives of the scalar table: right at ordinary points, finite wherever the exact one is.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "kernel/scalar/scalar_eval.h"
#include "ops/scalar/scalar_table.h"
#include "support/arrays.h"

namespace tenon::scalar_gradient_test {
namespace {

template <class T>
std::vector<T> run(const std::vector<Expr>& exprs, const std::vector<T>& arguments) {
  std::vector<const std::byte*> args;
  for (const T& value : arguments) {
    args.push_back(reinterpret_cast<const std::byte*>(&value));
  }
  std::vector<T> results(exprs.size());
  std::vector<std::byte*> outs;
  for (T& result : results) {
    outs.push_back(reinterpret_cast<std::byte*>(&result));
  }
  evaluate(flatten(exprs), args, outs, 1);
  return results;
}

/// A row over floats of type T. The condition of a select is left out of the operands: it is true.
template <class T>
class Row {
 public:
  explicit Row(const ScalarFn& fn) : fn_(fn), arity_(static_cast<size_t>(fn.arity)) {
    const Dtype dtype = dtype_of<T>();
    std::vector<Expr> x;
    for (size_t i = 0; i < arity_; ++i) {
      x.push_back(expr::argument(static_cast<int>(i), dtype));
    }
    if (fn.name == "select") {
      x[0] = expr::eq(x[0], x[0]);
    }
    value_ = fn.value(x);
    const Expr y = expr::argument(fn.arity, dtype);
    const Expr g = expr::argument(fn.arity + 1, dtype);
    gradient_ = fn.gradient(x, y, g);
    for (Expr& each : gradient_) {
      each = each ? each : expr::constant(dtype, 0);
    }
  }

  T value(const std::vector<T>& x) const { return run<T>({value_}, x)[0]; }

  std::vector<T> gradient(std::vector<T> x, T g = 1) const {
    x.push_back(value(x));
    x.push_back(g);
    return run<T>(gradient_, x);
  }

  size_t arity() const { return arity_; }

 private:
  const ScalarFn& fn_;
  size_t arity_;
  Expr value_;
  std::vector<Expr> gradient_;
};

/// stop_gradient has another one than its value on purpose.
std::vector<const ScalarFn*> differentiable_rows() {
  std::vector<const ScalarFn*> rows;
  std::ranges::copy_if(scalar_table(), std::back_inserter(rows), [](const ScalarFn* fn) {
    return fn->gradient != nullptr && contains(fn->domain, f64) && fn->name != "stop_gradient";
  });
  return rows;
}

/// Every choice of one of `points` for each of `arity` operands.
void for_each_point(size_t arity, const std::vector<double>& points,
                    const std::function<void(const std::vector<double>&)>& visit) {
  std::vector<size_t> at(arity, 0);
  for (;;) {
    std::vector<double> x;
    std::ranges::transform(at, std::back_inserter(x), [&](size_t i) { return points[i]; });
    visit(x);
    size_t k = 0;
    while (k < arity && ++at[k] == points.size()) {
      at[k++] = 0;
    }
    if (k == arity) {
      return;
    }
  }
}

bool all_differ(std::vector<double> x) {
  std::ranges::sort(x);
  return std::ranges::adjacent_find(x) == x.end();
}

std::string text(const ScalarFn& fn, const std::vector<double>& x, size_t operand) {
  std::string result = std::string(fn.name) + " by operand " + std::to_string(operand) + " at";
  for (const double each : x) {
    result += " " + std::to_string(each) + " (" + std::to_string(std::log10(std::fabs(each))) + ")";
  }
  return result;
}

/// The derivative by differences to both sides and of two widths, and how far these are apart: much at kinks and jumps.
struct Difference {
  double value = 0;
  double spread = 0;
};

Difference difference(const Row<double>& row, const std::vector<double>& x, size_t operand, double h) {
  const double y = row.value(x);
  const auto slope = [&](double step) {
    std::vector<double> moved = x;
    moved[operand] += step;
    return (row.value(moved) - y) / (moved[operand] - x[operand]);
  };
  const std::array<double, 4> slopes = {slope(h), slope(-h), slope(h / 3), slope(-h / 3)};
  const auto [low, high] = std::ranges::minmax(slopes);
  // The error of the mean of both sides is of second order; of the two widths that leaves fourth order.
  const double coarse = (slopes[0] + slopes[1]) / 2;
  const double fine = (slopes[2] + slopes[3]) / 2;
  return {fine + (fine - coarse) / 8, high - low};
}

TEST(ScalarGradient, EveryRowOverFloatsHasOneOrGivesNoFloat) {
  for (const ScalarFn* fn : scalar_table()) {
    const bool gives_float =
        fn->result != ResultRule::logical && fn->result != ResultRule::bits && contains(fn->domain, f32);
    EXPECT_EQ(fn->gradient != nullptr, gives_float) << fn->name;
  }
}

TEST(ScalarGradient, AgreesWithDifferencesAtOrdinaryPoints) {
  // No two are equal and none is whole or a half: there the rows have kinks and jumps.
  const std::vector<double> points = {-3.7, -1.3, -0.61, -0.23, 0.17, 0.42, 0.83, 1.9, 4.3};
  for (const ScalarFn* fn : differentiable_rows()) {
    const Row<double> row(*fn);
    int compared = 0;
    for_each_point(row.arity(), points, [&](const std::vector<double>& x) {
      if (!all_differ(x) || !std::isfinite(row.value(x))) {
        return;
      }
      const std::vector<double> actual = row.gradient(x, 1.5);
      for (size_t i = fn->name == "select" ? 1 : 0; i < row.arity(); ++i) {
        const Difference expected = difference(row, x, i, 1e-4);
        if (std::isfinite(expected.value) && expected.spread <= 0.01 * std::max(1.0, std::fabs(expected.value))) {
          ++compared;
          EXPECT_NEAR(actual[i], 1.5 * expected.value, 1e-6 * std::max(1.0, std::fabs(expected.value)))
              << text(*fn, x, i);
        }
      }
    });
    EXPECT_GE(compared, 2) << fn->name;
  }
}

std::vector<double> magnitudes(const std::vector<double>& positive) {
  std::vector<double> points;
  for (const double each : positive) {
    points.push_back(static_cast<double>(static_cast<float>(each)));
    points.push_back(-points.back());
  }
  return points;
}

/// Magnitudes from 1e-30 to 1e4, fewer of them for rows of more operands.
std::vector<double> grid(size_t arity) {
  if (arity == 3) {
    return magnitudes({1e-30, 1e-7, 0.3, 1, 45, 1e4});
  }
  if (arity == 2) {
    return magnitudes({1e-30, 1e-20, 1e-10, 1e-5, 1e-2, 0.3, 0.75, 1, 1.5, 3, 9, 45, 89, 120, 1e3, 1e4});
  }
  std::vector<double> positive;
  for (int k = -30; k <= 4; ++k) {
    for (const double digit : {1.0, 2.7, 8.9}) {
      if (digit * std::pow(10.0, k) <= 1e4) {
        positive.push_back(digit * std::pow(10.0, k));
      }
    }
  }
  for (const double each : {10.5, 17.0, 20.0, 44.3, 83.0, 88.0, 88.9, 90.0, 104.0, 110.0, 200.0, 600.0, 710.0, 750.0}) {
    positive.push_back(each);
  }
  return magnitudes(positive);
}

TEST(ScalarGradient, IsFiniteInF32WhereverTheF64OneIs) {
  for (const ScalarFn* fn : differentiable_rows()) {
    const Row<double> exact(*fn);
    const Row<float> narrow(*fn);
    std::map<size_t, std::vector<std::string>> failures;
    int compared = 0;
    for_each_point(exact.arity(), grid(exact.arity()), [&](const std::vector<double>& x) {
      const std::vector<double> expected = exact.gradient(x);
      const std::vector<float> actual = narrow.gradient(std::vector<float>(x.begin(), x.end()));
      for (size_t i = 0; i < exact.arity(); ++i) {
        if (std::isfinite(static_cast<float>(expected[i]))) {
          ++compared;
          if (!std::isfinite(actual[i])) {
            failures[i].push_back(text(*fn, x, i) + " is " + std::to_string(actual[i]) + ", exactly " +
                                  std::to_string(expected[i]));
          }
        }
      }
    });
    EXPECT_GT(compared, 0) << fn->name;
    for (const auto& [operand, list] : failures) {
      ADD_FAILURE() << list.size() << " points; the first and the last:\n  " << list.front() << "\n  " << list.back();
    }
  }
}

// The same expression in f64 would be a poor witness where it is NaN itself; differences of the value are another.
TEST(ScalarGradient, TheF64OneIsFiniteAndRightWhereverDifferencesAre) {
  for (const ScalarFn* fn : differentiable_rows()) {
    const Row<double> row(*fn);
    const bool jumps = fn->name == "floor_div" || fn->name == "rem" || fn->name == "mod";  // many within one step
    std::map<size_t, std::vector<std::string>> failures;
    for_each_point(row.arity(), grid(row.arity()), [&](const std::vector<double>& x) {
      if (!all_differ(x)) {
        return;
      }
      const std::vector<double> actual = row.gradient(x);
      for (size_t i = fn->name == "select" ? 1 : 0; i < row.arity(); ++i) {
        const Difference expected = difference(row, x, i, 1e-4 * std::fabs(x[i]));
        // Differences of values that are rounded themselves; tails near 1 keep only their absolute size.
        const double slack = 1e-2 * std::fabs(expected.value) + 1e-9 * std::fabs(row.value(x) / x[i]) +
                             (std::fabs(x[i]) > 1 ? 1e-15 : 1e-300);
        const bool judged = std::isfinite(expected.value) && expected.spread <= slack;
        const bool right = jumps || std::fabs(actual[i] - expected.value) <= slack;
        if (judged && !(std::isfinite(actual[i]) && right)) {
          failures[i].push_back(text(*fn, x, i) + " is " + std::to_string(actual[i]) + ", by differences " +
                                std::to_string(expected.value));
        }
      }
    });
    for (const auto& [operand, list] : failures) {
      ADD_FAILURE() << list.size() << " points; the first and the last:\n  " << list.front() << "\n  " << list.back();
    }
  }
}

// map_gradient.cpp builds each primitive of a derivative as the row of its name.
TEST(ScalarGradient, EveryPrimitiveIsTheRowOfItsName) {
  for (int i = static_cast<int>(Prim::cast); i <= static_cast<int>(Prim::select); ++i) {
    const auto prim = static_cast<Prim>(i);
    const ScalarFn* fn = find_scalar_fn(name(prim));
    ASSERT_NE(fn, nullptr) << name(prim);
    if (prim == Prim::cast) {
      EXPECT_EQ(fn->result, ResultRule::given);
      continue;
    }
    for (const Dtype dtype : {f32, i32, boolean}) {
      if (!contains(fn->domain, dtype)) {
        continue;
      }
      std::vector<Dtype> operands(static_cast<size_t>(fn->arity), dtype);
      operands[0] = prim == Prim::select ? boolean : dtype;
      const Expr value = instantiate(*fn, operands, dtype);
      EXPECT_EQ(value->prim, prim) << name(prim);
      ASSERT_EQ(value->operands.size(), operands.size()) << name(prim);
      for (size_t k = 0; k < operands.size(); ++k) {
        EXPECT_EQ(value->operands[k]->prim, Prim::argument) << name(prim);
        EXPECT_EQ(value->operands[k]->index, static_cast<int>(k)) << name(prim);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::scalar_gradient_test
