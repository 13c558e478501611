#include "tenon/error.h"

#include "base/fail.h"

namespace tenon {

Error::Error(std::string message) : text_(std::move(message)) {}

Error& Error::note(const std::string& line) {
  text_ += "\n  " + line;
  has_notes_ = true;
  return *this;
}

const char* Error::what() const noexcept { return text_.c_str(); }

InternalError::InternalError(std::string message) : text_(std::move(message)) {}

const char* InternalError::what() const noexcept { return text_.c_str(); }

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(fmt::format("internal error at {}:{}: {} does not hold{}{}", file, line, condition,
                                  message.empty() ? "" : ": ", message));
}

}  // namespace tenon
