// What parts cost on a profile: roofline of each part, transfers over links, the whole as the sum of its parts.
#pragma once

#include "partition/plan/flow.h"

namespace tenon::partition {

/// Bytes that are alive at once while the operators run one after the other, weights included.
int64_t working_set(const SizedGraph& graph, std::span<const int> operators, const PartFlow& flow);

/// Results that can be computed independently in a part: of its narrowest product, or of its widest operator.
int64_t parallelism_of(const SizedGraph& graph, std::span<const int> operators);

/// What a part's figures depend on beside it.
struct Surroundings {
  int64_t devices = 1;
  int64_t weight_bytes = 0;  // of the whole model, which decide what memory weights stay in
};
int64_t weight_bytes(const SizedGraph& graph);

/// A part on a unit, in `part.tiles` pieces.
Figures figures_of(const SizedGraph& graph, const Part& part, const PartFlow& flow, const Profile& profile,
                   const Unit& unit, const Surroundings& around);

/// Pieces that a part has to be done in so that each fits the unit's memory. Error, naming the operator whose smallest
/// piece does not.
int64_t tiles_for(const SizedGraph& graph, std::span<const int> operators, int64_t working_set, const Profile& profile,
                  const Unit& unit);

/// Pieces of at most `limit` arithmetic that the operators have to be done in; 1 where there is no limit.
int64_t tiles_of_flops(const SizedGraph& graph, std::span<const int> operators, double limit);

/// Choose unit and tiles of every part, then fill in figures, transfers and totals.
void place(Plan& plan, const SizedGraph& graph, const Profile& profile);
/// Figures, transfers and totals for units and tiles as they are.
void estimate(Plan& plan, const SizedGraph& graph, const Profile& profile);

/// What a profile's field by dtype or role says of `key`; `otherwise` where it has none.
double rate_of(const std::vector<std::pair<std::string, double>>& table, std::string_view key, double otherwise);

}  // namespace tenon::partition
