// What is known of a value when a model is imported: how arithmetic on shapes becomes extents.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/node.h"
#include "tenon/array.h"

namespace tenon::importer {

/// A number that is a size, or a fraction of one (a size times 0.5, before somebody rounds it).
struct Element {
  Extent numerator;
  int64_t denominator = 1;  // positive

  friend bool operator==(const Element&, const Element&) = default;
};
using Elements = std::vector<Element>;

struct SizeCondition;
/// How a comparison of sizes comes out that is so at some bindings only.
using Decide = std::function<bool(const SizeCondition&)>;

/// Reads values off the graph they are computed by. Sizes are leaves (`extent_value`), as are constants; arithmetic,
/// comparisons, selections and rearrangements of few elements are followed through. Results are kept: one instance
/// serves one import.
class KnownValues {
 public:
  /// From now on the elements of this input are these.
  void tell(const Value& input, Elements elements);

  /// The elements in row-major order; nothing when one is not known, or when there are too many.
  const std::optional<Elements>& elements(const Value& value);

  /// The elements as whole numbers.
  std::optional<std::vector<Extent>> extents(const Value& value);

  /// The value itself, when it depends on no input and no name. Not for large arrays, unless they are constants.
  std::optional<Array> array(const Value& value);

  /// The same with an answer to comparisons of sizes that are not known.
  KnownValues deciding(Decide decide) const;

 private:
  std::optional<Elements> evaluate(const Value& value) const;
  const Elements* find(const Value& value) const;

  std::unordered_map<const Node*, std::optional<Elements>> known_;  // of nodes with one output
  Decide decide_;                                                   // may be none
  std::vector<Value> kept_;                                         // so that no node of known_ is made anew
};

/// The name of an input that the value depends on; nothing for none.
std::optional<std::string> input_behind(const Value& value);

}  // namespace tenon::importer
