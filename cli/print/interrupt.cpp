#include "cli/print/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

namespace tenon::cli {
namespace {

CancelToken cancelled;
std::atomic<bool> has_run = false;
std::atomic<bool> is_patient = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

/// Only calls that a signal handler may make: the line of progress goes, buffers are not flushed.
[[noreturn]] void end_now(int /*signal*/) {
  if (isatty(STDERR_FILENO) == 1) {
    constexpr std::string_view clear = "\r\x1b[K";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, clear.data(), clear.size());
  }
  _exit(kInterruptedStatus);
}

void interrupt(int signal) {
  if (!has_run || cancelled.is_cancelled()) {
    end_now(signal);
  }
  cancelled.cancel();
  if (!is_patient) {
    alarm(1);
  }
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void end_at_interrupts() {
  struct sigaction before = {};
  if (sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) {
    return;
  }
  handle(SIGALRM, end_now);
  handle(SIGINT, interrupt);
}

InterruptibleRun::InterruptibleRun(Patience patience) {
  is_patient = patience == Patience::any;
  has_run = true;
}

InterruptibleRun::~InterruptibleRun() { has_run = false; }

const CancelToken* InterruptibleRun::token() { return &cancelled; }

}  // namespace tenon::cli
