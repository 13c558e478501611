#include "build/embed_program.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "base/fail.h"
#include "base/file.h"
#include "build/elf_object.h"
#include "build/embed_header.h"
#include "tenon/program_file.h"

namespace tenon {
namespace {

struct FormWords {
  std::string_view word, suffix;
  int64_t most_bytes;
};

/// In the order of EmbedForm. Code reaches its data within 2 GiB; compilers take minutes for larger sources.
constexpr std::array<FormWords, 3> kForms = {
    {{"object", ".o", int64_t{1} << 30}, {"static", ".a", int64_t{1} << 30}, {"c", ".c", int64_t{64} << 20}}};

const FormWords& words_of(EmbedForm form) { return kForms[static_cast<size_t>(form)]; }

ElfMachine elf_machine(const Machine& machine) {
  switch (machine.cpu().instructions) {
    case InstructionSet::x86_64:
    case InstructionSet::x86_64_v2:
    case InstructionSet::x86_64_v3:
    case InstructionSet::x86_64_v4: return ElfMachine::x86_64;
    case InstructionSet::arm64:
    case InstructionSet::armv8_2: return ElfMachine::arm64;
    case InstructionSet::other: break;
  }
  fail("machine `{}` is no x86-64 or ARM64, and object files are made for these: use `--emit c`", machine.name);
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Calls `take` with stretches of the file, in order.
template <class Take>
void read_all(const std::string& path, const Take& take) {
  const File file(path);
  const int64_t size = file.size();
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(size, int64_t{1} << 20)));
  for (int64_t at = 0; at < size; at += std::ssize(buffer)) {
    const std::span<std::byte> part(buffer.data(), static_cast<size_t>(std::min(size - at, std::ssize(buffer))));
    file.read(at, part);
    take(part);
  }
}

void write_object(const std::string& program, const ElfObject& object, NewFile& file) {
  file.write(object.before);
  read_all(program, [&](std::span<const std::byte> part) { file.write(part); });
  file.write(object.after);
}

/// Numbers of eight bytes, so that compilers have less to read than a number for each.
void write_source(const std::string& program, const EmbedNames& names, int64_t bytes, NewFile& file) {
  file.write(bytes_of(embed_source_begin(names)));
  size_t in_line = 0;
  read_all(program, [&](std::span<const std::byte> part) {
    std::string text;
    for (size_t i = 0; i < part.size(); i += 8) {
      uint64_t word = 0;
      for (size_t k = 0; k < std::min<size_t>(8, part.size() - i); ++k) {
        word |= std::to_integer<uint64_t>(part[i + k]) << 8 * k;
      }
      text += fmt::format("{:#x},{}", word, ++in_line % 6 == 0 ? "\n" : "");
    }
    file.write(bytes_of(text));
  });
  file.write(bytes_of(embed_source_end(names, bytes)));
}

}  // namespace

EmbedForm embed_form(std::string_view word) {
  const auto found = std::ranges::find(kForms, word, &FormWords::word);
  if (found == kForms.end()) {
    fail("`--emit {}`: there are object, static and c", word);
  }
  return static_cast<EmbedForm>(found - kForms.begin());
}

std::string_view suffix(EmbedForm form) { return words_of(form).suffix; }

void require_embeddable(EmbedForm form, const std::vector<Machine>& machines) {
  if (form == EmbedForm::source || machines.empty()) {
    return;
  }
  for (const Machine& each : machines) {
    if (elf_machine(each) != elf_machine(machines.front())) {
      fail(
          "an object file is for one kind of machine, and `{}` and `{}` are of two: build one for each, or use `--emit "
          "c`",
          machines.front().name, each.name);
    }
  }
}

std::string embed_program(const std::string& program, const std::string& output, EmbedForm form) {
  const ProgramFileInfo info = inspect_program(program, {.verify = false});
  std::vector<Machine> machines;
  std::ranges::transform(info.machines, std::back_inserter(machines), &ProgramFileMachine::machine);
  require_embeddable(form, machines);
  if (info.bytes > words_of(form).most_bytes) {
    fail("the program of `{}` has {} bytes, and with `--emit {}` it may have {}: load it from its file", info.name,
         info.bytes, words_of(form).word, words_of(form).most_bytes);
  }
  const EmbedNames names = embed_names(info, std::filesystem::path(output).stem().string());
  if (std::filesystem::path(output).extension() == ".h") {
    fail("`{}` is where the header goes that comes with it: give it another suffix, such as {}", output, suffix(form));
  }
  const std::string header = std::filesystem::path(output).replace_extension(".h").string();
  NewFile file(output);
  NewFile beside(header);
  if (form == EmbedForm::source) {
    write_source(program, names, info.bytes, file);
  } else {
    const auto make = form == EmbedForm::object ? elf_object : elf_archive;
    write_object(program, make(elf_machine(machines.front()), info.bytes, names.variable), file);
  }
  beside.write(bytes_of(embed_header(info, names)));
  file.put_in_place();
  beside.put_in_place();
  return header;
}

}  // namespace tenon
