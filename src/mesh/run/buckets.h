// Which collectives go together.
#pragma once

#include <vector>

#include "mesh/split/collective.h"
#include "tenon/bindings.h"

namespace tenon::mesh {

/// Collectives (numbers of `all`) whose sources one segment gives, in groups that are one exchange each, in the order
/// in which ranks start them. Reductions of one type along one axis of the mesh go together, and gathers along one,
/// until a group has so many bytes that it is not worth waiting for more: the first ones are sent while the rest is
/// computed. By sizes and depths of the whole graph alone, so that all ranks have the same.
std::vector<std::vector<size_t>> buckets(const std::vector<Collective>& all, std::vector<size_t> collectives,
                                         const Bindings& bindings);

}  // namespace tenon::mesh
