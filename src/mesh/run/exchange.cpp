#include "mesh/run/exchange.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/fail.h"
#include "mesh/run/pieces.h"

namespace tenon::mesh {
namespace {

std::vector<size_t> times(const std::vector<int64_t>& sizes, size_t factor) {
  std::vector<size_t> result;
  for (const int64_t size : sizes) {
    result.push_back(static_cast<size_t>(size) * factor);
  }
  return result;
}

size_t sum(const std::vector<size_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), size_t{0}); }

/// Elements for each position along the axis.
size_t elements_along(const Array& array, int axis) {
  size_t elements = 1;
  for (int i = 0; i < array.rank(); ++i) {
    if (i != axis) elements *= static_cast<size_t>(array.dims()[static_cast<size_t>(i)]);
  }
  return elements;
}

std::vector<int64_t> with_size(std::vector<int64_t> dims, int axis, int64_t size) {
  dims[static_cast<size_t>(axis)] = size;
  return dims;
}

/// Whether positions along the axis follow one another in memory.
bool is_outermost(const Array& array, int axis) {
  return std::all_of(array.dims().begin(), array.dims().begin() + axis, [](int64_t size) { return size == 1; });
}

/// Elements [begin, end) of an axis.
struct Stretch {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

Stretch common(const Stretch& a, const Stretch& b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Those of each rank.
std::vector<Stretch> stretches_of(const Cut& cut, int ranks, const Bindings& bindings) {
  std::vector<Stretch> result;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t begin = evaluate(cut.begin(rank, ranks), bindings);
    result.push_back({begin, begin + evaluate(cut.size(rank, ranks), bindings)});
  }
  return result;
}

void append(std::vector<std::byte>& bytes, const Array& array) {
  bytes.insert(bytes.end(), array.data(), array.data() + array.byte_count());
}

}  // namespace

Exchange::Exchange(const RankPlan& plan, std::vector<size_t> collectives)
    : plan_(plan), collectives_(std::move(collectives)) {}

void Exchange::start(std::vector<Array> sources, Communicator& ranks, const Bindings& bindings) {
  sources_ = std::move(sources);
  packed_.clear();
  sizes_.clear();
  rank_ = static_cast<size_t>(ranks.rank());
  switch (collective(0).kind) {
    case CollectiveKind::all_reduce: start_all_reduce(ranks); break;
    case CollectiveKind::all_gather: start_all_gather(ranks, bindings); break;
    case CollectiveKind::reduce_scatter: start_reduce_scatter(ranks, bindings); break;
    case CollectiveKind::all_to_all: start_all_to_all(ranks, bindings); break;
    case CollectiveKind::halo_exchange: start_halo_exchange(ranks, bindings); break;
  }
}

std::string Exchange::label() const {
  const Collective& first = collective(0);
  return fmt::format("{} over {}, {:.1f} KiB", name(first.kind), plan_.mesh.axes[first.mesh_axis].name,
                     sent_bytes_ / 1024);
}

std::vector<Array> Exchange::finish() {
  request_->wait();
  request_.reset();
  std::vector<Array> results;
  switch (collective(0).kind) {
    case CollectiveKind::all_reduce: results = windows_of(received_); break;
    case CollectiveKind::all_gather: results = gathered(); break;
    case CollectiveKind::reduce_scatter: results = scattered(); break;
    case CollectiveKind::all_to_all:
    case CollectiveKind::halo_exchange: results = {put_together()}; break;
  }
  sources_.clear();
  received_ = Array();
  return results;
}

bool Exchange::is_alone_in_rows(int axis) const { return sources_.size() == 1 && is_outermost(sources_[0], axis); }

void Exchange::start_all_reduce(Communicator& ranks) {
  const Dtype dtype = collective(0).whole.dtype();
  int64_t elements = 0;
  for (const Array& source : sources_) {
    elements += source.size();
  }
  received_ = Array::uninitialized(dtype, {elements});
  std::byte* const into = received_.mutable_data();
  const std::byte* const from = sources_.size() > 1 ? into : sources_[0].data();
  for (std::byte* to = into; const Array& source : sources_) {
    if (sources_.size() > 1) to = std::copy_n(source.data(), source.byte_count(), to);
  }
  sent_bytes_ =
      static_cast<double>(received_.byte_count()) * Collective::sent_share(CollectiveKind::all_reduce, ranks.size());
  request_ = ranks.all_reduce(from, into, static_cast<size_t>(elements), byte_size(dtype),
                              combine_function(collective(0).from.op, dtype));
}

void Exchange::start_all_gather(Communicator& ranks, const Bindings& bindings) {
  // What each rank sends is its part of every tensor, one behind the other.
  std::vector<size_t> bytes(static_cast<size_t>(ranks.size()));
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Placement& from = collective(i).from;
    sizes_.push_back(sizes_of(from.cut, ranks.size(), bindings));
    const size_t along = elements_along(sources_[i], from.axis) * byte_size(sources_[i].dtype());
    std::ranges::transform(bytes, times(sizes_[i], along), bytes.begin(), std::plus());
    if (sources_.size() > 1) append(packed_, sources_[i]);
  }
  const Dtype dtype = collective(0).whole.dtype();
  received_ = Array::uninitialized(dtype, {static_cast<int64_t>(sum(bytes) / byte_size(dtype))});
  sent_bytes_ =
      static_cast<double>(received_.byte_count()) * Collective::sent_share(CollectiveKind::all_gather, ranks.size());
  request_ =
      ranks.all_gather(sources_.size() > 1 ? packed_.data() : sources_[0].data(), bytes, received_.mutable_data());
}

void Exchange::start_reduce_scatter(Communicator& ranks, const Bindings& bindings) {
  const Dtype dtype = collective(0).whole.dtype();
  // What goes to a rank is its part of every tensor, one behind the other.
  std::vector<size_t> counts(static_cast<size_t>(ranks.size()));
  std::vector<int64_t> begins(sources_.size(), 0);
  for (size_t i = 0; i < sources_.size(); ++i) {
    sizes_.push_back(sizes_of(collective(i).to.cut, ranks.size(), bindings));
    const size_t along = elements_along(sources_[i], collective(i).to.axis);
    std::ranges::transform(counts, times(sizes_[i], along), counts.begin(), std::plus());
  }
  const bool is_packed = !is_alone_in_rows(collective(0).to.axis);
  for (size_t rank = 0; is_packed && rank < counts.size(); ++rank) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      append(packed_, slice_along(sources_[i], collective(i).to.axis, begins[i], sizes_[i][rank]));
      begins[i] += sizes_[i][rank];
    }
  }
  received_ = Array::uninitialized(dtype, {static_cast<int64_t>(counts[rank_])});
  sent_bytes_ = static_cast<double>(sum(counts) * byte_size(dtype)) *
                Collective::sent_share(CollectiveKind::reduce_scatter, ranks.size());
  request_ = ranks.reduce_scatter(is_packed ? packed_.data() : sources_[0].data(), counts, byte_size(dtype),
                                  combine_function(collective(0).from.op, dtype), received_.mutable_data());
}

void Exchange::start_all_to_all(Communicator& ranks, const Bindings& bindings) {
  TENON_CHECK(sources_.size() == 1);
  const Collective& step = collective(0);
  const Array& mine = sources_[0];
  const std::vector<int64_t> to_sizes = sizes_of(step.to.cut, ranks.size(), bindings);
  sizes_ = {sizes_of(step.from.cut, ranks.size(), bindings), to_sizes};
  int64_t begin = 0;
  for (const int64_t size : to_sizes) {
    append(packed_, slice_along(mine, step.to.axis, begin, size));
    begin += size;
  }
  const size_t element = byte_size(mine.dtype());
  const std::vector<size_t> sent = times(to_sizes, elements_along(mine, step.to.axis) * element);
  const Array one = Array::uninitialized(
      mine.dtype(), with_size(with_size(mine.dims(), step.to.axis, to_sizes[rank_]), step.from.axis, 1));
  const std::vector<size_t> received = times(sizes_[0], one.byte_count());
  received_ = Array::uninitialized(mine.dtype(), {static_cast<int64_t>(sum(received) / element)});
  sent_bytes_ = static_cast<double>(received_.byte_count()) * ranks.size() *
                Collective::sent_share(CollectiveKind::all_to_all, ranks.size());
  request_ = ranks.all_to_all(packed_.data(), sent, received_.mutable_data(), received);
}

void Exchange::start_halo_exchange(Communicator& ranks, const Bindings& bindings) {
  TENON_CHECK(sources_.size() == 1);
  const Collective& step = collective(0);
  const Array& mine = sources_[0];
  const int axis = step.from.axis;
  const std::vector<Stretch> have = stretches_of(step.from.cut, ranks.size(), bindings);
  const std::vector<Stretch> need = stretches_of(step.to.cut, ranks.size(), bindings);
  const size_t row = elements_along(mine, axis) * byte_size(mine.dtype());
  std::vector<size_t> sent, received;
  sizes_ = {{}};
  for (size_t rank = 0; rank < have.size(); ++rank) {
    const Stretch gives = common(have[rank_], need[rank]);
    if (gives.size() > 0) append(packed_, slice_along(mine, axis, gives.begin - have[rank_].begin, gives.size()));
    sent.push_back(static_cast<size_t>(gives.size()) * row);
    sizes_[0].push_back(common(have[rank], need[rank_]).size());
    received.push_back(static_cast<size_t>(sizes_[0].back()) * row);
  }
  received_ = Array::uninitialized(mine.dtype(), {static_cast<int64_t>(sum(received) / byte_size(mine.dtype()))});
  sent_bytes_ = static_cast<double>(sum(sent) - sent[rank_]);
  request_ = ranks.all_to_all(packed_.data(), sent, received_.mutable_data(), received);
}

/// One behind the other, with the sizes of the sources.
std::vector<Array> Exchange::windows_of(const Array& all) const {
  std::vector<Array> results;
  int64_t begin = 0;
  for (const Array& source : sources_) {
    results.push_back(all.window(begin, source.dims()));
    begin += source.size();
  }
  return results;
}

std::vector<Array> Exchange::gathered() const {
  if (const int axis = collective(0).from.axis; is_alone_in_rows(axis)) {
    const int64_t size = std::accumulate(sizes_[0].begin(), sizes_[0].end(), int64_t{0});
    return {received_.reshaped(with_size(sources_[0].dims(), axis, size))};
  }
  std::vector<std::vector<Array>> pieces(sources_.size());
  int64_t begin = 0;
  for (size_t rank = 0; rank < sizes_[0].size(); ++rank) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      pieces[i].push_back(
          received_.window(begin, with_size(sources_[i].dims(), collective(i).from.axis, sizes_[i][rank])));
      begin += pieces[i].back().size();
    }
  }
  std::vector<Array> results;
  for (size_t i = 0; i < sources_.size(); ++i) {
    results.push_back(join_along(pieces[i], collective(i).from.axis));
  }
  return results;
}

std::vector<Array> Exchange::scattered() const {
  std::vector<Array> results;
  int64_t begin = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    results.push_back(received_.window(begin, with_size(sources_[i].dims(), collective(i).to.axis, sizes_[i][rank_])));
    begin += results.back().size();
  }
  return results;
}

Array Exchange::put_together() const {
  const Collective& step = collective(0);
  std::vector<int64_t> dims = sources_[0].dims();
  if (step.kind == CollectiveKind::all_to_all) dims[static_cast<size_t>(step.to.axis)] = sizes_[1][rank_];
  std::vector<Array> pieces;
  int64_t begin = 0;
  for (const int64_t size : sizes_[0]) {
    dims[static_cast<size_t>(step.from.axis)] = size;
    pieces.push_back(received_.window(begin, dims));
    begin += pieces.back().size();
  }
  return join_along(pieces, step.from.axis);
}

}  // namespace tenon::mesh
