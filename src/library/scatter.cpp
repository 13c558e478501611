#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/convert.h"
#include "kernel/scalar/accumulate.h"
#include "library/library.h"
#include "library/radix.h"
#include "tenon/position_error.h"

namespace tenon::library {
namespace {

using Index = std::vector<int64_t>;

Index strides_of(std::span<const int64_t> dims) {
  Index strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * dims[i];
  }
  return strides;
}

/// Axes and their steps through an array; axes that run on through the next one are joined with it.
struct Walk {
  Index dims;
  Index strides;

  void add(int64_t dim, int64_t stride) {
    if (dim == 1) {
      return;
    }
    if (!dims.empty() && strides.back() == stride * dim) {
      dims.back() *= dim;
      strides.back() = stride;
    } else {
      dims.push_back(dim);
      strides.push_back(stride);
    }
  }

  bool is_contiguous() const { return dims.empty() || (dims.size() == 1 && strides[0] == 1); }

  /// Where every element lies, in row-major order; nothing where that is its number.
  Index offsets(int64_t count) const {
    Index result;
    if (is_contiguous()) {
      return result;
    }
    result.reserve(static_cast<size_t>(count));
    Index at(dims.size(), 0);
    int64_t offset = 0;
    for (int64_t i = 0; i < count; ++i) {
      result.push_back(offset);
      for (size_t axis = dims.size(); axis-- > 0;) {
        offset += strides[axis];
        if (++at[axis] < dims[axis]) {
          break;
        }
        offset -= strides[axis] * dims[axis];
        at[axis] = 0;
      }
    }
    return result;
  }
};

/// Updates by the row of x that they go to: row rows[g] takes order[first[g]] to order[first[g + 1]], in their order.
struct Groups {
  Index rows;
  Index first;
  Index order;
};

Groups group_updates(const Index& row_of, int64_t rows) {
  Groups groups;
  groups.order.resize(row_of.size());
  const auto updates = std::ssize(row_of);
  if (rows <= 4 * updates + 1024) {
    Index count(static_cast<size_t>(rows) + 1, 0);
    for (const int64_t row : row_of) {
      ++count[static_cast<size_t>(row) + 1];
    }
    for (int64_t row = 0; row < rows; ++row) {
      const auto at = static_cast<size_t>(row);
      if (count[at + 1] > 0) {
        groups.rows.push_back(row);
        groups.first.push_back(count[at]);
      }
      count[at + 1] += count[at];
    }
    for (int64_t i = 0; i < updates; ++i) {
      const auto row = static_cast<size_t>(row_of[static_cast<size_t>(i)]);
      groups.order[static_cast<size_t>(count[row]++)] = i;
    }
  } else {  // counting would take longer than sorting
    std::vector<WideEntry> entries(row_of.size());
    std::vector<WideEntry> spare(row_of.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      entries[i] = {.key = static_cast<uint64_t>(row_of[i]), .index = i};
    }
    sort_entries(std::span(entries), std::span(spare), sizeof(uint64_t));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i == 0 || entries[i].key != entries[i - 1].key) {
        groups.rows.push_back(static_cast<int64_t>(entries[i].key));
        groups.first.push_back(static_cast<int64_t>(i));
      }
      groups.order[i] = static_cast<int64_t>(entries[i].index);
    }
  }
  groups.first.push_back(updates);
  return groups;
}

/// Elements of a row that are combined at once.
constexpr int64_t kBlock = 256;

class Scattering {
 public:
  Scattering(const ScatterRoutine& step, std::span<const Memory> reads, const Memory& out, const Workers& workers)
      : step_(step), update_(reads[1]), indices_(reads.subspan(2)), out_(out), workers_(workers) {
    const Index x_strides = strides_of(out.dims);
    const std::span<const int64_t> index_dims = indices_[0].dims;
    const Index index_strides = strides_of(index_dims);
    std::vector<bool> used(out.dims.size(), false);
    std::vector<bool> index_used(index_dims.size(), false);
    for (size_t k = 0; k < step.x_batch.size(); ++k) {
      const auto axis = static_cast<size_t>(step.x_batch[k]);
      const auto index_axis = static_cast<size_t>(step.index_batch[k]);
      used[axis] = index_used[index_axis] = true;
      row_dims_.push_back(out.dims[axis]);
      row_strides_.push_back(x_strides[axis]);
      positions_.add(index_dims[index_axis], index_strides[index_axis]);
      batches_ *= out.dims[axis];
    }
    for (size_t i = 0; i < index_dims.size(); ++i) {
      if (!index_used[i]) {
        positions_.add(index_dims[i], index_strides[i]);
        each_batch_ *= index_dims[i];
      }
    }
    for (const int picked : step.axes) {
      const auto axis = static_cast<size_t>(picked);
      used[axis] = true;
      row_dims_.push_back(out.dims[axis]);
      row_strides_.push_back(x_strides[axis]);
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) {
        row_.add(out.dims[i], x_strides[i]);
        row_size_ *= out.dims[i];
      }
    }
  }

  void run() {
    check_positions();
    if (out_.size() == 0 || update_.size() == 0) {
      return;
    }
    groups_ = group_updates(rows_of_updates(),
                            std::accumulate(row_dims_.begin(), row_dims_.end(), int64_t{1}, std::multiplies<>()));
    row_offsets_ = row_.offsets(row_size_);
    visit_dtype(out_.dtype, [&]<class T>() { apply<T>(); });
  }

 private:
  template <class F>
  static void visit_index(Dtype dtype, F&& f) {
    visit_dtype(dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        f.template operator()<T>();
      }
    });
  }

  void check_positions() const {
    for (size_t k = 0; k < indices_.size(); ++k) {
      const int64_t size = out_.dims[static_cast<size_t>(step_.axes[k])];
      visit_index(indices_[k].dtype, [&]<class T>() {
        const std::span given(indices_[k].values<T>(), static_cast<size_t>(indices_[k].size()));
        for (const T position : given) {
          const bool too_large = std::is_unsigned_v<T> && static_cast<uint64_t>(position) > INT64_MAX;
          if (too_large || static_cast<int64_t>(position) >= size || static_cast<int64_t>(position) < -size) {
            refuse(static_cast<int64_t>(position), k);
          }
        }
      });
    }
  }

  [[noreturn]] void refuse(int64_t position, size_t k) const {
    throw PositionError(fmt::format("scatter: position {} is out of range for axis {} of size {}", position,
                                    step_.axes[k], out_.dims[static_cast<size_t>(step_.axes[k])]),
                        step_.place);
  }

  Index rows_of_updates() const {
    Index row_of(static_cast<size_t>(batches_ * each_batch_));
    for (size_t i = 0; i < row_of.size(); ++i) {
      row_of[i] = static_cast<int64_t>(i) / each_batch_;
    }
    const Index places = positions_.offsets(batches_ * each_batch_);
    for (size_t k = 0; k < indices_.size(); ++k) {
      const int64_t size = out_.dims[static_cast<size_t>(step_.axes[k])];
      visit_index(indices_[k].dtype, [&]<class T>() {
        const T* const given = indices_[k].values<T>();
        for (size_t i = 0; i < row_of.size(); ++i) {
          const auto position = static_cast<int64_t>(given[places.empty() ? i : static_cast<size_t>(places[i])]);
          row_of[i] = row_of[i] * size + (position < 0 ? position + size : position);
        }
      });
    }
    return row_of;
  }

  int64_t start_of(int64_t row) const {
    int64_t offset = 0;
    for (size_t i = row_dims_.size(); i-- > 0; row /= row_dims_[i]) {
      offset += row % row_dims_[i] * row_strides_[i];
    }
    return offset;
  }

  template <class T>
  void apply() {
    using A = Running<T>;
    if (step_.op == ScatterOp::set) {
      apply_groups<T>([](A, A update) { return update; });
    } else if constexpr (!std::is_same_v<T, bool>) {  // which can only be set
      switch (step_.op) {
        case ScatterOp::add: return apply_groups<T>([](A a, A b) { return running_sum(a, b); });
        case ScatterOp::mul: return apply_groups<T>([](A a, A b) { return running_product(a, b); });
        case ScatterOp::max: return apply_groups<T>([](A a, A b) { return running_extreme(a, b, true); });
        default: return apply_groups<T>([](A a, A b) { return running_extreme(a, b, false); });
      }
    }
  }

  template <class T, class Combine>
  void apply_groups(const Combine& combine) const {
    const int64_t blocks = (row_size_ + kBlock - 1) / kBlock;
    const int64_t count = std::ssize(groups_.rows);
    const int64_t each = std::max<int64_t>(1, std::ssize(groups_.order) / count) * std::min(row_size_, kBlock);
    for_rows(workers_, count * blocks, each, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        apply_block<T>(static_cast<size_t>(i / blocks), i % blocks * kBlock, combine);
      }
    });
  }

  /// Updates of one block of one row, rounded once.
  template <class T, class Combine>
  void apply_block(size_t group, int64_t first, const Combine& combine) const {
    using A = Running<T>;
    const int64_t width = std::min(kBlock, row_size_ - first);
    T* const row = out_.values<T>() + start_of(groups_.rows[group]);
    const auto element = [&](int64_t j) -> T& {
      return row[row_offsets_.empty() ? first + j : row_offsets_[static_cast<size_t>(first + j)]];
    };
    std::array<A, kBlock> sums;
    for (int64_t j = 0; j < width; ++j) {
      sums[static_cast<size_t>(j)] = convert<A>(element(j));
    }
    const int64_t last = groups_.first[group + 1];
    for (int64_t k = step_.op == ScatterOp::set ? last - 1 : groups_.first[group]; k < last; ++k) {
      const T* const update = update_.values<T>() + groups_.order[static_cast<size_t>(k)] * row_size_ + first;
      for (int64_t j = 0; j < width; ++j) {
        A& sum = sums[static_cast<size_t>(j)];
        sum = combine(sum, convert<A>(update[j]));
      }
    }
    for (int64_t j = 0; j < width; ++j) {
      element(j) = convert<T>(sums[static_cast<size_t>(j)]);
    }
  }

  const ScatterRoutine& step_;
  const Memory& update_;
  std::span<const Memory> indices_;
  const Memory& out_;
  const Workers& workers_;
  // A row of x is what one update covers. Its number has digits for the batch axes, then for the picked ones.
  Index row_dims_;
  Index row_strides_;
  Walk row_;
  int64_t row_size_ = 1;
  Walk positions_;  // of updates, in the arrays of positions
  int64_t batches_ = 1;
  int64_t each_batch_ = 1;
  Groups groups_;
  Index row_offsets_;
};

}  // namespace

void run(const ScatterRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers) {
  const size_t bytes = static_cast<size_t>(reads[0].size()) * byte_size(reads[0].dtype);
  if (bytes > 0 && writes[0].data != reads[0].data) {
    std::memcpy(writes[0].data, reads[0].data, bytes);
  }
  Scattering(step, reads, writes[0], workers).run();
}

}  // namespace tenon::library
