// What a name of a model stands for.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tenon/graph.h"

namespace tenon::importer {

struct Item;
using Items = std::vector<Item>;

/// A tensor, or a sequence of items whose number is known, or nothing (an optional input that is left out).
struct Item {
  Value value = {};
  std::shared_ptr<const Items> sequence = {};
  bool half_byte = false;  // the model says INT4 or UINT4, which are held in eight bits

  Item() = default;
  Item(Value tensor, bool is_half_byte = false) : value(std::move(tensor)), half_byte(is_half_byte) {}
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
