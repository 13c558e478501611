#include "runtime/plan/region_maker.h"

#include <algorithm>

#include "runtime/plan/launches.h"

namespace tenon::runtime {

TiledRegion RegionMaker::make(int first, int end) {
  if (rows_.empty()) {
    rows_ = values_of(plan_.row_program, plan_.row_extents, plan_.names, s_.bindings);
  }
  region_ = {.first_step = first, .steps = end - first};
  reserve(first, end);
  for (int step = first; step < end; ++step) {
    const Span& parts = plan_.steps[static_cast<size_t>(step)].parts;
    for (uint32_t i = parts.first; i < parts.end(); ++i) {
      if (is_chosen(plan_, s_, plan_.parts[i])) {
        add_stage(static_cast<int>(i));
      }
    }
  }
  for (const RegionUse& use : region_.uses) {
    const RegionBuffer& buffer = region_.buffers[static_cast<size_t>(use.buffer)];
    if (use.writes && !buffer.inside) {
      stage_of(use).is_root = true;
    }
  }
  for (size_t i = 0; i < region_.stages.size(); ++i) {
    region_.driver = region_.stages[i].is_root ? static_cast<int>(i) : region_.driver;
  }
  return std::move(region_);
}

void RegionMaker::reserve(int first, int end) {
  size_t parts = 0;
  size_t uses = 0;
  size_t touched = 0;
  for (int step = first; step < end; ++step) {
    const Span& span = plan_.steps[static_cast<size_t>(step)].parts;
    parts += span.count;
    for (uint32_t i = span.first; i < span.end(); ++i) {
      const Span& rows = plan_.parts[i].rows.uses;
      uses += rows.count;
      if (rows.count > 0) {
        touched += plan_.row_uses[rows.end() - 1].touched.end() - plan_.row_uses[rows.first].touched.first;
      }
    }
  }
  region_.stages.reserve(parts);
  region_.uses.reserve(uses);
  region_.touched.reserve(touched);
  region_.buffers.reserve(uses);
}

TiledRegion RegionMaker::make_like(const TiledRegion& model, int first) const {
  TiledRegion region = model;
  region.first_step = first;
  for (RegionStage& stage : region.stages) {
    const int step = plan_.parts[static_cast<size_t>(stage.part)].step;
    const uint32_t within = static_cast<uint32_t>(stage.part) - plan_.steps[static_cast<size_t>(step)].parts.first;
    const int there = step - model.first_step + first;
    stage.part = static_cast<int>(plan_.steps[static_cast<size_t>(there)].parts.first + within);
    const RowsPlan& rows = plan_.parts[static_cast<size_t>(stage.part)].rows;
    for (const RegionUse& use : region.uses_of(stage)) {
      region.buffers[static_cast<size_t>(use.buffer)].slot = plan_.row_uses[rows.uses.first + use.from].slot;
    }
  }
  return region;
}

void RegionMaker::add_stage(int at) {
  const PartPlan& part = plan_.parts[static_cast<size_t>(at)];
  const PhasePlan& phase = plan_.phases[plan_.kernels[static_cast<size_t>(part.kernel)].phases.first];
  const int64_t rows = row_value(part.rows.rows);
  RegionStage stage{.part = at,
                    .rows = {.rows = rows, .all = rows * row_value(part.rows.items)},
                    .first_use = static_cast<uint32_t>(region_.uses.size())};
  if (stage.rows.all > 0) {
    stage.iterations = s_.value(phase.grid) / stage.rows.all;
    stage.work = loops::kByteOperation * static_cast<double>(s_.value(phase.work) * stage.iterations);
  }
  for (uint32_t i = part.rows.uses.first; i < part.rows.uses.end(); ++i) {
    add_use(plan_.row_uses[i], i - part.rows.uses.first);
  }
  stage.uses = static_cast<uint32_t>(region_.uses.size()) - stage.first_use;
  const size_t arguments = program_.facts[static_cast<size_t>(part.kernel)].arguments.size();
  for (size_t i = 0; i < arguments; ++i) {
    const int slot = plan_.arguments[part.first_argument + i];
    if (slot >= 0 && plan_.slots[static_cast<size_t>(slot)].memory == Memory::constant) {
      stage.constant_bytes += s_.bytes(plan_.slots[static_cast<size_t>(slot)]);
    }
  }
  region_.stages.push_back(stage);
}

void RegionMaker::add_use(const RowUsePlan& plan, uint32_t from) {
  const int buffer = buffer_of(plan.slot);
  if (buffer < 0) {
    return;
  }
  RegionUse use{.buffer = buffer,
                .argument = plan.argument,
                .from = from,
                .writes = plan.writes,
                .first = static_cast<uint32_t>(region_.touched.size()),
                .count = plan.touched.count};
  for (uint32_t i = plan.touched.first; i < plan.touched.end(); ++i) {
    const TouchedPlan& each = plan_.touched[i];
    TouchedRow row{.first = row_value(each.first),
                   .last = row_value(each.last),
                   .step = row_value(each.step),
                   .item_step = row_value(each.item_step)};
    row.least = each.least < 0 ? row.least : row_value(each.least);
    row.most = each.most < 0 ? row.most : row_value(each.most);
    region_.touched.push_back(row);
  }
  region_.uses.push_back(use);
}

/// Of a slot that a step of the region writes; -1 for others.
int RegionMaker::buffer_of(int slot) {
  const auto known = std::ranges::find(region_.buffers, slot, &RegionBuffer::slot);
  if (known != region_.buffers.end()) {
    return static_cast<int>(known - region_.buffers.begin());
  }
  const int end = region_.first_step + region_.steps;
  const auto writes = [&](int step) {
    return std::ranges::find(program_.steps[static_cast<size_t>(step)].writes, slot) !=
           program_.steps[static_cast<size_t>(step)].writes.end();
  };
  bool is_written = false;
  for (int step = region_.first_step; step < end; ++step) {
    is_written |= writes(step);
  }
  if (!is_written) {
    return -1;
  }
  const Slot& plan = plan_.slots[static_cast<size_t>(slot)];
  region_.buffers.push_back({.slot = slot,
                             .elements = s_.value(plan.elements),
                             .element_bytes = static_cast<int64_t>(byte_size(plan.dtype)),
                             .inside = plan.memory == Memory::intermediate && plan.outputs == 0 &&
                                       plan.first >= region_.first_step && plan.last < end});
  return static_cast<int>(region_.buffers.size()) - 1;
}

RegionStage& RegionMaker::stage_of(const RegionUse& use) {
  const auto at = static_cast<uint32_t>(&use - region_.uses.data());
  return *std::ranges::find_if(region_.stages, [&](const RegionStage& stage) {
    return at >= stage.first_use && at < stage.first_use + stage.uses;
  });
}

}  // namespace tenon::runtime
