// What ranks say to each other. Whoever carries the bytes implements this: threads of one process, or MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tenon::mesh {

/// into[i] = combination of into[i] and from[i], for `count` elements.
using Combine = void (*)(const std::byte* from, std::byte* into, size_t count);

/// MPI promises 32767 tags; one is that of collectives.
inline constexpr int kMostTags = 32'000;

/// A collective under way. What it reads and writes stays where it is until it is done, and it lives until then, unless
/// an Error ends all.
class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request() = default;

  /// Moves it on and says whether it is done. Throws when another rank has failed.
  virtual bool is_done() = 0;
  /// Returns when it is done. Throws when another rank has failed.
  virtual void wait() = 0;
};

/// One rank's end of a group. Every rank of the group starts the same collectives in the same order, from one thread.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// How many ranks of the group share this machine's cores, this one included.
  virtual int ranks_here() const = 0;

  /// `into` becomes the combination of `from` of all ranks; they may be the same memory.
  virtual std::unique_ptr<Request> all_reduce(const std::byte* from, std::byte* into, size_t count,
                                              size_t element_bytes, Combine combine) = 0;
  /// `all` gets bytes[i] bytes of each rank i, one after the other. `mine` are bytes[rank()].
  virtual std::unique_ptr<Request> all_gather(const std::byte* mine, const std::vector<size_t>& bytes,
                                              std::byte* all) = 0;
  /// `data` are counts[i] elements for each rank i; `mine` gets the combination of those for this rank.
  virtual std::unique_ptr<Request> reduce_scatter(const std::byte* data, const std::vector<size_t>& counts,
                                                  size_t element_bytes, Combine combine, std::byte* mine) = 0;
  /// sent[i] bytes of `from` go to rank i, received[i] bytes come from it, each one after the other.
  virtual std::unique_ptr<Request> all_to_all(const std::byte* from, const std::vector<size_t>& sent, std::byte* to,
                                              const std::vector<size_t>& received) = 0;

  /// `bytes` of `data` go to rank `to`, which receives as many. What two ranks send each other under one tag, from 0 on
  /// and below kMostTags, is received in the order in which it was sent.
  virtual std::unique_ptr<Request> send(const std::byte* data, size_t bytes, int to, int tag) = 0;
  virtual std::unique_ptr<Request> receive(std::byte* data, size_t bytes, int from, int tag) = 0;

  /// The group of the ranks that give the same color, in the order of ranks here.
  virtual std::unique_ptr<Communicator> split(int color) = 0;

  /// This rank cannot go on: calls of others that wait for it throw an Error with its number and this text.
  virtual void give_up(const std::string& problem) = 0;
};

}  // namespace tenon::mesh
