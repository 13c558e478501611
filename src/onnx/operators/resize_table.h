// Resizing along one axis of known size as a table of weights: for options that no formula of ours has.
#pragma once

#include <string>
#include <vector>

#include "tenon/ops.h"

namespace tenon::importer {

struct ResizeTableOptions {
  std::string mode, coordinates, rounding;  // as ONNX calls them
  double cubic_coefficient = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

struct ResizeAxis {
  int64_t from = 0, to = 0;
  double scale = 1;
  double start = 0, end = 1;  // the part that tf_crop_and_resize sees
};

struct ResizeTable {
  int64_t from = 0, to = 0;
  std::vector<double> weights;  // [to, from]
  std::vector<bool> outside;    // [to]: beyond the ends, where tf_crop_and_resize extrapolates
};

ResizeTable resize_table(const ResizeAxis& axis, const ResizeTableOptions& options);

/// The axis of x replaced by sums weighted by the table.
Value apply_table(const Value& x, int axis, const ResizeTable& table);

/// bool along `axis` of `rank` axes, true where the table is inside; an empty Value when it is everywhere.
Value inside_of(const ResizeTable& table, int axis, int rank);

}  // namespace tenon::importer
