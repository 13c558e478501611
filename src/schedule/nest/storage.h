// In which order the axes of a value lie in memory.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/node.h"
#include "tenon/array.h"

namespace tenon::schedule {

/// Images whose channels lie side by side: what convolutions leave for each other, and constant weights between.
/// A convolution over such images is a product of rows of channels with panels of weights, whatever the images' sizes;
/// windows and maps have whole vectors of channels. No kernel converts from one order to another: the one that makes a
/// value stores it in its order, and those that read it load it by that.
class StorageOrders {
 public:
  StorageOrders() = default;
  explicit StorageOrders(const Graph& graph);

  /// The axes of a value, outermost first; null where they lie as they are numbered.
  const std::vector<int>* of(const Value& value) const;
  /// From now on the value lies row by row. Whether it did not before.
  bool lay_in_rows(const Value& value) { return orders_.erase(value) > 0; }

 private:
  std::unordered_map<Value, std::vector<int>> orders_;
};

}  // namespace tenon::schedule
