#include "schedule/products/joined_columns.h"

#include <algorithm>
#include <map>

#include "schedule/draft/affine.h"
#include "schedule/draft/substituted.h"

namespace tenon::schedule {
namespace {

constexpr int64_t kFewLanes = 16;

/// All positions that stores write and read.
struct Accesses {
  std::vector<loops::Affine> at;
  AxisSet otherwise = 0;  // axes that count for more than that
};

Accesses accesses_of(const Draft& draft, const std::vector<size_t>& stores) {
  Accesses found;
  std::vector<int> values;
  for (const size_t id : stores) {
    const DraftStore& store = draft.stores[id];
    values.push_back(store.value);
    found.at.push_back(store.at);
    found.otherwise |= draft.values.axes(store.inside);
  }
  for (const int each : ingredients_of(draft, values)) {
    const auto* load = std::get_if<loops::Load>(&draft.value(each).what);
    if (load && load->lookups.empty()) {
      found.at.push_back(load->at);
      found.otherwise |= draft.values.axes(load->inside);
    } else if (!std::holds_alternative<loops::Compute>(draft.value(each).what)) {
      found.otherwise |= draft.values.axes(each);
    }
  }
  return found;
}

}  // namespace

void join_columns(Draft& draft, const std::vector<size_t>& stores, const std::vector<int>& columns) {
  const auto length = columns.empty() ? std::nullopt : draft.axis(columns.back()).extent.constant();
  if (stores.empty() || !length || *length >= kFewLanes || draft.axis(columns.back()).tile_of >= 0) {
    return;
  }
  const Accesses accesses = accesses_of(draft, stores);
  const auto runs_everywhere = [&](int axis) {
    return !contains(accesses.otherwise, axis) &&
           std::ranges::all_of(stores, [&](size_t store) { return contains(draft.stores[store].axes, axis); });
  };
  size_t first = columns.size() - 1;
  if (!runs_everywhere(columns[first])) {
    return;
  }
  // Inside of another loop all of them are whole.
  while (first > 0 && draft.axis(columns[first]).tile_of < 0 && runs_everywhere(columns[first - 1])) {
    const int outer = columns[first - 1];
    const int inner = columns[first];
    if (!std::ranges::all_of(accesses.at, [&](const loops::Affine& at) {
          return scale_along(at, outer) == scale_along(at, inner) * draft.axis(inner).extent;
        })) {
      break;
    }
    --first;
  }
  if (first + 1 == columns.size()) {
    return;
  }
  loops::Axis joined = draft.axis(columns[first]);
  joined.name += "_row";
  const int id = static_cast<int>(draft.kernel.axes.size());
  std::map<int, Substituted::Place> by;
  for (size_t i = first; i < columns.size(); ++i) {
    by[columns[i]] = {.at = i + 1 < columns.size() ? loops::Affine{} : affine_axis(id)};
    if (i > first) {
      joined.extent *= draft.axis(columns[i]).extent;
      joined.total *= draft.axis(columns[i]).extent;
    }
  }
  draft.kernel.axes.push_back(std::move(joined));
  Substituted in_row(draft, std::move(by));
  for (const size_t each : stores) {
    DraftStore& store = draft.stores[each];
    store.value = in_row.value(store.value);
    store.at = in_row.affine(store.at);
    for (size_t i = first; i < columns.size(); ++i) {
      store.axes &= ~axis_bit(columns[i]);
    }
    store.axes |= axis_bit(id);
  }
}

}  // namespace tenon::schedule
