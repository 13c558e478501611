#include "kernel/loop/loop_writes.h"

#include <algorithm>
#include <unordered_set>

namespace tenon::loops {
namespace {

template <class T>
const T& at(const std::vector<T>& list, int i) {
  return list[static_cast<size_t>(i)];
}

bool has_axis(const Affine& affine, int axis) {
  return std::ranges::find(affine.terms, axis, &Term::axis) != affine.terms.end();
}

}  // namespace

bool updates(const Kernel& kernel, const Store& store) {
  std::vector<int> pending{store.value};
  std::unordered_set<int> seen;
  while (!pending.empty()) {
    const int value = pending.back();
    pending.pop_back();
    if (!seen.insert(value).second) {
      continue;
    }
    const Value& what = at(kernel.values, value);
    if (const auto* load = std::get_if<Load>(&what.what);
        load && load->buffer == store.buffer && load->at == store.at) {
      return true;
    }
    if (const auto* compute = std::get_if<Compute>(&what.what)) {
      pending.insert(pending.end(), compute->operands.begin(), compute->operands.end());
    }
  }
  return false;
}

/// Whether a value that the loop uses may differ from one of its iterations to another.
bool Writes::varies(int value, Loop& loop) const {
  if (loop.outside[static_cast<size_t>(value)]) {
    return false;
  }
  // Until more is known it does: what a loop makes of its own results is not the same in all iterations.
  const auto [entry, is_new] = loop.known.emplace(value, true);
  if (!is_new) {
    return entry->second;
  }
  const bool found = find_whether_varies(value, loop);
  loop.known[value] = found;
  return found;
}

bool Writes::find_whether_varies(int value, Loop& loop) const {
  const auto is_varied = [&](int each) { return varies(each, loop); };
  const auto& what = at(kernel_.values, value).what;
  if (const auto* compute = std::get_if<Compute>(&what)) {
    return std::ranges::any_of(compute->operands, is_varied);
  }
  if (const auto* position = std::get_if<Position>(&what)) {
    return has_axis(position->at, loop.axis);
  }
  if (const auto* result = std::get_if<Result>(&what)) {  // of loops inside of this one
    const Accumulator& accumulator = at(kernel_.accumulators, result->accumulator);
    return is_varied(accumulator.input) || (accumulator.position >= 0 && is_varied(accumulator.position));
  }
  const Load& load = std::get<Load>(what);
  const auto is_inside_by_axis = [&](const Bound& bound) { return has_axis(bound.index, loop.axis); };
  if (has_axis(load.at, loop.axis) || std::ranges::any_of(load.inside, is_inside_by_axis) ||
      std::ranges::any_of(load.lookups, [&](const Lookup& lookup) { return is_varied(lookup.value); })) {
    return true;
  }
  return std::any_of(all_.begin() + static_cast<std::ptrdiff_t>(loop.first), all_.end(), [&](const Write& write) {
    return write.buffer == load.buffer &&
           (write.value < 0 || write.updates || has_axis(*write.at, loop.axis) || is_varied(write.value));
  });
}

std::vector<int> Writes::of_last_iteration(int axis, size_t first, const std::vector<bool>& outside) const {
  std::vector<int> found;
  if (at(kernel_.axes, axis).extent == Extent(1)) {
    return found;  // it is the only one, and addresses leave the axis out
  }
  Loop loop{.axis = axis, .first = first, .outside = outside};
  const bool by_thread = at(kernel_.axes, axis).binding == Binding::threads;  // each has what is its own
  for (size_t i = first; i < all_.size(); ++i) {
    const Write& write = all_[i];
    const Buffer& buffer = at(kernel_.buffers, write.buffer);
    if (buffer.role == Role::scratch && buffer.elements != Extent(0) && !write.updates && write.counts != axis &&
        !(by_thread && is_private_scratch(buffer)) && !has_axis(*write.at, axis) &&
        (write.value < 0 || varies(write.value, loop))) {
      found.push_back(write.buffer);
    }
  }
  return found;
}

}  // namespace tenon::loops
