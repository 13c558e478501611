// The memory of this process over time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// Bytes that the system holds in memory for this process; 0 where it does not say.
double resident_bytes();

/// Samples of resident_bytes() against some count of what has been done.
struct ResidentCurve {
  std::string name;
  std::vector<double> done;
  std::vector<double> bytes;

  void sample(double count);
  /// Bytes for each unit of what is done, by least squares over the samples from `first` on.
  double slope(size_t first) const;
};

/// Write a picture of the curves, each scaled to the same height.
void write_svg(const std::string& path, const std::vector<ResidentCurve>& curves);

}  // namespace bench
