// What rounding may leave of a graph's results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/dtype.h"
#include "tenon/graph.h"
#include "tenon/precision.h"

namespace tenon::cli {

/// How products round what they multiply.
struct ProductRounding {
  Precision precision = Precision::f32;      // of both operands, as of CompileOptions
  std::optional<WeightFormat> weights = {};  // of operands that are constants, likewise

  bool rounds() const { return precision != Precision::f32 || weights; }
  /// "products of bf16 and weights of i8"; empty where nothing is rounded.
  std::string to_string() const;
};

/// For each output, the error relative to its largest element that a right computation may have against one in f64.
/// Integers: none. f32: 1e-4, f64: 1e-10. Where halves are on the way, more: each operation whose result is a half
/// rounds by its epsilon, so the longest chain of them gives so many epsilons, and a sum of n terms may cancel all but
/// one part in sqrt(n) of what they were:
///   epsilon * (chain + sqrt(n)), n of the longest sum behind the first half; epsilon: 2^-10 for f16, 2^-7 for bf16
/// Where products round their operands, by as much as `products` says, that adds four times what it takes them to be
/// off when the roundings of the longest chain of n products are independent:
///   4 * epsilon * sqrt(n); epsilon: 2^-10 for tf32 and f16, 2^-7 for bf16 and i8
/// and all is at most a half.
std::vector<double> rounding_bounds(const Graph& graph, const Bindings& bindings, const ProductRounding& products = {});

/// The graph, in which every arithmetic result is off at random, by what rounding to its type may take, and so is every
/// operand of a product, by what `products` says: what comes out in f64 is as far from exact as roundings on the way
/// make it, also where the exact result is 0. Loops and conditionals are off in what they give, not inside. Another
/// seed gives other roundings.
///   before: sub(mul(a, b), c)        after: off(sub(off(mul(a, b)), c)),  off(x) = x * (1 + epsilon * uniform(-1, 1))
Graph with_roundings(const Graph& graph, uint64_t seed, const ProductRounding& products);

}  // namespace tenon::cli
