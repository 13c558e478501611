// Scalar expressions: what one element of a map computes, in a small closed set of primitives.
// The interpreter, the constant folder and the code generator all read these; no second list of functions exists.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tenon/dtype.h"

namespace tenon {

/// Every primitive is total: defined for every operand value, without traps, so that masked lanes may compute it.
enum class Prim : uint8_t {
  argument,     // operand number `index`
  constant,     // `literal`, converted to the dtype
  cast,         // saturating and truncating to integers, NaN to 0; rounding to narrower floats
  reinterpret,  // the same bits: f32 as i32, f64 as i64, and back
  neg,          // flips the sign bit of floats, wraps for integers
  abs,          // clears the sign bit of floats, wraps for integers
  add,
  sub,
  mul,
  div,  // floats: IEEE; integers: rounds toward zero, x / 0 is 0, lowest / -1 wraps
  rem,  // x - y * trunc(x / y), the sign of x; integers: x rem 0 is 0
  min,  // NaN if either is NaN; -0 is below +0
  max,
  sqrt,
  exp,
  exp_normal,  // exp, 0 below vanishing_exponent(): never a denormal
  expm1,
  log,
  log1p,
  sin,
  cos,
  atan2,
  tanh,
  erf,
  pow,
  floor,
  round,  // to nearest, halves to even
  eq,
  lt,
  le,
  bit_and,
  bit_or,
  bit_xor,
  shl,  // by 0 or more; shifting out everything gives 0
  shr,  // arithmetic for signed types; shifting out everything gives 0 or -1
  select,
};

std::string_view name(Prim prim);
int arity(Prim prim);

/// exp_normal of less is 0. exp of this is some thousand times the least normal number: divided by a sum of as many
/// terms it stays one.
constexpr double vanishing_exponent(Dtype dtype) { return dtype == Dtype::f64 ? -700 : -80; }

/// What `reinterpret` makes of f32, f64, i32 and i64: signed integers of as many bits, and back. There is none of
/// others.
Dtype reinterpreted(Dtype dtype);

struct ScalarNode;

/// A node of a scalar expression DAG; immutable, cheap to copy. Empty after default construction.
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ScalarNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  const ScalarNode& operator*() const { return *node_; }
  const ScalarNode* operator->() const { return node_.get(); }
  const ScalarNode* get() const { return node_.get(); }
  Dtype dtype() const;

 private:
  std::shared_ptr<const ScalarNode> node_;
};

struct ScalarNode {
  Prim prim = Prim::constant;
  Dtype dtype = Dtype::f32;  // of the result
  int index = 0;             // argument
  double literal = 0;        // constant
  std::vector<Expr> operands;
};

/// The operands of a scalar function.
using Args = const std::vector<Expr>&;

namespace expr {

Expr argument(int index, Dtype dtype);
Expr constant(Dtype dtype, double value);
Expr apply(Prim prim, std::vector<Expr> operands);  // result dtype by the primitive's rule
Expr cast(const Expr& x, Dtype to);
inline Expr reinterpret(const Expr& x) { return apply(Prim::reinterpret, {x}); }

/// A constant of x's dtype.
inline Expr like(const Expr& x, double value) { return constant(x.dtype(), value); }

inline Expr operator+(const Expr& a, const Expr& b) { return apply(Prim::add, {a, b}); }
inline Expr operator-(const Expr& a, const Expr& b) { return apply(Prim::sub, {a, b}); }
inline Expr operator*(const Expr& a, const Expr& b) { return apply(Prim::mul, {a, b}); }
inline Expr operator/(const Expr& a, const Expr& b) { return apply(Prim::div, {a, b}); }
inline Expr operator-(const Expr& a) { return apply(Prim::neg, {a}); }
inline Expr operator+(const Expr& a, double b) { return a + like(a, b); }
inline Expr operator-(const Expr& a, double b) { return a - like(a, b); }
inline Expr operator*(const Expr& a, double b) { return a * like(a, b); }
inline Expr operator/(const Expr& a, double b) { return a / like(a, b); }
inline Expr operator+(double a, const Expr& b) { return like(b, a) + b; }
inline Expr operator-(double a, const Expr& b) { return like(b, a) - b; }
inline Expr operator*(double a, const Expr& b) { return like(b, a) * b; }
inline Expr operator/(double a, const Expr& b) { return like(b, a) / b; }

inline Expr eq(const Expr& a, const Expr& b) { return apply(Prim::eq, {a, b}); }
inline Expr lt(const Expr& a, const Expr& b) { return apply(Prim::lt, {a, b}); }
inline Expr le(const Expr& a, const Expr& b) { return apply(Prim::le, {a, b}); }
inline Expr lt(const Expr& a, double b) { return lt(a, like(a, b)); }
inline Expr lt(double a, const Expr& b) { return lt(like(b, a), b); }
inline Expr le(const Expr& a, double b) { return le(a, like(a, b)); }
inline Expr le(double a, const Expr& b) { return le(like(b, a), b); }
inline Expr eq(const Expr& a, double b) { return eq(a, like(a, b)); }
inline Expr both(const Expr& a, const Expr& b) { return apply(Prim::bit_and, {a, b}); }
inline Expr either(const Expr& a, const Expr& b) { return apply(Prim::bit_or, {a, b}); }
Expr invert(const Expr& a);  // all bits; logical for bool
inline Expr select(const Expr& c, const Expr& a, const Expr& b) { return apply(Prim::select, {c, a, b}); }
inline Expr select(const Expr& c, const Expr& a, double b) { return select(c, a, like(a, b)); }
inline Expr select(const Expr& c, double a, const Expr& b) { return select(c, like(b, a), b); }

inline Expr abs(const Expr& x) { return apply(Prim::abs, {x}); }
inline Expr min(const Expr& a, const Expr& b) { return apply(Prim::min, {a, b}); }
inline Expr max(const Expr& a, const Expr& b) { return apply(Prim::max, {a, b}); }
inline Expr rem(const Expr& a, const Expr& b) { return apply(Prim::rem, {a, b}); }
inline Expr sqrt(const Expr& x) { return apply(Prim::sqrt, {x}); }
inline Expr exp(const Expr& x) { return apply(Prim::exp, {x}); }
inline Expr exp_normal(const Expr& x) { return apply(Prim::exp_normal, {x}); }
inline Expr expm1(const Expr& x) { return apply(Prim::expm1, {x}); }
inline Expr log(const Expr& x) { return apply(Prim::log, {x}); }
inline Expr log1p(const Expr& x) { return apply(Prim::log1p, {x}); }
inline Expr sin(const Expr& x) { return apply(Prim::sin, {x}); }
inline Expr cos(const Expr& x) { return apply(Prim::cos, {x}); }
inline Expr atan2(const Expr& y, const Expr& x) { return apply(Prim::atan2, {y, x}); }
inline Expr tanh(const Expr& x) { return apply(Prim::tanh, {x}); }
inline Expr erf(const Expr& x) { return apply(Prim::erf, {x}); }
inline Expr pow(const Expr& a, const Expr& b) { return apply(Prim::pow, {a, b}); }
inline Expr floor(const Expr& x) { return apply(Prim::floor, {x}); }
inline Expr round(const Expr& x) { return apply(Prim::round, {x}); }

}  // namespace expr
}  // namespace tenon
