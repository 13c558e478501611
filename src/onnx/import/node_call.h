// One node of a model as its operator sees it: operands, attributes, and what is known of operands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/import/item.h"
#include "onnx/proto.h"
#include "tenon/ops.h"

namespace tenon::importer {

class Importer;

/// An operator looks at its node through this and builds with the public builders. Errors say which input or attribute
/// is wrong; the importer adds the node.
class NodeCall {
 public:
  NodeCall(Importer& importer, const proto::NodeProto& node, Items operands, int version)
      : importer_(importer), node_(node), operands_(std::move(operands)), version_(version) {}

  /// The opset of the operator's domain.
  int version() const { return version_; }
  const std::string& type() const { return node_.op_type(); }
  const proto::NodeProto& node() const { return node_; }
  Importer& importer() const { return importer_; }

  // --- Operands

  size_t count() const { return operands_.size(); }
  bool has(size_t i) const { return i < operands_.size() && !operands_[i].is_absent(); }
  /// The tensor; an Error when it is left out or a sequence.
  const Value& x(size_t i) const;
  /// The tensor, or an empty Value when it is left out.
  Value x_or_none(size_t i) const { return has(i) ? x(i) : Value(); }
  /// All tensors from `first` on.
  std::vector<Value> tensors(size_t first = 0) const;
  const Item& item(size_t i) const;
  const Items& sequence(size_t i) const;
  /// The same node with another operand.
  NodeCall with_operand(size_t i, Item item) const {
    Items operands = operands_;
    operands.at(i) = std::move(item);
    return {importer_, node_, std::move(operands), version_};
  }

  // --- Operands whose value is known: an Error, or OnnxValueNeeded, when it is not

  /// Sizes, which may be symbolic.
  std::vector<Extent> extents(size_t i) const;
  Extent extent(size_t i) const;
  std::vector<int64_t> integers(size_t i) const;
  int64_t integer(size_t i) const;
  Array array(size_t i) const;
  double number(size_t i) const;
  /// The same where it is known, without an Error.
  std::optional<std::vector<Extent>> known_extents(const Value& value) const;
  std::optional<Array> known_array(const Value& value) const;
  /// For a value that must be known, whatever it is for.
  [[noreturn]] void fail_unknown(const Value& value, std::string_view what) const;

  /// The two sizes must be equal when bound.
  void require_equal(const Extent& a, const Extent& b) const;
  /// The same of an axis of a parameter, by the name that the operator has for it.
  void require_size(const Value& parameter, int axis, const Extent& wanted, std::string_view name) const;
  /// The first must not be less when bound; `what` of the node needs it.
  void require_at_least(const Extent& a, const Extent& b, std::string_view what) const;

  // --- Attributes; without a default, a missing one is an Error

  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t attribute(std::string_view name) const;
  int64_t attribute(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const { return attribute(name, otherwise ? 1 : 0) != 0; }
  double number_attribute(std::string_view name, double otherwise) const;
  std::string text_attribute(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> list_attribute(std::string_view name) const;  // empty when missing
  std::vector<double> numbers_attribute(std::string_view name) const;
  std::vector<std::string> texts_attribute(std::string_view name) const;
  Array array_attribute(std::string_view name, Format* format = nullptr) const;
  Dtype dtype_attribute(std::string_view name, Dtype otherwise) const;
  /// The format that such an attribute says, where its elements are held in eight bits.
  Format format_attribute(std::string_view name) const;
  const proto::GraphProto& graph_attribute(std::string_view name) const;
  /// An int attribute as an axis number.
  int axis(std::string_view name, int otherwise) const;
  /// A count or a size that must be given, from 1 to `most`.
  int64_t count_attribute(std::string_view name, int64_t most = int64_t{1} << 20) const;

  // --- Results

  size_t result_count() const { return static_cast<size_t>(node_.output_size()); }
  /// Whether the model gives a name to this result.
  bool wants(size_t result) const;

 private:
  void require(Constraint relation, std::string_view what) const;
  const proto::AttributeProto* find(std::string_view name) const;
  const proto::AttributeProto* find(std::string_view name, proto::AttributeProto::AttributeType type) const;

  Importer& importer_;
  const proto::NodeProto& node_;
  Items operands_;
  int version_;
};

/// Error that says which ranks are taken, unless `x`, which the user knows as `what`, has `least` to `most` axes.
void require_rank(const Value& x, int least, int most, std::string_view what);
inline constexpr int kMostRank = 32;

/// 0, 1, ... for each axis of x.
Axes all_axes(const Value& x);
/// Whole numbers as axis numbers.
Axes to_axes(const std::vector<int64_t>& numbers);
std::vector<Axis> to_shape_axes(const std::vector<Extent>& extents);

}  // namespace tenon::importer
