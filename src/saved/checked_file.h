// The bytes of a program's file, with header and table checked: sections by kind and machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "saved/format.h"
#include "tenon/array.h"

namespace tenon::saved {

/// Where a constant lies in the section `constants`.
struct ConstantPlace {
  int64_t offset = 0;
  int64_t bytes = 0;
  Checksum checksum = {};
};
void fields(auto& archive, Checksum& x) { archive(x.first, x.second); }
void fields(auto& archive, ConstantPlace& x) { archive(x.offset, x.bytes, x.checksum); }

/// Bytes in memory and what keeps them. Once it is made, every section lies inside of the file, at a multiple of 64 of
/// an address, and no two are of one kind and machine. Immutable.
class CheckedFile {
 public:
  /// Errors, which name the file: what is no program's file, one of another version, one that was cut or whose header
  /// or table were damaged, and memory that does not begin at a multiple of 64.
  CheckedFile(std::span<const std::byte> bytes, std::shared_ptr<void> owner, std::string name);
  /// Mapped.
  static CheckedFile open(const std::string& path);

  const std::string& name() const { return name_; }
  const Header& header() const { return header_; }
  std::string tenon_version() const;
  const std::vector<SectionEntry>& sections() const { return sections_; }
  const SectionEntry* find(SectionKind kind, int machine = -1) const;

  /// A section that was held against its checksum. Error: it is damaged, or there is none.
  std::span<const std::byte> section(SectionKind kind, int machine = -1) const;
  /// The same of one that may have been left out: empty then.
  std::span<const std::byte> section_if_any(SectionKind kind, int machine = -1) const;
  /// A file inside of this one, which has checksums of its own. Errors call it `name`.
  CheckedFile part(int number, const std::string& name) const;

  /// Where constants lie: all inside of their section, at multiples of 64.
  std::vector<ConstantPlace> constants() const;
  /// The elements of one.
  std::span<const std::byte> constant(const ConstantPlace& place) const;
  /// The same as an array that uses them where they are. Error: the place has fewer bytes.
  Array constant(const ConstantPlace& place, Dtype dtype, std::vector<int64_t> dims) const;

  /// An Error that says that this file is damaged, and where.
  [[noreturn]] void fail_damaged(const std::string& what) const;

 private:
  void check_header();
  void check_table();
  std::span<const std::byte> bytes_of(const SectionEntry& entry) const;

  std::span<const std::byte> bytes_;
  std::shared_ptr<void> owner_;
  std::string name_;
  Header header_;
  std::vector<SectionEntry> sections_;
};

/// The checksum of the section `constants`.
Checksum checksum_of(const std::vector<ConstantPlace>& list);

}  // namespace tenon::saved
