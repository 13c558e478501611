#include "schedule/blocks/phase_edit.h"

#include <algorithm>
#include <map>

#include "kernel/loop/loop_walk.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Kernel;

/// Stores, and loops at digits.
template <class OfStore, class OfDigit>
void visit_positions(loops::Block& block, const OfStore& of_store, const OfDigit& of_digit) {
  for (loops::Statement& statement : block) {
    if (auto* loop = std::get_if<loops::Loop>(&statement.what)) {
      if (loop->digit) of_digit(*loop->digit);
      visit_positions(loop->body, of_store, of_digit);
    } else if (auto* store = std::get_if<loops::Store>(&statement.what)) {
      of_store(*store);
    }
  }
}

/// New numbers for what is kept, in the old order.
class Numbers {
 public:
  explicit Numbers(size_t count) : kept_(count), number_(count) {}

  /// Whether it was not kept yet.
  bool keep(int i) {
    const bool is_new = !kept_[static_cast<size_t>(i)];
    kept_[static_cast<size_t>(i)] = true;
    return is_new;
  }

  template <class T>
  std::vector<T> take(const std::vector<T>& all) {
    std::vector<T> left;
    for (size_t i = 0; i < all.size(); ++i) {
      if (kept_[i]) {
        number_[i] = static_cast<int>(left.size());
        left.push_back(all[i]);
      }
    }
    return left;
  }

  void rename(int& i) const { i = i < 0 ? i : number_[static_cast<size_t>(i)]; }

 private:
  std::vector<bool> kept_;
  std::vector<int> number_;
};

class Pruning {
 public:
  explicit Pruning(Kernel kernel)
      : kernel_(std::move(kernel)),
        axes_(kernel_.axes.size()),
        values_(kernel_.values.size()),
        accumulators_(kernel_.accumulators.size()) {}

  Kernel run() {
    for (const loops::Phase& phase : kernel_.phases) {
      for (const int axis : phase.grid) {
        keep_axis(axis);
      }
      for_each_statement(phase.body, [&](const loops::Statement& statement) {
        std::visit([&](const auto& what) { keep(what); }, statement.what);
      });
    }
    for (size_t i = 0; i < kernel_.values.size(); ++i) {  // of loops whose results nobody names
      const auto* const result = std::get_if<loops::Result>(&kernel_.values[i].what);
      if (result != nullptr && kept_accumulator_[result->accumulator]) {
        values_.keep(static_cast<int>(i));
      }
    }
    kernel_.axes = axes_.take(kernel_.axes);
    kernel_.values = values_.take(kernel_.values);
    kernel_.accumulators = accumulators_.take(kernel_.accumulators);
    rename();
    return std::move(kernel_);
  }

 private:
  void keep_axis(int axis) {
    if (axis >= 0 && axes_.keep(axis)) {
      keep_axis(kernel_.axes[static_cast<size_t>(axis)].tile_of);
    }
  }

  void keep_at(const loops::Affine& at) {
    for (const loops::Term& term : at.terms) {
      keep_axis(term.axis);
    }
  }

  void keep_inside(const std::vector<loops::Bound>& bounds) {
    for (const loops::Bound& bound : bounds) {
      keep_at(bound.index);
    }
  }

  void keep(const loops::Define& define) { keep_value(define.value); }
  void keep(const loops::Store& store) {
    keep_at(store.at);
    keep_inside(store.inside);
    keep_value(store.value);
  }
  void keep(const loops::Accumulate& fed) { keep_accumulator(fed.accumulator); }
  void keep(const loops::Loop& loop) {
    keep_axis(loop.axis);
    for (const int each : loop.begins) {
      keep_accumulator(each);
    }
    keep_value(loop.unless);
    if (loop.digit) keep_at(loop.digit->of);
  }
  void keep(const loops::Product& product) {
    for (const std::vector<int>* axes : {&product.rows, &product.columns, &product.depth}) {
      for (const int axis : *axes) {
        keep_axis(axis);
      }
    }
    for (const loops::Matrix* matrix : {&product.left, &product.right, &product.tile}) {
      keep_at(matrix->at);
    }
    keep_axis(product.adds_after);
  }
  void keep(const loops::Barrier&) {}

  void keep_accumulator(int accumulator) {
    if (!accumulators_.keep(accumulator)) {
      return;
    }
    kept_accumulator_[accumulator] = true;
    keep_value(kernel_.accumulators[static_cast<size_t>(accumulator)].input);
    keep_value(kernel_.accumulators[static_cast<size_t>(accumulator)].position);
  }

  void keep_value(int value) {
    if (value < 0 || !values_.keep(value)) {
      return;
    }
    const auto& what = kernel_.values[static_cast<size_t>(value)].what;
    if (const auto* load = std::get_if<loops::Load>(&what)) {
      keep_at(load->at);
      keep_inside(load->inside);
      for (const loops::Lookup& lookup : load->lookups) {
        keep_value(lookup.value);
      }
    } else if (const auto* position = std::get_if<loops::Position>(&what)) {
      keep_at(position->at);
    } else if (const auto* compute = std::get_if<loops::Compute>(&what)) {
      for (const int operand : compute->operands) {
        keep_value(operand);
      }
    } else {
      keep_accumulator(std::get<loops::Result>(what).accumulator);
    }
  }

  void rename() {
    for (loops::Axis& axis : kernel_.axes) {
      axes_.rename(axis.tile_of);
    }
    for_each_position(kernel_, [&](loops::Affine& at) { rename(at); });
    for (loops::Value& value : kernel_.values) {
      if (auto* load = std::get_if<loops::Load>(&value.what)) {
        for (loops::Lookup& lookup : load->lookups) {
          values_.rename(lookup.value);
        }
      } else if (auto* compute = std::get_if<loops::Compute>(&value.what)) {
        for (int& operand : compute->operands) {
          values_.rename(operand);
        }
      } else if (auto* result = std::get_if<loops::Result>(&value.what)) {
        accumulators_.rename(result->accumulator);
      }
    }
    for (loops::Accumulator& accumulator : kernel_.accumulators) {
      values_.rename(accumulator.input);
      values_.rename(accumulator.position);
    }
    for (loops::Phase& phase : kernel_.phases) {
      for (int& axis : phase.grid) {
        axes_.rename(axis);
      }
      rename(phase.body);
    }
  }

  void rename(loops::Block& block) {
    for (loops::Statement& statement : block) {
      if (auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        axes_.rename(loop->axis);
        values_.rename(loop->unless);
        for (int& each : loop->begins) {
          accumulators_.rename(each);
        }
        rename(loop->body);
      } else if (auto* define = std::get_if<loops::Define>(&statement.what)) {
        values_.rename(define->value);
      } else if (auto* store = std::get_if<loops::Store>(&statement.what)) {
        values_.rename(store->value);
      } else if (auto* fed = std::get_if<loops::Accumulate>(&statement.what)) {
        accumulators_.rename(fed->accumulator);
      } else if (auto* product = std::get_if<loops::Product>(&statement.what)) {
        rename(*product);
      }
    }
  }

  void rename(loops::Product& product) {
    for (std::vector<int>* axes : {&product.rows, &product.columns, &product.depth}) {
      for (int& axis : *axes) {
        axes_.rename(axis);
      }
    }
    for (loops::Matrix* matrix : {&product.left, &product.right, &product.tile}) {
      rename(matrix->at);
    }
    axes_.rename(product.adds_after);
  }

  void rename(loops::Affine& at) const {
    for (loops::Term& term : at.terms) {
      axes_.rename(term.axis);
    }
  }

  Kernel kernel_;
  Numbers axes_, values_, accumulators_;
  std::map<int, bool> kept_accumulator_;
};

}  // namespace

bool is_whole(const loops::Axis& axis) {
  const auto size = axis.extent.constant();
  const auto total = axis.total.constant();
  return axis.tile_of < 0 || (size && total && *size > 0 && *total % *size == 0);
}

int add_axis(Kernel& kernel, loops::Axis axis) {
  kernel.axes.push_back(std::move(axis));
  return static_cast<int>(kernel.axes.size()) - 1;
}

int add_value(Kernel& kernel, loops::Value value) {
  kernel.values.push_back(std::move(value));
  return static_cast<int>(kernel.values.size()) - 1;
}

int add_compute(Kernel& kernel, Prim prim, Dtype dtype, Dtype operand_dtype, std::vector<int> operands) {
  return add_value(
      kernel,
      {.what =
           loops::Compute{.prim = prim, .operand_dtype = operand_dtype, .operands = std::move(operands), .literal = 0},
       .dtype = dtype});
}

int add_constant(Kernel& kernel, Dtype dtype, double literal) {
  return add_value(
      kernel,
      {.what = loops::Compute{.prim = Prim::constant, .operand_dtype = dtype, .operands = {}, .literal = literal},
       .dtype = dtype});
}

void for_each_position(Kernel& kernel, const std::function<void(loops::Affine&)>& f) {
  const auto in_bounds = [&](std::vector<loops::Bound>& bounds) {
    for (loops::Bound& bound : bounds) {
      f(bound.index);
    }
  };
  for (loops::Value& value : kernel.values) {
    if (auto* load = std::get_if<loops::Load>(&value.what)) {
      f(load->at);
      in_bounds(load->inside);
    } else if (auto* position = std::get_if<loops::Position>(&value.what)) {
      f(position->at);
    }
  }
  for (loops::Phase& phase : kernel.phases) {
    const auto in_store = [&](loops::Store& store) {
      f(store.at);
      in_bounds(store.inside);
    };
    visit_positions(phase.body, in_store, [&](loops::Digit& digit) { f(digit.of); });
  }
}

void substitute_axis(Kernel& kernel, int axis, const loops::Affine& by) {
  for_each_position(kernel, [&](loops::Affine& at) { at = substitute(at, axis, by); });
}

Kernel pruned(const Kernel& kernel) { return Pruning(kernel).run(); }

}  // namespace tenon::schedule
