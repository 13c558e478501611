#include "interp/evaluate.h"

namespace tenon {

Arrays evaluate(const Positions& op, const Evaluation& e) {
  std::vector<int64_t> found;
  const auto truth = e.inputs[0].values<bool>();
  for (size_t i = 0; i < truth.size(); ++i) {
    if (truth[i]) {
      found.push_back(static_cast<int64_t>(i));
    }
  }
  const auto count = static_cast<int64_t>(found.size());
  if (op.axis.is_anonymous()) {
    found.resize(truth.size());
  }
  return {Array::from({static_cast<int64_t>(found.size())}, found), Array::from<int64_t>({}, {count})};
}

}  // namespace tenon
