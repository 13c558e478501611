// The one way to make a node: infer, check, intern.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/node.h"
#include "ops/infer.h"
#include "tenon/error.h"

namespace tenon {

/// The node's first output. Errors name the operation, the operands' shapes and the place.
Value make(Op op, std::vector<Value> inputs);
/// All of its outputs.
std::vector<Value> make_all(Op op, std::vector<Value> inputs);

/// As input(), with something attached to it (ir/kinds.h).
Value attached_input(std::string name, const Shape& shape, std::shared_ptr<void> attached);

/// Add the operation, the operands and the place to an error from building code, unless somebody inside did.
[[noreturn]] void rethrow_with_context(const Error& error, std::string_view operation,
                                       const std::vector<std::string>& operand_names, Operands operands);

/// Run `build`, giving its errors the context of `operation` on `operands`.
template <class Build>
auto in_context(std::string_view operation, const std::vector<Value>& operands, Build&& build) {
  try {
    return build();
  } catch (const Error& error) {
    rethrow_with_context(error, operation, {}, operands);
  }
}

}  // namespace tenon
