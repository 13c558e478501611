#include "base/background.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tenon {

struct BackgroundJobs::Owner {
  std::mutex running;  // held while a job of this owner runs
  bool is_gone = false;
  std::mutex counting;
  int left = 0;  // jobs that have not ended
  std::condition_variable none_left;
};

namespace {

/// The thread and what it has to do. It starts with the first job and is never destroyed: objects of static lifetime
/// may still add jobs.
class Worker {
 public:
  static Worker& shared() {
    static auto* const worker = new Worker();
    return *worker;
  }

  bool add(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    if (!started_) {
      try {
        std::thread([this] { work(); }).detach();
      } catch (const std::system_error&) {
        return false;
      }
      started_ = true;
    }
    jobs_.push_back(std::move(job));
    added_.notify_one();
    return true;
  }

 private:
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      added_.wait(lock, [&] { return !jobs_.empty(); });
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::function<void()>> jobs_;
  bool started_ = false;
};

}  // namespace

BackgroundJobs::BackgroundJobs() : owner_(std::make_shared<Owner>()) {}

BackgroundJobs::~BackgroundJobs() {
  const std::lock_guard lock(owner_->running);
  owner_->is_gone = true;
}

void BackgroundJobs::add(std::function<void()> job) {
  const auto count = [](Owner& owner, int change) {
    const std::lock_guard lock(owner.counting);
    owner.left += change;
    if (owner.left == 0) {
      owner.none_left.notify_all();
    }
  };
  count(*owner_, 1);
  const bool added = Worker::shared().add([owner = owner_, job = std::move(job), count] {
    {
      const std::lock_guard lock(owner->running);
      if (!owner->is_gone) {
        try {
          job();
        } catch (...) {  // NOLINT(bugprone-empty-catch): nobody waits for what it would have given
        }
      }
    }
    count(*owner, -1);
  });
  if (!added) {
    count(*owner_, -1);
  }
}

void BackgroundJobs::wait() {
  std::unique_lock lock(owner_->counting);
  owner_->none_left.wait(lock, [&] { return owner_->left == 0; });
}

}  // namespace tenon
