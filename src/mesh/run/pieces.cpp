#include "mesh/run/pieces.h"

#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "base/dtype_visit.h"
#include "base/fail.h"

namespace tenon::mesh {
namespace {

/// The array as rows of bytes: `outer` of them, each with `inner` bytes for each position along the axis.
struct Rows {
  int64_t outer = 1;
  size_t inner = 1;

  Rows(const std::vector<int64_t>& dims, Dtype dtype, int axis) : inner(byte_size(dtype)) {
    for (int i = 0; i < std::ssize(dims); ++i) {
      const int64_t size = dims[static_cast<size_t>(i)];
      if (i < axis) outer *= size;
      if (i > axis) inner *= static_cast<size_t>(size);
    }
  }
};

template <class T>
T combined(ReduceOp op, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return op == ReduceOp::any || op == ReduceOp::max || op == ReduceOp::sum ? a || b : a && b;
  } else if constexpr (is_half_type<T>) {
    return convert<T>(combined(op, static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (is_float_type<T>) {
    switch (op) {
      case ReduceOp::sum: return a + b;
      case ReduceOp::product: return a * b;
      case ReduceOp::max: return std::isnan(a) || a > b ? a : b;
      default: return std::isnan(a) || a < b ? a : b;
    }
  } else {
    switch (op) {  // unsigned and wide, so that sums and products wrap
      case ReduceOp::sum: return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      case ReduceOp::product: return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      case ReduceOp::max: return std::max(a, b);
      default: return std::min(a, b);
    }
  }
}

template <class T, ReduceOp Reduction>
void combine_arrays(const std::byte* from, std::byte* into, size_t count) {
  const T* a = reinterpret_cast<const T*>(from);
  T* b = reinterpret_cast<T*>(into);
  for (size_t i = 0; i < count; ++i) {
    b[i] = combined<T>(Reduction, b[i], a[i]);
  }
}

}  // namespace

Array slice_along(const Array& array, int axis, int64_t begin, int64_t size) {
  std::vector<int64_t> dims = array.dims();
  const int64_t whole = std::exchange(dims[static_cast<size_t>(axis)], size);
  Array result = Array::uninitialized(array.dtype(), dims);
  const Rows rows(dims, array.dtype(), axis);
  const std::byte* from = array.data() + static_cast<size_t>(begin) * rows.inner;
  std::byte* to = result.mutable_data();
  const size_t bytes = static_cast<size_t>(size) * rows.inner;
  for (int64_t i = 0; i < rows.outer && result.size() > 0; ++i) {
    to = std::copy_n(from, bytes, to);
    from += static_cast<size_t>(whole) * rows.inner;
  }
  return result;
}

Array join_along(const std::vector<Array>& pieces, int axis) {
  std::vector<int64_t> dims = pieces[0].dims();
  int64_t& along = dims[static_cast<size_t>(axis)];
  along = 0;
  for (const Array& piece : pieces) {
    along += piece.dims()[static_cast<size_t>(axis)];
  }
  Array result = Array::uninitialized(pieces[0].dtype(), dims);
  const Rows rows(dims, result.dtype(), axis);
  std::byte* to = result.mutable_data();
  for (int64_t i = 0; i < rows.outer && result.size() > 0; ++i) {
    for (const Array& piece : pieces) {
      const size_t bytes = static_cast<size_t>(piece.dims()[static_cast<size_t>(axis)]) * rows.inner;
      to = std::copy_n(piece.data() + static_cast<size_t>(i) * bytes, bytes, to);
    }
  }
  return result;
}

Array part_of(const Array& whole, const Layout& layout, const MeshShape& mesh, const std::vector<int>& coordinates,
              const Bindings& bindings) {
  Array part = whole;
  for (size_t m = 0; m < layout.size(); ++m) {
    if (!layout[m].is_split()) continue;
    const int ranks = mesh.axes[m].size;
    part = slice_along(part, layout[m].axis, evaluate(layout[m].cut.begin(coordinates[m], ranks), bindings),
                       evaluate(layout[m].cut.size(coordinates[m], ranks), bindings));
  }
  return part;
}

std::vector<int64_t> sizes_of(const Cut& cut, int ranks, const Bindings& bindings) {
  std::vector<int64_t> sizes;
  for (int rank = 0; rank < ranks; ++rank) {
    sizes.push_back(evaluate(cut.size(rank, ranks), bindings));
  }
  return sizes;
}

Combine combine_function(ReduceOp op, Dtype dtype) {
  return visit_dtype(dtype, [&]<class T>() -> Combine {
    switch (op) {
      case ReduceOp::sum: return combine_arrays<T, ReduceOp::sum>;
      case ReduceOp::product: return combine_arrays<T, ReduceOp::product>;
      case ReduceOp::max:
      case ReduceOp::any: return combine_arrays<T, ReduceOp::max>;
      case ReduceOp::min:
      case ReduceOp::all: return combine_arrays<T, ReduceOp::min>;
      case ReduceOp::argmax:
      case ReduceOp::argmin: break;
    }
    TENON_CHECK(false, "{} does not combine", name(op));
  });
}

}  // namespace tenon::mesh
