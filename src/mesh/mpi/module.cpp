// libtenon_mpi.so: ranks as processes of MPI. The only user of MPI; it sees nothing of Tenon but exchange/processes.h,
// and is opened by exchange/processes.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "mesh/exchange/processes.h"

namespace tenon::mesh {
namespace {

/// MPI counts in int. What is longer goes in pieces of this many elements or bytes.
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr double kPatience = 1800;  // seconds
constexpr size_t kMostProblemText = 3000;
/// How often a waiting rank asks MPI before it asks whether another rank gave up, and lets others have the core.
constexpr uint64_t kLooks = 512;

void (*raise_error)(const std::string&) = nullptr;

/// Elements of a type that one function combines. MPI's operation finds the function at the type.
class Reductions {
 public:
  static Reductions& instance() {
    static auto* const reductions = new Reductions;  // MPI frees what is left
    return *reductions;
  }

  MPI_Op op() const { return op_; }

  MPI_Datatype type(size_t element_bytes, Combine combine) {
    const auto [found, is_new] = types_.try_emplace({element_bytes, combine}, MPI_DATATYPE_NULL);
    if (is_new) {
      MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, &found->second);
      MPI_Type_commit(&found->second);
      MPI_Type_set_attr(found->second, key_, reinterpret_cast<void*>(combine));
    }
    return found->second;
  }

 private:
  Reductions() {
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key_, nullptr);
    MPI_Op_create(combine_for_mpi, 1, &op_);
  }

  static void combine_for_mpi(void* from, void* into, int* count, MPI_Datatype* type) {
    void* combine = nullptr;
    int is_there = 0;
    MPI_Type_get_attr(*type, instance().key_, static_cast<void*>(&combine), &is_there);
    reinterpret_cast<Combine>(combine)(static_cast<const std::byte*>(from), static_cast<std::byte*>(into),
                                       static_cast<size_t>(*count));
  }

  int key_ = MPI_KEYVAL_INVALID;
  MPI_Op op_ = MPI_OP_NULL;
  std::map<std::pair<size_t, Combine>, MPI_Datatype> types_;
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

/// Tells ranks that another one gave up, on messages of its own.
class Alarm {
 public:
  explicit Alarm(MPI_Comm comm) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  int rank() const { return rank_; }
  bool has_rung() const { return has_rung_; }
  void set_patience(double seconds) { patience_ = seconds; }
  double patience() const { return patience_; }

  void ring(const std::string& problem) {
    if (std::exchange(has_rung_, true)) return;
    text_ = problem.substr(0, kMostProblemText);
    std::vector<MPI_Request> sent;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      sent.emplace_back();
      MPI_Isend(text_.data(), static_cast<int>(text_.size()), MPI_CHAR, rank, 0, comm_, &sent.back());
    }
    // Short messages leave at once. Nobody waits for ranks that do not listen any more.
    int is_done = 0;
    for (int look = 0; look < 100 && is_done == 0; ++look) {
      MPI_Testall(static_cast<int>(sent.size()), sent.data(), &is_done, MPI_STATUSES_IGNORE);
      if (is_done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// An Error when another rank has rung.
  void listen() {
    int is_there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &is_there, &status);
    if (is_there == 0) return;
    int length = 0;
    MPI_Get_count(&status, MPI_CHAR, &length);
    std::string problem(static_cast<size_t>(length), ' ');
    MPI_Recv(problem.data(), length, MPI_CHAR, status.MPI_SOURCE, 0, comm_, MPI_STATUS_IGNORE);
    has_rung_ = true;
    raise_error("rank " + std::to_string(status.MPI_SOURCE) + " of the mesh: " + problem);
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool has_rung_ = false;
  double patience_ = kPatience;
  std::string text_;
};

/// All of MPI's requests for one collective, and the lists of sizes that these read.
class MpiRequest : public Request {
 public:
  explicit MpiRequest(std::shared_ptr<Alarm> alarm) : alarm_(std::move(alarm)) {}

  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  const int* keep(std::vector<int> sizes) { return sizes_.emplace_back(std::move(sizes)).data(); }
  void reserve(size_t requests) { requests_.reserve(requests); }

  bool is_done() override {
    if (requests_.empty()) return true;
    int is_done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_done, MPI_STATUSES_IGNORE);
    if (is_done != 0) {
      requests_.clear();
    } else if (++looks_ % kLooks == 0) {
      alarm_->listen();
    }
    return is_done != 0;
  }

  void wait() override {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    while (!is_done()) {
      if (looks_ % kLooks != 0) continue;
      std::this_thread::yield();
      const std::chrono::duration<double> waited = Clock::now() - begin;
      if (waited.count() > alarm_->patience()) {
        raise_error("rank " + std::to_string(alarm_->rank()) + " of the mesh has waited for the others for " +
                    std::to_string(static_cast<int64_t>(waited.count())) +
                    " s: one of them is stuck, or has ended without a word");
      }
    }
  }

 private:
  std::shared_ptr<Alarm> alarm_;
  std::vector<MPI_Request> requests_;
  std::vector<std::vector<int>> sizes_;
  uint64_t looks_ = 0;
};

int processes_here(MPI_Comm comm) {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int size = 1;
  MPI_Comm_size(here, &size);
  MPI_Comm_free(&here);
  return size;
}

/// The collectives of Base over one of MPI's communicators. Errors of MPI end all processes, as MPI does by default.
template <class Base>
class MpiGroup : public Base {
 public:
  MpiGroup(MPI_Comm comm, std::shared_ptr<Alarm> alarm)
      : comm_(comm), alarm_(std::move(alarm)), here_(processes_here(comm)) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int ranks_here() const override { return here_; }

  std::unique_ptr<Request> all_reduce(const std::byte* from, std::byte* into, size_t count, size_t element_bytes,
                                      Combine combine) override {
    auto request = start(count / kMostAtOnce + 1);
    Reductions& reductions = Reductions::instance();
    in_pieces(count, [&](size_t begin, int some) {
      MPI_Iallreduce(from == into ? MPI_IN_PLACE : from + begin * element_bytes, into + begin * element_bytes, some,
                     reductions.type(element_bytes, combine), reductions.op(), comm_, request->add());
    });
    return request;
  }

  std::unique_ptr<Request> all_gather(const std::byte* mine, const std::vector<size_t>& bytes,
                                      std::byte* all) override {
    if (sum(bytes) <= kMostAtOnce) {
      auto request = start(1);
      MPI_Iallgatherv(mine, static_cast<int>(bytes[own()]), MPI_BYTE, all, request->keep(as_int(bytes)),
                      request->keep(starts(bytes)), MPI_BYTE, comm_, request->add());
      return request;
    }
    auto request = start(bytes.size() + sum(bytes) / kMostAtOnce);
    for (int root = 0; root < size_; ++root) {
      const size_t count = bytes[static_cast<size_t>(root)];
      if (root == rank_) std::copy_n(mine, count, all);
      in_pieces(count,
                [&](size_t begin, int some) { MPI_Ibcast(all + begin, some, MPI_BYTE, root, comm_, request->add()); });
      all += count;
    }
    return request;
  }

  std::unique_ptr<Request> reduce_scatter(const std::byte* data, const std::vector<size_t>& counts,
                                          size_t element_bytes, Combine combine, std::byte* mine) override {
    Reductions& reductions = Reductions::instance();
    const MPI_Datatype type = reductions.type(element_bytes, combine);
    if (sum(counts) <= kMostAtOnce) {
      auto request = start(1);
      MPI_Ireduce_scatter(data, mine, request->keep(as_int(counts)), type, reductions.op(), comm_, request->add());
      return request;
    }
    auto request = start(counts.size() + sum(counts) / kMostAtOnce);
    for (int root = 0; root < size_; ++root) {
      const size_t count = counts[static_cast<size_t>(root)];
      in_pieces(count, [&](size_t begin, int some) {
        MPI_Ireduce(data + begin * element_bytes, mine + begin * element_bytes, some, type, reductions.op(), root,
                    comm_, request->add());
      });
      data += count * element_bytes;
    }
    return request;
  }

  std::unique_ptr<Request> all_to_all(const std::byte* from, const std::vector<size_t>& sent, std::byte* to,
                                      const std::vector<size_t>& received) override {
    // Message by message: whether all of MPI's int counts are enough would be for all ranks together to say.
    auto request = start(2 * sent.size() + (sum(sent) + sum(received)) / kMostAtOnce);
    for (size_t rank = 0; rank < sent.size(); ++rank) {
      const int other = static_cast<int>(rank);
      if (other == rank_) {
        std::copy_n(from, sent[rank], to);
      } else {
        in_pieces(sent[rank], [&](size_t begin, int some) {
          MPI_Isend(from + begin, some, MPI_BYTE, other, 0, comm_, request->add());
        });
        in_pieces(received[rank], [&](size_t begin, int some) {
          MPI_Irecv(to + begin, some, MPI_BYTE, other, 0, comm_, request->add());
        });
      }
      from += sent[rank];
      to += received[rank];
    }
    return request;
  }

  std::unique_ptr<Request> send(const std::byte* data, size_t bytes, int to, int tag) override {
    auto request = start(bytes / kMostAtOnce + 1);
    in_pieces(bytes, [&](size_t begin, int some) {
      MPI_Isend(data + begin, some, MPI_BYTE, to, tag + 1, comm_, request->add());
    });
    return request;
  }

  std::unique_ptr<Request> receive(std::byte* data, size_t bytes, int from, int tag) override {
    auto request = start(bytes / kMostAtOnce + 1);
    in_pieces(bytes, [&](size_t begin, int some) {
      MPI_Irecv(data + begin, some, MPI_BYTE, from, tag + 1, comm_, request->add());
    });
    return request;
  }

  std::unique_ptr<Communicator> split(int color) override;

  void give_up(const std::string& problem) override { alarm_->ring(problem); }

 protected:
  MPI_Comm comm() const { return comm_; }
  Alarm& alarm() { return *alarm_; }

 private:
  size_t own() const { return static_cast<size_t>(rank_); }

  std::unique_ptr<MpiRequest> start(size_t requests) {
    alarm_->listen();
    auto request = std::make_unique<MpiRequest>(alarm_);
    request->reserve(requests);
    return request;
  }

  MPI_Comm comm_;
  std::shared_ptr<Alarm> alarm_;
  int here_ = 1;
  int rank_ = 0, size_ = 1;
};

/// A part of another group.
class SubGroup : public MpiGroup<Communicator> {
 public:
  SubGroup(MPI_Comm comm, std::shared_ptr<Alarm> alarm) : MpiGroup(comm, std::move(alarm)) {}
  SubGroup(const SubGroup&) = delete;
  SubGroup& operator=(const SubGroup&) = delete;
  ~SubGroup() override {
    int is_over = 0;
    MPI_Finalized(&is_over);
    MPI_Comm own = comm();
    if (is_over == 0 && !alarm().has_rung()) MPI_Comm_free(&own);
  }
};

template <class Base>
std::unique_ptr<Communicator> MpiGroup<Base>::split(int color) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(comm_, color, rank_, &part);
  return std::make_unique<SubGroup>(part, alarm_);
}

class AllProcesses : public MpiGroup<Processes> {
 public:
  AllProcesses(MPI_Comm comm, bool ends_mpi) : MpiGroup(comm, std::make_shared<Alarm>(comm)), ends_mpi_(ends_mpi) {}
  AllProcesses(const AllProcesses&) = delete;
  AllProcesses& operator=(const AllProcesses&) = delete;
  ~AllProcesses() override {
    // Without an end of MPI, `mpirun` ends the others; with one, this rank could wait for a rank that never comes.
    if (ends_mpi_ && !alarm().has_rung()) MPI_Finalize();
  }

  void abort(int status) override {
    MPI_Abort(comm(), status);
    std::_Exit(status);  // MPI may leave this one alive
  }

  void set_patience(double seconds) override { alarm().set_patience(seconds); }

 private:
  bool ends_mpi_;
};

Processes* open(const int* communicator) {
  int is_there = 0;
  MPI_Initialized(&is_there);
  if (is_there == 0) {
    if (communicator != nullptr) {
      raise_error("a mesh of an MPI communicator: MPI has not begun, so there can be no communicator yet");
    }
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    return new AllProcesses(MPI_COMM_WORLD, true);
  }
  const MPI_Comm theirs = communicator == nullptr ? MPI_COMM_WORLD : MPI_Comm_f2c(*communicator);
  if (theirs == MPI_COMM_NULL) raise_error("a mesh of an MPI communicator: it is MPI_COMM_NULL");
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(theirs, &own);
  return new AllProcesses(own, false);
}

}  // namespace
}  // namespace tenon::mesh

extern "C" tenon::mesh::Processes* tenon_mpi_processes(int interface, const int* communicator,
                                                       void (*raise)(const std::string& problem));
extern "C" __attribute__((visibility("default"))) tenon::mesh::Processes* tenon_mpi_processes(
    int interface, const int* communicator, void (*raise)(const std::string& problem)) {
  if (interface != tenon::mesh::kProcessesInterface) return nullptr;
  tenon::mesh::raise_error = raise;
  return tenon::mesh::open(communicator);
}
