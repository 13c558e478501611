// How the processor treats floats on one thread: which way it rounds, what traps, and what becomes of denormals.
#pragma once

#include <cstdint>

namespace tenon {

/// The control bits of the processor's floating-point unit, without the flags that operations leave behind.
class FloatMode {
 public:
  /// That of this thread.
  static FloatMode current();
  /// Make it that of this thread.
  void use() const;

  /// Whether this processor has a mode that flushes denormals; x86-64 and ARM64 do.
  static bool can_flush();
  /// The same, but operations read denormals as 0 and give 0 for them.
  FloatMode flushing() const;

  friend bool operator==(const FloatMode&, const FloatMode&) = default;

 private:
  explicit FloatMode(uint64_t bits) : bits_(bits) {}

  uint64_t bits_;
};

/// This thread flushes denormals while it lives, and has its mode back afterwards. Does nothing when not `wanted`.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool wanted) : wanted_(wanted), before_(FloatMode::current()) {
    if (wanted_) {
      before_.flushing().use();
    }
  }
  ~FlushDenormals() {
    if (wanted_) {
      before_.use();
    }
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  bool wanted_;
  FloatMode before_;
};

}  // namespace tenon
