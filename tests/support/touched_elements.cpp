#include "support/touched_elements.h"

#include <algorithm>
#include <unordered_map>

namespace tenon {
namespace {

class LoopsByHand {
 public:
  LoopsByHand(const loops::Kernel& kernel, const Bindings& bindings)
      : kernel_(kernel), bindings_(bindings_of(kernel, bindings)), axes_(kernel.axes.size()) {
    for (const loops::Buffer& buffer : kernel.buffers) {
      const bool counts = buffer.role != loops::Role::scratch;
      const auto elements = counts ? static_cast<size_t>(value(buffer.elements)) : 0;
      touched_.push_back({std::vector<bool>(elements), std::vector<bool>(elements)});
    }
  }

  std::vector<TouchedElements> run(const loops::Phase& phase, int64_t begin, int64_t end) {
    for (int64_t iteration = begin; iteration < end; ++iteration) {
      int64_t rest = iteration;
      for (size_t i = phase.grid.size(); i-- > 0;) {
        const int64_t size = value(axis(phase.grid[i]).extent);
        at(phase.grid[i]) = rest % size;
        rest /= size;
      }
      run(phase.body);
    }
    return std::move(touched_);
  }

 private:
  void run(const loops::Block& block) {
    for (const loops::Statement& statement : block) {
      if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        for (at(loop->axis) = 0; at(loop->axis) < trips(loop->axis); ++at(loop->axis)) {
          run(loop->body);
        }
      } else if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
        const auto* load = std::get_if<loops::Load>(&kernel_.values[static_cast<size_t>(define->value)].what);
        if (load != nullptr && load->lookups.empty() && holds(load->inside)) {
          touch(load->buffer, value(load->at), &TouchedElements::read);
        }
      } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
        if (holds(store->inside)) {
          touch(store->buffer, value(store->at), &TouchedElements::written);
        }
      } else if (const auto* product = std::get_if<loops::Product>(&statement.what)) {
        run(*product);
      }
    }
  }

  void run(const loops::Product& product) {
    touch(product.left, product.rows, product.depth, &TouchedElements::read);
    if (product.panel == 0) {
      touch(product.right, product.depth, product.columns, &TouchedElements::read);
    }
    touch(product.tile, product.rows, product.columns, &TouchedElements::written);
    if (product.adds_after >= 0 && at(product.adds_after) > 0) {
      touch(product.tile, product.rows, product.columns, &TouchedElements::read);
    }
  }

  void touch(const loops::Matrix& matrix, const std::vector<int>& rows, const std::vector<int>& columns,
             std::vector<bool> TouchedElements::* how) {
    for (int64_t i = 0; i < count(rows); ++i) {
      for (int64_t j = 0; j < count(columns); ++j) {
        touch(matrix.buffer, value(matrix.at) + i * value(matrix.row) + j * value(matrix.column), how);
      }
    }
  }

  void touch(int buffer, int64_t position, std::vector<bool> TouchedElements::* how) {
    if (kernel_.buffers[static_cast<size_t>(buffer)].role != loops::Role::scratch) {
      (touched_[static_cast<size_t>(buffer)].*how).at(static_cast<size_t>(position)) = true;
    }
  }

  bool holds(const std::vector<loops::Bound>& bounds) {
    return std::ranges::all_of(bounds, [&](const loops::Bound& bound) {
      const int64_t index = value(bound.index);
      return index >= 0 && index < value(bound.size);
    });
  }

  int64_t count(const std::vector<int>& axes) {
    int64_t product = 1;
    for (const int each : axes) {
      product *= trips(each);
    }
    return product;
  }

  int64_t trips(int i) {
    const int64_t extent = value(axis(i).extent);
    return axis(i).tile_of < 0 ? extent : std::min(extent, value(axis(i).total) - at(axis(i).tile_of) * extent);
  }

  int64_t value(const loops::Affine& affine) {
    int64_t sum = value(affine.base);
    for (const loops::Term& term : affine.terms) {
      sum += value(term.scale) * at(term.axis);
    }
    return sum;
  }

  int64_t value(const Extent& extent) {
    const auto [found, is_new] = values_.try_emplace(extent);
    if (is_new) {
      found->second = evaluate(extent, bindings_);
    }
    return found->second;
  }

  const loops::Axis& axis(int i) const { return kernel_.axes.at(static_cast<size_t>(i)); }
  int64_t& at(int axis) { return axes_.at(static_cast<size_t>(axis)); }

  const loops::Kernel& kernel_;
  Bindings bindings_;
  std::vector<int64_t> axes_;
  std::unordered_map<Extent, int64_t> values_;
  std::vector<TouchedElements> touched_;
};

}  // namespace

std::vector<TouchedElements> touched_elements(const loops::Kernel& kernel, const loops::Phase& phase, int64_t begin,
                                              int64_t end, const Bindings& bindings) {
  return LoopsByHand(kernel, bindings).run(phase, begin, end);
}

Bindings bindings_of(const loops::Kernel& kernel, const Bindings& bindings) {
  Bindings all = bindings;
  for (const auto& [name, size] : kernel.arguments) {
    all.set(name, evaluate(size, bindings));
  }
  return all;
}

}  // namespace tenon
