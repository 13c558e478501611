// The statements of one graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/graph.h"
#include "text/cursor.h"
#include "text/expression.h"
#include "text/graph_table.h"
#include "text/scope.h"

namespace tenon::text {

/// Reads inputs, then statements, then makes the graph. Used by the module parser, and by tests whose files frame the
/// same statements differently.
class GraphParser {
 public:
  /// `graphs` are those that may be called; it must outlive this.
  explicit GraphParser(GraphTable& graphs) : graphs_(graphs) {}
  GraphParser(const GraphParser&) = delete;
  GraphParser& operator=(const GraphParser&) = delete;

  /// `x: f32[batch]`
  void parse_input(Cursor& cursor);
  /// `y = exp(x)`, `where batch multiple of 8` or `return y`
  void parse_statement(Cursor& cursor);

  /// The values that the last `y = ...` defined, by their names.
  const std::vector<Output>& last_defined() const { return last_defined_; }
  bool has_returned() const { return has_returned_; }
  /// What `name` stands for; null when nothing does.
  const Value* find(const std::string& name) const { return scope_.find(name); }

  Graph finish(const std::string& name) const { return finish(name, outputs_); }
  Graph finish(const std::string& name, std::vector<Output> outputs) const;

 private:
  void parse_definition(Cursor& cursor);
  void parse_relation(Cursor& cursor);
  void parse_return(Cursor& cursor);
  Output parse_output(Cursor& cursor);
  int parse_alias(Cursor& cursor) const;

  GraphTable& graphs_;
  Scope scope_;
  ExpressionParser expressions_{scope_, graphs_};
  std::vector<Value> inputs_;
  std::vector<Output> outputs_;
  std::vector<Constraint> relations_;
  std::vector<Output> last_defined_;
  bool has_returned_ = false;
};

}  // namespace tenon::text
