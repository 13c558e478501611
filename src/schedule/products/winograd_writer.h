// Writes a convolution in the form of winograd.h into a draft.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/draft/substituted.h"
#include "schedule/products/winograd_blocks.h"
#include "schedule/products/winograd_match.h"

namespace tenon::schedule {

class WinogradWriter {
 public:
  WinogradWriter(Draft& draft, const std::vector<size_t>& stores, const ConstantOperands& constants,
                 const WinogradMatch& match, const ScheduleOptions& options)
      : draft_(draft), stores_(stores), constants_(constants), match_(match), options_(options) {}

  TiledProducts run();

 private:
  /// Squares along a side.
  struct Cut {
    Extent results;        // of the side
    Extent squares;        // likewise
    int axis = -1;         // a loop over squares, in a block;
    loops::Affine square;  // the number of the square
  };

  /// Pixels or results of a square along one side: one of them, or those that a loop runs over.
  struct Offset {
    loops::Affine at;
    int64_t first = 0, last = 0;
  };

  /// Scratch for a square half of which is transformed: rows by columns, each with so many elements side by side.
  struct HalfSquare {
    int buffer = -1;
    int64_t elements = 0;
    loops::Affine element;
  };

  // Blocks of squares, and where their pixels and results are.
  void cut();
  Cut cut_of(const WinogradSide& side);
  loops::Affine number_of(int axis);
  int add_axis(std::string name, int64_t extent);
  AxisSet all_rows() const;
  static Offset one(int64_t offset) { return {.at = affine_constant(offset), .first = offset, .last = offset}; }
  Offset all(int axis, int64_t from = 0) const;
  Substituted::Place place(const Cut& cut, const Offset& offset, int64_t fewer) const;
  bool ends_before(const Cut& cut, int64_t offset, const Extent& size) const;
  bool holds(const loops::Bound& bound, const WinogradSide& side, const Cut& cut, const Offset& offset) const;
  int pixel(const Offset& y, const Offset& x, const std::map<int, Substituted::Place>& also = {});

  // The products.
  void write_pixels(DraftProduct& product);
  void write_products(DraftProduct& product);
  void write_results(int buffer);
  HalfSquare half_square(int64_t rows, int64_t elements, int along);
  loops::Affine at(const HalfSquare& half, const loops::Affine& row, const loops::Affine& column) const;
  std::vector<int> row_of(const HalfSquare& half, int row);
  layouts::PanelLayout layout() const;
  loops::Affine first_weight() const;
  std::vector<DraftStore> stored(const Offset& y, const Offset& x, int result, AxisSet loops);

  // Squares whose pixels are not all numbers: winograd_exception.cpp.
  void write_exception(int buffer);
  int are_numbers(int buffer);
  int weight(int64_t i, int64_t j, const loops::Affine& from, const std::vector<loops::Bound>& inside);

  Draft& draft_;
  const std::vector<size_t>& stores_;
  const ConstantOperands& constants_;
  const WinogradMatch& match_;
  const ScheduleOptions& options_;
  const layouts::WinogradForm form_ = match_.form;
  const WinogradSize size_ = size_of(draft_, match_, options_.cores);
  WinogradBlocks blocks_ = {};
  int result_blocks_ = -1;   // loops over blocks,
  int channel_blocks_ = -1;  // or none
  Cut y_, x_;
  std::vector<int> rows_;  // the loops over the squares of a block
  Extent squares_;         // in a block
  TiledProducts result_;
};

}  // namespace tenon::schedule
