#include "cli/words/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/fail.h"
#include "text/suggest.h"

namespace tenon::cli {
namespace {

const Option& find_option(std::string_view name, std::span<const Option> options) {
  std::vector<std::string> names;
  for (const Option& option : options) {
    if (option.name == name) {
      return option;
    }
    names.emplace_back(option.name);
  }
  const std::string near = text::suggestion(name, names);
  fail("there is no option `{}`{}", name, near.empty() ? "; `--help` lists them" : near);
}

template <class Number>
Number parse_number(std::string_view name, const std::string& text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range && stop == end) {
    fail("`{}`: {} is too large", name, text);
  }
  if (error != std::errc() || stop != end) {
    fail("`{}` takes a number, not `{}`", name, text);
  }
  return number;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Arguments::Arguments(std::span<const std::string> words, std::span<const Option> options) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      rest_.insert(rest_.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      return;
    }
    if (!word.starts_with("-")) {
      rest_.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const Option& option = find_option(word.substr(0, equals), options);
    std::string value;
    if (option.value.empty()) {
      if (equals != std::string::npos) {
        fail("`{}` takes no value", option.name);
      }
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      fail("`{}` takes a value: {} {}", option.name, option.name, option.value);
    }
    auto& values = values_[std::string(option.name)];
    if (!values.empty() && !option.repeats) {
      fail("`{}` is given twice", option.name);
    }
    values.push_back(std::move(value));
  }
}

std::optional<std::string> Arguments::find(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::nullopt : std::optional(at->second.back());
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::vector<std::string>() : at->second;
}

std::optional<int64_t> Arguments::find_number(std::string_view name, int64_t least) const {
  const auto text = find(name);
  if (!text) {
    return std::nullopt;
  }
  const auto number = parse_number<int64_t>(name, *text);
  if (number < least) {
    fail("`{}` takes a number of at least {}, not {}", name, least, number);
  }
  return number;
}

std::optional<double> Arguments::find_real(std::string_view name) const {
  const auto text = find(name);
  if (!text) {
    return std::nullopt;
  }
  const auto number = parse_number<double>(name, *text);
  if (!(number >= 0) || std::isinf(number)) {
    fail("`{}` takes a number of at least 0, not {}", name, *text);
  }
  return number;
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  const auto text = find(name);
  return text ? split(*text, ',') : std::vector<std::string>();
}

}  // namespace tenon::cli
