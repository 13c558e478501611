// Puts the loops of a draft into order: phases, nests of loops, and what is defined where.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernel/scalar/prim_cost.h"
#include "schedule/draft/draft.h"
#include "schedule/products/product_operands.h"

namespace tenon::schedule {

/// What a nest of loops is for: a store, or a reduction whose result something later needs.
struct Task {
  bool is_store = false;
  size_t index = 0;       // into Draft::stores or Draft::reductions
  AxisSet remaining = 0;  // loops still to be opened around it
  bool begins = false;    // its accumulator starts at the next loop
};

/// Where an element of some loops lies among all of them, side by side.
struct DensePlace {
  loops::Affine at;
  Extent elements = 1;
};

/// Writes the phases of the kernel of a draft whose axes have been joined, tiled and marked.
class TreeBuilder {
 public:
  TreeBuilder(Draft& draft, bool keep_rows) : draft_(draft), keep_rows_(keep_rows) {}

  /// A phase that runs these products, then these stores and what they need. Its grid is `grid`, but for vectorised
  /// axes and the insides of tiles, which are loops. `first` are loops around all stores behind the products,
  /// and around what is done where these did not serve.
  void add_phase(AxisSet grid, std::vector<size_t> stores, std::span<const DraftProduct> products = {},
                 AxisSet first = 0, const ProductException& exception = {});

  /// Ends the use of scratch rows that were stored inside of the loops beyond `bound` (nothing given: in a phase): what
  /// is written from now on computes these values again.
  void forget_rows(std::optional<AxisSet> bound = {});

  /// Elements of these loops, the innermost loop's next to each other.
  DensePlace dense(AxisSet axes) const;

  /// A value that is dear to compute and is computed more often than it has elements; or nothing.
  const std::string& repeats() const { return repeats_; }

 private:
  /// A block whose statements are being collected.
  struct Scope {
    loops::Block block;
    AxisSet bound = 0;
    std::unordered_set<int> defined;
  };
  /// Tasks that share a nest of loops.
  struct Nest {
    AxisSet loops = 0;
    std::vector<Task> tasks;
  };
  /// A reduction whose loop is open.
  enum class Running : uint8_t { begun, fed };
  struct Kept {
    int buffer = 0;
    loops::Affine at;
  };

  void block(AxisSet bound, std::vector<Task> tasks);
  void add_products(AxisSet grid, std::span<const DraftProduct> products, std::vector<size_t>& stores);
  void product(AxisSet bound, const DraftProduct& product, std::vector<size_t> stores);
  bool reads(int value, std::span<const DraftProduct> products) const;
  std::vector<Task> tasks_of(const std::vector<size_t>& stores, AxisSet bound) const;
  void open_nest(AxisSet bound, const Nest& nest);
  void leaf(const Task& task);
  void define(int value);
  void keep(int value, Scope& scope);
  bool is_defined(int value) const;
  void note_repeats(const Nest& nest, AxisSet bound);
  void open(int axis);
  void close(int axis, std::vector<int> begins, int unless = -1);

  int value_of(const Task& task) const;
  std::vector<size_t> reductions_needed(const Task& task, AxisSet bound) const;
  std::vector<Task> with_reductions(std::vector<Task> tasks, AxisSet bound) const;
  std::vector<Nest> in_stages(const std::vector<Task>& tasks, AxisSet bound) const;
  std::vector<int> nesting_order(AxisSet axes) const;

  std::unordered_map<int, int> keep_for(const std::vector<Nest>& nests, size_t now, AxisSet bound);
  std::vector<int> find_shared(std::vector<int> roots, const std::unordered_set<int>& computed, AxisSet bound) const;
  bool is_dear(int value, AxisSet bound, std::unordered_map<int, bool>& known) const;

  Draft& draft_;
  bool keep_rows_;
  bool in_product_ = false;  // what is written now is an operand of a product
  std::vector<Scope> open_;
  std::unordered_map<int, std::vector<Kept>> keeping_;  // values that are stored in scratch as soon as they are defined
  std::unordered_map<size_t, int> rewritten_;           // reductions that read scratch: their inputs before
  std::unordered_map<size_t, Running> running_;         // by index into Draft::reductions
  std::string repeats_;
};

}  // namespace tenon::schedule
