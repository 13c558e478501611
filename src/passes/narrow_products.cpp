#include "passes/narrow_products.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <unordered_map>

#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/elementwise.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

constexpr int kDropped = 13;  // bits of f32 that tf32 has not
constexpr int32_t kHalf = (1 << (kDropped - 1)) - 1;
constexpr int32_t kKept = -(1 << kDropped);

/// To nearest, ties to even. What carries over goes into the exponent, as it should.
float to_tf32(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  if (x != x) return x;
  const auto odd = static_cast<uint32_t>(bits >> kDropped & 1);
  const uint32_t rounded = static_cast<uint32_t>(bits) + static_cast<uint32_t>(kHalf) + odd;
  return std::bit_cast<float>(rounded & static_cast<uint32_t>(kKept));
}

Value word(int32_t number) { return constant(Array::full(Dtype::i32, {}, number)); }

Value to_tf32(const Value& x) {
  const Value bits = reinterpret(x);
  const Value odd = bit_and(shr(bits, word(kDropped)), word(1));
  const Value rounded = bit_and(bits + word(kHalf) + odd, word(kKept));
  return select(eq(x, x), reinterpret(rounded), x);
}

Dtype half_type(Precision precision) { return precision == Precision::f16 ? Dtype::f16 : Dtype::bf16; }

class Narrowing {
 public:
  explicit Narrowing(Precision precision) : precision_(precision) {}

  Value operator()(const Value& x) {
    const auto [entry, is_new] = narrowed_.try_emplace(x);
    if (is_new) entry->second = rounded(x);
    return entry->second;
  }

 private:
  Value rounded(const Value& x) const {
    const auto* const known = x.node().as<Constant>();
    if (precision_ != Precision::tf32) {
      const Dtype dtype = half_type(precision_);
      return cast(known == nullptr ? cast(x, dtype) : constant(known->value.cast(dtype)), Dtype::f32);
    }
    if (known == nullptr) return to_tf32(x);
    Array copy = Array::uninitialized(Dtype::f32, known->value.dims());
    std::ranges::transform(known->value.values<float>(), copy.mutable_values<float>().begin(),
                           [](float each) { return to_tf32(each); });
    return constant(std::move(copy));
  }

  Precision precision_;
  std::unordered_map<Value, Value> narrowed_;  // so that what many products read is rounded once
};

bool is_product(const Node& node) {
  const bool multiplies = node.as<Contract>() != nullptr || node.as<Conv>() != nullptr;
  return multiplies && node.shapes[0].dtype() == Dtype::f32;
}

}  // namespace

Graph narrow_products(const Graph& graph, Precision precision) {
  if (precision == Precision::f32) return graph;
  Narrowing narrowing(precision);
  return rewrite(graph, [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    const bool is_f32 = std::ranges::all_of(operands, [](const Value& each) { return each.dtype() == Dtype::f32; });
    if (!is_product(node) || !is_f32) return std::nullopt;
    std::vector<Value> narrow;
    std::ranges::transform(operands, std::back_inserter(narrow), std::ref(narrowing));
    return std::vector{make(node.op, narrow)};
  });
}

}  // namespace tenon::passes
