// Ctrl-C while Tenon computes.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include "bind.h"
#include "tenon/cancel.h"
#include "tenon/realizations.h"

namespace tenon::python {

/// While it lives, the interpreter's lock is given up, so that other threads of Python go on, and an interrupt (SIGINT)
/// cancels what was given token(): it then ends with Cancelled, which the module's translator makes KeyboardInterrupt.
/// Handles are swapped on the main thread alone, the only one that Python lets handle signals.
class Computing {
 public:
  Computing();
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

  const CancelToken* token() const { return &token_; }

 private:
  CancelToken token_;
  bool handles_ = false;
  struct sigaction previous_ = {};
  nb::gil_scoped_release release_;
};

/// Whether this thread may ask Python something: it is one of Python's, and has not given the lock up to compute.
bool holds_interpreter();

/// Whether the last computation on this thread was ended by an interrupt; asked once.
bool take_interrupt();

/// Settings of lazy tensors for a call from Python: the line of the user's program, the module's number of threads, and
/// an interrupt's token.
class LazyCall {
 public:
  explicit LazyCall(const CancelToken* token = nullptr);
  /// The line, "train.py:12", or "".
  static std::string line();
  /// The file and the line; "" and 0 where there is none, or Python cannot be asked now.
  static std::pair<std::string, uint32_t> place();
  /// A number for where place() is in the program, found sooner; 0 where there is none.
  static uint64_t place_key();
  /// Those of what called the package: of the user's program, or of a library that it calls.
  static std::pair<std::string, uint32_t> calling_place();

 private:
  WithLazySettings settings_;
};

/// The number of threads that programs use where a call does not say; 0: all.
int& default_threads();

}  // namespace tenon::python
