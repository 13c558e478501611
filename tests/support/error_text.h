// What an expression complains about.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

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

/// Whether a text has all these parts.
inline testing::AssertionResult mentions(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (text.find(part) == std::string_view::npos) {
      return testing::AssertionFailure() << "`" << part << "` is not in: " << text;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon
