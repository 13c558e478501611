// Two products with a softmax between them, as attention has them, in blocks of the softmax's rows.
//
// The second product is a sum over a whole row of powers exp(x - a), each times or over what the row shares; a, the
// largest of the row, is known only at its end. Block by block, powers are taken about the largest so far, and what was
// summed before is moved to a new largest by a factor: stream.h says why. So the tile of the first product is a block
// of a row, however long the row is. What is known at the end of a row, its largest element and sums of powers about
// it, may be stored or used there: a log-sum-exp beside the result of attention.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "schedule/draft/stream.h"
#include "schedule/options/product_tiles.h"
#include "schedule/products/product_operands.h"

namespace tenon::schedule {

class ProductStream {
 public:
  /// The form, with rows cut into blocks, where the products (the first one's columns are what the second sums over)
  /// and all else that runs over these rows have it. `stores` are those of the kernel.
  static std::optional<ProductStream> find(Draft& draft, const std::vector<ProductMatch>& products,
                                           const std::vector<size_t>& stores, const ProductTiles& tiles);

  /// The loop over blocks, around both products.
  int blocks() const { return blocks_; }
  /// How many elements a row has.
  const Extent& length() const { return length_; }

  /// With all loops cut: what is kept from block to block, by the row of the tile. The second product now sums powers
  /// about the largest element so far.
  void begin(ProductMatch& second, const std::vector<int>& rows);
  /// What takes the place of the second product's result, which lies at `tile`: results() has it.
  void finish(const ProductMatch& second, const loops::Load& tile);

  /// What is known of the whole row after the loop, in the place of results that are of a block now.
  const std::unordered_map<int, int>& results() const { return results_; }

  /// Whether what a reduction gives is made of what another one leaves: it need not run.
  bool is_known(const DraftReduction& reduction) const;

  /// Stores before the loop, and stores of each block beside the operands of the second product.
  const std::vector<size_t>& first() const { return first_; }
  const std::vector<size_t>& carried() const { return carried_; }

 private:
  explicit ProductStream(Draft& draft) : draft_(&draft) {}

  /// A sum of powers of the same row that is taken about something else.
  struct OtherSum {
    int accumulator = 0;
    int result = 0;
    int from = 0;
  };

  int compute(Prim prim, std::vector<int> operands) const;
  int exp_of_difference(int a, int b) const;
  void restart(size_t reduction, int input);
  int carry(int buffer, const loops::Affine& at, AxisSet axes) const;
  void store(std::vector<size_t>& where, int buffer, const loops::Affine& at, int value, AxisSet axes);
  int unless_empty(int value) const;

  Draft* draft_;
  StreamedForm form_;
  size_t sum_ = 0;            // the reduction of powers that the second product sums too
  Prim applied_ = Prim::div;  // to a power and `factor_` before it is multiplied
  int factor_ = -1;           // or none
  int blocks_ = -1;
  int keys_ = -1;
  Extent length_;      // of a row
  int scale_ = -1;     // from the largest so far to the new one
  AxisSet level_ = 0;  // the loops around a row, without blocks
  std::vector<size_t> first_, carried_;
  std::unordered_map<int, int> results_;  // of the whole row, by what took their place
  int moved_ = -1;                        // from the largest element's centre to what powers are about
  std::vector<OtherSum> others_;
};

}  // namespace tenon::schedule
