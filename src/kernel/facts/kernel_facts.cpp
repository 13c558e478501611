#include "kernel/facts/kernel_facts.h"

#include <algorithm>

#include "kernel/facts/work.h"
#include "kernel/loop/loop_walk.h"
#include "shape/not_representable.h"
#include "tenon/error.h"

namespace tenon::loops {
namespace {

/// Puts what the kernel's own names stand for into what is said of it.
class InProgramNames {
 public:
  explicit InProgramNames(const Kernel& kernel) : kernel_(kernel) {}

  Extent operator()(const Extent& extent) const {
    return kernel_.arguments.empty() ? extent : extent.substitute(kernel_.arguments);
  }

  BufferUse operator()(const BufferUse& use) const { return {.reads = named(use.reads), .writes = named(use.writes)}; }

 private:
  /// Sizes of tiles may be formulas so long that those of what they touch are beyond what extents can be: then it is
  /// not known which elements those are.
  Footprint named(Footprint footprint) const {
    try {
      for (Touched& range : footprint.ranges) {
        range = in_names(range);
      }
      return footprint;
    } catch (const NotRepresentable&) {
      return {.whole = true};
    }
  }

  Touched in_names(const Touched& range) const {
    const auto limit = [&](const std::optional<Extent>& end) { return end ? std::optional((*this)(*end)) : end; };
    return {.first = (*this)(range.first),
            .last = (*this)(range.last),
            .step = (*this)(range.step),
            .item_step = (*this)(range.item_step),
            .least = limit(range.least),
            .most = limit(range.most)};
  }

  const Kernel& kernel_;
};

bool runs_in_blocks(const Kernel& kernel, const Phase& phase) {
  const auto is_of_blocks = [&](int axis) {
    return kernel.axes.at(static_cast<size_t>(axis)).binding == Binding::blocks;
  };
  return !phase.grid.empty() && std::ranges::all_of(phase.grid, is_of_blocks);
}

/// All of each buffer that a phase touches.
std::vector<BufferUse> whole_buffers(const Kernel& kernel, const Phase& phase) {
  std::vector<BufferUse> uses(kernel.buffers.size());
  for_each_statement(phase.body, [&](const Statement& statement) {
    if (const auto* const define = std::get_if<Define>(&statement.what)) {
      const auto* const load = std::get_if<Load>(&kernel.values.at(static_cast<size_t>(define->value)).what);
      if (load != nullptr) uses.at(static_cast<size_t>(load->buffer)).reads.whole = true;
    } else if (const auto* const store = std::get_if<Store>(&statement.what)) {
      uses.at(static_cast<size_t>(store->buffer)).writes.whole = true;
    }
  });
  return uses;
}

}  // namespace

KernelFacts facts_of(const Kernel& kernel) {
  const InProgramNames named(kernel);
  KernelFacts facts{.name = kernel.name,
                    .arguments = {},
                    .may_share = kernel.may_share,
                    .sizes = {},
                    .scratch_bytes = named(scratch_bytes(kernel)),
                    .phases = {},
                    .is_copy = is_copy(kernel),
                    .integer_products = false,
                    .sites = kernel.sites};
  for (const Buffer& buffer : kernel.buffers) {
    facts.arguments.push_back(buffer);
    facts.arguments.back().elements = named(buffer.elements);
  }
  for_each_product(kernel, [&](const Product& product) {
    facts.integer_products = facts.integer_products || is_byte_product(types_of(kernel, product));
  });
  for (const Extent& size : runtime_sizes(kernel)) {
    facts.sizes.push_back(named(size));
  }
  for (const Phase& phase : kernel.phases) {
    // How much blocks of threads do at once, and where, the host does not decide: the formulas would be long ones.
    if (runs_in_blocks(kernel, phase)) {
      facts.phases.push_back({.grid = named(grid_size(kernel, phase)),
                              .items = 1,
                              .rows = 1,
                              .work = 1,
                              .buffers = whole_buffers(kernel, phase)});
      continue;
    }
    const RowAxes axes = row_axes(kernel, phase);
    const auto extent = [&](int axis) {
      return axis < 0 ? Extent(1) : named(kernel.axes.at(static_cast<size_t>(axis)).extent);
    };
    facts.phases.push_back({.grid = named(grid_size(kernel, phase)),
                            .items = extent(axes.item),
                            .rows = extent(axes.axis),
                            .work = named(work(kernel, phase)),
                            .buffers = {}});
    for (const BufferUse& use : footprints(kernel, phase, axes)) {
      facts.phases.back().buffers.push_back(named(use));
    }
  }
  return facts;
}

}  // namespace tenon::loops
