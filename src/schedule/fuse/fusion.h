// Groups of operations while they grow.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schedule/fuse/group.h"
#include "schedule/fuse/state_updates.h"

namespace tenon::schedule {

/// Why a cluster and one that reads it stayed two. It holds as long as both have as many nodes as when it was found.
struct KeptApart {
  const Node* reader;  // the first node of the other that reads something of it
  std::string why;
  size_t nodes, reader_nodes;
};

/// A group in the making.
struct Cluster {
  int id = 0;
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> members;
  std::unordered_set<const Node*> owned;  // those whose values this cluster stores when somebody else needs them
  Nest nest;
  bool has_one_shape = true;     // all of its nodes have the same sizes
  bool is_stale = false;         // the nest is to be built again: maps joined that cannot be in the way of anything
  std::vector<KeptApart> apart;  // in the order in which they were tried; some do not hold any more
  std::string boundary;          // why it ends, where that is none of these
};

/// Why two clusters stay apart that would wait for each other as one.
inline constexpr std::string_view kBetween = "another kernel stands between";

/// Why a kernel that updates state in place ends there.
inline constexpr std::string_view kOwnUpdate = "an array is updated in place: what reads it is another kernel";

/// Products and windows: what they read is computed once, and not inside of them.
bool reads_elements_often(const Node& node);

/// Starts with one cluster for each loop; merges are tried by building the kernel.
class Fusion {
 public:
  Fusion(const Graph& graph, const Roles& roles, MapPrograms& programs, const ScheduleOptions& options,
         const StateUpdates& state);

  /// Compute what is made of no array, such as a mask of positions, wherever it is read. To be called first: a kernel
  /// that stores it for others has fewer loops in common with them.
  void recompute_free();
  /// Join every operation with the kernels that make its operands.
  void fuse_producers();
  /// Reduce what products leave tile by tile, instead of reading it again: the rest of a kernel that does more with it
  /// reads the results.
  void reduce_in_tiles();
  /// Join kernels that read the same arrays.
  void fuse_siblings();
  /// Compute cheap values again where that moves fewer bytes than to store and load them.
  void recompute_cheap();
  /// Store one array where a kernel stores several that are cheap to compute of it, such as one gradient multiplied by
  /// the weights of two norms: kernels that read it then have a load in common.
  void recompute_of_shared();
  /// A concat of what kernels make is no kernel: each writes its part of the whole.
  void place_concats();
  /// Join what only stands apart because nobody has tried since it became what it is: kernels grow, and what is
  /// computed again reads other arrays than before. To be called before concats are placed. Every kernel that another
  /// one reads then knows why they are two.
  void settle_boundaries();
  /// Try again what stands as the reason of each boundary, where somebody asks what was tried, and record what is
  /// found.
  void confirm_boundaries() const;
  /// The kernels and other steps in order, independent ones of a kind side by side.
  std::vector<GroupedStep> steps(bool side_by_side) const;

 private:
  struct BuildOptions {
    RowForm rows = RowForm::keep;
    bool shared_code = false;
  };

  /// What a value is made of when it is computed again.
  struct Cone {
    std::vector<const Node*> nodes;
    std::unordered_set<Value> frontier;  // loaded
    double flops = 0;                    // of its products
  };

  std::vector<Value> outputs_of(const std::unordered_set<const Node*>& owned, const std::vector<int>& ignored) const;
  std::variant<Nest, Refusal> build(const std::unordered_set<const Node*>& members, const std::vector<Value>& outputs,
                                    const BuildOptions& options) const;
  std::variant<Nest, Refusal> build(const std::unordered_set<const Node*>& members,
                                    const std::vector<Value>& outputs) const {
    return build(members, outputs, BuildOptions{});
  }
  std::optional<LongRows> long_rows(const Cluster& cluster) const;
  Extent one_if_profitable(const loops::Kernel& long_rows, const loops::Kernel& kernel) const;
  std::string boundary(const Cluster& cluster) const;
  std::set<int> readers_of(const Cluster& cluster) const;
  const KeptApart* kept_apart(const Cluster& cluster, const Cluster& reader) const;
  const KeptApart* kept_apart(const Cluster& cluster) const;
  std::string between(const Cluster& cluster, const Node& reader) const;
  std::string why_apart(const Cluster& cluster) const;
  void settle_boundary(int id, std::vector<int>& pending);
  void rebuild_stale();
  std::vector<const Node*> computed(const Cluster& cluster, const std::vector<Value>& outputs) const;
  std::optional<std::string> refuse(const Cluster& producer, const Cluster& consumer) const;
  bool is_plain_map(const Cluster& producer, const Cluster& consumer) const;
  void take(Cluster merged, int producer, int consumer);
  std::variant<Cluster, std::string> merged(const Cluster& p, const Cluster& c, bool must_save_loads) const;
  bool try_merge(int producer, int consumer, bool must_save_loads);
  bool try_siblings(const Value& value);
  bool has_path(int from, int to, bool direct_counts, size_t newest = std::numeric_limits<size_t>::max()) const;
  bool is_owned_loop(const Node& node) const;
  std::optional<double> flops_of_large(const Value& value) const;
  Cone cone_of(const Value& value, bool products, const Node* end = nullptr) const;
  bool leads_to_often(const Cluster& cluster, const Value& value) const;
  bool try_recompute(const Value& value, bool products, const Node* end = nullptr);
  bool is_cheap_of(const Value& value, const Node& source) const;
  bool try_store_instead(const std::vector<Value>& outputs, const Node& source);
  bool try_reduce_in_tiles(int producer, int consumer);
  std::string why_not_move(const Cluster& p, const Cluster& c, const std::unordered_set<const Node*>& left) const;
  std::string try_move(int producer, int consumer, const std::unordered_set<const Node*>& narrow);
  /// Clusters that update in place what this one reads: they run after it.
  std::set<int> clusters_overwriting(const Cluster& cluster) const;
  /// Whether the kernel reads memory that it updates in place, or updates it twice.
  bool meets_own_update(const Nest& nest) const;
  /// Clusters that load the value.
  std::set<int> clusters_reading(const Value& value) const;
  std::string why_not_placed(const Value& part, int cluster) const;
  bool try_place(const Node& concat);
  /// Whether what its products store leaves no room in a cache for two of them, at nominal sizes.
  bool needs_much_scratch(const Nest& nest) const;
  /// With `size` for every named axis: bytes are weighed before anything is bound.
  double bytes(const Value& value, int64_t size = kNominalSize) const;
  double largest_read(int id) const;

  static constexpr int64_t kNominalSize = 64;

  const Graph& graph_;
  const Roles& roles_;
  MapPrograms& programs_;
  const ScheduleOptions& options_;
  const StateUpdates& state_;
  std::unordered_map<const Node*, size_t> order_;
  std::unordered_map<Value, std::vector<const Node*>> readers_;  // those that are loops or alone
  std::unordered_set<Value> visible_;                            // graph outputs
  std::unordered_set<Value> overwritten_;                        // inputs that outputs take the place of
  std::map<int, Cluster> clusters_;                              // by id; nodes alone too, without a nest
  std::unordered_map<const Node*, int> owner_;                   // the cluster that stores a node's value
  std::unordered_map<const Node*, std::vector<int>> homes_;      // the clusters that compute it
  std::unordered_map<Value, Placement> placements_;              // values that are parts of a concat
  bool epilogue_reductions_ = false;                             // products may have reductions of their tiles
  int next_ = 0;
};

}  // namespace tenon::schedule
