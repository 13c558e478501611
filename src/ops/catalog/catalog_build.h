// How a catalog entry is made from a C++ function: its parameter types say what to read.
#pragma once

#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/fail.h"
#include "ops/catalog/catalog.h"

namespace tenon::catalog_build {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

/// What an argument is kept in until the call.
template <class Declared, class Plain = std::remove_cvref_t<Declared>>
using Stored = std::conditional_t<std::is_same_v<Plain, std::string_view>, std::string, Plain>;

/// What the reader is asked for: it knows one integer type.
template <class T>
using Read = std::conditional_t<std::is_same_v<T, int>, int64_t,
                                std::conditional_t<std::is_same_v<T, std::vector<int>>, std::vector<int64_t>, T>>;

template <class T>
constexpr ArgumentType argument_type() {
  using R = Read<T>;
  if constexpr (is_optional<R>) {
    return argument_type<typename R::value_type>();
  } else if constexpr (std::is_same_v<R, Value>) {
    return ArgumentType::value;
  } else if constexpr (std::is_same_v<R, std::vector<Value>>) {
    return ArgumentType::values;
  } else if constexpr (std::is_same_v<R, Operand>) {
    return ArgumentType::operand;
  } else if constexpr (std::is_same_v<R, int64_t>) {
    return ArgumentType::integer;
  } else if constexpr (std::is_same_v<R, double>) {
    return ArgumentType::number;
  } else if constexpr (std::is_same_v<R, bool>) {
    return ArgumentType::flag;
  } else if constexpr (std::is_same_v<R, std::string>) {
    return ArgumentType::text;
  } else if constexpr (std::is_same_v<R, Dtype>) {
    return ArgumentType::dtype;
  } else if constexpr (std::is_same_v<R, Extent>) {
    return ArgumentType::extent;
  } else if constexpr (std::is_same_v<R, Shape>) {
    return ArgumentType::shape;
  } else if constexpr (std::is_same_v<R, std::vector<int64_t>>) {
    return ArgumentType::integers;
  } else if constexpr (std::is_same_v<R, std::vector<Extent>>) {
    return ArgumentType::extents;
  } else {
    static_assert(std::is_same_v<R, std::vector<Axis>>, "ArgumentReader does not read this type");
    return ArgumentType::axes;
  }
}

// The value of a default's text; the table is ours, so a text that is no T is our bug.
void read_default(std::string_view text, int64_t& to);
void read_default(std::string_view text, double& to);
void read_default(std::string_view text, bool& to);
void read_default(std::string_view text, std::string& to);
void read_default(std::string_view text, Dtype& to);
void read_default(std::string_view text, Extent& to);

template <class T>
void read_default(std::string_view text, std::vector<T>&) {
  TENON_CHECK(text == "[]", "the default of a list is {}", text);
}

template <class T>
void read_default(std::string_view text, std::optional<T>&) {
  TENON_CHECK(text == "none", "the default of an optional argument is {}", text);
}

[[noreturn]] void fail_missing(const CatalogEntry& entry, size_t parameter);
int narrow(const BuilderParameter& parameter, int64_t value);

template <class T>
T read_argument(const CatalogEntry& entry, size_t i, ArgumentReader& reader) {
  const BuilderParameter& parameter = entry.parameters[i];
  if constexpr (std::is_same_v<T, int>) {
    return narrow(parameter, read_argument<int64_t>(entry, i, reader));
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    std::vector<int> list;
    for (const int64_t item : read_argument<std::vector<int64_t>>(entry, i, reader)) {
      list.push_back(narrow(parameter, item));
    }
    return list;
  } else if constexpr (is_optional<T>) {
    if (reader.given(i)) {
      return read_argument<typename T::value_type>(entry, i, reader);
    }
    T nothing;
    read_default(parameter.default_text, nothing);
    return nothing;
  } else {
    T value = [] {
      if constexpr (std::is_same_v<T, Operand>) {
        return Operand(0);
      } else {
        return T{};
      }
    }();
    if (reader.given(i)) {
      reader.read(i, value);
    } else if constexpr (requires { read_default(parameter.default_text, value); }) {
      if (parameter.default_text.empty()) {
        fail_missing(entry, i);
      }
      read_default(parameter.default_text, value);
    } else {
      fail_missing(entry, i);
    }
    return value;
  }
}

/// "x, axes=[], keep=false" as parameters of these types.
std::vector<BuilderParameter> parse_parameters(std::string_view text, const std::vector<ArgumentType>& types);

template <auto Function, class Result, class... Declared>
CatalogEntry entry_of(std::string_view name, std::string_view parameters, std::string_view doc,
                      Result (*)(Declared...)) {
  return {.name = name,
          .doc = doc,
          .parameters = parse_parameters(parameters, {argument_type<Stored<Declared>>()...}),
          .build = [](const CatalogEntry& entry, ArgumentReader& reader) -> std::vector<Value> {
            return [&]<size_t... I>(std::index_sequence<I...>) -> std::vector<Value> {
              // Braces read the arguments from the first to the last.
              std::tuple<Stored<Declared>...> arguments{read_argument<Stored<Declared>>(entry, I, reader)...};
              if constexpr (std::is_same_v<Result, Value>) {
                return {std::apply(Function, arguments)};
              } else {
                return std::apply(Function, arguments);
              }
            }(std::index_sequence_for<Declared...>());
          },
          .gives_list = !std::is_same_v<Result, Value>};
}

/// The entry for a function, or for a lambda that stands for one.
template <auto Function>
CatalogEntry builder(std::string_view name, std::string_view parameters, std::string_view doc) {
  return entry_of<Function>(name, parameters, doc, +Function);
}

/// The same for one whose form for lazy tensors is not made from the table.
template <auto Function>
CatalogEntry builder_by_hand(std::string_view name, std::string_view parameters, std::string_view doc) {
  CatalogEntry entry = builder<Function>(name, parameters, doc);
  entry.by_hand = true;
  return entry;
}

/// The same for a function whose results are views of its first argument.
template <auto Function>
CatalogEntry view_builder(std::string_view name, std::string_view parameters, std::string_view doc) {
  CatalogEntry entry = builder<Function>(name, parameters, doc);
  entry.is_view = true;
  return entry;
}

}  // namespace tenon::catalog_build
