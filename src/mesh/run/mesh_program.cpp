#include "mesh/run/mesh_program.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "base/fail.h"
#include "base/hash.h"
#include "disk/content_hash.h"
#include "mesh/run/pieces.h"
#include "tenon/interpreter.h"

namespace tenon::mesh {
namespace {

std::vector<size_t> times(const std::vector<int64_t>& sizes, size_t factor) {
  std::vector<size_t> result;
  for (const int64_t size : sizes) {
    result.push_back(static_cast<size_t>(size) * factor);
  }
  return result;
}

/// Pieces along an axis as one run of bytes, one piece behind the other.
std::vector<std::byte> lay_out(const Array& array, int axis, const std::vector<int64_t>& sizes) {
  std::vector<std::byte> bytes;
  bytes.reserve(array.byte_count());
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    const Array piece = slice_along(array, axis, begin, size);
    bytes.insert(bytes.end(), piece.data(), piece.data() + piece.byte_count());
    begin += size;
  }
  return bytes;
}

/// The inverse, of pieces with these dims but for the axis.
Array put_together(const std::vector<std::byte>& bytes, Dtype dtype, std::vector<int64_t> dims, int axis,
                   const std::vector<int64_t>& sizes) {
  std::vector<Array> pieces;
  const std::byte* from = bytes.data();
  for (const int64_t size : sizes) {
    dims[static_cast<size_t>(axis)] = size;
    Array piece = Array::uninitialized(dtype, dims);
    std::copy_n(from, piece.byte_count(), piece.mutable_data());
    from += piece.byte_count();
    pieces.push_back(std::move(piece));
  }
  return join_along(pieces, axis);
}

/// Bytes for each position along the axis.
size_t bytes_along(const Array& array, int axis) {
  size_t bytes = byte_size(array.dtype());
  for (int i = 0; i < array.rank(); ++i) {
    if (i != axis) bytes *= static_cast<size_t>(array.dims()[static_cast<size_t>(i)]);
  }
  return bytes;
}

size_t sum(const std::vector<size_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), size_t{0}); }

/// Ranks that differ only along axis `m` of the mesh have the same color.
int color_of(const MeshShape& mesh, const std::vector<int>& coordinates, size_t m) {
  int color = 0;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    color = color * mesh.axes[i].size + (i == m ? 0 : coordinates[i]);
  }
  return color;
}

}  // namespace

MeshProgram::MeshProgram(ShardedGraph graph, Communicator& world, const Engine& engine)
    : graph_(std::move(graph)), world_(world) {
  if (world.size() != graph_.mesh.rank_count()) {
    fail("the mesh {} has {} ranks, and there are {} processes", graph_.mesh.to_string(), graph_.mesh.rank_count(),
         world.size());
  }
  require_same(fingerprint(graph_), "another program");
  program_ = cut_into_segments(graph_);
  for (size_t m = 0; m < graph_.mesh.axes.size(); ++m) {
    groups_.push_back(world.split(color_of(graph_.mesh, graph_.coordinates, m)));
  }
  std::vector<size_t> last(program_.value_count, 0);
  for (size_t s = 0; s < program_.segments.size(); ++s) {
    const Segment& segment = program_.segments[s];
    runs_.push_back(segment.gives.empty() ? SegmentRun() : engine(segment.graph));
    for (const size_t value : segment.takes) {
      last[value] = s;
    }
    for (const size_t each : segment.collectives) {
      last[program_.sources[each]] = s;
    }
  }
  for (const size_t value : program_.outputs) {
    last[value] = program_.segments.size();
  }
  last_.resize(program_.segments.size() + 1);
  for (size_t value = 0; value < last.size(); ++value) {
    last_[last[value]].push_back(value);
  }
}

void MeshProgram::require_same(uint64_t number, const char* what) {
  const auto ranks = static_cast<size_t>(world_.size());
  std::vector<uint64_t> all(ranks);
  world_
      .all_gather(reinterpret_cast<const std::byte*>(&number), std::vector<size_t>(ranks, sizeof(number)),
                  reinterpret_cast<std::byte*>(all.data()))
      ->wait();
  const auto other = std::ranges::find_if(all, [&](uint64_t each) { return each != all[0]; });
  if (other != all.end()) {
    fail("rank {} of the mesh has {} than rank 0; start every rank with the same command and the same files",
         other - all.begin(), what);
  }
}

std::vector<Array> MeshProgram::run_whole(const std::vector<Array>& inputs, const Bindings& known) {
  const Bindings bindings = tenon::bind(graph_.whole, inputs, known);
  std::vector<Array> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parts.push_back(part_of_input(i, inputs[i], bindings));
  }
  return run(parts, bindings);
}

void MeshProgram::require_same_contents(const std::vector<Array>& arrays) {
  uint64_t hash = 0;
  for (const Array& array : arrays) {
    const std::string_view bytes(reinterpret_cast<const char*>(array.data()), array.byte_count());
    hash = combine_hash(hash, disk::content_hash(bytes).low);
  }
  require_same(hash, "other inputs");
}

Array MeshProgram::part_of_input(size_t input, const Array& whole, const Bindings& bindings) const {
  return part_of(whole, graph_.input_layouts[input], graph_.mesh, graph_.coordinates, bindings);
}

Array MeshProgram::whole_input(size_t input, const Array& part, const Bindings& bindings) {
  Array result = part;
  const Layout& layout = graph_.input_layouts[input];
  for (size_t m = 0; m < layout.size(); ++m) {
    if (!layout[m].is_split()) continue;
    Communicator& ranks = group(m);
    const std::vector<int64_t> sizes = sizes_of(layout[m].cut, ranks.size(), bindings);
    const std::vector<size_t> bytes = times(sizes, bytes_along(result, layout[m].axis));
    std::vector<std::byte> all(sum(bytes));
    ranks.all_gather(result.data(), bytes, all.data())->wait();
    result = put_together(all, result.dtype(), result.dims(), layout[m].axis, sizes);
  }
  return result;
}

std::vector<Array> MeshProgram::run(const std::vector<Array>& inputs, const Bindings& bindings) {
  require_same(bindings.hash(), "inputs of other sizes");
  std::vector<Array> values(program_.value_count);
  std::ranges::copy(inputs, values.begin());
  for (size_t s = 0; s < program_.segments.size(); ++s) {
    const Segment& segment = program_.segments[s];
    if (runs_[s]) {
      std::vector<Array> operands;
      for (const size_t value : segment.takes) {
        operands.push_back(values[value]);
      }
      std::vector<Array> results = runs_[s](operands, bindings);
      for (size_t i = 0; i < results.size(); ++i) {
        values[segment.gives[i]] = std::move(results[i]);
      }
    }
    exchange(segment.collectives, values, bindings);
    for (const size_t value : last_[s]) {
      values[value] = Array();
    }
  }
  std::vector<Array> outputs;
  for (const size_t value : program_.outputs) {
    outputs.push_back(values[value]);
  }
  return outputs;
}

void MeshProgram::exchange(const std::vector<size_t>& collectives, std::vector<Array>& values,
                           const Bindings& bindings) {
  // All reductions along one axis of the mesh of one type are one, and all gathers along it. A map keeps the same
  // order on every rank.
  std::map<std::tuple<size_t, ReduceOp, Dtype>, std::vector<size_t>> reductions, scatters;
  std::map<size_t, std::vector<size_t>> gathers;  // by axis of the mesh
  for (const size_t each : collectives) {
    const Collective& step = graph_.collectives[each];
    if (step.kind == CollectiveKind::all_reduce) {
      reductions[{step.mesh_axis, step.from.op, step.whole.dtype()}].push_back(each);
    } else if (step.kind == CollectiveKind::reduce_scatter) {
      scatters[{step.mesh_axis, step.from.op, step.whole.dtype()}].push_back(each);
    } else if (step.kind == CollectiveKind::all_gather) {
      gathers[step.mesh_axis].push_back(each);
    } else {
      values[program_.results[each]] = exchanged(step, values[program_.sources[each]], bindings);
    }
  }
  for (const auto& [key, together] : reductions) {
    reduce_together(together, values);
  }
  for (const auto& [key, together] : scatters) {
    scatter_together(together, values, bindings);
  }
  for (const auto& [mesh_axis, together] : gathers) {
    gather_together(together, values, bindings);
  }
}

void MeshProgram::gather_together(const std::vector<size_t>& collectives, std::vector<Array>& values,
                                  const Bindings& bindings) {
  Communicator& ranks = group(graph_.collectives[collectives[0]].mesh_axis);
  // What each rank sends is its part of every tensor, one behind the other.
  std::vector<std::vector<int64_t>> sizes;
  std::vector<size_t> bytes(static_cast<size_t>(ranks.size()));
  std::vector<std::byte> mine;
  for (const size_t each : collectives) {
    const Placement& from = graph_.collectives[each].from;
    const Array& part = values[program_.sources[each]];
    sizes.push_back(sizes_of(from.cut, ranks.size(), bindings));
    const std::vector<size_t> each_bytes = times(sizes.back(), bytes_along(part, from.axis));
    std::ranges::transform(bytes, each_bytes, bytes.begin(), std::plus());
    mine.insert(mine.end(), part.data(), part.data() + part.byte_count());
  }
  std::vector<std::byte> all(sum(bytes));
  ranks.all_gather(mine.data(), bytes, all.data())->wait();
  count(CollectiveKind::all_gather, ranks.size(), static_cast<double>(all.size()));
  std::vector<std::vector<Array>> pieces(collectives.size());
  const std::byte* from = all.data();
  for (size_t rank = 0; rank < bytes.size(); ++rank) {
    for (size_t i = 0; i < collectives.size(); ++i) {
      const Array& part = values[program_.sources[collectives[i]]];
      std::vector<int64_t> dims = part.dims();
      dims[static_cast<size_t>(graph_.collectives[collectives[i]].from.axis)] = sizes[i][rank];
      Array piece = Array::uninitialized(part.dtype(), std::move(dims));
      std::copy_n(from, piece.byte_count(), piece.mutable_data());
      from += piece.byte_count();
      pieces[i].push_back(std::move(piece));
    }
  }
  for (size_t i = 0; i < collectives.size(); ++i) {
    values[program_.results[collectives[i]]] = join_along(pieces[i], graph_.collectives[collectives[i]].from.axis);
  }
}

void MeshProgram::scatter_together(const std::vector<size_t>& collectives, std::vector<Array>& values,
                                   const Bindings& bindings) {
  const Collective& first = graph_.collectives[collectives[0]];
  Communicator& ranks = group(first.mesh_axis);
  const Dtype dtype = first.whole.dtype();
  // What goes to a rank is its part of every tensor, one behind the other.
  std::vector<std::byte> data;
  std::vector<size_t> counts(static_cast<size_t>(ranks.size()));
  std::vector<std::vector<int64_t>> sizes;
  for (const size_t each : collectives) {
    sizes.push_back(sizes_of(graph_.collectives[each].to.cut, ranks.size(), bindings));
  }
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    for (size_t i = 0; i < collectives.size(); ++i) {
      const int64_t begin =
          std::accumulate(sizes[i].begin(), sizes[i].begin() + static_cast<int64_t>(rank), int64_t{0});
      const Array piece = slice_along(values[program_.sources[collectives[i]]],
                                      graph_.collectives[collectives[i]].to.axis, begin, sizes[i][rank]);
      counts[rank] += static_cast<size_t>(piece.size());
      data.insert(data.end(), piece.data(), piece.data() + piece.byte_count());
    }
  }
  const auto own = static_cast<size_t>(ranks.rank());
  Array mine = Array::uninitialized(dtype, {static_cast<int64_t>(counts[own])});
  ranks
      .reduce_scatter(data.data(), counts, byte_size(dtype), combine_function(first.from.op, dtype),
                      mine.mutable_data())
      ->wait();
  count(first.kind, ranks.size(), static_cast<double>(data.size()));
  int64_t begin = 0;
  for (size_t i = 0; i < collectives.size(); ++i) {
    std::vector<int64_t> dims = values[program_.sources[collectives[i]]].dims();
    dims[static_cast<size_t>(graph_.collectives[collectives[i]].to.axis)] = sizes[i][own];
    values[program_.results[collectives[i]]] = mine.window(begin, std::move(dims));
    begin += values[program_.results[collectives[i]]].size();
  }
}

void MeshProgram::reduce_together(const std::vector<size_t>& collectives, std::vector<Array>& values) {
  const Collective& first = graph_.collectives[collectives[0]];
  const Dtype dtype = first.whole.dtype();
  int64_t elements = 0;
  for (const size_t each : collectives) {
    elements += values[program_.sources[each]].size();
  }
  Array all = Array::uninitialized(dtype, {elements});
  std::byte* to = all.mutable_data();
  for (const size_t each : collectives) {
    const Array& part = values[program_.sources[each]];
    to = std::copy_n(part.data(), part.byte_count(), to);
  }
  Communicator& ranks = group(first.mesh_axis);
  ranks
      .all_reduce(all.mutable_data(), static_cast<size_t>(elements), byte_size(dtype),
                  combine_function(first.from.op, dtype))
      ->wait();
  count(first.kind, ranks.size(), static_cast<double>(all.byte_count()));
  int64_t begin = 0;
  for (const size_t each : collectives) {
    const std::vector<int64_t> dims = values[program_.sources[each]].dims();
    values[program_.results[each]] = all.window(begin, dims);
    begin += values[program_.results[each]].size();
  }
}

Array MeshProgram::exchanged(const Collective& step, const Array& mine, const Bindings& bindings) {
  Communicator& ranks = group(step.mesh_axis);
  const Dtype dtype = mine.dtype();
  std::vector<int64_t> dims = mine.dims();
  const auto rank = static_cast<size_t>(ranks.rank());
  const std::vector<int64_t> sizes = sizes_of(step.to.cut, ranks.size(), bindings);
  const std::vector<size_t> sent = times(sizes, bytes_along(mine, step.to.axis));
  const std::vector<std::byte> pieces = lay_out(mine, step.to.axis, sizes);
  dims[static_cast<size_t>(step.to.axis)] = sizes[rank];
  TENON_CHECK(step.kind == CollectiveKind::all_to_all);
  const std::vector<int64_t> from_sizes = sizes_of(step.from.cut, ranks.size(), bindings);
  dims[static_cast<size_t>(step.from.axis)] = 1;
  size_t along = byte_size(dtype);
  for (const int64_t size : dims) {
    along *= static_cast<size_t>(size);
  }
  const std::vector<size_t> received = times(from_sizes, along);
  std::vector<std::byte> all(sum(received));
  ranks.all_to_all(pieces.data(), sent, all.data(), received)->wait();
  count(step.kind, ranks.size(), static_cast<double>(all.size()) * ranks.size());
  return put_together(all, dtype, dims, step.from.axis, from_sizes);
}

void MeshProgram::count(CollectiveKind kind, int ranks, double bytes) {
  traffic_.bytes += Collective::sent_share(kind, ranks) * bytes;
  ++traffic_.collectives;
}

}  // namespace tenon::mesh
