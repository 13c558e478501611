#include "tensor/realize/interpret_small.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/hash.h"
#include "tenon/error.h"
#include "tenon/interpreter.h"
#include "tensor/realize/plain_names.h"
#include "tensor/realize/program.h"
#include "tensor/record/symbols.h"

namespace tenon::tensors {
namespace {

constexpr size_t kMostEntries = 32;       // recorded operations and leaves
constexpr int64_t kMostElements = 16384;  // of all of them together
constexpr size_t kMostPlaces = 1024;

/// How often a structure came to a place. Never destroyed, as other tables of lazy tensors.
struct InterpretedPlaces {
  std::mutex mutex;
  std::unordered_map<uint64_t, int> runs;
};
InterpretedPlaces& interpreted_places() {
  static auto& instance = *new InterpretedPlaces;
  return instance;
}

/// The elements of all outputs; nothing where one is a float, or its size is not known.
std::optional<int64_t> integers_of(const Entry& entry) {
  const std::vector<Shape>& shapes = entry.value.node().shapes;
  int64_t sum = 0;
  for (const Shape& shape : shapes) {
    int64_t count = is_float(shape.dtype()) ? kMostElements + 1 : 1;
    for (const Axis& axis : shape.axes()) {
      const std::optional<int64_t> size = size_of(axis.extent());
      if (!size) {
        return {};
      }
      count *= std::min(*size, kMostElements + 1);
      if (count > kMostElements) {
        return {};
      }
    }
    if (count > kMostElements) {
      return {};
    }
    sum += count;
  }
  return sum;
}

bool is_small(const Pending& pending) {
  const auto is_one = [](const Shape& shape) {
    return std::ranges::all_of(shape.axes(), [](const Axis& axis) { return size_of(axis.extent()) == 1; });
  };
  if (pending.entries().size() > kMostEntries || !is_one(pending.at(pending.roots().front()).shape())) {
    return false;
  }
  int64_t sum = 0;
  for (const Entry& entry : pending.entries()) {
    const std::optional<int64_t> count = integers_of(entry);
    if (!count || (sum += *count) > kMostElements) {
      return false;
    }
    if (entry.leaf && elements_of(entry.value).place().kind != DeviceKind::cpu) {
      return false;
    }
  }
  return true;
}

bool has_come_often(const Pending& pending, std::string_view place) {
  InterpretedPlaces& all = interpreted_places();
  const std::lock_guard lock(all.mutex);
  if (all.runs.size() >= kMostPlaces) {
    all.runs.clear();
  }
  int& runs = all.runs[combine_hash(pending.skeleton_hash(), hash_bytes(place))];
  return runs == kMostInterpreted || ++runs > kMostInterpreted;
}

}  // namespace

std::optional<std::vector<Array>> interpret_small(const Pending& pending, std::string_view place) {
  if (place.empty() || !is_small(pending) || has_come_often(pending, place)) {
    return {};
  }
  std::vector<Array> inputs;
  for (size_t i = 0; i < pending.leaves().size(); ++i) {
    inputs.push_back(elements_of(pending.leaf(i)));
  }
  try {
    const Pending plain = with_names(pending, known_sizes(names_of(pending)));
    return interpret(graph_of(plain, std::vector<int>(pending.roots().size(), -1)), inputs);
  } catch (const Error&) {
    return {};
  }
}

void forget_interpreted() {
  InterpretedPlaces& all = interpreted_places();
  const std::lock_guard lock(all.mutex);
  all.runs.clear();
}

}  // namespace tenon::tensors
