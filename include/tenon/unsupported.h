// What is right, and Tenon cannot do.
#pragma once

#include "tenon/error.h"

namespace tenon {

/// The call makes sense, but Tenon has no such operation, dtype or kernel: who has another way may take it. Any other
/// Error says that the call is wrong.
class Unsupported : public Error {
 public:
  using Error::Error;
  explicit Unsupported(const Error& error) : Error(error) {}
};

}  // namespace tenon
