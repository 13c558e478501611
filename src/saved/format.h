// What lies where in a program's file. Numbers are little-endian.
//
//   header     64 bytes: struct Header
//   table      a struct SectionEntry for each section
//   sections   in the order of the table; all begin at multiples of 64, code at multiples of a page
//
// The file of a program for a mesh has no program and code of its own, but those of each graph that ranks run: each is
// a file like this one, in a section of its own.
//
// Between them are zeros. Of each machine there is a program, its code and, unless they were left out, its reasons; all
// others are there once. Constants of all machines lie in one section, equal ones once.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "saved/checksum.h"

namespace tenon::saved {

inline constexpr std::array<char, 8> kMark = {'\x7f', 'T', 'E', 'N', 'O', 'N', '\r', '\n'};

/// Changed with anything that is written: a Tenon reads files of its own version alone.
inline constexpr uint32_t kFormatVersion = 5;

inline constexpr int64_t kSectionAlignment = 64;
inline constexpr int64_t kCodeAlignment = 4096;

struct Header {
  std::array<char, 8> mark = kMark;
  uint32_t version = kFormatVersion;
  uint32_t sections = 0;  // of the table
  int64_t file_bytes = 0;
  std::array<char, 16> tenon = {};  // the version of the writer, for people; ends with a zero
  Checksum table = {};
  uint64_t check = 0;  // of all before it
};
static_assert(sizeof(Header) == 64);

enum class SectionKind : uint32_t {
  info,           // what the file says of itself: ProgramFileInfo
  program,        // of a machine: segments
  code,           // of a machine: a devices::Module
  reasons,        // of a machine: why steps end where they do
  constant_list,  // where each constant lies, and its checksum
  constants,      // their elements; the checksum is one of the list's checksums
  mesh,           // what each rank of a mesh runs and sends
  part,           // `machine` is its number: a file with a graph that ranks run
};
inline constexpr std::array<std::string_view, 8> kSectionNames = {"info",          "program",   "code", "reasons",
                                                                  "constant list", "constants", "mesh", "part"};

struct SectionEntry {
  SectionKind kind = SectionKind::info;
  int32_t machine = -1;  // of those that info lists; -1: of all; of a `part`, its number
  int64_t offset = 0;
  int64_t bytes = 0;
  Checksum checksum = {};
};
static_assert(sizeof(SectionEntry) == 40);

/// Sections of one file, at most: more were never written.
inline constexpr uint32_t kMostSections = 1 << 16;

}  // namespace tenon::saved
