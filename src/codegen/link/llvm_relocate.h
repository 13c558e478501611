// Relocations, by the letters of the ELF supplements: S is the symbol's address, A the addend, P the place, G the slot.
#pragma once

#include <llvm/BinaryFormat/ELF.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon::codegen {

/// One relocation. Addresses are counted from the beginning of the image, which lies at a multiple of 64 KiB.
struct Relocation {
  uint32_t type = 0;
  int64_t place = 0;   // P
  int64_t addend = 0;  // A
  int64_t symbol = 0;  // S: of a function outside, its stub
  int64_t slot = -1;   // G: -1: the symbol is in the image and has none
};

/// Whether its symbol may be outside: a call, which a stub serves, or a read of the slot.
bool is_call(uint16_t machine, uint32_t type);

/// Write what the relocation says. Fails with a message that names the type where it is none that we know, or where
/// the distance is too long for it.
void relocate(uint16_t machine, std::span<std::byte> image, const Relocation& relocation);

/// A stub that jumps to what the slot at `slot` holds and, where `context` is not -1, first puts what that slot holds
/// into the third argument. Both are written at `place`.
inline constexpr int64_t kStubBytes = 32;
void write_stub(uint16_t machine, std::span<std::byte> image, int64_t place, int64_t slot, int64_t context);

/// "R_X86_64_PC32".
std::string relocation_name(uint16_t machine, uint32_t type);

}  // namespace tenon::codegen
