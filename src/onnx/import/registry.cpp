#include "onnx/import/registry.h"

#include <algorithm>
#include <map>

#include "ops/scalar/scalar_table.h"

namespace tenon::importer {
namespace {

using Table = std::map<std::pair<std::string_view, std::string_view>, std::vector<OperatorEntry>>;

/// Opset 6 took the last traces of in-place computation out of operators that were there from the start.
int first_opset(const OnnxName& name) { return name.since <= 6 ? 1 : name.since; }

/// A row of the scalar table that is exactly an operator.
Importing row_import(const ScalarFn& row) {
  return [&row](const NodeCall& call) -> Results {
    const std::vector<Value> operands = call.tensors();
    return map(row.name, {operands.begin(), operands.end()});
  };
}

Table make_table() {
  Table table;
  const auto add = [&](OperatorEntry entry) { table[{entry.domain, entry.name}].push_back(std::move(entry)); };
  for (const auto family : {elementwise_operators, shape_operators,
                            leaf_operators,        indexing_operators,
                            selection_operators,   reduce_operators,
                            product_operators,     pool_operators,
                            norm_operators,        resize_operators,
                            recurrent_operators,   control_operators,
                            loop_operators,        sequence_operators,
                            quant_operators,       loss_operators,
                            signal_operators,      vision_operators,
                            training_operators,    text_operators,
                            microsoft_operators,   microsoft_attention_operators,
                            attention_operators,   microsoft_quant_operators}) {
    for (OperatorEntry& entry : family()) {
      if (entry.elements == ElementUse::first_moved) {
        entry.import = on_integers(std::move(entry.import));
      }
      add(std::move(entry));
    }
  }
  // An operator with an entry of its own needs more than its row.
  for (const ScalarFn* row : scalar_table()) {
    if (row->onnx.name.empty()) {
      continue;
    }
    const int since = first_opset(row->onnx);
    const auto found = table.find({"", row->onnx.name});
    const bool has_entry = found != table.end() && std::ranges::any_of(found->second, [&](const OperatorEntry& entry) {
                             return entry.since >= since;
                           });
    if (!has_entry) {
      add({.domain = "", .name = row->onnx.name, .since = since, .import = row_import(*row)});
    }
  }
  for (auto& [_, versions] : table) {
    std::ranges::stable_sort(versions, {}, &OperatorEntry::since);
  }
  return table;
}

}  // namespace

const OperatorEntry* find_operator(std::string_view domain, std::string_view name, int version) {
  static const Table table = make_table();
  const auto found = table.find({domain, name});
  const OperatorEntry* newest = nullptr;
  if (found != table.end()) {
    for (const OperatorEntry& entry : found->second) {
      newest = entry.since <= version ? &entry : newest;
    }
  }
  return newest;
}

}  // namespace tenon::importer
