// libtenon_mpi.so: collectives by MPI. It links nothing of Tenon and is opened by exchange/processes.
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "mesh/exchange/processes.h"

namespace tenon::mesh {
namespace {

/// MPI counts in int. What is longer goes in pieces of this many elements or bytes.
constexpr size_t kMostAtOnce = size_t{1} << 30;

/// The function that MPI's own one calls. A process has one thread in collectives at a time.
Combine current_combine = nullptr;

void combine_for_mpi(void* from, void* into, int* count, MPI_Datatype* /*type*/) {
  current_combine(static_cast<const std::byte*>(from), static_cast<std::byte*>(into), static_cast<size_t>(*count));
}

/// Elements of some bytes and how they combine, as MPI has them.
class Reduction {
 public:
  Reduction(size_t element_bytes, Combine combine) {
    current_combine = combine;
    MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
    MPI_Op_create(combine_for_mpi, 1, &op_);
  }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  ~Reduction() {
    MPI_Op_free(&op_);
    MPI_Type_free(&type_);
  }

  MPI_Datatype type() const { return type_; }
  MPI_Op op() const { return op_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
};

size_t sum(const std::vector<size_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), size_t{0}); }

std::vector<int> as_int(const std::vector<size_t>& sizes) {
  std::vector<int> result;
  for (const size_t size : sizes) {
    result.push_back(static_cast<int>(size));
  }
  return result;
}

std::vector<int> starts(const std::vector<size_t>& sizes) {
  std::vector<int> result;
  size_t begin = 0;
  for (const size_t size : sizes) {
    result.push_back(static_cast<int>(begin));
    begin += size;
  }
  return result;
}

/// Calls `piece(begin, count)` for all of `count`, at most kMostAtOnce at a time.
template <class Piece>
void in_pieces(size_t count, Piece&& piece) {
  for (size_t begin = 0; begin < count; begin += kMostAtOnce) {
    piece(begin, static_cast<int>(std::min(count - begin, kMostAtOnce)));
  }
}

/// The collectives of Base over one of MPI's communicators. Errors of MPI end all processes, as MPI does by default.
template <class Base>
class MpiGroup : public Base {
 public:
  explicit MpiGroup(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(std::byte* data, size_t count, size_t element_bytes, Combine combine) override {
    const Reduction reduction(element_bytes, combine);
    in_pieces(count, [&](size_t begin, int some) {
      MPI_Allreduce(MPI_IN_PLACE, data + begin * element_bytes, some, reduction.type(), reduction.op(), comm_);
    });
  }

  void all_gather(const std::byte* mine, const std::vector<size_t>& bytes, std::byte* all) override {
    if (sum(bytes) <= kMostAtOnce) {
      MPI_Allgatherv(mine, static_cast<int>(bytes[static_cast<size_t>(rank_)]), MPI_BYTE, all, as_int(bytes).data(),
                     starts(bytes).data(), MPI_BYTE, comm_);
      return;
    }
    for (int root = 0; root < size_; ++root) {
      const size_t count = bytes[static_cast<size_t>(root)];
      if (root == rank_) std::copy_n(mine, count, all);
      in_pieces(count, [&](size_t begin, int some) { MPI_Bcast(all + begin, some, MPI_BYTE, root, comm_); });
      all += count;
    }
  }

  void reduce_scatter(const std::byte* data, const std::vector<size_t>& counts, size_t element_bytes, Combine combine,
                      std::byte* mine) override {
    const Reduction reduction(element_bytes, combine);
    if (sum(counts) <= kMostAtOnce) {
      MPI_Reduce_scatter(data, mine, as_int(counts).data(), reduction.type(), reduction.op(), comm_);
      return;
    }
    for (int root = 0; root < size_; ++root) {
      const size_t count = counts[static_cast<size_t>(root)];
      in_pieces(count, [&](size_t begin, int some) {
        MPI_Reduce(data + begin * element_bytes, mine + begin * element_bytes, some, reduction.type(), reduction.op(),
                   root, comm_);
      });
      data += count * element_bytes;
    }
  }

  void all_to_all(const std::byte* from, const std::vector<size_t>& sent, std::byte* to,
                  const std::vector<size_t>& received) override {
    if (std::max(sum(sent), sum(received)) <= kMostAtOnce) {
      MPI_Alltoallv(from, as_int(sent).data(), starts(sent).data(), MPI_BYTE, to, as_int(received).data(),
                    starts(received).data(), MPI_BYTE, comm_);
      return;
    }
    // In turns: what goes to the rank `step` ahead, against what comes from the one as far behind.
    const auto start = [](const std::vector<size_t>& sizes, int rank) {
      return std::accumulate(sizes.begin(), sizes.begin() + rank, size_t{0});
    };
    for (int step = 0; step < size_; ++step) {
      const int next = (rank_ + step) % size_;
      const int before = (rank_ + size_ - step) % size_;
      exchange(from + start(sent, next), sent[static_cast<size_t>(next)], next, to + start(received, before),
               received[static_cast<size_t>(before)], before);
    }
  }

  std::unique_ptr<Communicator> split(int color) override;

 protected:
  MPI_Comm comm() const { return comm_; }

 private:
  void exchange(const std::byte* from, size_t sent, int next, std::byte* to, size_t received, int before) {
    size_t begin = 0;
    do {
      const auto count = [&](size_t all) {
        return static_cast<int>(std::min(all - std::min(all, begin), kMostAtOnce));
      };
      MPI_Sendrecv(from + std::min(sent, begin), count(sent), MPI_BYTE, next, 0, to + std::min(received, begin),
                   count(received), MPI_BYTE, before, 0, comm_, MPI_STATUS_IGNORE);
      begin += kMostAtOnce;
    } while (begin < std::max(sent, received));
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

/// A part of another group.
class SubGroup : public MpiGroup<Communicator> {
 public:
  explicit SubGroup(MPI_Comm comm) : MpiGroup(comm) {}
  ~SubGroup() override {
    int is_over = 0;
    MPI_Finalized(&is_over);
    MPI_Comm own = comm();
    if (is_over == 0) MPI_Comm_free(&own);
  }
};

template <class Base>
std::unique_ptr<Communicator> MpiGroup<Base>::split(int color) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(comm_, color, rank_, &part);
  return std::make_unique<SubGroup>(part);
}

/// MPI begins before the group has a rank in it.
MPI_Comm begin_mpi(bool& is_ours) {
  int is_there = 0;
  MPI_Initialized(&is_there);
  is_ours = is_there == 0;
  if (is_ours) {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  }
  return MPI_COMM_WORLD;
}

class World : public MpiGroup<Processes> {
 public:
  World() : World(false) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() override {
    if (is_ours_) MPI_Finalize();
  }

  void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status);  // MPI may leave this one alive
  }

 private:
  explicit World(bool is_ours) : MpiGroup(begin_mpi(is_ours)), is_ours_(is_ours) {}

  bool is_ours_;
};

}  // namespace
}  // namespace tenon::mesh

extern "C" tenon::mesh::Processes* tenon_mpi_processes(int interface);
extern "C" __attribute__((visibility("default"))) tenon::mesh::Processes* tenon_mpi_processes(int interface) {
  return interface == tenon::mesh::kProcessesInterface ? new tenon::mesh::World : nullptr;
}
