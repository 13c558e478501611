#include "saved/file_constants.h"

#include <span>

#include "base/fail.h"

namespace tenon::saved {

Array FileConstants::operator()(const ConstantReference& reference) {
  if (reference.number >= places_.size()) {
    fail("constant {}, of {}", reference.number, places_.size());
  }
  used_[reference.number] = true;
  return file_.constant(places_[reference.number], reference.dtype, reference.dims);
}

void FileConstants::verify() const {
  std::vector<const ConstantPlace*> places;
  std::vector<std::span<const std::byte>> bytes;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (!used_[i]) continue;
    places.push_back(&places_[i]);
    bytes.push_back(file_.constant(places_[i]));
  }
  const std::vector<Checksum> sums = checksums(bytes);
  for (size_t i = 0; i < places.size(); ++i) {
    if (sums[i] == places[i]->checksum) continue;
    file_.fail_damaged(fmt::format("a constant, {} bytes from {} of its section on, is not what was written",
                                   places[i]->bytes, places[i]->offset));
  }
}

}  // namespace tenon::saved
