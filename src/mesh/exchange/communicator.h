// What ranks say to each other. Whoever carries the bytes implements this: threads of one process, or MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace tenon::mesh {

/// into[i] = combination of into[i] and from[i], for `count` elements.
using Combine = void (*)(const std::byte* from, std::byte* into, size_t count);

/// One rank's end of a group. Every rank of the group makes the same calls in the same order, from one thread; each
/// call returns when this rank's part is done. A call throws when another rank has failed.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// `data` becomes the combination of the data of all ranks.
  virtual void all_reduce(std::byte* data, size_t count, size_t element_bytes, Combine combine) = 0;
  /// `all` gets bytes[i] bytes of each rank i, one after the other. `mine` are bytes[rank()].
  virtual void all_gather(const std::byte* mine, const std::vector<size_t>& bytes, std::byte* all) = 0;
  /// `data` are counts[i] elements for each rank i; `mine` gets the combination of those for this rank.
  virtual void reduce_scatter(const std::byte* data, const std::vector<size_t>& counts, size_t element_bytes,
                              Combine combine, std::byte* mine) = 0;
  /// sent[i] bytes of `from` go to rank i, received[i] bytes come from it, each one after the other.
  virtual void all_to_all(const std::byte* from, const std::vector<size_t>& sent, std::byte* to,
                          const std::vector<size_t>& received) = 0;

  /// The group of the ranks that give the same color, in the order of ranks here.
  virtual std::unique_ptr<Communicator> split(int color) = 0;
};

}  // namespace tenon::mesh
