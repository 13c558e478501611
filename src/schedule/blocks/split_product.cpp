#include "schedule/blocks/split_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/operand_loops.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Block;
using loops::Kernel;
using loops::Loop;

constexpr int64_t kBlocks = 264;         // that keep a GPU busy
constexpr int64_t kResults = 6144;       // of a block, about
constexpr int64_t kLeastSteps = 128;     // of a part
constexpr int64_t kMultiple = 16;        // of steps
constexpr int64_t kShortestDepth = 512;  // steps that are worth it
constexpr int64_t kTogetherElements =
    128;  // that a block adds up: a warp, of which each thread has an access of 16 bytes

const loops::Axis& axis_of(const Kernel& kernel, int axis) { return kernel.axes[static_cast<size_t>(axis)]; }

/// All tiles of it together.
const Extent& total_of(const loops::Axis& axis) { return axis.tile_of < 0 ? axis.extent : axis.total; }

Extent steps_of(const Kernel& kernel, const std::vector<int>& axes) {
  Extent steps = 1;
  for (const int axis : axes)
    steps = steps * total_of(axis_of(kernel, axis));
  return steps;
}

class Splitter {
 public:
  explicit Splitter(const Kernel& kernel) : kernel_(kernel), phase_(kernel_.phases.front()) {}

  std::optional<SplitProduct> run() {
    if (!find_product()) return std::nullopt;
    find_results();
    depth_ = steps_of(kernel_, product_.depth);
    const auto results = results_.constant();
    const auto steps = depth_.constant();
    if ((results && *results * 2 > kBlocks * kResults) || (steps && *steps < kShortestDepth)) return std::nullopt;
    name_sizes();
    kernel_.buffers.push_back({.dtype = kernel_.buffers[static_cast<size_t>(product_.tile.buffer)].dtype,
                               .role = loops::Role::partial,
                               .elements = parts_of_all_ * results_});
    SplitProduct result;
    result.whole = result.parts = result.total = result.rest = kernel_;
    add_grid_axis(result.whole, 1 - splits_, "whole");
    make_parts(result);
    make_total(result.total);
    make_rest(result.rest);
    return result;
  }

 private:
  /// The only one of the kernel, with nothing in front of it but loops that compute its operands.
  bool find_product() {
    int64_t products = 0;
    loops::for_each_product(kernel_, [&](const loops::Product&) { ++products; });
    if (products != 1 || phase_.grid.empty()) return false;
    Block rest = phase_.body;
    take_operand_loops(kernel_, rest);
    if (rest.empty()) return false;
    const loops::Product* const product = product_in(rest.front());
    if (product == nullptr || product->adds_after >= 0 || product->columns.empty()) return false;
    const auto is_cut = [&](int axis) { return !is_whole(kernel_.axes[static_cast<size_t>(axis)]); };
    if (std::ranges::any_of(product->depth, is_cut)) return false;
    product_ = *product;
    around_.clear();
    while (product_in(phase_.body[at_]) == nullptr)
      ++at_;
    return true;
  }

  /// Of a statement that is one, or loops around nothing else, which are then known.
  const loops::Product* product_in(const loops::Statement& statement) {
    around_.clear();
    const loops::Statement* here = &statement;
    while (const auto* const loop = std::get_if<Loop>(&here->what)) {
      const loops::Axis& axis = kernel_.axes[static_cast<size_t>(loop->axis)];
      if (loop->body.size() != 1 || !loop->begins.empty() || loop->unless >= 0 || loop->digit || axis.tile_of >= 0) {
        return nullptr;
      }
      around_.push_back(loop->axis);
      here = &loop->body.front();
    }
    return std::get_if<loops::Product>(&here->what);
  }

  /// Axes of the grid and around the product that do not count its tiles, and how many results all of it has.
  void find_results() {
    others_ = phase_.grid;
    for (const std::vector<int>* side : {&product_.rows, &product_.columns}) {
      for (const int axis : *side)
        std::erase(others_, axis_of(kernel_, axis).tile_of);
    }
    others_.insert(others_.end(), around_.begin(), around_.end());
    columns_ = steps_of(kernel_, product_.columns);
    matrix_ = steps_of(kernel_, product_.rows) * columns_;
    results_ = (steps_of(kernel_, others_) * matrix_).substitute(kernel_.arguments);
  }

  Extent named(const Extent& size) {
    if (size.is_constant()) return size;
    const std::string name = fmt::format("${}", kernel_.arguments.size());
    kernel_.arguments[name] = size.substitute(kernel_.arguments);
    return Extent::name(name);
  }

  void name_sizes() {
    const Extent most = max(Extent(1), ceildiv(depth_, kLeastSteps));
    const Extent wanted = max(Extent(1), min(floordiv(kBlocks * kResults, max(Extent(1), results_)), most));
    length_ = named(kMultiple * max(Extent(1), ceildiv(ceildiv(depth_, wanted), kMultiple)));
    const Extent count = max(Extent(1), ceildiv(depth_, length_)).substitute(kernel_.arguments);
    splits_ = named(min(Extent(1), count - 1));
    parts_of_all_ = (splits_ * count).substitute(kernel_.arguments);
    parts_ = named(parts_of_all_);
  }

  static int add_grid_axis(Kernel& kernel, const Extent& extent, const char* name) {
    const int axis = add_axis(kernel, {.extent = extent, .name = name});
    kernel.phases.front().grid.push_back(axis);
    return axis;
  }

  /// Where a step of a side lies, counted through all tiles: the tile's first one, or steps within a tile.
  Affine along(const std::vector<int>& side, bool is_first) const {
    Affine at;
    Extent inside = 1;  // steps of the axes further inside
    for (size_t i = side.size(); i-- > 0;) {
      const loops::Axis& axis = axis_of(kernel_, side[i]);
      if (!is_first) at = add(at, scale(affine_axis(side[i]), inside));
      if (is_first && axis.tile_of >= 0) at = add(at, scale(affine_axis(axis.tile_of), axis.extent * inside));
      inside = inside * total_of(axis);
    }
    return at;
  }

  Affine results_at(bool is_first) const {
    return add(scale(along(product_.rows, is_first), columns_), along(product_.columns, is_first));
  }

  /// Where the tile of a block begins in a part.
  Affine tile_at() const {
    Affine number;
    for (const int axis : others_)
      number = add(scale(number, axis_of(kernel_, axis).extent), affine_axis(axis));
    return add(scale(number, matrix_), results_at(true));
  }

  int partial() const { return static_cast<int>(kernel_.buffers.size()) - 1; }
  Dtype dtype() const { return kernel_.buffers.back().dtype; }

  void make_parts(SplitProduct& result) const {
    Kernel& kernel = result.parts;
    loops::Phase& phase = kernel.phases.front();
    phase.grid.insert(phase.grid.end(), around_.begin(), around_.end());
    result.part = {.axis = add_grid_axis(kernel, parts_, "part"), .length = length_};
    phase.body.resize(at_);
    loops::Product product = product_;
    product.tile = {.buffer = partial(),
                    .at = add(tile_at(), scale(affine_axis(result.part.axis), results_)),
                    .row = columns_,
                    .column = 1};
    phase.body.push_back({std::move(product)});
  }

  void make_total(Kernel& kernel) const {
    const Extent& all = results_;
    const int block = add_axis(
        kernel,
        {.extent = splits_ * ceildiv(all, kTogetherElements), .name = "block", .binding = loops::Binding::blocks});
    const int thread = add_axis(kernel, {.extent = kTogetherElements,
                                         .name = "element",
                                         .tile_of = block,
                                         .total = all,
                                         .binding = loops::Binding::threads});
    const int part = add_axis(kernel, {.extent = parts_, .name = "part"});
    const Affine element = add(scale(affine_axis(block), kTogetherElements), affine_axis(thread));
    const loops::Load load{
        .buffer = partial(), .at = add(element, scale(affine_axis(part), all)), .inside = {}, .lookups = {}};
    const int value = add_value(kernel, {.what = load, .dtype = compute_dtype(dtype())});
    const auto sum = static_cast<int>(kernel.accumulators.size());
    kernel.accumulators.push_back({.op = ReduceOp::sum, .dtype = compute_dtype(dtype()), .input = value});
    const int total = add_value(kernel, {.what = loops::Result{sum}, .dtype = compute_dtype(dtype())});
    Block adds;
    adds.push_back({loops::Define{value}});
    adds.push_back({loops::Accumulate{sum}});
    Block body;
    body.push_back({Loop{.axis = part, .begins = {sum}, .body = std::move(adds), .unless = -1}});
    body.push_back({loops::Store{.buffer = partial(), .at = element, .inside = {}, .value = total}});
    loops::Phase& phase = kernel.phases.front();
    phase.grid = {block};
    phase.body.clear();
    phase.body.push_back({Loop{.axis = thread, .begins = {}, .body = std::move(body), .unless = -1}});
  }

  void make_rest(Kernel& kernel) const {
    add_grid_axis(kernel, splits_, "in_parts");
    std::vector<int> axes = product_.rows;
    axes.insert(axes.end(), product_.columns.begin(), product_.columns.end());
    const loops::Load load{.buffer = partial(), .at = add(tile_at(), results_at(false)), .inside = {}, .lookups = {}};
    const int value = add_value(kernel, {.what = load, .dtype = compute_dtype(dtype())});
    Block body;
    body.push_back({loops::Define{value}});
    body.push_back({loops::Store{.buffer = product_.tile.buffer, .at = place_in_tile(), .inside = {}, .value = value}});
    axes.insert(axes.begin(), around_.begin(), around_.end());
    for (size_t i = axes.size(); i-- > 0;) {
      Block around;
      around.push_back({Loop{.axis = axes[i], .begins = {}, .body = std::move(body), .unless = -1}});
      body = std::move(around);
    }
    loops::Axis& fastest = kernel.axes[static_cast<size_t>(axes.back())];
    if (fastest.binding == loops::Binding::serial) fastest.binding = loops::Binding::lanes;
    loops::Phase& phase = kernel.phases.front();
    phase.body.erase(phase.body.begin(), phase.body.begin() + static_cast<std::ptrdiff_t>(at_) + 1);
    phase.body.insert(phase.body.begin(), body.begin(), body.end());
  }

  Affine place_in_tile() const {
    const auto steps = [&](const std::vector<int>& axes) {
      Affine at;
      for (const int axis : axes)
        at = add(scale(at, axis_of(kernel_, axis).extent), affine_axis(axis));
      return at;
    };
    const loops::Matrix& tile = product_.tile;
    return add(tile.at, add(scale(steps(product_.rows), tile.row), scale(steps(product_.columns), tile.column)));
  }

  Kernel kernel_;
  loops::Phase phase_;
  loops::Product product_;
  std::vector<int> around_;  // axes of loops around it alone
  size_t at_ = 0;            // where it stands
  std::vector<int> others_;
  Extent columns_, matrix_, results_;  // of a row, of a product, of all
  Extent depth_, length_, parts_, parts_of_all_, splits_;
};

}  // namespace

std::optional<SplitProduct> split_product(const Kernel& kernel) { return Splitter(kernel).run(); }

}  // namespace tenon::schedule
