#include "runtime/run/failure.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "tenon/position_error.h"

namespace tenon::runtime {
namespace {

/// What stands between the message of a site and the place of its node, after which a quote ends it.
constexpr std::string_view kPlace = "\n  at node \"";

std::string replace_all(std::string text, std::string_view word, int64_t number) {
  const std::string digits = fmt::format("{}", number);
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + digits.size())) {
    text.replace(at, word.size(), digits);
  }
  return text;
}

}  // namespace

void Failure::report(int64_t chunk, const loops::KernelFacts& kernel, const KernelStatus& status) {
  const std::lock_guard lock(mutex_);
  if (kernel_ == nullptr || chunk < chunk_) {
    kernel_ = &kernel;
    chunk_ = chunk;
    status_ = status;
  }
}

void Failure::raise_error() const {
  const std::string& site = kernel_->sites.at(static_cast<size_t>(status_.failed - 1));
  const int64_t given = status_.position < 0 ? status_.position - status_.size : status_.position;
  std::string text = replace_all(site, "{position}", status_.position);
  text = replace_all(std::move(text), "{given}", given);
  text = replace_all(std::move(text), "{size}", status_.size);
  const size_t end = text.find(kPlace);
  if (end == std::string::npos) {
    throw PositionError(std::move(text));
  }
  const size_t begin = end + kPlace.size();
  throw PositionError(text.substr(0, end), text.substr(begin, text.rfind('"') - begin));
}

}  // namespace tenon::runtime
