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

namespace tenon::cli {

/// `--name`, or `--name VALUE` where `value` names what it takes. What VALUE is called decides what a shell completes:
/// MODEL and MACHINE names and files, FILE and what ends in .EXT files, DIR folders, a|b|c one of these words.
struct Option {
  std::string_view name;
  std::string_view value;
  std::string_view doc;
  bool repeats = false;  // may be given several times
  bool writes = false;   // names a file that is written
};

/// What the user gave. `--name=value` is `--name value`; after `--` everything is a word.
class Arguments {
 public:
  /// Error: an option that is not among `options`, one given twice that does not repeat, a value that is missing or not
  /// wanted.
  Arguments(std::span<const std::string> words, std::span<const Option> options);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> find(std::string_view name) const;
  /// Every value of an option that repeats, in order.
  std::vector<std::string> all(std::string_view name) const;
  /// The value as a number; an Error names the option where it is none, or below `least`.
  std::optional<int64_t> find_number(std::string_view name, int64_t least = 0) const;
  /// The value as a positive number with a fraction.
  std::optional<double> find_real(std::string_view name) const;
  /// The value as a list, separated by commas.
  std::vector<std::string> list(std::string_view name) const;

  /// The words that are no options.
  const std::vector<std::string>& rest() const { return rest_; }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> rest_;
};

/// The parts of `text` between separators; one empty part for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace tenon::cli
