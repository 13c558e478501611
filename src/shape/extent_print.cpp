// Extents as text. `a mod b` and, for a divisor without a known sign, `a ceildiv b` are not atoms of the canonical
// form; they are found again here.
#include <algorithm>
#include <limits>

#include "shape/extent_names.h"
#include "shape/extent_polynomial.h"
#include "shape/not_representable.h"
#include "tenon/error.h"

namespace tenon {

using algebra::Atom;
using algebra::AtomKind;
using algebra::AtomRef;
using algebra::Term;
using algebra::TermsOf;

namespace {

/// One summand: its sign and its text without it. `tight` text can be a factor as it stands.
struct Piece {
  bool negative = false;
  std::string text;
  bool tight = true;
};

std::string parenthesized(const std::string& text) { return "(" + text + ")"; }

/// An operand of a word operator: plain for names, natural numbers and calls.
std::string operand_text(const Extent& e) {
  const Atom* atom = algebra::as_atom(e);
  const bool plain = e.is_constant() ? *e.constant() >= 0 : atom != nullptr && atom->kind != AtomKind::floordiv;
  return plain ? e.to_string() : parenthesized(e.to_string());
}

std::string atom_text(const Atom& atom) {
  if (atom.kind == AtomKind::name) {
    return algebra::quoted_name(atom.name);
  }
  if (atom.kind == AtomKind::floordiv) {
    return operand_text(atom.operands[0]) + " floordiv " + operand_text(atom.operands[1]);
  }
  std::string text = atom.kind == AtomKind::min ? "min(" : "max(";
  for (size_t i = 0; i < atom.operands.size(); ++i) {
    text += (i == 0 ? "" : ", ") + atom.operands[i].to_string();
  }
  return text + ")";
}

/// The smallest integer has no positive counterpart to put behind a minus, so it brings its own.
std::string magnitude_text(int64_t value) {
  const std::string text = std::to_string(value);
  return value < 0 && value != std::numeric_limits<int64_t>::min() ? text.substr(1) : text;
}

/// coefficient * (product of factors as text), the last of them perhaps a word operator.
Piece make_piece(int64_t coefficient, const std::vector<Piece>& factors) {
  Piece piece;
  piece.negative = coefficient < 0 && coefficient != std::numeric_limits<int64_t>::min();
  const bool unit = coefficient == 1 || coefficient == -1;
  if (unit && factors.size() == 1) {
    piece.text = factors[0].text;
    piece.tight = factors[0].tight;
    return piece;
  }
  if (!unit || factors.empty()) {
    piece.text = magnitude_text(coefficient);
  }
  for (const Piece& f : factors) {
    piece.text += piece.text.empty() ? "" : "*";
    piece.text += f.tight ? f.text : parenthesized(f.text);
  }
  return piece;
}

std::vector<Piece> factor_pieces(const algebra::MonomialRef& monomial) {
  std::vector<Piece> pieces;
  if (monomial != nullptr) {
    for (const algebra::Factor& f : monomial->factors) {
      pieces.insert(pieces.end(), f.power, {false, atom_text(*f.atom), f.atom->kind != AtomKind::floordiv});
    }
  }
  return pieces;
}

/// The quotient rounded up that minus this division is, for a divisor without a known sign and a dividend that begins
/// with a minus. (Division by a number rounds up by an added constant instead.)
std::optional<Piece> rounded_up(const Atom& atom) {
  if (atom.kind != AtomKind::floordiv || atom.operands[1].is_constant()) {
    return std::nullopt;
  }
  const Extent& dividend = atom.operands[0];
  if (dividend.is_constant() ? *dividend.constant() > 0 : !algebra::leads_negative(dividend)) {
    return std::nullopt;
  }
  try {
    return Piece{false, operand_text(-dividend) + " ceildiv " + operand_text(atom.operands[1]), false};
  } catch (const NotRepresentable&) {  // the smallest integer has no negative
    return std::nullopt;
  }
}

Piece term_piece(const Term& term) {
  const bool negated = term.coefficient < 0 && term.coefficient != std::numeric_limits<int64_t>::min();
  if (negated && term.monomial != nullptr && term.monomial->degree == 1) {
    if (const auto quotient = rounded_up(*term.monomial->factors[0].atom)) {
      return make_piece(-term.coefficient, {*quotient});
    }
  }
  return make_piece(term.coefficient, factor_pieces(term.monomial));
}

/// Whether every term of `part` is in `e`, with the same sign and at least the same magnitude.
bool contains(const Extent& e, const Extent& part) {
  const TermsOf whole(e);
  const TermsOf wanted(part);
  return std::all_of(wanted.begin(), wanted.end(), [&](const Term& p) {
    return std::any_of(whole.begin(), whole.end(), [&](const Term& t) {
      return compare_monomials(t.monomial, p.monomial) == 0 &&
             (p.coefficient < 0 ? t.coefficient <= p.coefficient : t.coefficient >= p.coefficient);
    });
  });
}

/// Take k*(a - b*floordiv(a, b)) out of a sum that contains it, and give it as k*(a mod b).
std::vector<Piece> take_remainders(Extent& e) {
  std::vector<Piece> pieces;
  if (TermsOf(e).size() > 64) {  // a long sum is not read by people; finding remainders in it would take too long
    return pieces;
  }
  for (const AtomRef& atom : algebra::top_atoms(e)) {
    if (atom->kind != AtomKind::floordiv) {
      continue;
    }
    const Extent& a = atom->operands[0];
    const Extent& b = atom->operands[1];
    try {
      const auto k = divide_exactly(algebra::cofactor(e, *atom), -b);
      if (!k || TermsOf(*k).size() != 1) {
        continue;
      }
      if (contains(e, *k * a)) {
        std::vector<Piece> factors = factor_pieces(TermsOf(*k).begin()->monomial);
        factors.push_back({false, operand_text(a) + " mod " + operand_text(b), false});
        pieces.push_back(make_piece(TermsOf(*k).begin()->coefficient, factors));
        e -= *k * (a - b * algebra::of_atom(atom));
      }
    } catch (const NotRepresentable&) {  // too large to look at; it prints as it is
    }
  }
  return pieces;
}

}  // namespace

std::string Extent::to_string() const {
  if (is_constant()) {
    return std::to_string(value_);
  }
  Extent others = *this;
  const std::vector<Piece> remainders = take_remainders(others);
  std::vector<Piece> pieces;
  const int64_t constant = algebra::constant_term(others);
  for (const Term& t : TermsOf(others)) {
    if (t.monomial != nullptr) {
      pieces.push_back(term_piece(t));
    }
  }
  pieces.insert(pieces.end(), remainders.begin(), remainders.end());
  if (constant != 0) {
    pieces.push_back(make_piece(constant, {}));
  }
  // `8-seq`, not `-seq+8`.
  const auto positive = std::find_if(pieces.begin(), pieces.end(), [](const Piece& p) { return !p.negative; });
  if (positive != pieces.end()) {
    std::rotate(pieces.begin(), positive, positive + 1);
  }
  std::string text;
  for (const Piece& p : pieces) {
    if (text.empty()) {  // a leading minus would bind to the dividend alone
      text = !p.negative ? p.text : "-" + (p.tight ? p.text : parenthesized(p.text));
    } else {
      text += (p.negative ? "-" : "+") + p.text;
    }
  }
  return text;
}

std::string algebra::brief(const Extent& e) {
  constexpr size_t kLongest = 200;
  std::string text = e.to_string();
  if (text.size() > kLongest) {
    text.resize(kLongest);
    text += "...";
  }
  return text;
}

std::string algebra::brief_operand(const Extent& e) {
  const bool plain = (e.is_constant() && *e.constant() >= 0) || e.as_name().has_value();
  return plain ? brief(e) : "(" + brief(e) + ")";
}

void algebra::overflow(const Extent& a, std::string_view operation, const Extent& b) {
  not_representable("extent overflows 64 bits: {} {} {}", brief_operand(a), operation, brief_operand(b));
}

}  // namespace tenon
