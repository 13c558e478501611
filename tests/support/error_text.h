// What an expression complains about.
#pragma once

#include <string>

#include "tenon/error.h"

namespace tenon {

/// The whole text of the Error that `f` throws, or "no error".
template <class F>
std::string error_text(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tenon
