#include "partition/work/opened.h"

#include <algorithm>
#include <optional>

#include "ir/unify_names.h"
#include "ops/make.h"
#include "passes/fold_constants.h"
#include "passes/recognize/recognize_composites.h"
#include "passes/rewriting/canonicalize.h"
#include "passes/rewriting/rewrite.h"

namespace tenon::partition {
namespace {

/// Products of the body itself and of composites in it; what loops and conditionals do is theirs.
int product_count(const Graph& body) {
  int count = 0;
  for (const Node* node : body.nodes()) {
    if (node->as<Contract>() != nullptr || node->as<Conv>() != nullptr) {
      ++count;
    } else if (const auto* call = node->as<Call>()) {
      count += product_count(call->body);
    }
  }
  return count;
}

class Opener {
 public:
  explicit Opener(Opened& opened) : opened_(opened) {}

  Graph open(const Graph& graph) {
    return passes::rewrite(
        graph, [&](const Node& node, const std::vector<Value>& operands) { return rule(node, operands, nullptr); });
  }

 private:
  using Results = std::optional<std::vector<Value>>;

  Results rule(const Node& node, const std::vector<Value>& operands, const Opened::Origin* from) {
    const auto* call = node.as<Call>();
    const int products = call == nullptr ? 0 : product_count(call->body);
    if (products > 0) {
      const Opened::Origin inner{.composite = call->body.name(), .call = next_call_++, .products = products};
      return inlined(call->body, operands, from != nullptr && from->products == products ? *from : inner);
    }
    if (from == nullptr) {
      return std::nullopt;
    }
    std::vector<Value> made = make_all(node.op, operands);
    opened_.origin.try_emplace(&made.front().node(), *from);
    return made;
  }

  Results inlined(const Graph& body, const std::vector<Value>& operands, const Opened::Origin& origin) {
    std::unordered_map<Value, Value> known;
    for (size_t i = 0; i < operands.size(); ++i) {
      known.emplace(body.inputs()[i], operands[i]);
    }
    std::vector<Value> roots;
    std::ranges::transform(body.outputs(), std::back_inserter(roots), &Output::value);
    return passes::rewrite_values(roots, std::move(known), [&](const Node& node, const std::vector<Value>& inner) {
      return rule(node, inner, &origin);
    });
  }

  Opened& opened_;
  int next_call_ = 0;
};

}  // namespace

Opened open_products(const Graph& graph) {
  Opened opened;
  const UnifyNames unify;  // nodes are made again whose builder may have had it
  const Graph named = passes::recognize_composites(passes::fold_constants(passes::canonicalize(graph)));
  opened.graph = Opener(opened).open(named);
  return opened;
}

}  // namespace tenon::partition
