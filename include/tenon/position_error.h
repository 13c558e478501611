// An index out of range, found while a program runs.
#pragma once

#include <string>

#include "tenon/error.h"

namespace tenon {

/// An index that data hold lies outside of its axis: a gather, a scatter or a padding has found it.
class PositionError : public Error {
 public:
  /// `message` says which index of which axis. `place` is that of the operation (see Place), which a note names, or "".
  explicit PositionError(std::string message, std::string place = "");

  const std::string& message() const { return message_; }
  const std::string& place() const { return place_; }

 private:
  std::string message_;
  std::string place_;
};

}  // namespace tenon
