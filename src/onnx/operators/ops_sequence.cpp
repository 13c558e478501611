// Sequences and optionals, which exist while a model is imported: their length is known then, so nothing of them is
// left in the graph.
#include <algorithm>

#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/import/registry.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// A position before one of `size` elements; with `behind`, also behind the last.
size_t position_in(const NodeCall& call, size_t operand, size_t size, bool behind = false) {
  int64_t position = call.integer(operand);
  position += position < 0 ? static_cast<int64_t>(size) : 0;
  if (position < 0 || position >= static_cast<int64_t>(size) + (behind ? 1 : 0)) {
    refuse("position {} is not in a sequence of {}", position, size);
  }
  return static_cast<size_t>(position);
}

Results construct(const NodeCall& call) {
  const std::vector<Value> values = call.tensors();
  return Item::list({values.begin(), values.end()});
}

Results empty(const NodeCall&) { return Item::list({}); }

Results at(const NodeCall& call) {
  const Items& list = call.sequence(0);
  return list[position_in(call, 1, list.size())];
}

Results insert(const NodeCall& call) {
  Items list = call.sequence(0);
  const size_t position = call.has(2) ? position_in(call, 2, list.size(), true) : list.size();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(position), call.item(1));
  return Item::list(std::move(list));
}

Results erase(const NodeCall& call) {
  Items list = call.sequence(0);
  if (list.empty()) {
    refuse("the sequence is empty");
  }
  const size_t position = call.has(1) ? position_in(call, 1, list.size()) : list.size() - 1;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
  return Item::list(std::move(list));
}

Results length(const NodeCall& call) {
  return constant(Array::from<int64_t>({}, {static_cast<int64_t>(call.sequence(0).size())}));
}

Results concat_from(const NodeCall& call) {
  std::vector<Value> values;
  for (const Item& item : call.sequence(0)) {
    if (!item.value) {
      refuse("the sequence holds sequences");
    }
    values.push_back(item.value);
  }
  if (values.empty()) {
    refuse("the sequence is empty");
  }
  call.attribute("axis");
  return call.flag("new_axis") ? stack(values, call.axis("axis", 0)) : concat(values, call.axis("axis", 0));
}

Results split_to(const NodeCall& call) {
  constexpr int64_t most_parts = 65536;
  const Value& x = call.x(0);
  const int axis = x.shape().normalize_axis(call.axis("axis", 0));
  std::vector<Extent> sizes;
  const bool one_size = !call.has(1) || call.x(1).rank() == 0;
  if (one_size) {
    const std::optional<int64_t> size = x.extent(axis).constant();
    const int64_t each = call.has(1) ? call.integer(1) : 1;
    if (!size || each < 1 || *size / each > most_parts) {
      refuse("an axis of {} cannot be split into a known number of parts of {}", x.extent(axis).to_string(), each);
    }
    for (int64_t begin = 0; begin < *size; begin += each) {
      sizes.emplace_back(std::min(each, *size - begin));
    }
  } else {
    sizes = call.extents(1);
  }
  std::vector<Value> parts = split(x, axis, sizes);
  if (!call.has(1) && !call.flag("keepdims", true)) {
    for (Value& part : parts) {
      part = squeeze(part, {axis});
    }
  }
  return Item::list({parts.begin(), parts.end()});
}

/// The body for each element; what is no sequence is given to all alike.
Results sequence_map(const NodeCall& call) {
  const size_t size = call.sequence(0).size();
  std::vector<Items> lists(call.result_count());
  for (size_t i = 0; i < size; ++i) {
    Items inputs;
    for (size_t k = 0; k < call.count(); ++k) {
      const Item& item = call.item(k);
      if (item.sequence && item.sequence->size() != size) {
        refuse("sequences of {} and {} elements are given", size, item.sequence->size());
      }
      inputs.push_back(item.sequence ? (*item.sequence)[i] : item);
    }
    const Items results = call.importer().run_body(call.graph_attribute("body"), inputs,
                                                   constant(Array::from<int64_t>({}, {static_cast<int64_t>(i)})));
    if (results.size() != lists.size()) {
      refuse("the body gives {} results, must give {}", results.size(), lists.size());
    }
    for (size_t k = 0; k < lists.size(); ++k) {
      lists[k].push_back(results[k]);
    }
  }
  Items results;
  for (Items& list : lists) {
    results.push_back(Item::list(std::move(list)));
  }
  return results;
}

Results optional(const NodeCall& call) { return call.has(0) ? call.item(0) : Item(); }
Results get_element(const NodeCall& call) { return call.item(0); }
Results has_element(const NodeCall& call) { return scalar(Dtype::boolean, call.has(0) ? 1 : 0); }

}  // namespace

std::vector<OperatorEntry> sequence_operators() {
  return {
      {"", "SequenceConstruct", 11, construct, ElementUse::any},
      {"", "SequenceEmpty", 11, empty},
      {"", "SequenceAt", 11, at, ElementUse::any},
      {"", "SequenceInsert", 11, insert, ElementUse::any},
      {"", "SequenceErase", 11, erase, ElementUse::any},
      {"", "SequenceLength", 11, length, ElementUse::any},
      {"", "SequenceMap", 17, sequence_map},
      {"", "ConcatFromSequence", 11, concat_from},
      {"", "SplitToSequence", 11, split_to},
      {"", "Optional", 15, optional, ElementUse::any},
      {"", "OptionalGetElement", 15, get_element},
      {"", "OptionalHasElement", 15, has_element},
  };
}

}  // namespace tenon::importer
