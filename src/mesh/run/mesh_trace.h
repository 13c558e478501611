// What ranks did and when, in one picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mesh/exchange/communicator.h"
#include "tenon/trace.h"

namespace tenon::mesh {

/// Of one rank: steps of its graphs, exchanges from their start to their end, and how long it waited for each.
class MeshTrace {
 public:
  Trace& steps() { return steps_; }
  int64_t now_ns() const { return steps_.now_ns(); }

  void add_exchange(std::string label, int64_t begin_ns, int64_t end_ns);
  void add_wait(std::string label, int64_t begin_ns, int64_t end_ns);

  /// In the format of Chrome's and Perfetto's viewers: a process for each rank, their clocks aligned to what a
  /// collective of one byte takes. All ranks call it; the text is rank 0's, the others' is empty.
  std::string to_json(Communicator& world) const;

 private:
  struct Stretch {
    std::string label;
    int64_t begin_ns = 0, end_ns = 0;
  };
  std::string own_events(int rank, int64_t ahead_ns) const;

  Trace steps_;
  std::vector<Stretch> exchanges_, waits_;
};

}  // namespace tenon::mesh
