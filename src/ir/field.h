// Fields of a structural kind as data, so that hashing, comparison, printing and parsing are each written once.
#pragma once

#include <string_view>
#include <tuple>

namespace tenon {

/// A named member of a kind.
template <class Kind, class Member>
struct Field {
  std::string_view name;
  Member Kind::* member;
};

template <class Kind, class Member>
Field(std::string_view, Member Kind::*) -> Field<Kind, Member>;

/// What the text form and errors need to know of a kind besides its fields.
struct KindInfo {
  std::string_view name;
  /// Names of the operands, separated by spaces; a last name that ends in `...` stands for any number.
  std::string_view operands;
};

/// Call `f(name, member)` for every field of `kind`.
template <class Kind, class F>
void for_each_field(Kind& kind, F&& f) {
  std::apply([&](const auto&... field) { (f(field.name, kind.*(field.member)), ...); }, std::decay_t<Kind>::fields());
}

}  // namespace tenon
