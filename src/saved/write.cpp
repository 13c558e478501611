#include "saved/write.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/file.h"
#include "saved/checked_file.h"
#include "saved/info_bytes.h"
#include "saved/segments_bytes.h"

namespace tenon::saved {

namespace {

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

/// The constants of all machines, equal ones once.
class ConstantPool {
 public:
  uint32_t number_of(const Array& constant) {
    const std::span<const std::byte> bytes(constant.data(), constant.byte_count());
    const Checksum sum = checksums(std::span(&bytes, 1)).front();
    const auto [first, last] = numbers_.equal_range(std::pair(sum, bytes.size()));
    for (auto each = first; each != last; ++each) {
      if (std::ranges::equal(bytes, std::span(arrays_[each->second].data(), bytes.size()))) return each->second;
    }
    const auto number = static_cast<uint32_t>(places_.size());
    numbers_.emplace(std::pair(sum, bytes.size()), number);
    places_.push_back({.offset = bytes_, .bytes = std::ssize(bytes), .checksum = sum});
    arrays_.push_back(constant);
    bytes_ = round_up(bytes_ + std::ssize(bytes), kSectionAlignment);
    return number;
  }

  const std::vector<ConstantPlace>& places() const { return places_; }
  const std::vector<Array>& arrays() const { return arrays_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::multimap<std::pair<Checksum, size_t>, uint32_t> numbers_;
  std::vector<ConstantPlace> places_;
  std::vector<Array> arrays_;
  int64_t bytes_ = 0;
};

/// Sections, and where they lie.
class Layout {
 public:
  explicit Layout(const SavedProgram& program) {
    ProgramFileInfo info = program.info;
    info.machines.clear();
    for (const MachineProgram& each : program.machines) {
      info.machines.push_back({.machine = each.machine, .code = each.code.description});
    }
    add(SectionKind::info, -1, to_bytes(info));
    for (size_t i = 0; i < program.machines.size(); ++i) {
      add_machine(static_cast<int32_t>(i), program.machines[i], program.reasons);
    }
    bytes::Writer list;
    std::vector<ConstantPlace> places = constants_.places();
    list(places);
    add(SectionKind::constant_list, -1, list.take());
    entries_.push_back(
        {.kind = SectionKind::constants, .bytes = constants_.bytes(), .checksum = checksum_of(constants_.places())});
    place();
  }

  int64_t file_bytes() const { return file_bytes_; }

  /// All bytes in order: write(bytes) is called with a piece at a time.
  template <class Write>
  void write(const Write& write) const {
    int64_t at = 0;
    const auto put = [&](std::span<const std::byte> bytes) {
      write(bytes);
      at += std::ssize(bytes);
    };
    const auto fill_up_to = [&](int64_t offset) {
      static constexpr std::array<std::byte, kCodeAlignment> kZeros = {};
      TENON_CHECK(offset >= at && offset - at <= kCodeAlignment, "a gap from {} to {}", at, offset);
      put(std::span(kZeros).first(static_cast<size_t>(offset - at)));
    };
    put(std::as_bytes(std::span(&header_, 1)));
    put(std::as_bytes(std::span(entries_)));
    for (size_t i = 0; i < contents_.size(); ++i) {
      fill_up_to(entries_[i].offset);
      put(contents_[i]);
    }
    const int64_t first = entries_.back().offset;
    for (size_t i = 0; i < constants_.arrays().size(); ++i) {
      fill_up_to(first + constants_.places()[i].offset);
      const Array& array = constants_.arrays()[i];
      put({array.data(), array.byte_count()});
    }
    fill_up_to(file_bytes_);
  }

 private:
  void add(SectionKind kind, int32_t machine, std::vector<std::byte> bytes) {
    entries_.push_back({.kind = kind, .machine = machine, .bytes = std::ssize(bytes), .checksum = checksum(bytes)});
    contents_.push_back(std::move(bytes));
  }

  void add_machine(int32_t number, const MachineProgram& machine, bool reasons) {
    SegmentsBytes bytes = saved::to_bytes(machine.segments, machine.names,
                                          [&](const Array& constant) { return constants_.number_of(constant); });
    add(SectionKind::program, number, std::move(bytes.program));
    add(SectionKind::code, number, devices::to_bytes(machine.code));
    if (reasons) {
      add(SectionKind::reasons, number, std::move(bytes.reasons));
    }
  }

  void place() {
    int64_t at = static_cast<int64_t>(sizeof(Header) + entries_.size() * sizeof(SectionEntry));
    for (SectionEntry& entry : entries_) {
      at = round_up(at, entry.kind == SectionKind::code ? kCodeAlignment : kSectionAlignment);
      entry.offset = at;
      at += entry.bytes;
    }
    file_bytes_ = at;
    constexpr std::string_view kVersion = TENON_VERSION;
    std::ranges::copy(kVersion.substr(0, header_.tenon.size() - 1), header_.tenon.begin());
    header_.sections = static_cast<uint32_t>(entries_.size());
    header_.file_bytes = file_bytes_;
    header_.table = checksum(std::as_bytes(std::span(entries_)));
    header_.check = checksum(std::as_bytes(std::span(&header_, 1)).first(offsetof(Header, check))).first;
  }

  Header header_;
  std::vector<SectionEntry> entries_;
  std::vector<std::vector<std::byte>> contents_;  // of all entries but the last, which are the constants
  ConstantPool constants_;
  int64_t file_bytes_ = 0;
};

}  // namespace

void write_program(const SavedProgram& program, const std::string& path, const WriteOptions& options) {
  const Layout layout(program);
  NewFile file(path, options.called);
  int64_t done = 0;
  constexpr size_t kPiece = size_t{16} << 20;
  layout.write([&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kPiece));
      file.write(piece);
      bytes = bytes.subspan(piece.size());
      done += std::ssize(piece);
      if (options.progress) options.progress(done, layout.file_bytes());
    }
  });
  file.put_in_place(options.durable);
}

int64_t program_size(const SavedProgram& program) {
  int64_t bytes = 0;
  for (const MachineProgram& each : program.machines) {
    for (const runtime::Segment& segment : each.segments.segments) {
      for (const Array& constant : segment.program.constants)
        bytes += static_cast<int64_t>(constant.byte_count());
    }
    for (const devices::CodeObject& object : each.code.objects)
      bytes += std::ssize(*object.bytes);
  }
  return bytes;
}

std::vector<std::byte> program_bytes(const SavedProgram& program) {
  const Layout layout(program);
  std::vector<std::byte> all;
  all.reserve(static_cast<size_t>(layout.file_bytes()));
  layout.write([&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

}  // namespace tenon::saved
