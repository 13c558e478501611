// The GPU that is emulated: its memory, its modules, and work that streams have under way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device_memory.h"
#include "warp.h"

namespace tenon::emulated_gpu {

struct LoadedModule {
  std::map<std::string, std::shared_ptr<Code>> functions;
};

/// What was asked for runs when somebody waits for it and not before, so that who forgets to wait finds old data.
struct Stream {
  struct Work {
    uint64_t order = 0;
    std::function<void()> run;
  };
  std::deque<Work> waiting;
};

struct Event {
  Stream* stream = nullptr;
  uint64_t order = 0;  // all that the stream was asked for up to here
};

struct Settings {
  int64_t devices = 1;
  int64_t driver = 12080;
  int64_t major = 9;
  int64_t minor = 0;
  int64_t multiprocessors = 132;
  int64_t pools = 1;
  int64_t links = 1;        // whether cuLink makes code that can be kept
  int64_t shared = 232448;  // bytes that a block can have
};

struct Counts {
  int64_t instructions = 0;  // times threads
  int64_t launches = 0;
  int64_t links = 0;
  int64_t compiles = 0;  // of PTX
};

/// Everything is done under its lock.
class Gpu {
 public:
  static Gpu& instance();

  std::recursive_mutex mutex;
  Settings settings;
  Counts counts;
  DeviceMemory memory;

  /// Work behind all that the stream has. A fault of it stays until reset(), as on a GPU.
  void ask(void* stream, std::function<void()> work);
  void finish(Stream& stream, uint64_t up_to = ~uint64_t{0});
  void finish_all();
  Stream& stream(void* handle);
  Event mark(void* stream);

  /// Notes it, for text_of(). Its number.
  int fail(int result, const std::string& text);
  int fault() const { return fault_; }
  const char* text_of(int result);

  void* make_stream();
  void end_stream(void* handle);
  std::shared_ptr<LoadedModule> load(const std::string& ptx);
  void launch(const Launch& launch);
  /// Forgets faults and what waits.
  void reset();

  std::set<LoadedModule*> modules;
  std::map<void*, std::shared_ptr<LoadedModule>> loaded;

 private:
  Gpu();

  uint32_t interval_ = 0;
  uint64_t order_ = 0;
  int fault_ = 0;
  std::map<int, const char*> texts_;
  std::set<std::string> all_texts_;  // which are never forgotten: callers have pointers to them
  std::map<std::thread::id, Stream> of_threads_;
  std::map<void*, std::unique_ptr<Stream>> made_;
  Stream default_;
};

}  // namespace tenon::emulated_gpu
