// Operations that were recorded once, recorded again upon other operands without the code that chose them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/intern_again.h"
#include "tenon/tensor.h"

namespace tenon::tensors {

/// While it lives, looking at elements is an Error on this thread: what is recorded follows from shapes alone.
class WithoutElements {
 public:
  WithoutElements();
  ~WithoutElements();
  WithoutElements(const WithoutElements&) = delete;
  WithoutElements& operator=(const WithoutElements&) = delete;

  /// Whether somebody tried to look.
  bool has_looked() const;

 private:
  bool outer_;
};
/// Called by realize/ before it computes; throws where a WithoutElements lives on this thread.
void require_elements();

/// What lies between operands and results.
class Replay {
 public:
  /// Tensors without elements that stand for operands of these shapes.
  static std::vector<Tensor> stand_ins(const std::vector<Shape>& shapes);

  /// What was recorded from stand-ins to results. Nothing where a result follows from elements (a leaf that is no
  /// stand-in), has a size that data decide, passes gradients on, or is further away than kMostSteps. The first `eager`
  /// results are those that record() makes; the others are made by record_rest().
  static std::optional<Replay> between(std::span<const Tensor> stand_ins, std::span<const Tensor> results,
                                       size_t eager);

  /// The eager results upon operands of the stand-ins' shapes, none of which passes gradients on.
  std::vector<Tensor> record(std::span<const Tensor> operands) const { return upon(operands, true); }
  /// The other results upon the same operands as they were then (clones of them).
  std::vector<Tensor> record_rest(std::span<const Tensor> operands) const { return upon(operands, false); }

  /// The operand that result `i` is, unchanged; -1 where it is computed.
  int operand_of(size_t i) const { return results_[i].value.step < 0 ? results_[i].value.operand : -1; }
  /// Whether operations name the line that recorded them, in errors about positions.
  bool names_lines() const { return names_lines_; }

  static constexpr size_t kMostSteps = 256;

 private:
  struct Source {
    int step = -1;        // the step whose result it is, or
    int operand = -1;     // the operand, or
    Value constant = {};  // what no operand is part of
    int output = 0;
  };
  struct Step {
    NodePattern made;  // the operation as it was recorded
    std::vector<Source> inputs;
    bool is_eager = false;
  };
  struct Result {
    Source value;
    int depth = 0;
    bool is_eager = false;
  };
  class Builder;

  std::vector<Tensor> upon(std::span<const Tensor> operands, bool eager) const;

  std::vector<Step> steps_;
  std::vector<Result> results_;
  bool names_lines_ = false;
};

}  // namespace tenon::tensors
