// One element as text that reads back to the same bits, whatever its dtype.
#pragma once

#include <string>
#include <string_view>

#include "tenon/dtype.h"

namespace tenon {

/// `1.5`, `-inf`, `nan`, `true`, `-3`; a NaN other than the default quiet one is written by its bits, `0x7fc00001`.
std::string element_to_text(Dtype dtype, const std::byte* element);

/// The reverse; false when `text` is not an element of `dtype` (out of range included).
bool element_from_text(Dtype dtype, std::string_view text, std::byte* element);

}  // namespace tenon
