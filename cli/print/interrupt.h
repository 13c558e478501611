// Ctrl-C.
#pragma once

#include <cstdint>

#include "tenon/cancel.h"

namespace tenon::cli {

/// What a command that was interrupted ends with: 128 and the number of the signal, as shells have it.
inline constexpr int kInterruptedStatus = 130;

/// From now on an interrupt ends the command at once, with the status above and without a word. Once, at the start. One
/// that was started with interrupts ignored goes on ignoring them.
void end_at_interrupts();

/// Whether a command that was interrupted may take its time to end in good order.
enum class Patience : uint8_t { one_second, any };

/// While it lives, an interrupt cancels the run that has this token, so that it ends in good order; a second interrupt,
/// and a run that has not ended within a second where no more is granted, end the command.
class InterruptibleRun {
 public:
  explicit InterruptibleRun(Patience patience = Patience::one_second);
  ~InterruptibleRun();
  InterruptibleRun(const InterruptibleRun&) = delete;
  InterruptibleRun& operator=(const InterruptibleRun&) = delete;

  static const CancelToken* token();
};

}  // namespace tenon::cli
