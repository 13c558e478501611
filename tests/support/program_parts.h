// A program's file taken apart, so that one part can be changed and the file put together with checksums that are
// right.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "saved/checked_file.h"
#include "tenon/executable.h"

namespace tenon {

struct ProgramParts {
  struct Section {
    saved::SectionEntry entry;
    std::vector<std::byte> bytes;
  };
  saved::Header header;
  std::vector<Section> sections;

  /// The first of its kind. It must be there.
  Section& find(saved::SectionKind kind);
};

/// Bytes where CheckedFile wants them, and what keeps them.
struct AlignedBytes {
  std::shared_ptr<std::byte[]> memory;
  size_t size = 0;

  explicit AlignedBytes(std::span<const std::byte> bytes);
  std::span<std::byte> span() const { return {memory.get(), size}; }
};

std::vector<std::byte> read_file(const std::string& path);
void write_file(const std::string& path, std::span<const std::byte> bytes);

/// Any bytes: sections that do not lie in them are empty, and there is no header where there are too few for one.
ProgramParts take_apart(std::span<const std::byte> file);

/// The parts one after the other, with the places, sizes and checksums that they have now: of sections, of constants
/// as far as the list of them can be read, of table and header. Mark, version and kinds stay as they are.
std::vector<std::byte> put_together(ProgramParts parts);

/// load_program() of a copy.
Executable load_bytes(std::span<const std::byte> file);

/// What can be done with a program without running its code: it explains itself, and is specialised where each of its
/// names is `size`. Its errors are swallowed.
void plan_program(const Executable& executable, int64_t size);

}  // namespace tenon
