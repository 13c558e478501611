// The table of operators: which function reads which operator of which opset.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/import/node_call.h"

namespace tenon::importer {

using Importing = std::function<Results(const NodeCall&)>;

/// What an operator does with elements, which may stand for others: dequantised integers, or floats of 8 bits as bytes.
enum class ElementUse {
  numbers,      // it computes with them
  any,          // it looks itself at what they stand for, or at shapes alone, or passes items on
  moved,        // it moves those of several operands, which must stand for the same
  first_moved,  // it moves those of its first operand
};

/// An operator from opset `since` on, until a later entry of the same name. Domain "" is ONNX's own.
struct OperatorEntry {
  std::string_view domain;
  std::string_view name;
  int since = 1;
  Importing import;
  ElementUse elements = ElementUse::numbers;
};

/// An operator that only moves elements of its first operand, on integers where that was dequantised by one scale: what
/// it gives is then dequantised, too.
Importing on_integers(Importing moves);

/// The operator as this opset of its domain means it; null when there is none.
const OperatorEntry* find_operator(std::string_view domain, std::string_view name, int version);

/// The domain of the operators that ONNX Runtime has of its own.
inline constexpr std::string_view kMicrosoft = "com.microsoft";

/// Newest opset of ONNX's own domain that is understood.
constexpr int kNewestOpset = 28;

// The families, each in ops_<family>.cpp. Elementwise operators that are rows of the scalar table are not among them:
// the table itself says which.
std::vector<OperatorEntry> elementwise_operators();
std::vector<OperatorEntry> shape_operators();
std::vector<OperatorEntry> leaf_operators();
std::vector<OperatorEntry> indexing_operators();
std::vector<OperatorEntry> selection_operators();
std::vector<OperatorEntry> reduce_operators();
std::vector<OperatorEntry> product_operators();
std::vector<OperatorEntry> pool_operators();
std::vector<OperatorEntry> norm_operators();
std::vector<OperatorEntry> resize_operators();
std::vector<OperatorEntry> recurrent_operators();
std::vector<OperatorEntry> control_operators();
std::vector<OperatorEntry> loop_operators();
std::vector<OperatorEntry> sequence_operators();
std::vector<OperatorEntry> quant_operators();
std::vector<OperatorEntry> loss_operators();
std::vector<OperatorEntry> signal_operators();
std::vector<OperatorEntry> vision_operators();
std::vector<OperatorEntry> training_operators();
std::vector<OperatorEntry> attention_operators();
std::vector<OperatorEntry> microsoft_quant_operators();
std::vector<OperatorEntry> text_operators();
std::vector<OperatorEntry> microsoft_operators();
std::vector<OperatorEntry> microsoft_attention_operators();

}  // namespace tenon::importer
