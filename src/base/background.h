// Work that nobody waits for, on one thread of the process.
#pragma once

#include <functional>
#include <memory>

namespace tenon {

/// Jobs of one owner. They run one after the other, after those of other owners that came before; which of them have
/// run when is not known. Where no thread can be had, and in a process that was forked, they never run: a job only
/// makes something faster.
class BackgroundJobs {
 public:
  BackgroundJobs();
  /// Waits for the job that runs now, if one does. Those that have not begun never will.
  ~BackgroundJobs();
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  /// What a job throws is dropped.
  void add(std::function<void()> job);
  /// Until all that were added before have run.
  void wait();

 private:
  struct Owner;
  std::shared_ptr<Owner> owner_;
};

}  // namespace tenon
