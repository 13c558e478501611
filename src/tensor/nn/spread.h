// Lists of settings, one entry for each axis along which something slides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::nn {

/// One entry for each of `count` axes; one stands for all, and none stays none. Error for another number.
std::vector<int64_t> spread(const char* who, const char* what, const std::vector<int64_t>& list, std::size_t count);

}  // namespace tenon::nn
