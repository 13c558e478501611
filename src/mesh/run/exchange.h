// Collectives under way.
#pragma once

#include <memory>
#include <vector>

#include "mesh/exchange/communicator.h"
#include "mesh/split/rank_plan.h"
#include "tenon/array.h"

namespace tenon::mesh {

/// Several collectives of one kind along one axis of the mesh that go together: packed, sent, and taken apart. Ranks
/// start the same ones in the same order.
class Exchange {
 public:
  /// `collectives` are those of the plan with these numbers.
  Exchange(const RankPlan& plan, std::vector<size_t> collectives);

  const std::vector<size_t>& collectives() const { return collectives_; }

  /// `sources` are what this rank has of each tensor.
  void start(std::vector<Array> sources, Communicator& ranks, const Bindings& bindings);
  bool is_started() const { return request_ != nullptr; }
  /// Moves what is under way on.
  void look() { request_->is_done(); }
  /// What this rank gets of each tensor, once that is there; it can then be started again.
  std::vector<Array> finish();

  /// What a rank sends, by the formula of the collective.
  double sent_bytes() const { return sent_bytes_; }
  /// `all_reduce over data, 4.5 MiB`.
  std::string label() const;

 private:
  const Collective& collective(size_t i) const { return plan_.collectives[collectives_[i]]; }
  bool is_alone_in_rows(int axis) const;
  void start_all_reduce(Communicator& ranks);
  void start_all_gather(Communicator& ranks, const Bindings& bindings);
  void start_reduce_scatter(Communicator& ranks, const Bindings& bindings);
  void start_all_to_all(Communicator& ranks, const Bindings& bindings);
  void start_halo_exchange(Communicator& ranks, const Bindings& bindings);
  std::vector<Array> windows_of(const Array& all) const;
  std::vector<Array> gathered() const;
  std::vector<Array> scattered() const;
  Array put_together() const;

  const RankPlan& plan_;
  std::vector<size_t> collectives_;
  std::vector<Array> sources_;
  std::vector<std::byte> packed_;  // where they are not sent from where they lie
  Array received_;
  std::vector<std::vector<int64_t>> sizes_;  // of each tensor: that each rank has along the axis that is cut
  size_t rank_ = 0;
  double sent_bytes_ = 0;
  std::unique_ptr<Request> request_;
};

}  // namespace tenon::mesh
