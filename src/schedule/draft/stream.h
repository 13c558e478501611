// Two reductions of a row where the second needs the first, in one pass: variance, and the sum of a softmax.
//
// The sum of (x - a)^2, where a is the mean of x, and the sum of exp(x - a), where a is the largest x, are not known
// about `a` until the row has been read. But a tile can sum about a centre of its own, and what it finds about its
// centre c says what it would have found about any a:
//   sum (x - a)^2  =  sum (x - c)^2 + (c - a) * (count * (c - a) + 2 * sum (x - c))
//   sum exp(x - a) =  exp(c - a) * sum exp(x - c)
// Centres are the tile's own mean and its own largest element, so that nothing cancels or overflows that did not
// before.
#pragma once

#include <optional>

#include "schedule/draft/draft.h"

namespace tenon::schedule {

struct StreamedForm {
  enum class Kind : uint8_t { squares, powers };
  Kind kind = Kind::squares;
  size_t anchor = 0;  // the reduction that `from` is made of: the sum or the largest of x
  int x = 0;
  int from = 0;            // a
  Prim power = Prim::exp;  // of powers: exp, or that of normal numbers
};

/// The form of a reduction (an index into Draft::reductions), where it has one. The same results for numbers,
/// infinities and NaN: `from` is the anchor over a number, or the anchor where no finite number takes its place.
std::optional<StreamedForm> streamed_form(Draft& draft, size_t reduction);

/// What powers are taken about where `largest` is the largest x so far: a number. Of elements without numbers the
/// nearest number is as good: they are infinitely far from that too.
int power_centre(Draft& draft, int largest);

/// What a tile sums.
struct TileTerms {
  int value = -1;       // (x - c)^2 or exp(x - c)
  int difference = -1;  // x - c, for squares
};
/// `anchor` is the tile's sum or largest element of x, `elements` their number.
TileTerms tile_terms(Draft& draft, const StreamedForm& form, int anchor, int elements);

/// What a tile left, and what `from` is for the whole row.
struct TileSums {
  int anchor = -1;
  int value = -1;
  int difference = -1;
  int elements = -1;
  int from = -1;
};
/// What to add up over all tiles, in f64.
int combined_term(Draft& draft, const StreamedForm& form, const TileSums& sums);

}  // namespace tenon::schedule
