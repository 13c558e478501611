#include "base/float_mode.h"

namespace tenon {
namespace {

#if defined(__x86_64__)
// MXCSR: results that are denormal become 0 (bit 15), and so do operands (bit 6). Bits 0 to 5 are flags.
constexpr bool kCanFlush = true;
constexpr uint64_t kFlush = 1 << 15 | 1 << 6;
constexpr uint32_t kFlags = 0x3f;

uint64_t read_mode() { return __builtin_ia32_stmxcsr() & ~kFlags; }
void write_mode(uint64_t mode) {
  __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & kFlags) | static_cast<uint32_t>(mode));
}
#elif defined(__aarch64__)
// FPCR: operands and results of f32 and f64 that are denormal become 0 (bit 24). Its flags are in another register.
constexpr bool kCanFlush = true;
constexpr uint64_t kFlush = 1 << 24;

uint64_t read_mode() {
  uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void write_mode(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#else
constexpr bool kCanFlush = false;
constexpr uint64_t kFlush = 0;

uint64_t read_mode() { return 0; }
void write_mode(uint64_t) {}
#endif

}  // namespace

FloatMode FloatMode::current() { return FloatMode(read_mode()); }
void FloatMode::use() const { write_mode(bits_); }
bool FloatMode::can_flush() { return kCanFlush; }
FloatMode FloatMode::flushing() const { return FloatMode(bits_ | kFlush); }

}  // namespace tenon
