#include "schedule/shared_panels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kernel/loop/loop_walk.h"

namespace tenon::schedule {
namespace {

using layouts::PanelLayout;

/// The greatest value of an affine position whose terms are not negative; nothing where it is not known, or where one
/// is. Tiles count as the whole loops that they are cut from.
std::optional<int64_t> greatest(const loops::Kernel& kernel, const loops::Affine& at) {
  const auto number = [&](const Extent& extent) { return extent.substitute(kernel.arguments).constant(); };
  const auto axis_of = [&](int axis) -> const loops::Axis& { return kernel.axes[static_cast<size_t>(axis)]; };
  const auto base = number(at.base);
  if (!base || *base < 0) {
    return std::nullopt;
  }
  int64_t sum = *base;
  for (const loops::Term& term : at.terms) {
    const auto is_tile_of_it = [&](const loops::Term& inner) {
      const loops::Axis& axis = axis_of(inner.axis);
      return axis.tile_of == term.axis && inner.scale * axis.extent == term.scale;
    };
    if (std::ranges::any_of(at.terms, is_tile_of_it)) {
      continue;
    }
    const loops::Axis& axis = axis_of(term.axis);
    const bool is_whole = axis.tile_of >= 0 && std::ranges::any_of(at.terms, [&](const loops::Term& outer) {
                            return outer.axis == axis.tile_of && term.scale * axis.extent == outer.scale;
                          });
    const auto steps = number(is_whole ? axis.total : axis.extent);
    const auto scale = number(term.scale);
    if (!steps || !scale || *scale < 0) {
      return std::nullopt;
    }
    sum += *scale * std::max<int64_t>(*steps - 1, 0);
  }
  return sum;
}

/// One kernel whose loads from a buffer are to find it in panels.
class PanelReader {
 public:
  PanelReader(const loops::Kernel& kernel, int buffer, const PanelLayout& layout)
      : kernel_(kernel), buffer_(buffer), layout_(layout) {}

  /// Nothing where a load takes something else than elements of one column that it looks up.
  std::optional<loops::Kernel> run() {
    bool in_product = false;
    loops::for_each_product(kernel_, [&](const loops::Product& product) {
      in_product = in_product || product.left.buffer == buffer_ || product.right.buffer == buffer_;
    });
    if (in_product) {
      return std::nullopt;
    }
    const size_t count = kernel_.values.size();
    for (size_t i = 0; i < count; ++i) {
      if (std::holds_alternative<loops::Load>(kernel_.values[i].what) && !change(i)) {
        return std::nullopt;
      }
    }
    std::set<int> defined;
    for (loops::Phase& phase : kernel_.phases) {
      add_definitions(phase.body, defined);
    }
    kernel_.buffers[static_cast<size_t>(buffer_)].elements = layout_.elements();
    return defined.size() == panel_of_.size() ? std::optional(std::move(kernel_)) : std::nullopt;
  }

 private:
  bool change(size_t value) {
    auto load = std::get<loops::Load>(kernel_.values[value].what);
    if (load.buffer != buffer_) {
      return true;
    }
    const auto last = greatest(kernel_, load.at);
    if (load.lookups.size() != 1 || load.lookups[0].stride != Extent(layout_.column) ||
        load.lookups[0].size != Extent(layout_.columns) || !last || *last >= layout_.steps()) {
      return false;
    }
    load.at = scale(load.at, layout_.panel);
    load.lookups[0].stride = 1;
    load.lookups.push_back({.value = panel_of(load.lookups[0].value),
                            .stride = layout_.panel * (layout_.whole_steps() - 1),
                            .size = (layout_.columns + layout_.panel - 1) / layout_.panel,
                            .site = load.lookups[0].site});
    kernel_.values[value].what = std::move(load);
    return true;
  }

  /// The number of the panel that a column lies in.
  int panel_of(int column) {
    const auto add = [&](loops::Compute what) {
      kernel_.values.push_back({.what = std::move(what), .dtype = Dtype::i64});
      return static_cast<int>(kernel_.values.size()) - 1;
    };
    const auto [known, is_new] = panel_of_.try_emplace(column);
    if (is_new) {
      const int width = add({.prim = Prim::constant,
                             .operand_dtype = Dtype::i64,
                             .operands = {},
                             .literal = static_cast<double>(layout_.panel)});
      const int panel = add({.prim = Prim::div, .operand_dtype = Dtype::i64, .operands = {column, width}});
      known->second = {width, panel};
    }
    return known->second.second;
  }

  /// Behind each definition of a column, those of the number of its panel.
  void add_definitions(loops::Block& block, std::set<int>& defined) const {
    loops::Block result;
    for (loops::Statement& statement : block) {
      if (auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        add_definitions(loop->body, defined);
      }
      const auto* define = std::get_if<loops::Define>(&statement.what);
      const auto added = define ? panel_of_.find(define->value) : panel_of_.end();
      result.push_back(std::move(statement));
      if (added != panel_of_.end()) {
        defined.insert(added->first);
        result.push_back({loops::Define{.value = added->second.first}});
        result.push_back({loops::Define{.value = added->second.second}});
      }
    }
    block = std::move(result);
  }

  loops::Kernel kernel_;
  int buffer_;
  const PanelLayout& layout_;
  std::map<int, std::pair<int, int>> panel_of_;  // by the column: the width of panels, and the number
};

/// Who reads a constant.
struct Readers {
  struct Reader {
    Nest* nest = nullptr;
    int buffer = 0;
  };

  std::set<PanelLayout> layouts;  // in panels,
  std::vector<Reader> others;     // and as it is
  bool alone = false;             // or a step that is no kernel
};

class ReadersOf {
 public:
  explicit ReadersOf(std::vector<GroupedStep>& steps) {
    for (GroupedStep& step : steps) {
      for (Group& group : step.groups) {
        add(group.nest);
        if (group.long_rows) {
          add(group.long_rows->nest);
        }
      }
      if (step.alone) {
        for (const Value& operand : step.alone->inputs) {
          constants[&operand.node()].alone = true;
        }
      }
    }
  }

  std::map<const Node*, Readers> constants;

 private:
  void add(Nest& nest) {
    for (size_t i = 0; i < nest.buffers.size(); ++i) {
      if (!nest.buffers[i] || !nest.buffers[i].node().as<Constant>()) {
        continue;
      }
      Readers& readers = constants[&nest.buffers[i].node()];
      const int buffer = static_cast<int>(i);
      if (const auto panels = nest.panels.find(buffer); panels != nest.panels.end()) {
        readers.layouts.insert(panels->second);
      } else {
        readers.others.push_back({&nest, buffer});
      }
    }
  }
};

/// Columns of which each k-th element lies as far apart as those beside it: one loop reads a column.
bool is_plain(const PanelLayout& layout) {
  return layout.base == 0 && layout.depth.size() == 1 && layout.depth[0].stride == 1 && layout.together == 1 &&
         !layout.winograd;
}

}  // namespace

void share_panels(std::vector<GroupedStep>& steps) {
  for (auto& [node, readers] : ReadersOf(steps).constants) {
    if (readers.layouts.size() != 1 || readers.others.empty() || readers.alone || !is_plain(*readers.layouts.begin())) {
      continue;
    }
    const PanelLayout& layout = *readers.layouts.begin();
    std::vector<loops::Kernel> kernels;
    for (const Readers::Reader& reader : readers.others) {
      auto changed = PanelReader(reader.nest->kernel, reader.buffer, layout).run();
      if (!changed) {
        break;
      }
      kernels.push_back(std::move(*changed));
    }
    for (size_t i = 0; i < kernels.size() && kernels.size() == readers.others.size(); ++i) {
      const Readers::Reader& reader = readers.others[i];
      reader.nest->kernel = std::move(kernels[i]);
      reader.nest->panels.emplace(reader.buffer, layout);
    }
  }
}

}  // namespace tenon::schedule
