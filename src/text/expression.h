// Operations and operands: text to nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kinds.h"
#include "tenon/operand.h"
#include "text/arguments.h"
#include "text/cursor.h"
#include "text/graph_table.h"
#include "text/scope.h"

namespace tenon::text {

/// What a name means as an operation.
enum class Reading : uint8_t {
  exact,    // a row or a kind makes exactly that node: what the printer writes
  builder,  // what the C++ builder of that name gives; kinds that have none as they are
};

/// Holds references to what it is given.
class ExpressionParser {
 public:
  ExpressionParser(const Scope& scope, GraphTable& graphs) : scope_(scope), graphs_(graphs) {}

  /// The values of the expression at the cursor, which moves past it.
  std::vector<Value> parse(Cursor& cursor, Reading reading);
  /// One value.
  Value parse_value(Cursor& cursor);
  /// One value, or a number.
  Operand parse_operand(Cursor& cursor);

  GraphTable& graphs() { return graphs_; }
  /// Whether the name at the cursor is that of a value.
  bool is_value(const Cursor& cursor) const { return scope_.contains(cursor); }

 private:
  std::vector<Value> operation(const Cursor& name, Arguments& arguments, Reading reading);
  std::vector<Value> elementwise(const ScalarFn& fn, const Cursor& name, Arguments& arguments, Reading reading);
  std::vector<Value> structural(Op op, const Cursor& name, Arguments& arguments);

  const Scope& scope_;
  GraphTable& graphs_;
  int nesting_ = 0;
};

}  // namespace tenon::text
