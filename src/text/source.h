// The text that is being read, and errors that point into it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tenon/error.h"

namespace tenon::text {

/// An Error that already says where it is.
class LocatedError : public Error {
 public:
  using Error::Error;
};

/// Does not own the text.
class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }

  /// Throw a LocatedError: line, column and the first line of `message`, the line of the text with a mark under
  /// `offset`, then the other lines of `message`.
  [[noreturn]] void fail_at(size_t offset, std::string_view message) const;

  /// What `build` gives; an Error without a location gets this one.
  template <class Build>
  auto located(size_t offset, Build&& build) const {
    try {
      return std::forward<Build>(build)();
    } catch (const LocatedError&) {
      throw;
    } catch (const Error& error) {
      fail_at(offset, error.what());
    }
  }

 private:
  std::string_view text_;
};

}  // namespace tenon::text
