// What lies where in a program's file that is being made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "saved/checked_file.h"
#include "saved/format.h"
#include "tenon/array.h"

namespace tenon::saved {

/// Sections are added, then finish() says where they lie, and write() gives all bytes in order.
class FileLayout {
 public:
  void add(SectionKind kind, int32_t machine, std::vector<std::byte> bytes);
  /// The number of a constant in the file. Equal ones are there once.
  uint32_t number_of(const Array& constant);
  /// The same of a constant that is made twice, for its checksum and when it is written, and kept by nobody meanwhile.
  uint32_t number_of_made(std::function<Array()> make);

  /// Adds the constants as the last sections. Nothing can be added any more.
  void finish();
  int64_t file_bytes() const { return file_bytes_; }
  /// Calls `put` with a stretch of bytes at a time.
  void write(const std::function<void(std::span<const std::byte>)>& put) const;

 private:
  uint32_t add_constant(std::function<Array()> make, const ConstantPlace& place);
  void place_sections();

  Header header_;
  std::vector<SectionEntry> entries_;
  std::vector<std::vector<std::byte>> contents_;  // of all entries but the last, which are the constants
  std::multimap<std::pair<Checksum, size_t>, uint32_t> numbers_;
  std::vector<ConstantPlace> places_;
  std::vector<std::function<Array()>> constants_;
  int64_t constant_bytes_ = 0;
  int64_t file_bytes_ = 0;
};

}  // namespace tenon::saved
