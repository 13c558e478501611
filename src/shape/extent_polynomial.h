// The canonical form behind Extent: a sum of integer coefficients times products of atoms.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/extent.h"

namespace tenon::algebra {

// Limits that keep every extent printable and every operation short. Files may contain anything.
inline constexpr size_t kMaxTerms = 4096;                // all terms, also those inside atoms
inline constexpr size_t kMaxProducts = size_t{1} << 16;  // term products in one multiplication or division
inline constexpr uint32_t kMaxDegree = 64;
inline constexpr uint32_t kMaxDepth = 100;  // atoms inside atoms

/// A 64-bit coefficient overflowed. Operations turn it into an Error that names them.
struct ArithmeticOverflow {};

enum class AtomKind : uint8_t { name, floordiv, min, max };

/// What a sum of products cannot take apart. Operands: {dividend, divisor}, or those of min and max, sorted.
struct Atom {
  AtomKind kind = AtomKind::name;
  std::string name;
  std::vector<Extent> operands;
  size_t size = 0;
  uint32_t depth = 0;
  uint64_t hash = 0;
};
using AtomRef = std::shared_ptr<const Atom>;

struct Factor {
  AtomRef atom;
  uint32_t power = 1;
};

/// A product of atoms, sorted by atom, without repeats and never empty: the empty product is the null MonomialRef.
struct Monomial {
  std::vector<Factor> factors;
  uint32_t degree = 0;
  size_t size = 0;
  uint32_t depth = 0;
  uint64_t hash = 0;
};
using MonomialRef = std::shared_ptr<const Monomial>;

struct Term {
  MonomialRef monomial;
  int64_t coefficient = 0;
};

/// Terms in descending order of monomials, none with coefficient 0; never a mere constant.
struct Polynomial {
  std::vector<Term> terms;
  size_t size = 0;
  uint32_t depth = 0;
  uint64_t hash = 0;
};

/// The only door into Extent's representation.
struct Access {
  static const Polynomial* polynomial(const Extent& e) { return e.polynomial_.get(); }
  static Extent make(std::shared_ptr<const Polynomial> p) {
    Extent e;
    e.polynomial_ = std::move(p);
    return e;
  }
};

/// The terms of any extent, constants included; the extent must outlive it.
class TermsOf {
 public:
  explicit TermsOf(const Extent& e) {
    if (const Polynomial* p = Access::polynomial(e)) {
      begin_ = p->terms.data();
      size_ = p->terms.size();
    } else {
      constant_.coefficient = *e.constant();
      begin_ = &constant_;
      size_ = constant_.coefficient != 0 ? 1 : 0;
    }
  }
  explicit TermsOf(Extent&&) = delete;  // it would dangle
  TermsOf(const TermsOf&) = delete;
  TermsOf& operator=(const TermsOf&) = delete;

  const Term* begin() const { return begin_; }
  const Term* end() const { return begin_ + size_; }
  size_t size() const { return size_; }

 private:
  Term constant_;
  const Term* begin_ = nullptr;
  size_t size_ = 0;
};

/// Names before divisions, minima, maxima; then by content.
std::strong_ordering compare_atoms(const Atom& a, const Atom& b);

/// Graded lexicographic, the earlier atom being the greater variable. It is kept by multiplication, so the first term
/// of a product is the product of first terms, which polynomial division rests on.
std::strong_ordering compare_monomials(const MonomialRef& a, const MonomialRef& b);

MonomialRef multiply(const MonomialRef& a, const MonomialRef& b);
std::optional<MonomialRef> divide(const MonomialRef& a, const MonomialRef& b);  // nothing unless b divides a
MonomialRef common_factors(const MonomialRef& a, const MonomialRef& b);

/// Any terms, in any order, to the canonical extent. Throws ArithmeticOverflow and, beyond the limits, Error.
Extent from_terms(std::vector<Term> terms);
/// The same for terms that are in descending order already, no two alike and none zero.
Extent from_canonical(std::vector<Term> terms);

Extent make_atom(AtomKind kind, std::vector<Extent> operands);
Extent of_atom(const AtomRef& atom);

/// floordiv, min or max of new operands, canonical again.
Extent rebuild(AtomKind kind, const std::vector<Extent>& operands);

/// The atom when the extent is exactly the coefficient times one atom.
const Atom* as_atom(const Extent& e, int64_t coefficient = 1);

/// Its constant term, and the rest.
int64_t constant_term(const Extent& e);
Extent without_constant(const Extent& e);

/// Whether the first term that is not constant has a negative coefficient; false for constants.
bool leads_negative(const Extent& e);

/// The distinct atoms of the outermost sum, in order of appearance.
std::vector<AtomRef> top_atoms(const Extent& e);

/// Rebuild the outermost sum with `f(atom)` for each atom.
Extent transform_atoms(const Extent& e, const std::function<Extent(const AtomRef&)>& f);

/// What the first power of the atom is multiplied by in the outermost sum: the cofactor of x in 2*x*y+3*x+x*x is 2*y+3.
Extent cofactor(const Extent& e, const Atom& atom);

/// Text for messages, cut when long.
std::string brief(const Extent& e);
/// The same, in parentheses when it is a sum: an operand.
std::string brief_operand(const Extent& e);

/// Error: the result of an operation has no 64 bits.
[[noreturn]] void overflow(const Extent& a, std::string_view operation, const Extent& b);

}  // namespace tenon::algebra
