#include "tensor/realize/choose_weights.h"

#include <algorithm>
#include <unordered_map>

#include "ir/node.h"
#include "ir/walk.h"

namespace tenon::tensors {
namespace {

constexpr int64_t kLeastElements = 1024;    // of weights of products together: fewer gain less than a compile costs
constexpr int64_t kMostBeside = 64 * 1024;  // of what no product reads: a bias, a scale

bool is_product(const Node& node);

bool has_product(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node* node) { return is_product(*node); });
}

bool is_product(const Node& node) {
  return node.as<Contract>() != nullptr || node.as<Conv>() != nullptr ||
         std::ranges::any_of(called_graphs(node), has_product);
}

/// -1 for one that is not a number.
int64_t elements(const Shape& shape) { return shape.is_dynamic() ? -1 : shape.size(); }

/// What is known of a node from what it is computed from.
struct Reach {
  bool still = true;      // no input beneath it changes
  bool inputs = false;    // there are inputs beneath it
  bool products = false;  // ... and products
};

class Chooser {
 public:
  Chooser(const Graph& graph, const std::vector<bool>& still) : graph_(graph), still_(still) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value& in = graph.inputs()[i];
      number_.emplace(&in.node(), i);
      still_[i] = still_[i] && elements(in.shape()) > 1;
    }
    for (const Node* node : graph.nodes()) {
      product_.emplace(node, is_product(*node));
    }
  }

  bool may_pay() {
    look();
    return pays(read_by_products(true));
  }

  std::vector<size_t> chosen() {
    do {
      look();
    } while (free_one());
    const std::vector<bool> read = read_by_products(false);
    if (!pays(read)) {
      return {};
    }
    std::vector<size_t> result;
    for (size_t i = 0; i < still_.size(); ++i) {
      if (still_[i] && (read[i] || elements(graph_.inputs()[i].shape()) <= kMostBeside)) {
        result.push_back(i);
      }
    }
    return result;
  }

 private:
  void look() {
    for (const Node* node : graph_.nodes()) {
      const auto number = number_.find(node);
      if (number != number_.end()) {
        reach_[node] = {.still = still_[number->second], .inputs = true};
        continue;
      }
      Reach reach{.products = product_.at(node)};
      for (const Value& in : node->inputs) {
        const Reach& of = reach_.at(&in.node());
        reach.still &= of.still;
        reach.inputs |= of.inputs;
        reach.products |= of.products;
      }
      reach_[node] = reach;
    }
  }

  /// An output of still inputs alone, through products: one of those inputs counts as changing.
  bool free_one() {
    for (const Output& output : graph_.outputs()) {
      const Node* node = &output.value.node();
      const Reach& reach = reach_.at(node);
      if (!reach.still || !reach.inputs || !reach.products) {
        continue;
      }
      while (!number_.contains(node)) {
        node = source(*node);
      }
      still_[number_.at(node)] = false;
      return true;
    }
    return false;
  }

  /// The operand that data come from, rather than weights: one with products beneath it, positions, or the first.
  const Node* source(const Node& node) const {
    const auto first = [&](const auto& fits) -> const Node* {
      const auto at = std::ranges::find_if(node.inputs, [&](const Value& in) { return fits(reach_.at(&in.node())); });
      return at == node.inputs.end() ? nullptr : &at->node();
    };
    if (const Node* const with = first([](const Reach& of) { return of.products && of.inputs; })) {
      return with;
    }
    if (node.as<Gather>() != nullptr && reach_.at(&node.inputs[1].node()).inputs) {
      return &node.inputs[1].node();
    }
    return first([](const Reach& of) { return of.inputs; });
  }

  /// Whether these inputs are enough to be laid out.
  bool pays(const std::vector<bool>& read) const {
    int64_t sum = 0;
    for (size_t i = 0; i < read.size(); ++i) {
      sum += read[i] && still_[i] ? elements(graph_.inputs()[i].shape()) : 0;
    }
    return sum >= kLeastElements;
  }

  /// Which inputs are beneath an operand of a product whose other operands change, or of any product.
  std::vector<bool> read_by_products(bool any) {
    std::vector<bool> read(still_.size(), false);
    std::unordered_map<const Node*, bool> seen;
    std::vector<const Node*> work;
    for (const Node* node : graph_.nodes()) {
      if (!product_.at(node) || (reach_.at(node).still && !any)) {
        continue;
      }
      for (const Value& in : node->inputs) {
        const Reach& of = reach_.at(&in.node());
        if (of.still && of.inputs) {
          work.push_back(&in.node());
        }
      }
    }
    while (!work.empty()) {
      const Node* node = work.back();
      work.pop_back();
      if (!seen.emplace(node, true).second) {
        continue;
      }
      if (const auto number = number_.find(node); number != number_.end()) {
        read[number->second] = true;
      }
      for (const Value& in : node->inputs) {
        work.push_back(&in.node());
      }
    }
    return read;
  }

  const Graph& graph_;
  std::vector<bool> still_;
  std::unordered_map<const Node*, size_t> number_;  // of inputs
  std::unordered_map<const Node*, bool> product_;
  std::unordered_map<const Node*, Reach> reach_;
};

}  // namespace

std::vector<size_t> choose_weights(const Graph& graph, const std::vector<bool>& still) {
  return Chooser(graph, still).chosen();
}

bool may_have_weights(const Graph& graph, const std::vector<bool>& may_be) { return Chooser(graph, may_be).may_pay(); }

}  // namespace tenon::tensors
