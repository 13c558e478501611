// An object file that linkers take: a program's bytes, and the variable `tenon_embedded NAME_program` (tenon/c.h) that
// points to them. Written as it is laid out here, so that making one for another machine needs no assembler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

enum class ElfMachine : uint16_t { x86_64 = 62, arm64 = 183 };

/// What stands in the file before the program and behind it; the program begins at `before.size()`.
struct ElfObject {
  std::vector<std::byte> before;
  std::vector<std::byte> after;
};

/// For a program of `bytes` bytes. `symbol` is the variable's whole name.
ElfObject elf_object(ElfMachine machine, int64_t bytes, const std::string& symbol);

/// The same as the only member of an archive, with the index that linkers want.
ElfObject elf_archive(ElfMachine machine, int64_t bytes, const std::string& symbol);

}  // namespace tenon
