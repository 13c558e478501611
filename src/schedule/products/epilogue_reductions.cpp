#include "schedule/products/epilogue_reductions.h"

#include <algorithm>
#include <iterator>

#include "schedule/draft/refusal.h"

namespace tenon::schedule {
namespace {

/// What values are computed from, without what is behind reductions in `behind`.
std::vector<int> ingredients_before(const Draft& draft, std::vector<int> pending, const std::vector<bool>& behind) {
  std::vector<bool> seen(draft.kernel.values.size(), false);
  std::vector<int> found;
  while (!pending.empty()) {
    const int value = pending.back();
    pending.pop_back();
    if (seen[static_cast<size_t>(value)]) {
      continue;
    }
    seen[static_cast<size_t>(value)] = true;
    found.push_back(value);
    if (const DraftReduction* reduction = draft.reduction_of(value)) {
      const loops::Accumulator& accumulator = draft.accumulator(*reduction);
      if (!behind[static_cast<size_t>(reduction - draft.reductions.data())]) {
        pending.push_back(accumulator.input);
        pending.insert(pending.end(), accumulator.position >= 0 ? 1u : 0u, accumulator.position);
      }
      continue;
    }
    std::ranges::copy(operands_of(draft.value(value)), std::back_inserter(pending));
  }
  return found;
}

/// By reduction: whether it is no product and no product needs it.
std::vector<bool> behind_products(const Draft& draft, const std::vector<ProductMatch>& products) {
  std::vector<int> results;
  for (const ProductMatch& product : products) {
    results.push_back(product.result);
  }
  std::vector<bool> behind(draft.reductions.size(), true);
  for (const int value : ingredients_of(draft, results)) {
    if (const DraftReduction* reduction = draft.reduction_of(value)) {
      behind[static_cast<size_t>(reduction - draft.reductions.data())] = false;
    }
  }
  return behind;
}

}  // namespace

EpilogueReductions find_epilogue_reductions(const Draft& draft, const std::vector<ProductMatch>& products,
                                            const std::vector<size_t>& stores) {
  const std::vector<bool> behind = behind_products(draft, products);
  const auto is_product = [&](int value) {
    return std::ranges::find(products, value, &ProductMatch::result) != products.end();
  };
  const auto reads_product = [&](const std::vector<int>& ingredients) {
    return std::ranges::any_of(ingredients, is_product);
  };
  const auto is_epilogue = [&](int value) {
    const DraftReduction* reduction = draft.reduction_of(value);
    return reduction && behind[static_cast<size_t>(reduction - draft.reductions.data())];
  };
  EpilogueReductions found{.reductions = {}, .stores = {}, .common = ~AxisSet{0}};
  std::vector<int> values;
  for (size_t i = 0; i < draft.reductions.size(); ++i) {
    if (!behind[i]) {
      continue;
    }
    const DraftReduction& reduction = draft.reductions[i];
    const DraftReduction& first = draft.reductions[found.reductions.empty() ? i : found.reductions[0]];
    if (reduction.axes != first.axes || reduction.level != first.level) {
      throw Refusal{"its reductions run over different axes", {}};
    }
    found.reductions.push_back(i);
    found.common = reduction.axes | reduction.level;
    const loops::Accumulator& accumulator = draft.accumulator(reduction);
    values.push_back(accumulator.input);
    values.insert(values.end(), accumulator.position >= 0 ? 1u : 0u, accumulator.position);
  }
  if (!reads_product(ingredients_before(draft, values, behind))) {
    throw Refusal{"nothing that its products leave is reduced", {}};
  }
  const DraftReduction& first = draft.reductions[found.reductions[0]];
  if (std::ranges::any_of(products, [&](const ProductMatch& product) { return (first.axes & product.depth) != 0; })) {
    throw Refusal{"its reductions run over different axes", {}};
  }
  for (const size_t store : stores) {
    const DraftStore& s = draft.stores[store];
    const std::vector<int> before = ingredients_before(draft, {s.value}, behind);
    if (s.axes == first.level && !reads_product(before)) {
      continue;
    }
    if (std::ranges::any_of(before, is_epilogue)) {
      throw Refusal{"it needs what is known after the last tile of a product", {}};
    }
    found.stores.push_back(store);
    found.common &= s.axes;
    values.push_back(s.value);
  }
  for (const int value : ingredients_before(draft, values, behind)) {
    const DraftReduction* reduction = draft.reduction_of(value);
    if (reduction == nullptr || is_epilogue(value)) {
      continue;
    }
    if (!is_product(value) && (reduction->level & first.axes) != 0) {
      // The loop over rows that it needs around it is one that the tiles' sums run over.
      throw Refusal{"a reduction of each row is needed again behind the product", {}};
    }
    found.common &= reduction->level;
  }
  return found;
}

}  // namespace tenon::schedule
