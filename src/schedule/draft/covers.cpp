#include "schedule/draft/covers.h"

#include <fmt/format.h>

#include "base/fail.h"
#include "schedule/draft/refusal.h"

namespace tenon::schedule {
namespace {

constexpr size_t kMostAxes = 60;  // AxisSet has 64 bits, and tiles add a few

}  // namespace

const Cover& LoopAxes::make(const std::vector<Extent>& parts, const std::string& label, const Node* node, int axis) {
  if (kernel_.axes.size() + parts.size() > kMostAxes) {
    throw Refusal{"the kernel would need too many loops", {}};
  }
  auto cover = std::make_unique<Cover>();
  cover->extent = 1;
  for (size_t part = 0; part < parts.size(); ++part) {
    const int loop = static_cast<int>(kernel_.axes.size());
    kernel_.axes.push_back({.extent = parts[part], .name = label.empty() ? fmt::format("i{}", loop) : label});
    origins_.push_back({node, axis, part});
    append(*cover, loop);
  }
  covers_.push_back(std::move(cover));
  return *covers_.back();
}

/// One more loop inside of all others.
void LoopAxes::append(Cover& cover, int loop) const {
  const Extent& extent = kernel_.axes[static_cast<size_t>(loop)].extent;
  cover.affine = add(scale(cover.affine, extent), affine_axis(loop));
  cover.extent *= extent;
  cover.axes.push_back(loop);
  cover.set |= axis_bit(loop);
}

/// Loops side by side that run over the parts, such as those of heads in groups; null where there are none.
const Cover* LoopAxes::join_free(const std::vector<Extent>& parts, AxisSet taken) {
  for (size_t first = 0; first + parts.size() <= kernel_.axes.size(); ++first) {
    auto cover = std::make_unique<Cover>();
    cover->extent = 1;
    for (size_t part = 0; part < parts.size() && kernel_.axes[first + part].extent == parts[part]; ++part) {
      append(*cover, static_cast<int>(first + part));
    }
    if (cover->axes.size() == parts.size() && (cover->set & taken) == 0) {
      covers_.push_back(std::move(cover));
      return covers_.back().get();
    }
  }
  return nullptr;
}

const Cover* LoopAxes::find_free(const Extent& extent, AxisSet taken) const {
  for (const auto& candidate : covers_) {
    if ((candidate->set & taken) == 0 && candidate->extent == extent) {
      return candidate.get();
    }
  }
  return nullptr;
}

const Cover& LoopAxes::cover(const Extent& extent, AxisSet taken) {
  const Cover* free = find_free(extent, taken);
  return free ? *free : make({extent}, "", nullptr, 0);
}

const Cover& LoopAxes::cover(const Value& value, int axis, AxisSet taken) {
  const auto seen = seen_.find({value, axis});
  if (seen != seen_.end() && (seen->second->set & taken) == 0) {
    return *seen->second;
  }
  const Extent& extent = value.extent(axis);
  if (const Cover* free = find_free(extent, taken)) {
    return *free;
  }
  const auto split = splits_.find({&value.node(), axis});
  const std::vector<Extent> whole = extent == Extent(1) ? std::vector<Extent>{} : std::vector<Extent>{extent};
  const Cover* cover = split == splits_.end() ? nullptr : join_free(split->second, taken);
  if (!cover) {
    cover =
        &make(split == splits_.end() ? whole : split->second, value.shape().axis(axis).label(), &value.node(), axis);
  }
  seen_.emplace(std::pair(value, axis), cover);
  return *cover;
}

const Cover* LoopAxes::find(const loops::Affine& position) const {
  for (const auto& cover : covers_) {
    if (!cover->axes.empty() && cover->affine == position) {
      return cover.get();
    }
  }
  return nullptr;
}

void LoopAxes::remember(const Value& value, int axis, const loops::Affine& position) {
  if (position.terms.empty() || seen_.contains({value, axis})) {
    return;
  }
  if (const Cover* cover = find(position); cover && cover->extent == value.extent(axis)) {
    seen_.emplace(std::pair(value, axis), cover);
  }
}

void LoopAxes::split(int axis, const Extent& inner) const {
  const Origin& origin = origins_[static_cast<size_t>(axis)];
  if (!origin.node) {
    throw Refusal{"a window would have to be split", {}};
  }
  const Extent& whole = kernel_.axes[static_cast<size_t>(axis)].extent;
  const auto outer = divide_exactly(whole, inner);
  TENON_CHECK(outer);
  AxisSplits splits = splits_;
  const Node& node = *origin.node;
  std::vector<Extent>& parts = splits[{origin.node, origin.axis}];
  if (parts.empty()) {
    parts.push_back(node.shapes[0].extent(origin.axis));
  }
  parts[origin.part] = inner;
  parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(origin.part), *outer);
  throw SplitNeeded{std::move(splits)};
}

}  // namespace tenon::schedule
