// The table itself: every row is complete and means what the closed form says.
#include "ops/scalar_table.h"

#include <cmath>
#include <map>
#include <numbers>

#include "kernel/scalar_eval.h"
#include "support/arrays.h"

namespace tenon {
namespace {

double evaluate_f64(const Expr& expr, const std::vector<double>& x) {
  std::vector<const std::byte*> args;
  for (const double& value : x) {
    args.push_back(reinterpret_cast<const std::byte*>(&value));
  }
  double result = 0;
  auto* out = reinterpret_cast<std::byte*>(&result);
  evaluate(flatten({expr}), args, std::span(&out, 1), 1);
  return result;
}

TEST(ScalarTable, EveryRowIsComplete) {
  for (const ScalarFn* fn : scalar_table()) {
    EXPECT_FALSE(fn->doc.empty()) << fn->name;
    EXPECT_NE(fn->value, nullptr) << fn->name;
    EXPECT_EQ(find_scalar_fn(fn->name), fn);
    EXPECT_GE(fn->arity, 1) << fn->name;
    EXPECT_LE(fn->arity, 3) << fn->name;
    EXPECT_EQ(fn->onnx.name.empty(), fn->onnx.since == 0) << fn->name;
  }
  EXPECT_EQ(find_scalar_fn("no_such_function"), nullptr);
}

TEST(ScalarTable, EveryPrimitiveIsReachedByARow) {
  std::map<Prim, int> used;
  for (const ScalarFn* fn : scalar_table()) {
    for (const Dtype dtype : {f64, i32, boolean}) {
      if (contains(fn->domain, dtype)) {
        std::vector<Dtype> operands(static_cast<size_t>(fn->arity), dtype);
        if (fn->name == "select") {
          operands[0] = boolean;
        }
        for (const ScalarInstruction& instruction : flatten({instantiate(*fn, operands, f16)}).code) {
          ++used[instruction.prim];
        }
      }
    }
  }
  for (int i = 0; i <= static_cast<int>(Prim::select); ++i) {
    EXPECT_GT(used[static_cast<Prim>(i)], 0) << name(static_cast<Prim>(i));
  }
}

using Closed = double (*)(double);
const std::map<std::string_view, Closed>& closed_forms() {
  static const std::map<std::string_view, Closed> forms = {
      {"exp", std::exp},     {"log", std::log},     {"log1p", std::log1p}, {"expm1", std::expm1}, {"sqrt", std::sqrt},
      {"sin", std::sin},     {"cos", std::cos},     {"tan", std::tan},     {"asin", std::asin},   {"acos", std::acos},
      {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh},   {"tanh", std::tanh},   {"asinh", std::asinh},
      {"acosh", std::acosh}, {"atanh", std::atanh}, {"erf", std::erf},     {"cbrt", std::cbrt},   {"exp2", std::exp2},
      {"log2", std::log2},   {"log10", std::log10}, {"floor", std::floor}, {"ceil", std::ceil},   {"trunc", std::trunc},
      {"round", std::nearbyint}, {"abs", std::fabs},
      {"relu", [](double x) { return x > 0 ? x : 0.0; }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"softplus", [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
      {"gelu", [](double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }},
      {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
  };
  return forms;
}

TEST(ScalarTable, ValuesAgreeWithClosedForms) {
  for (const auto& [name, closed] : closed_forms()) {
    const Expr value = instantiate(scalar_fn(name), {f64}, f64);
    for (const double x : {-50.0, -7.25, -2.5, -1.0, -0.75, -1e-5, -0.0, 0.0, 1e-9, 0.3, 0.5, 1.0, 1.5, 2.5, 9.0, 40.0}) {
      const double expected = closed(x);
      const double actual = evaluate_f64(value, {x});
      if (!std::isfinite(expected)) {
        EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << name << " at " << x;
      } else {
        EXPECT_NEAR(actual, expected, 1e-14 * std::max(1.0, std::fabs(expected))) << name << " at " << x;
      }
    }
  }
}

}  // namespace
}  // namespace tenon
