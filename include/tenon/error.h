// The two kinds of failure that reach a caller.
#pragma once

#include <exception>
#include <string>

namespace tenon {

/// The user's model, file or call is wrong. The message says what in the user's words, both sides whole, and where.
/// Further lines (operand shapes, the place in the model) are added by whoever knows them, with note().
class Error : public std::exception {
 public:
  explicit Error(std::string message);

  /// Append one indented line of context and return *this, so `throw std::move(error.note(...))` reads well.
  Error& note(const std::string& line);

  /// Whether anybody has added context yet.
  bool has_notes() const { return has_notes_; }

  /// The whole text: the message, then its notes, one a line.
  const char* what() const noexcept override;

 private:
  std::string text_;
  bool has_notes_ = false;
};

/// Tenon itself is wrong: a broken invariant. Please report it; the message carries the source location.
class InternalError : public std::exception {
 public:
  explicit InternalError(std::string message);
  const char* what() const noexcept override;

 private:
  std::string text_;
};

}  // namespace tenon
