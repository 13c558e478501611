// What a name of a model stands for.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "onnx/number_format.h"
#include "tenon/graph.h"

namespace tenon::importer {

struct Item;
using Items = std::vector<Item>;

/// What DequantizeLinear was given: (x - zero) * scale, one of each or one for each element of `axis`.
struct QuantisedSource {
  Value x;
  Value scale;
  Value zero;  // may be none
  int axis = 0;
};

struct FewBitsSource;

/// A tensor, or a sequence of items whose number is known, or nothing (an optional input that is left out).
struct Item {
  Value value = {};
  std::shared_ptr<const Items> sequence = {};
  Format format = Format::plain;                          // of what is held in eight bits
  std::shared_ptr<const QuantisedSource> quantised = {};  // where the tensor is integers that were dequantised
  std::shared_ptr<const FewBitsSource> few_bits = {};     // where it is a known matrix of numbers of a few bits

  Item() = default;
  Item(Value tensor, Format held = Format::plain) : value(std::move(tensor)), format(held) {}
  static Item list(Items items) {
    Item result;
    result.sequence = std::make_shared<const Items>(std::move(items));
    return result;
  }

  bool is_absent() const { return !value && !sequence; }
};

/// What an operator gives.
struct Results {
  Items items;

  Results(Value value) : items{Item(std::move(value))} {}
  Results(Item item) : items{std::move(item)} {}
  Results(Items list) : items(std::move(list)) {}
  Results(const std::vector<Value>& values) : items(values.begin(), values.end()) {}
};

}  // namespace tenon::importer
