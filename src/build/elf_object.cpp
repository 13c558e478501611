#include "build/elf_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tenon {
namespace {

constexpr uint64_t kProgramAlignment = 64;
constexpr uint64_t kEmbeddedBytes = 24;  // of a tenon_embedded: an address, a size, a handle

template <class T>
  requires std::is_trivially_copyable_v<T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_text(std::vector<std::byte>& to, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

enum Section : uint16_t {
  null_section,
  program_section,
  variable_section,
  relocation_section,
  stack_section,
  symbol_section,
  name_section,
  section_name_section,
  section_count
};

/// Lays the sections out behind each other, then writes their table.
class Layout {
 public:
  Layout(ElfMachine machine, int64_t bytes) : machine_(machine), at_(sizeof(Elf64_Ehdr)) {
    table_[program_section] = header(".rodata", SHT_PROGBITS, SHF_ALLOC, kProgramAlignment);
    table_[program_section].sh_offset = at_;
    table_[program_section].sh_size = static_cast<uint64_t>(bytes);
    at_ += static_cast<uint64_t>(bytes);
  }

  void add(Section section, Elf64_Shdr entry, std::span<const std::byte> content) {
    pad(entry.sh_addralign);
    entry.sh_offset = at_;
    entry.sh_size = content.size();
    after_.insert(after_.end(), content.begin(), content.end());
    at_ += content.size();
    table_[section] = entry;
  }

  Elf64_Shdr header(std::string_view name, uint32_t type, uint64_t flags, uint64_t alignment) {
    Elf64_Shdr entry = {};
    entry.sh_name = static_cast<uint32_t>(names_.size());
    append_text(names_, name);
    append_text(names_, std::string_view("\0", 1));
    entry.sh_type = type;
    entry.sh_flags = flags;
    entry.sh_addralign = alignment;
    return entry;
  }

  ElfObject finish() {
    const Elf64_Shdr entry = header(".shstrtab", SHT_STRTAB, 0, 1);
    add(section_name_section, entry, std::vector(names_));
    pad(alignof(Elf64_Shdr));
    const uint64_t table_at = at_;
    for (const Elf64_Shdr& each : table_) {
      append(after_, each);
    }
    Elf64_Ehdr file = {};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_ident[EI_DATA] = ELFDATA2LSB;
    file.e_ident[EI_VERSION] = EV_CURRENT;
    file.e_type = ET_REL;
    file.e_machine = static_cast<uint16_t>(machine_);
    file.e_version = EV_CURRENT;
    file.e_shoff = table_at;
    file.e_ehsize = sizeof(Elf64_Ehdr);
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = section_count;
    file.e_shstrndx = section_name_section;
    std::vector<std::byte> before;
    append(before, file);
    return {.before = std::move(before), .after = std::move(after_)};
  }

 private:
  void pad(uint64_t alignment) {
    while (at_ % alignment != 0) {
      after_.push_back(std::byte{0});
      ++at_;
    }
  }

  ElfMachine machine_;
  uint64_t at_;
  std::array<Elf64_Shdr, section_count> table_ = {};
  std::vector<std::byte> names_ = {std::byte{0}};
  std::vector<std::byte> after_;
};

/// The variable's address and size of the program, and a handle that is null yet.
std::vector<std::byte> variable(int64_t bytes) {
  std::vector<std::byte> content;
  append(content, uint64_t{0});  // a relocation fills it in
  append(content, static_cast<uint64_t>(bytes));
  append(content, uint64_t{0});
  return content;
}

std::vector<std::byte> relocation(ElfMachine machine) {
  Elf64_Rela entry = {};
  entry.r_info = ELF64_R_INFO(uint64_t{1}, machine == ElfMachine::x86_64 ? R_X86_64_64 : R_AARCH64_ABS64);
  std::vector<std::byte> content;
  append(content, entry);
  return content;
}

std::vector<std::byte> symbols() {
  Elf64_Sym program = {};
  program.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
  program.st_shndx = program_section;
  Elf64_Sym variable = {};
  variable.st_name = 1;
  variable.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  variable.st_shndx = variable_section;
  variable.st_size = kEmbeddedBytes;
  std::vector<std::byte> content;
  for (const Elf64_Sym& each : {Elf64_Sym{}, program, variable}) {
    append(content, each);
  }
  return content;
}

/// A member's header of an archive.
std::string member(std::string_view name, uint64_t bytes) {
  return fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 644, bytes);
}

}  // namespace

ElfObject elf_object(ElfMachine machine, int64_t bytes, const std::string& symbol) {
  Layout layout(machine, bytes);
  layout.add(variable_section, layout.header(".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8), variable(bytes));
  Elf64_Shdr entry = layout.header(".rela.data", SHT_RELA, SHF_INFO_LINK, 8);
  entry.sh_link = symbol_section;
  entry.sh_info = variable_section;
  entry.sh_entsize = sizeof(Elf64_Rela);
  layout.add(relocation_section, entry, relocation(machine));
  layout.add(stack_section, layout.header(".note.GNU-stack", SHT_PROGBITS, 0, 1), {});
  entry = layout.header(".symtab", SHT_SYMTAB, 0, 8);
  entry.sh_link = name_section;
  entry.sh_info = 2;  // the first that is global
  entry.sh_entsize = sizeof(Elf64_Sym);
  layout.add(symbol_section, entry, symbols());
  std::vector<std::byte> names;
  append_text(names, std::string_view("\0", 1));
  append_text(names, symbol);
  append_text(names, std::string_view("\0", 1));
  layout.add(name_section, layout.header(".strtab", SHT_STRTAB, 0, 1), names);
  return layout.finish();
}

ElfObject elf_archive(ElfMachine machine, int64_t bytes, const std::string& symbol) {
  ElfObject object = elf_object(machine, bytes, symbol);
  const uint64_t object_bytes = object.before.size() + static_cast<uint64_t>(bytes) + object.after.size();
  // The index: how many symbols, where the member of each begins, their names. Numbers are big-endian.
  std::string index("\0\0\0\1", 4);
  std::string names = symbol + '\0';
  names.resize((names.size() + 1) / 2 * 2, '\0');  // so that the member begins at an even byte
  const uint64_t place = 8 + 60 + 8 + names.size();
  for (int shift = 24; shift >= 0; shift -= 8) {
    index += static_cast<char>(place >> shift & 0xff);
  }
  std::vector<std::byte> before;
  append_text(before, "!<arch>\n" + member("/", index.size() + names.size()) + index + names +
                          member("program.o/", object_bytes));
  before.insert(before.end(), object.before.begin(), object.before.end());
  if (object_bytes % 2 != 0) {
    object.after.push_back(std::byte{'\n'});
  }
  return {.before = std::move(before), .after = std::move(object.after)};
}

}  // namespace tenon
