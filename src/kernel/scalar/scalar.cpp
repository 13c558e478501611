#include "kernel/scalar/scalar.h"

#include <array>

#include "base/fail.h"

namespace tenon {
namespace {

struct PrimInfo {
  std::string_view name;
  int arity;
};

// In the order of the enumeration.
constexpr std::array<PrimInfo, 36> kPrims = {{
    {"argument", 0}, {"constant", 0}, {"cast", 1},    {"reinterpret", 1}, {"neg", 1},   {"abs", 1},
    {"add", 2},      {"sub", 2},      {"mul", 2},     {"div", 2},         {"rem", 2},   {"min", 2},
    {"max", 2},      {"sqrt", 1},     {"exp", 1},     {"exp_normal", 1},  {"expm1", 1}, {"log", 1},
    {"log1p", 1},    {"sin", 1},      {"cos", 1},     {"atan2", 2},       {"tanh", 1},  {"erf", 1},
    {"pow", 2},      {"floor", 1},    {"round", 1},   {"eq", 2},          {"lt", 2},    {"le", 2},
    {"bit_and", 2},  {"bit_or", 2},   {"bit_xor", 2}, {"shl", 2},         {"shr", 2},   {"select", 3},
}};
static_assert(kPrims.size() == static_cast<size_t>(Prim::select) + 1);

const PrimInfo& info(Prim prim) { return kPrims.at(static_cast<size_t>(prim)); }

Dtype result_dtype(Prim prim, const std::vector<Expr>& operands) {
  switch (prim) {
    case Prim::eq:
    case Prim::lt:
    case Prim::le: return Dtype::boolean;
    case Prim::select: return operands[1].dtype();
    case Prim::reinterpret: return reinterpreted(operands[0].dtype());
    default: return operands[0].dtype();
  }
}

Expr make(ScalarNode node) { return Expr(std::make_shared<const ScalarNode>(std::move(node))); }

}  // namespace

std::string_view name(Prim prim) { return info(prim).name; }

int arity(Prim prim) { return info(prim).arity; }

Dtype reinterpreted(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return Dtype::i32;
    case Dtype::f64: return Dtype::i64;
    case Dtype::i32: return Dtype::f32;
    case Dtype::i64: return Dtype::f64;
    default: TENON_CHECK(false, "the bits of {}", name(dtype));
  }
}

Dtype Expr::dtype() const { return node_->dtype; }

namespace expr {

Expr argument(int index, Dtype dtype) {
  return make({.prim = Prim::argument, .dtype = dtype, .index = index, .operands = {}});
}

Expr constant(Dtype dtype, double value) {
  return make({.prim = Prim::constant, .dtype = dtype, .literal = value, .operands = {}});
}

Expr apply(Prim prim, std::vector<Expr> operands) {
  TENON_CHECK(operands.size() == static_cast<size_t>(info(prim).arity), "{}", info(prim).name);
  const size_t first = prim == Prim::select ? 1 : 0;
  TENON_CHECK(prim != Prim::select || operands[0].dtype() == Dtype::boolean, "select on {}", name(operands[0].dtype()));
  for (size_t i = first; i < operands.size(); ++i) {
    TENON_CHECK(operands[i].dtype() == operands[first].dtype(), "{} of {} and {}", info(prim).name,
                name(operands[first].dtype()), name(operands[i].dtype()));
  }
  const Dtype dtype = result_dtype(prim, operands);
  return make({.prim = prim, .dtype = dtype, .operands = std::move(operands)});
}

Expr cast(const Expr& x, Dtype to) {
  return x.dtype() == to ? x : make({.prim = Prim::cast, .dtype = to, .operands = {x}});
}

Expr invert(const Expr& a) {
  // All bits set is -1 for signed types; unsigned constants saturate, so their all-ones is spelled as 0 - 1.
  const Expr ones = a.dtype() == Dtype::boolean    ? constant(a.dtype(), 1)
                    : is_signed_integer(a.dtype()) ? constant(a.dtype(), -1)
                                                   : constant(a.dtype(), 0) - constant(a.dtype(), 1);
  return apply(Prim::bit_xor, {a, ones});
}

}  // namespace expr
}  // namespace tenon
