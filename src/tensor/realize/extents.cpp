#include "tensor/realize/extents.h"

#include <algorithm>
#include <unordered_map>

#include "base/fail.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon::tensors {
namespace {

/// Walks two structures side by side.
class Aligner {
 public:
  AlignedExtents found;

  bool same(const Op& a, const Op& b) {
    return a.index() == b.index() && std::visit(
                                         [&]<class Kind>(const Kind& kind) {
                                           constexpr size_t count = std::tuple_size_v<decltype(Kind::fields())>;
                                           return fields(kind, std::get<Kind>(b), std::make_index_sequence<count>());
                                         },
                                         a);
  }

  bool same(const Shape& a, const Shape& b) { return a.dtype() == b.dtype() && same(a.axes(), b.axes()); }

 private:
  template <class Kind, size_t... I>
  bool fields(const Kind& a, const Kind& b, std::index_sequence<I...>) {
    [[maybe_unused]] constexpr auto all = Kind::fields();
    return (same(a.*(std::get<I>(all).member), b.*(std::get<I>(all).member)) && ...);
  }

  bool same(const Extent& a, const Extent& b) {
    found.left.push_back(a);
    found.right.push_back(b);
    return true;
  }
  bool same(const Axis& a, const Axis& b) {
    return a.is_anonymous() || b.is_anonymous() ? a.is_anonymous() == b.is_anonymous() : same(a.extent(), b.extent());
  }
  bool same(const View& a, const View& b) { return same(as_op(a), as_op(b)); }
  bool same(const Array& a, const Array& b) { return same_structure(Op(Constant{a}), Op(Constant{b})); }

  bool same(const Graph& a, const Graph& b) {
    if (a.name() != b.name() || a.nodes().size() != b.nodes().size() || a.inputs().size() != b.inputs().size() ||
        a.outputs().size() != b.outputs().size() || !a.relations().empty() || !b.relations().empty()) {
      return false;
    }
    std::unordered_map<const Node*, const Node*> other;
    const auto same_value = [&](const Value& x, const Value& y) {
      const auto at = other.find(&x.node());
      return at != other.end() && at->second == &y.node() && x.output() == y.output();
    };
    for (size_t i = 0; i < a.nodes().size(); ++i) {
      const Node& x = *a.nodes()[i];
      const Node& y = *b.nodes()[i];
      if (!std::ranges::equal(x.inputs, y.inputs, same_value) || !same(x.op, y.op)) {
        return false;
      }
      other.emplace(&x, &y);
    }
    return std::ranges::equal(a.inputs(), b.inputs(), same_value) &&
           std::ranges::equal(a.outputs(), b.outputs(), [&](const Output& x, const Output& y) {
             return x.name == y.name && x.aliases == y.aliases && same_value(x.value, y.value);
           });
  }

  template <class T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return std::ranges::equal(a, b, [&](const T& x, const T& y) { return same(x, y); });
  }

  template <class T>
  bool same(const T& a, const T& b) {
    return a == b;
  }
};

/// Puts a list of sizes into a structure, in the order of an Aligner.
class Replacer {
 public:
  explicit Replacer(const std::vector<Extent>& extents) : extents_(extents) {}

  bool is_done() const { return used_ == extents_.size(); }

  Op replaced(const Op& op) {
    Op result = op;
    std::visit(
        [&](auto& kind) { for_each_field(kind, [&](std::string_view, auto& field) { field = replaced(field); }); },
        result);
    return result;
  }

  Shape replaced(const Shape& shape) { return {shape.dtype(), replaced(shape.axes())}; }

 private:
  Extent replaced(const Extent&) {
    TENON_CHECK(used_ < extents_.size(), "a structure has more sizes than were listed");
    return extents_[used_++];
  }
  Axis replaced(const Axis& axis) { return axis.is_anonymous() ? axis : Axis(replaced(axis.extent())); }
  View replaced(const View& view) { return *as_view(replaced(as_op(view))); }

  Graph replaced(const Graph& graph) {
    std::unordered_map<Value, Value> made;
    for (const Node* node : graph.nodes()) {
      if (const auto* in = node->as<Input>()) {
        made.emplace(Value(node, 0), input(in->name, replaced(in->shape)));
        continue;
      }
      std::vector<Value> operands;
      for (const Value& operand : node->inputs) {
        operands.push_back(made.at(operand));
      }
      const std::vector<Value> results = make_all(replaced(node->op), std::move(operands));
      for (size_t i = 0; i < results.size(); ++i) {
        made.emplace(Value(node, static_cast<int>(i)), results[i]);
      }
    }
    std::vector<Value> inputs;
    for (const Value& in : graph.inputs()) {
      inputs.push_back(made.at(in));
    }
    std::vector<Output> outputs = graph.outputs();
    for (Output& output : outputs) {
      output.value = made.at(output.value);
    }
    return {graph.name(), std::move(inputs), std::move(outputs)};
  }

  template <class T>
  std::vector<T> replaced(const std::vector<T>& list) {
    std::vector<T> result;
    result.reserve(list.size());
    for (const T& item : list) {
      result.push_back(replaced(item));
    }
    return result;
  }

  template <class T>
  T replaced(const T& other) {
    return other;
  }

  const std::vector<Extent>& extents_;
  size_t used_ = 0;
};

}  // namespace

std::optional<AlignedExtents> align(const Pending& left, const Pending& right) {
  Aligner aligner;
  if (left.roots() != right.roots() ||
      !std::ranges::equal(left.entries(), right.entries(), [&](const Entry& x, const Entry& y) {
        if (x.leaf != y.leaf || x.operands != y.operands) {
          return false;
        }
        return x.leaf ? aligner.same(x.value.shape(), y.value.shape())
                      : aligner.same(x.value.node().op, y.value.node().op);
      })) {
    return {};
  }
  return std::move(aligner.found);
}

bool same_but_for_sizes(const Op& left, const Op& right) { return Aligner().same(left, right); }

Pending with_extents(const Pending& pending, const std::vector<Extent>& extents) {
  Replacer replacer(extents);
  Pending result = pending.remade([&](const Shape& shape) { return replacer.replaced(shape); },
                                  [&](const Op& op) { return replacer.replaced(op); });
  TENON_CHECK(replacer.is_done(), "a structure has fewer sizes than were listed");
  return result;
}

}  // namespace tenon::tensors
