// Composites that were built before: the same builder on operands of the same shapes makes a call of the same body.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ops/catalog/catalog.h"
#include "tenon/graph.h"
#include "tensor/record/argument.h"

namespace tenon::tensors {

/// What a builder was called with, tensors as their shapes.
struct CallKey {
  using Part = std::variant<std::monostate, int64_t, double, bool, std::string, Dtype, Extent, Shape,
                            std::vector<int64_t>, std::vector<Extent>, std::vector<Axis>>;
  const CatalogEntry* entry = nullptr;
  std::vector<Part> parts;
  std::vector<Shape> shapes;  // of the tensors, in order

  friend bool operator==(const CallKey&, const CallKey&) = default;
  uint64_t hash() const;
};
CallKey call_key(const CatalogEntry& entry, const std::vector<Argument>& arguments, std::span<const Value> operands);

/// The results of the builder on `operands`, where it was called with the same key before and its results were those of
/// one composite over its operands; else nothing.
std::optional<std::vector<Value>> remembered_call(const CallKey& key, std::span<const Value> operands);
/// Keep what `results` are, if they are such.
void remember_call(CallKey key, std::span<const Value> operands, const std::vector<Value>& results);

}  // namespace tenon::tensors
