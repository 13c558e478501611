// Fields of kinds, and arguments of builders, out of text: one overload for each type, none for a kind.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/kinds.h"
#include "text/arguments.h"
#include "text/cursor.h"
#include "text/graph_table.h"

namespace tenon::text {

/// One field: what `cursor` may read is all of it.
struct FieldParser {
  Cursor cursor;
  GraphTable& graphs;
};

void parse_field(FieldParser& parser, int64_t& to);
void parse_field(FieldParser& parser, int& to);
void parse_field(FieldParser& parser, double& to);
void parse_field(FieldParser& parser, bool& to);
void parse_field(FieldParser& parser, std::string& to);
void parse_field(FieldParser& parser, Dtype& to);
void parse_field(FieldParser& parser, Extent& to);
void parse_field(FieldParser& parser, Axis& to);
void parse_field(FieldParser& parser, Shape& to);
void parse_field(FieldParser& parser, Array& to);
void parse_field(FieldParser& parser, Graph& to);
void parse_field(FieldParser& parser, const ScalarFn*& to);
void parse_field(FieldParser& parser, View& to);
void parse_field(FieldParser& parser, std::vector<Axis>& to);

/// The position of the word here among `spellings`.
size_t parse_spelling(FieldParser& parser, const std::vector<std::string>& spellings);

template <class Enum>
  requires std::is_enum_v<Enum>
void parse_field(FieldParser& parser, Enum& to) {
  const auto known = spellings(Enum{});
  to = static_cast<Enum>(parse_spelling(parser, {known.begin(), known.end()}));
}

template <class T>
void parse_field(FieldParser& parser, std::vector<T>& to) {
  to.clear();
  for (const Cursor& item : split_items(parser.cursor.take_bracketed('['))) {
    FieldParser inner{item, parser.graphs};
    parse_field(inner, to.emplace_back());
    inner.cursor.expect_done();
  }
}

/// Read all of `content` into `to`.
template <class T>
void parse_whole(Cursor content, GraphTable& graphs, T& to) {
  FieldParser parser{content, graphs};
  parse_field(parser, to);
  parser.cursor.expect_done();
}

/// `f32[batch, 512]` at the cursor, which moves past it.
Shape take_shape(Cursor& cursor);

/// The variant that an Op or a View is.
template <class Kind>
using VariantOf = std::conditional_t<std::is_same_v<Kind, Op>, AnyKind, Kind>;

/// A default-made alternative of an Op or a View: the one of that name.
template <class Variant, size_t I = 0>
std::optional<Variant> kind_called(std::string_view name) {
  if constexpr (I == std::variant_size_v<VariantOf<Variant>>) {
    return std::nullopt;
  } else {
    return std::variant_alternative_t<I, VariantOf<Variant>>::info.name == name ? Variant(std::in_place_index<I>)
                                                                                : kind_called<Variant, I + 1>(name);
  }
}

/// The names of all alternatives.
template <class Variant>
std::vector<std::string> kind_names() {
  return []<size_t... I>(std::index_sequence<I...>) -> std::vector<std::string> {
    return {std::string(std::variant_alternative_t<I, VariantOf<Variant>>::info.name)...};
  }(std::make_index_sequence<std::variant_size_v<VariantOf<Variant>>>());
}

// Fields whose default is no value: they must be given.
inline bool is_missing(const Graph& field) { return field == Graph(); }
inline bool is_missing(const ScalarFn* field) { return field == nullptr; }
template <class T>
bool is_missing(const T&) {
  return false;
}

/// Fill the fields of the kind in `kind`, an Op or a View, with the arguments that are left; all must be used. Fields
/// without an argument keep their default. `name` is where the kind is named.
template <class Variant>
void parse_fields(const Cursor& name, Arguments& arguments, GraphTable& graphs, Variant& kind) {
  std::visit(
      [&]<class Kind>(Kind& fields) {
        std::vector<std::string> names;
        std::string missing;
        for_each_field(fields, [&](std::string_view field_name, auto& field) {
          names.emplace_back(field_name);
          if (const std::optional<Cursor> content = arguments.take(field_name)) {
            parse_whole(*content, graphs, field);
          }
          missing = is_missing(field) ? names.back() : missing;
        });
        arguments.finish(Kind::info.name, names);
        if (!missing.empty()) {
          name.fail(std::string(Kind::info.name) + " needs `" + missing + "`");
        }
      },
      kind);
}

}  // namespace tenon::text
