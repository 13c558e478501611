#include "saved/file_layout.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/bytes.h"
#include "base/fail.h"

namespace tenon::saved {
namespace {

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

std::span<const std::byte> bytes_of(const Array& array) { return {array.data(), array.byte_count()}; }

Checksum checksum_of_array(const Array& array) {
  const std::span<const std::byte> bytes = bytes_of(array);
  return checksums(std::span(&bytes, 1)).front();
}

}  // namespace

void FileLayout::add(SectionKind kind, int32_t machine, std::vector<std::byte> bytes) {
  entries_.push_back({.kind = kind, .machine = machine, .bytes = std::ssize(bytes), .checksum = checksum(bytes)});
  contents_.push_back(std::move(bytes));
}

uint32_t FileLayout::number_of(const Array& constant) {
  const std::span<const std::byte> bytes = bytes_of(constant);
  const Checksum sum = checksum_of_array(constant);
  const auto [first, last] = numbers_.equal_range(std::pair(sum, bytes.size()));
  for (auto each = first; each != last; ++each) {
    const Array other = constants_[each->second]();
    if (std::ranges::equal(bytes, bytes_of(other))) return each->second;
  }
  const uint32_t number = add_constant([constant] { return constant; },
                                       {.offset = constant_bytes_, .bytes = std::ssize(bytes), .checksum = sum});
  numbers_.emplace(std::pair(sum, bytes.size()), number);
  return number;
}

uint32_t FileLayout::number_of_made(std::function<Array()> make) {
  const Array constant = make();
  return add_constant(std::move(make), {.offset = constant_bytes_,
                                        .bytes = static_cast<int64_t>(constant.byte_count()),
                                        .checksum = checksum_of_array(constant)});
}

uint32_t FileLayout::add_constant(std::function<Array()> make, const ConstantPlace& place) {
  const auto number = static_cast<uint32_t>(places_.size());
  places_.push_back(place);
  constants_.push_back(std::move(make));
  constant_bytes_ = round_up(constant_bytes_ + place.bytes, kSectionAlignment);
  return number;
}

void FileLayout::finish() {
  bytes::Writer list;
  list(places_);
  add(SectionKind::constant_list, -1, list.take());
  entries_.push_back({.kind = SectionKind::constants, .bytes = constant_bytes_, .checksum = checksum_of(places_)});
  place_sections();
}

void FileLayout::place_sections() {
  if (entries_.size() > kMostSections) {
    fail("a program's file has {} sections at most, and this one would have {}", kMostSections, entries_.size());
  }
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

void FileLayout::write(const std::function<void(std::span<const std::byte>)>& put) const {
  int64_t at = 0;
  const auto next = [&](std::span<const std::byte> bytes) {
    put(bytes);
    at += std::ssize(bytes);
  };
  const auto fill_up_to = [&](int64_t offset) {
    static constexpr std::array<std::byte, kCodeAlignment> kZeros = {};
    TENON_CHECK(offset >= at && offset - at <= kCodeAlignment, "a gap from {} to {}", at, offset);
    next(std::span(kZeros).first(static_cast<size_t>(offset - at)));
  };
  next(std::as_bytes(std::span(&header_, 1)));
  next(std::as_bytes(std::span(entries_)));
  for (size_t i = 0; i < contents_.size(); ++i) {
    fill_up_to(entries_[i].offset);
    next(contents_[i]);
  }
  const int64_t first = entries_.back().offset;
  for (size_t i = 0; i < constants_.size(); ++i) {
    fill_up_to(first + places_[i].offset);
    const Array constant = constants_[i]();
    next(bytes_of(constant));
  }
  fill_up_to(file_bytes_);
}

}  // namespace tenon::saved
