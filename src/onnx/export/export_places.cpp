#include "onnx/export/export_places.h"

#include "base/fail.h"

namespace tenon::exporter {

std::vector<std::vector<int64_t>> places_of(const std::vector<int64_t>& sizes) {
  constexpr int64_t most = 4096;
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size > most || count * size > most) {
      fail("a window of more than {} places has no ONNX form but for maxima, sums and products of floats", most);
    }
    count *= size;
  }
  std::vector<std::vector<int64_t>> places;
  for (int64_t place = 0; place < count; ++place) {
    std::vector<int64_t>& offsets = places.emplace_back();
    int64_t rest = place;
    for (const int64_t size : sizes) {
      offsets.push_back(rest % size);
      rest /= size;
    }
  }
  return places;
}

}  // namespace tenon::exporter
