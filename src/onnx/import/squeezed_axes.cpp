#include "onnx/import/squeezed_axes.h"

#include <algorithm>

#include "base/fail.h"
#include "onnx/import/importer.h"

namespace tenon::importer {
namespace {

/// More named axes than this are not tried in all combinations.
constexpr size_t kMostOpen = 8;

/// How well axes of x agree with what is declared, one by one: less than 0 where they cannot be the same.
int agreement(const Value& x, const std::vector<int>& kept, const proto::TensorShapeProto& declared) {
  int score = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    const proto::TensorShapeProto::Dimension& dim = declared.dim(static_cast<int>(i));
    const Extent& extent = x.extent(kept[i]);
    const bool are_numbers = dim.has_dim_value() && extent.is_constant();
    if (are_numbers && extent != Extent(dim.dim_value())) {
      return -1;
    }
    score += are_numbers || extent.as_name() == dim.dim_param() ? 1 : 0;
  }
  return score;
}

/// Which of the `open` axes go when the result has the axes that are declared: those with which the others agree best,
/// the first ones among equals. Nothing where no choice fits.
std::optional<Axes> declared_to_go(const Value& x, const Axes& ones, const Axes& open,
                                   const proto::TensorShapeProto& declared) {
  const int count = x.rank() - static_cast<int>(ones.size()) - declared.dim_size();
  if (count < 0 || count > std::ssize(open) || open.size() > kMostOpen) {
    return {};
  }
  std::optional<Axes> best;
  int best_score = -1;
  for (size_t set = 0; set < size_t{1} << open.size(); ++set) {
    Axes gone;
    for (size_t i = 0; i < open.size(); ++i) {
      if ((set >> i & 1) != 0) {
        gone.push_back(open[i]);
      }
    }
    if (std::ssize(gone) != count) {
      continue;
    }
    std::vector<int> kept;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (std::ranges::find(ones, axis) == ones.end() && std::ranges::find(gone, axis) == gone.end()) {
        kept.push_back(axis);
      }
    }
    if (const int score = agreement(x, kept, declared); score > best_score) {
      best_score = score;
      best = gone;
    }
  }
  return best;
}

}  // namespace

Axes squeezed_axes(const NodeCall& call, const Value& x) {
  Axes ones;
  Axes open;
  for (int i = 0; i < x.rank(); ++i) {
    const Verdict is_one = tenon::decide({.kind = Constraint::Kind::equal, .lhs = x.extent(i), .rhs = 1});
    if (is_one == Verdict::holds) {
      ones.push_back(i);
    } else if (is_one == Verdict::unknown) {
      open.push_back(i);
    }
  }
  if (open.empty()) {
    return ones;
  }
  const std::string& result = call.node().output(0);
  const proto::TensorShapeProto* const declared = call.importer().declared(result);
  const std::optional<Axes> gone = declared == nullptr ? std::nullopt : declared_to_go(x, ones, open, *declared);
  for (const int axis : open) {
    const Deciding how{
        .likely = gone && std::ranges::find(*gone, axis) != gone->end(),
        .because = gone ? fmt::format("the file declares `{}` with rank {}", result, declared->dim_size()) : "",
        .needed_by = fmt::format("the rank that {} of {} was given when the model was read", call.type(),
                                 x.shape().to_string())};
    if (call.importer().decide({.lhs = x.extent(axis), .rhs = 1}, call.node(), how)) {
      ones.push_back(axis);
    }
  }
  std::ranges::sort(ones);
  return ones;
}

}  // namespace tenon::importer
