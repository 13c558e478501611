// What cannot be had in this way, and perhaps in another.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "tenon/error.h"

namespace tenon {

/// Operands do not fit an operation, or nothing proves that they do at all sizes that they may have. Who has another
/// way (numbers instead of names, another reading of a model, nodes as they were) catches this type: any other Error is
/// no answer to the question whether it can be done.
class Refused : public Error {
 public:
  using Error::Error;
  explicit Refused(const Error& error) : Error(error) {}
};

/// fail() with a Refused.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Refused(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tenon
