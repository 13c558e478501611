#include "arguments.h"

#include <algorithm>
#include <charconv>

#include "base/fail.h"
#include "text/suggest.h"

namespace tenon {
namespace {

const Option& find_option(std::string_view name, std::span<const Option> options) {
  std::vector<std::string> names;
  for (const Option& option : options) {
    if (option.name == name) {
      return option;
    }
    names.emplace_back(option.name);
  }
  fail("there is no option `{}`{}", name, text::suggestion(name, names));
}

}  // namespace

Arguments::Arguments(std::span<const std::string> words, std::span<const Option> options) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
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
    if (!values_.emplace(option.name, value).second) {
      fail("`{}` is given twice", option.name);
    }
  }
}

std::optional<std::string> Arguments::find(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<int64_t> Arguments::find_number(std::string_view name) const {
  const auto text = find(name);
  if (!text) {
    return std::nullopt;
  }
  int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end) {
    fail("`{}` takes a number, not `{}`", name, *text);
  }
  return number;
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  std::vector<std::string> items;
  const auto text = find(name);
  for (size_t begin = 0; text && begin <= text->size();) {
    const size_t end = std::min(text->find(',', begin), text->size());
    items.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

std::string describe(std::span<const Option> options) {
  std::string text;
  for (const Option& option : options) {
    text += fmt::format("  {:<22} {}\n", fmt::format("{} {}", option.name, option.value), option.doc);
  }
  return text;
}

}  // namespace tenon
