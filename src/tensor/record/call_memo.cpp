#include "tensor/record/call_memo.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/hash.h"
#include "ir/node.h"
#include "tenon/ops.h"

namespace tenon::tensors {
namespace {

constexpr size_t kMostCalls = 1024;

/// A composite: which operand each input of its body is, and which of its outputs the results are.
struct Made {
  CallKey key;
  Graph body;
  std::vector<size_t> operands;
  std::vector<int> outputs;
};

/// Never destroyed, as other tables of this folder.
struct CallTable {
  std::mutex mutex;
  std::unordered_multimap<uint64_t, Made> made;
};
CallTable& call_table() {
  static auto& instance = *new CallTable;
  return instance;
}

}  // namespace

uint64_t CallKey::hash() const {
  uint64_t hash = hash_bytes(entry->name);
  for (const Shape& shape : shapes) {
    hash = combine_hash(hash, shape.hash());
  }
  for (const Part& part : parts) {
    hash = combine_hash(hash, part.index());
    if (const auto* number = std::get_if<int64_t>(&part)) {
      hash = combine_hash(hash, static_cast<uint64_t>(*number));
    }
  }
  return hash;
}

CallKey call_key(const CatalogEntry& entry, const std::vector<Argument>& arguments, std::span<const Value> operands) {
  CallKey key{.entry = &entry, .parts = {}, .shapes = {}};
  for (const Argument& argument : arguments) {
    key.parts.push_back(std::visit(
        []<class T>(const T& content) -> CallKey::Part {
          if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, std::vector<Tensor>> ||
                        std::is_same_v<T, TensorOperand>) {
            return true;  // its shape stands among the others
          } else if constexpr (std::is_same_v<T, std::string_view>) {
            return std::string(content);
          } else {
            return content;
          }
        },
        argument.content()));
    if (const auto* operand = std::get_if<TensorOperand>(&argument.content());
        operand != nullptr && operand->tensor() == nullptr) {
      key.parts.back() = operand->number();
    }
    if (const auto* list = std::get_if<std::vector<Tensor>>(&argument.content())) {
      key.parts.back() = static_cast<int64_t>(list->size());
    }
  }
  for (const Value& operand : operands) {
    key.shapes.push_back(operand.shape());
  }
  return key;
}

std::optional<std::vector<Value>> remembered_call(const CallKey& key, std::span<const Value> operands) {
  CallTable& all = call_table();
  std::vector<Value> given;
  Graph body;
  std::vector<int> outputs;
  {
    const std::lock_guard lock(all.mutex);
    const auto [begin, end] = all.made.equal_range(key.hash());
    const auto found = std::find_if(begin, end, [&](const auto& one) { return one.second.key == key; });
    if (found == end) {
      return {};
    }
    body = found->second.body;
    outputs = found->second.outputs;
    for (const size_t i : found->second.operands) {
      given.push_back(operands[i]);
    }
  }
  const std::vector<Value> all_outputs = call(body, given);
  std::vector<Value> results;
  for (const int output : outputs) {
    results.push_back(all_outputs[static_cast<size_t>(output)]);
  }
  return results;
}

void remember_call(CallKey key, std::span<const Value> operands, const std::vector<Value>& results) {
  if (results.empty()) {
    return;
  }
  const Node& node = results[0].node();
  const auto* made = node.as<Call>();
  if (made == nullptr || !std::ranges::all_of(results, [&](const Value& one) { return &one.node() == &node; })) {
    return;
  }
  Made entry{.key = std::move(key), .body = made->body, .operands = {}, .outputs = {}};
  for (const Value& in : node.inputs) {
    const auto found = std::ranges::find(operands, in);
    if (found == operands.end() || std::find(found + 1, operands.end(), in) != operands.end()) {
      return;  // something is computed before, or it is not plain which operand it is
    }
    entry.operands.push_back(static_cast<size_t>(found - operands.begin()));
  }
  for (const Value& result : results) {
    entry.outputs.push_back(result.output());
  }
  CallTable& all = call_table();
  const std::lock_guard lock(all.mutex);
  if (all.made.size() >= kMostCalls) {
    all.made.clear();
  }
  const uint64_t hash = entry.key.hash();
  all.made.emplace(hash, std::move(entry));
}

}  // namespace tenon::tensors
