// What sizes decide of a model, and what a file declares of its values.
#include <algorithm>

#include "base/fail.h"
#include "onnx/import/importer.h"

namespace tenon::importer {

std::string describe(const proto::NodeProto& node) {
  return node.name().empty() && node.output_size() > 0
             ? fmt::format("{} -> {}", node.op_type(), node.output(0))
             : fmt::format("{}", node.name().empty() ? node.op_type() : node.name());
}

bool Importer::decide(const SizeCondition& condition, const proto::NodeProto& node, const Deciding& how) {
  SizeCondition plain = condition;
  plain.negated = false;
  const auto same = std::ranges::find(decided_, plain, &Decided::condition);
  if (same != decided_.end()) {
    same->is_branch = same->is_branch || how.needed_by.empty();
    return same->holds != condition.negated;
  }
  std::optional<bool> holds = evaluate(plain, sizes_);
  std::string reason = "so it is at the sizes that were given";
  if (!holds) {
    if (guessed_ == guesses_.size()) {
      guesses_.push_back(false);
    }
    const bool otherwise = guesses_[guessed_++];
    holds = how.likely != otherwise;
    reason = otherwise             ? "otherwise the model makes no sense"
             : how.because.empty() ? "no size was given that says otherwise"
                                   : how.because;
  }
  decided_.push_back({.condition = plain, .holds = *holds, .is_branch = how.needed_by.empty()});
  Constraint relation = required(plain, *holds, sizes_);
  relation.needed_by = !how.needed_by.empty()
                           ? how.needed_by
                           : fmt::format("the branch of {} that was taken when the model was read", node.op_type());
  relation.place = describe(node);
  assume(std::move(relation), std::move(reason));
  return *holds != condition.negated;
}

size_t Importer::branch_count() const {
  return static_cast<size_t>(std::ranges::count_if(decided_, &Decided::is_branch));
}

void Importer::assume(Constraint relation, std::string reason) {
  assumed_.push_back({.relation = relation, .reason = std::move(reason)});
  add_relation(std::move(relation));
}

const proto::TensorShapeProto* Importer::declared(const std::string& name) const {
  if (graphs_.empty() || graphs_.back() == nullptr) {
    return nullptr;
  }
  for (const auto* list : {&graphs_.back()->output(), &graphs_.back()->value_info()}) {
    for (const proto::ValueInfoProto& value : *list) {
      if (value.name() == name && value.type().tensor_type().has_shape()) {
        return &value.type().tensor_type().shape();
      }
    }
  }
  return nullptr;
}

}  // namespace tenon::importer
