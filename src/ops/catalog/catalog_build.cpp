#include "ops/catalog/catalog_build.h"

#include <algorithm>
#include <charconv>

namespace tenon::catalog_build {
namespace {

template <class T>
void parse_number(std::string_view text, T& to) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), to);
  TENON_CHECK(status == std::errc() && end == text.data() + text.size(), "the default {} is no number", text);
}

/// Where the parameter at the front of `text` ends: a comma outside brackets, or the end.
size_t parameter_end(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0 && text[i] == ',') {
      return i;
    }
  }
  return text.size();
}

}  // namespace

void read_default(std::string_view text, int64_t& to) { parse_number(text, to); }
void read_default(std::string_view text, double& to) { parse_number(text, to); }

void read_default(std::string_view text, bool& to) {
  TENON_CHECK(text == "true" || text == "false", "the default {} is no bool", text);
  to = text == "true";
}

void read_default(std::string_view text, std::string& to) { to = text; }

void read_default(std::string_view text, Dtype& to) {
  const std::optional<Dtype> dtype = parse_dtype(text);
  TENON_CHECK(dtype.has_value(), "the default {} is no dtype", text);
  to = *dtype;
}

void read_default(std::string_view text, Extent& to) { to = Extent::parse(text); }

void fail_missing(const CatalogEntry& entry, size_t parameter) {
  fail("{} needs `{}`", entry.name, entry.parameters[parameter].name);
}

int narrow(const BuilderParameter& parameter, int64_t value) {
  if (!std::in_range<int>(value)) {
    fail("`{}`: {} does not fit 32 bits", parameter.name, value);
  }
  return static_cast<int>(value);
}

std::vector<BuilderParameter> parse_parameters(std::string_view text, const std::vector<ArgumentType>& types) {
  std::vector<BuilderParameter> parameters;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, parameter_end(rest));
    const size_t equals = std::min(part.find('='), part.size());
    const size_t index = parameters.size();
    TENON_CHECK(index < types.size(), "\"{}\" lists more than {} parameters", text, types.size());
    parameters.push_back({.name = part.substr(0, equals),
                          .type = types[index],
                          .default_text = equals < part.size() ? part.substr(equals + 1) : std::string_view()});
    rest.remove_prefix(part.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(", "), rest.size()));
  }
  TENON_CHECK(parameters.size() == types.size(), "\"{}\" does not list {} parameters", text, types.size());
  return parameters;
}

}  // namespace tenon::catalog_build
