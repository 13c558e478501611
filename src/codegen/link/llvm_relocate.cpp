#include "codegen/link/llvm_relocate.h"

#include <llvm/Object/ELF.h>

#include <cstring>

#include "base/fail.h"

namespace tenon::codegen {
namespace {

namespace elf = llvm::ELF;

template <class T>
T read_at(std::span<const std::byte> image, int64_t place) {
  TENON_CHECK(place >= 0 && place + static_cast<int64_t>(sizeof(T)) <= std::ssize(image), "a relocation at {} of {}",
              place, image.size());
  T value{};
  std::memcpy(&value, image.data() + place, sizeof(T));
  return value;
}

template <class T>
void write_at(std::span<std::byte> image, int64_t place, T value) {
  TENON_CHECK(place >= 0 && place + static_cast<int64_t>(sizeof(T)) <= std::ssize(image), "a relocation at {} of {}",
              place, image.size());
  std::memcpy(image.data() + place, &value, sizeof(T));
}

/// The low `bits` of what fits in them with a sign.
uint32_t signed_bits(int64_t value, int bits) {
  const int64_t limit = int64_t{1} << (bits - 1);
  TENON_CHECK(value >= -limit && value < limit, "a distance of {} does not fit in {} bits", value, bits);
  return static_cast<uint32_t>(value & ((int64_t{1} << bits) - 1));
}

void set_bits(std::span<std::byte> image, int64_t place, uint32_t value, uint32_t mask) {
  write_at<uint32_t>(image, place, (read_at<uint32_t>(image, place) & ~mask) | (value & mask));
}

void relocate_x86(std::span<std::byte> image, const Relocation& r) {
  switch (r.type) {
    case elf::R_X86_64_PC32:
    case elf::R_X86_64_PLT32:
      write_at<uint32_t>(image, r.place, signed_bits(r.symbol + r.addend - r.place, 32));
      return;
    case elf::R_X86_64_PC64: write_at<int64_t>(image, r.place, r.symbol + r.addend - r.place); return;
    case elf::R_X86_64_GOTPCREL:
    case elf::R_X86_64_GOTPCRELX:
    case elf::R_X86_64_REX_GOTPCRELX:
      if (r.slot < 0) break;
      write_at<uint32_t>(image, r.place, signed_bits(r.slot + r.addend - r.place, 32));
      return;
    default: break;
  }
  TENON_CHECK(false, "machine code with a relocation {}", relocation_name(elf::EM_X86_64, r.type));
}

int64_t page(int64_t address) { return address & ~int64_t{4095}; }

/// The immediate of ADRP: 21 bits, the lowest two apart.
void set_page(std::span<std::byte> image, int64_t place, int64_t to) {
  const uint32_t pages = signed_bits((page(to) - page(place)) >> 12, 21);
  set_bits(image, place, (pages & 3) << 29 | pages >> 2 << 5, 0x60ffffe0);
}

/// The immediate of an addition or of a load of `1 << scale` bytes, by the low 12 bits of an address.
void set_low(std::span<std::byte> image, int64_t place, int64_t to, int scale) {
  const auto low = static_cast<uint32_t>(to & 4095);
  TENON_CHECK((low & ((1U << scale) - 1)) == 0, "a load of {} bytes at {}", 1 << scale, to);
  set_bits(image, place, low >> scale << 10, 0xfffU << 10);
}

void relocate_arm(std::span<std::byte> image, const Relocation& r) {
  const int64_t to = r.symbol + r.addend;
  switch (r.type) {
    case elf::R_AARCH64_CALL26:
    case elf::R_AARCH64_JUMP26: set_bits(image, r.place, signed_bits((to - r.place) >> 2, 26), 0x03ffffff); return;
    case elf::R_AARCH64_PREL32: write_at<uint32_t>(image, r.place, signed_bits(to - r.place, 32)); return;
    case elf::R_AARCH64_PREL64: write_at<int64_t>(image, r.place, to - r.place); return;
    case elf::R_AARCH64_ADR_PREL_PG_HI21: set_page(image, r.place, to); return;
    case elf::R_AARCH64_ADD_ABS_LO12_NC:
    case elf::R_AARCH64_LDST8_ABS_LO12_NC: set_low(image, r.place, to, 0); return;
    case elf::R_AARCH64_LDST16_ABS_LO12_NC: set_low(image, r.place, to, 1); return;
    case elf::R_AARCH64_LDST32_ABS_LO12_NC: set_low(image, r.place, to, 2); return;
    case elf::R_AARCH64_LDST64_ABS_LO12_NC: set_low(image, r.place, to, 3); return;
    case elf::R_AARCH64_LDST128_ABS_LO12_NC: set_low(image, r.place, to, 4); return;
    case elf::R_AARCH64_ADR_GOT_PAGE:
      if (r.slot < 0) break;
      set_page(image, r.place, r.slot + r.addend);
      return;
    case elf::R_AARCH64_LD64_GOT_LO12_NC:
      if (r.slot < 0) break;
      set_low(image, r.place, r.slot + r.addend, 3);
      return;
    default: break;
  }
  TENON_CHECK(false, "machine code with a relocation {}", relocation_name(elf::EM_AARCH64, r.type));
}

/// jmp *slot(%rip), after mov context(%rip), %rdx.
void write_x86_stub(std::span<std::byte> image, int64_t place, int64_t slot, int64_t context) {
  if (context >= 0) {
    write_at<uint16_t>(image, place, 0x8b48);
    write_at<uint8_t>(image, place + 2, 0x15);
    write_at<uint32_t>(image, place + 3, signed_bits(context - (place + 7), 32));
    place += 7;
  }
  write_at<uint16_t>(image, place, 0x25ff);
  write_at<uint32_t>(image, place + 2, signed_bits(slot - (place + 6), 32));
}

/// adrp x16, slot; ldr x16, [x16, slot]; br x16, after the same loads of x2 for the context.
void write_arm_stub(std::span<std::byte> image, int64_t place, int64_t slot, int64_t context) {
  const auto load = [&](uint32_t into, int64_t from) {
    write_at<uint32_t>(image, place, 0x90000000U | into);
    set_page(image, place, from);
    write_at<uint32_t>(image, place + 4, 0xf9400000U | into << 5 | into);
    set_low(image, place + 4, from, 3);
    place += 8;
  };
  if (context >= 0) load(2, context);
  load(16, slot);
  write_at<uint32_t>(image, place, 0xd61f0000U | 16U << 5);
}

}  // namespace

bool is_call(uint16_t machine, uint32_t type) {
  return machine == elf::EM_X86_64 ? type == elf::R_X86_64_PLT32
                                   : type == elf::R_AARCH64_CALL26 || type == elf::R_AARCH64_JUMP26;
}

void relocate(uint16_t machine, std::span<std::byte> image, const Relocation& relocation) {
  machine == elf::EM_X86_64 ? relocate_x86(image, relocation) : relocate_arm(image, relocation);
}

void write_stub(uint16_t machine, std::span<std::byte> image, int64_t place, int64_t slot, int64_t context) {
  machine == elf::EM_X86_64 ? write_x86_stub(image, place, slot, context) : write_arm_stub(image, place, slot, context);
}

std::string relocation_name(uint16_t machine, uint32_t type) {
  return llvm::object::getELFRelocationTypeName(machine, type).str();
}

}  // namespace tenon::codegen
