#include "kernel/facts/kernel_facts.h"

#include "kernel/facts/work.h"
#include "kernel/loop/loop_walk.h"

namespace tenon::loops {
namespace {

/// Puts what the kernel's own names stand for into what is said of it.
class InProgramNames {
 public:
  explicit InProgramNames(const Kernel& kernel) : kernel_(kernel) {}

  Extent operator()(const Extent& extent) const {
    return kernel_.arguments.empty() ? extent : extent.substitute(kernel_.arguments);
  }

  BufferUse operator()(BufferUse use) const {
    for (Footprint* footprint : {&use.reads, &use.writes}) {
      for (Touched& range : footprint->ranges) {
        const auto limit = [&](const std::optional<Extent>& end) { return end ? std::optional((*this)(*end)) : end; };
        range = {.first = (*this)(range.first),
                 .last = (*this)(range.last),
                 .step = (*this)(range.step),
                 .item_step = (*this)(range.item_step),
                 .least = limit(range.least),
                 .most = limit(range.most)};
      }
    }
    return use;
  }

 private:
  const Kernel& kernel_;
};

}  // namespace

KernelFacts facts_of(const Kernel& kernel) {
  const InProgramNames named(kernel);
  KernelFacts facts{.sizes = {},
                    .scratch_bytes = named(scratch_bytes(kernel)),
                    .phases = {},
                    .is_copy = is_copy(kernel),
                    .integer_products = false,
                    .may_fail = !kernel.sites.empty()};
  for_each_product(kernel, [&](const Product& product) {
    facts.integer_products = facts.integer_products || is_byte_product(types_of(kernel, product));
  });
  for (const Extent& size : runtime_sizes(kernel)) {
    facts.sizes.push_back(named(size));
  }
  for (const Phase& phase : kernel.phases) {
    const RowAxes axes = row_axes(kernel, phase);
    const auto extent = [&](int axis) {
      return axis < 0 ? Extent(1) : named(kernel.axes.at(static_cast<size_t>(axis)).extent);
    };
    facts.phases.push_back({.grid = named(grid_size(kernel, phase)),
                            .items = extent(axes.item),
                            .rows = extent(axes.axis),
                            .work = named(work(kernel, phase)),
                            .buffers = {}});
    for (BufferUse& use : footprints(kernel, phase, axes)) {
      facts.phases.back().buffers.push_back(named(std::move(use)));
    }
  }
  return facts;
}

}  // namespace tenon::loops
