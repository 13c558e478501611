// How code inside Tenon raises errors: fail() for the user's mistakes, TENON_CHECK for our own.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "tenon/error.h"

namespace tenon {

/// Throw a formatted tenon::Error: the user's model, file or call is wrong.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace tenon

/// An invariant of ours; stays on in release builds. Further arguments are a format string and its values.
#define TENON_CHECK(condition, ...)                                                         \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::tenon::check_failed(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                       \
  } while (false)
