// The words after a verb: options, and what else there is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// `--name`, or `--name VALUE` where `value` names what it takes.
struct Option {
  std::string_view name;
  std::string_view value;
  std::string_view doc;
};

/// What the user gave. `--name=value` is `--name value`.
class Arguments {
 public:
  /// Error: an option that is not among `options`, twice the same, a value that is missing or not wanted.
  Arguments(std::span<const std::string> words, std::span<const Option> options);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> find(std::string_view name) const;
  /// The value as a number; an Error names the option where it is none.
  std::optional<int64_t> find_number(std::string_view name) const;
  /// The value as a list, separated by commas.
  std::vector<std::string> list(std::string_view name) const;

  /// The words that are no options.
  const std::vector<std::string>& rest() const { return rest_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> rest_;
};

/// A line for each option, for help.
std::string describe(std::span<const Option> options);

}  // namespace tenon
