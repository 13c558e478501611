// A text that is no extent.
#pragma once

#include "tenon/error.h"

namespace tenon {

/// Of Extent::parse(): the text cannot be read, or says something that no extent can be. For who reads texts that may
/// also be something else.
class NotAnExtent : public Error {
 public:
  using Error::Error;
};

}  // namespace tenon
