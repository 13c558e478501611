#include "mesh/exchange/threads.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "base/fail.h"

namespace tenon::mesh {
namespace {

/// What a rank sees when another one has failed; never the error that is reported.
struct OtherFailed : Error {
  using Error::Error;
};

/// Of a collective that was over when it was started.
class Done : public Request {
 public:
  bool is_done() override { return true; }
  void wait() override {}
};

/// All groups of one run wait on this.
struct World {
  std::mutex mutex;
  std::condition_variable changed;
  bool failed = false;
  std::string problem = "another rank of the mesh failed";
};

/// Copies of what one rank sent another under one tag, by number, until they are received.
struct Mailbox {
  uint64_t sent = 0, asked = 0;
  std::map<uint64_t, std::vector<std::byte>> letters;
};

/// What the ranks of a group lend each other between two meetings.
struct Group {
  std::shared_ptr<World> world;
  std::vector<const std::byte*> data;
  std::vector<const std::vector<size_t>*> sizes;
  std::vector<int> colors;
  std::map<int, std::shared_ptr<Group>> children;
  std::map<std::tuple<int, int, int>, Mailbox> mailboxes;  // by from, to and tag
  int arrived = 0;
  uint64_t meetings = 0;

  Group(std::shared_ptr<World> shared, size_t ranks)
      : world(std::move(shared)), data(ranks), sizes(ranks), colors(ranks) {}
};

/// A letter that may not have been sent yet.
class Letter : public Request {
 public:
  Letter(std::shared_ptr<Group> group, Mailbox& box, std::byte* into)
      : group_(std::move(group)), box_(box), number_(box.asked++), into_(into) {}

  bool is_done() override {
    const std::lock_guard lock(group_->world->mutex);
    return take();
  }

  void wait() override {
    std::unique_lock lock(group_->world->mutex);
    group_->world->changed.wait(lock, [&] { return take(); });
  }

 private:
  bool take() {
    if (is_taken_) return true;
    const auto found = box_.letters.find(number_);
    if (found == box_.letters.end()) {
      if (group_->world->failed) throw OtherFailed(group_->world->problem);
      return false;
    }
    std::ranges::copy(found->second, into_);
    box_.letters.erase(found);
    is_taken_ = true;
    return true;
  }

  std::shared_ptr<Group> group_;
  Mailbox& box_;
  uint64_t number_;
  std::byte* into_;
  bool is_taken_ = false;
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->data.size()); }
  int ranks_here() const override { return size(); }

  std::unique_ptr<Request> all_reduce(const std::byte* from, std::byte* into, size_t count, size_t element_bytes,
                                      Combine combine) override {
    lend(from);
    std::vector<std::byte> total(group_->data[0], group_->data[0] + count * element_bytes);
    for (size_t i = 1; i < group_->data.size(); ++i) {
      combine(group_->data[i], total.data(), count);
    }
    meet();
    std::ranges::copy(total, into);
    return std::make_unique<Done>();
  }

  std::unique_ptr<Request> all_gather(const std::byte* mine, const std::vector<size_t>& bytes,
                                      std::byte* all) override {
    lend(mine);
    for (size_t i = 0; i < bytes.size(); ++i) {
      all = std::copy_n(group_->data[i], bytes[i], all);
    }
    meet();
    return std::make_unique<Done>();
  }

  std::unique_ptr<Request> reduce_scatter(const std::byte* data, const std::vector<size_t>& counts,
                                          size_t element_bytes, Combine combine, std::byte* mine) override {
    lend(data);
    size_t begin = 0;
    for (int i = 0; i < rank_; ++i) {
      begin += counts[static_cast<size_t>(i)] * element_bytes;
    }
    const size_t count = counts[static_cast<size_t>(rank_)];
    std::copy_n(group_->data[0] + begin, count * element_bytes, mine);
    for (size_t i = 1; i < group_->data.size(); ++i) {
      combine(group_->data[i] + begin, mine, count);
    }
    meet();
    return std::make_unique<Done>();
  }

  std::unique_ptr<Request> all_to_all(const std::byte* from, const std::vector<size_t>& sent, std::byte* to,
                                      const std::vector<size_t>& received) override {
    group_->sizes[static_cast<size_t>(rank_)] = &sent;
    lend(from);
    for (size_t i = 0; i < received.size(); ++i) {
      const std::vector<size_t>& theirs = *group_->sizes[i];
      size_t begin = 0;
      for (int j = 0; j < rank_; ++j) {
        begin += theirs[static_cast<size_t>(j)];
      }
      to = std::copy_n(group_->data[i] + begin, received[i], to);
    }
    meet();
    return std::make_unique<Done>();
  }

  std::unique_ptr<Request> send(const std::byte* data, size_t bytes, int to, int tag) override {
    World& world = *group_->world;
    const std::lock_guard lock(world.mutex);
    if (world.failed) throw OtherFailed(world.problem);
    Mailbox& box = group_->mailboxes[{rank_, to, tag}];
    box.letters.emplace(box.sent++, std::vector<std::byte>(data, data + bytes));
    world.changed.notify_all();
    return std::make_unique<Done>();
  }

  std::unique_ptr<Request> receive(std::byte* data, size_t /*bytes*/, int from, int tag) override {
    const std::lock_guard lock(group_->world->mutex);
    return std::make_unique<Letter>(group_, group_->mailboxes[{from, rank_, tag}], data);
  }

  std::unique_ptr<Communicator> split(int color) override {
    group_->colors[static_cast<size_t>(rank_)] = color;
    meet();
    const auto same = std::ranges::count(group_->colors, color);
    const auto before = std::count(group_->colors.begin(), group_->colors.begin() + rank_, color);
    {
      const std::lock_guard lock(group_->world->mutex);
      std::shared_ptr<Group>& child = group_->children[color];
      if (child == nullptr) child = std::make_shared<Group>(group_->world, static_cast<size_t>(same));
    }
    meet();
    auto result = std::make_unique<ThreadRank>(group_->children.at(color), static_cast<int>(before));
    meet();
    if (rank_ == 0) group_->children.clear();
    meet();
    return result;
  }

  void give_up(const std::string& problem) override {
    World& world = *group_->world;
    const std::lock_guard lock(world.mutex);
    if (world.failed) return;
    world.failed = true;
    world.problem = fmt::format("rank {} of the mesh: {}", rank_, problem);
    world.changed.notify_all();
  }

 private:
  void lend(const std::byte* data) {
    group_->data[static_cast<size_t>(rank_)] = data;
    meet();
  }

  void meet() {
    World& world = *group_->world;
    std::unique_lock lock(world.mutex);
    if (world.failed) throw OtherFailed(world.problem);
    if (++group_->arrived == size()) {
      group_->arrived = 0;
      ++group_->meetings;
      world.changed.notify_all();
      return;
    }
    const uint64_t now = group_->meetings;
    world.changed.wait(lock, [&] { return group_->meetings != now || world.failed; });
    if (group_->meetings == now) throw OtherFailed(world.problem);
  }

  std::shared_ptr<Group> group_;
  int rank_;
};

}  // namespace

void run_as_threads(int ranks, const std::function<void(Communicator&)>& body) {
  const auto world = std::make_shared<World>();
  const auto group = std::make_shared<Group>(world, static_cast<size_t>(ranks));
  std::exception_ptr first;
  const auto run = [&](int rank) {
    ThreadRank communicator(group, rank);
    try {
      body(communicator);
    } catch (const OtherFailed&) {
      return;  // the rank that failed reports it
    } catch (...) {
      const std::lock_guard lock(world->mutex);
      if (!first) first = std::current_exception();
      world->failed = true;
      world->changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back(run, rank);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace tenon::mesh
