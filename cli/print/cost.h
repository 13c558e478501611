// What a run costs, before it begins.
#pragma once

#include <vector>

#include "cli/verb.h"
#include "tenon/bindings.h"
#include "tenon/extent.h"
#include "tenon/graph.h"

namespace tenon::cli {

/// Scalar operations of one run: elements that are computed or read by reductions, and twice the multiply-accumulates.
/// What depends on sizes that data decide is left out. Infinite where it does not fit 64 bits.
struct Cost {
  double elements = 0;
  double flops = 0;  // of products and convolutions

  /// By speeds that machines of some years have: 1e9 elements and 1e11 flops a second.
  double seconds() const { return elements / 1e9 + flops / 1e11; }
};

/// Expressions of sizes: no less than the cost, as they add up what counts as the largest of several.
struct CostBound {
  Extent elements = 0;
  Extent flops = 0;
};

/// The cost of a graph as a function of sizes. It holds nothing of the graph, which may go.
class CostModel {
 public:
  CostModel() = default;
  explicit CostModel(const Graph& graph);

  Cost at(const Bindings& bindings) const;
  /// Error (NotRepresentable): it does not fit 64 bits at any sizes.
  CostBound bound() const;

 private:
  struct Counted {
    std::vector<std::vector<Extent>> elements = {};  // products, of which the largest counts
    Extent macs = 0;
    Extent trips = 1;
    std::vector<std::vector<Counted>> bodies = {};  // of which the longest counts
  };
  static std::vector<Counted> counted(const Graph& graph);
  static Cost cost_at(const std::vector<Counted>& all, const Bindings& bindings);
  static CostBound bound_of(const std::vector<Counted>& all);

  std::vector<Counted> all_;
};

constexpr double kLongRun = 10;      // seconds from which on a run is announced
constexpr double kLongestRun = 600;  // and from which on it is not begun unless `--long` says so

inline constexpr Option kLongOption{
    "--long", "", "begin a run even if it looks like more than ten minutes (by 1e9 elements and 1e11 flops a second)"};

/// Say what a long run costs, to standard error. Error when it is beyond kLongestRun and `arguments` lack `--long`.
void announce_cost(const CostModel& model, const Bindings& bindings, const Arguments& arguments);

}  // namespace tenon::cli
