#include "tensor/realize/changing_numbers.h"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace tenon::tensors {
namespace {

constexpr size_t kMostStructures = 1024;

/// A constant of a structure: its value when it was seen first, and whether there has been another.
struct SeenNumber {
  size_t entry = 0;
  Array value;
  bool changes = false;
};

/// By structure and place. Never destroyed, as other tables of lazy tensors.
struct SeenNumbers {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::vector<SeenNumber>> structures;
};
SeenNumbers& seen_numbers() {
  static auto& instance = *new SeenNumbers;
  return instance;
}

const Array* number_of(const Entry& entry) {
  const auto* constant = entry.leaf ? nullptr : entry.value.node().as<Constant>();
  return constant != nullptr && constant->value.rank() == 0 ? &constant->value : nullptr;
}

std::vector<SeenNumber> numbers_of(const Pending& pending) {
  std::vector<SeenNumber> numbers;
  for (size_t i = 0; i < pending.entries().size(); ++i) {
    if (const Array* value = number_of(pending.entries()[i])) {
      numbers.push_back({.entry = i, .value = *value});
    }
  }
  return numbers;
}

}  // namespace

void open_changing_numbers(Pending& pending, std::string_view place) {
  std::vector<SeenNumber> now = numbers_of(pending);
  if (now.empty()) {
    return;
  }
  const uint64_t key = combine_hash(pending.skeleton_hash(), hash_bytes(place));
  SeenNumbers& all = seen_numbers();
  const std::lock_guard lock(all.mutex);
  if (all.structures.size() >= kMostStructures) {
    all.structures.clear();
  }
  const auto [at, fresh] = all.structures.try_emplace(key, now);
  std::vector<SeenNumber>& seen = at->second;
  if (fresh || seen.size() != now.size()) {
    return;
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (seen[i].entry != now[i].entry) {
      return;  // another structure of the same hash
    }
    seen[i].changes |= !same_bits(seen[i].value, now[i].value);
    if (seen[i].changes) {
      pending.open_number(now[i].entry);
    }
  }
}

void forget_changing_numbers() {
  SeenNumbers& all = seen_numbers();
  const std::lock_guard lock(all.mutex);
  all.structures.clear();
}

}  // namespace tenon::tensors
