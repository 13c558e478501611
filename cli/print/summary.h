// An array in a line.
#pragma once

#include <string>
#include <vector>

#include "cli/print/json.h"
#include "tenon/array.h"
#include "tenon/shape.h"

namespace tenon::cli {

/// What an array holds, counted in one pass.
struct Summary {
  int64_t size = 0;
  int64_t nan = 0;  // elements that are no numbers; they count in nothing else
  double least = 0, most = 0, mean = 0;
  std::vector<double> first;  // a few elements

  explicit Summary(const Array& array);
  std::string to_string() const;
  Json to_json() const;
};

}  // namespace tenon::cli
