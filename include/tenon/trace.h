// What a run did and when.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// A stretch of a step on one thread. A step that several threads share is several events.
struct TraceEvent {
  std::string program;
  int64_t run = 0;              ///< of the trace, counted from 1: what Trace::add() got at once
  int step = 0;                 ///< counted from 1, as in Executable::explain()
  std::string label;            ///< the operators in it
  std::string nodes = {};       ///< the first few names that the model has for these; empty where it names none
  int inside = 0;               ///< of a step of a body, its number there, counted from 1; `step` runs the body
  std::vector<int> reads = {};  ///< steps whose results it reads; not known inside of bodies
  int phase = 0;                ///< counted from 0
  int thread = 0;               ///< a number of the thread, the same for all its events
  int64_t tile = -1;            ///< counted from 0, where the step runs tile by tile
  int64_t begin_ns = 0;         ///< since the trace was made
  int64_t end_ns = 0;
  double bytes = 0;                  ///< that it read and wrote: its share of the step's
  std::optional<double> flops = {};  ///< where the program knows them

  double gigabytes_per_second() const;
  std::optional<double> gigaflops_per_second() const;
};

/// Collects what runs report that were given it (RunOptions::trace), also those of several threads. A traced run takes
/// a little longer.
class Trace {
 public:
  Trace();

  /// Those of one run.
  void add(std::vector<TraceEvent> events);
  std::vector<TraceEvent> events() const;
  int64_t now_ns() const;

  /// In the format of Chrome's and Perfetto's viewers: one row for each thread, and one for
  /// each step that runs tile by tile and each of its threads; names of nodes, bytes, GB/s and GFLOP/s of each event,
  /// and an arrow to the first event of each step from each step whose results it reads.
  std::string to_json() const;

  /// Without events; now_ns() is that of this one.
  std::unique_ptr<Trace> with_same_clock() const;

 private:
  explicit Trace(int64_t start_ns);

  int64_t start_ns_ = 0;
  int64_t runs_ = 0;
  mutable std::mutex mutex_;
  std::vector<TraceEvent> events_;
};

}  // namespace tenon
