#include "saved/checked_file.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/mapped_file.h"

namespace tenon::saved {
namespace {

template <class T>
T read_plain(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

std::string_view name_of(SectionKind kind) { return kSectionNames[static_cast<size_t>(kind)]; }

/// Whose count never falls to one, so that nobody takes memory for his own that may not be written.
const std::shared_ptr<void>& nobody() {
  static const std::shared_ptr<void> owner = std::make_shared<int>(0);
  return owner;
}

}  // namespace

CheckedFile::CheckedFile(std::span<const std::byte> bytes, std::shared_ptr<void> owner, std::string name)
    : bytes_(bytes), owner_(std::move(owner)), name_(std::move(name)) {
  if (!owner_) owner_ = nobody();
  if (!bytes.empty() && reinterpret_cast<uintptr_t>(bytes.data()) % kSectionAlignment != 0) {
    fail("`{}`: a program in memory must begin at a multiple of {}", name_, kSectionAlignment);
  }
  check_header();
  check_table();
}

CheckedFile CheckedFile::open(const std::string& path) {
  const MappedFile file = map_file(path);
  const std::span<const std::byte> bytes(file.memory.get(), static_cast<size_t>(file.bytes));
  return {bytes, std::shared_ptr<void>(file.memory, file.memory.get()), path};
}

void CheckedFile::fail_damaged(const std::string& what) const { fail("`{}` is damaged: {}", name_, what); }

void CheckedFile::check_header() {
  if (bytes_.size() < kMark.size() || std::memcmp(bytes_.data(), kMark.data(), kMark.size()) != 0) {
    fail("`{}` is no program that Tenon wrote: it does not begin as one", name_);
  }
  if (bytes_.size() < sizeof(Header)) {
    fail_damaged(fmt::format("it ends at byte {}, inside of its header", bytes_.size()));
  }
  header_ = read_plain<Header>(bytes_);
  if (header_.version != kFormatVersion) {
    fail("`{}` is of format {}, and this Tenon reads format {}: build it anew from its model", name_, header_.version,
         kFormatVersion);
  }
  if (checksum(bytes_.first(offsetof(Header, check))).first != header_.check) {
    fail_damaged("its header is not what was written");
  }
  if (header_.file_bytes != std::ssize(bytes_)) {
    fail_damaged(fmt::format("it has {} bytes of {}", bytes_.size(), header_.file_bytes));
  }
}

void CheckedFile::check_table() {
  const size_t bytes = header_.sections * sizeof(SectionEntry);
  if (header_.sections > kMostSections || bytes > bytes_.size() - sizeof(Header)) {
    fail_damaged(fmt::format("its table of {} sections ends behind it", header_.sections));
  }
  const std::span<const std::byte> table = bytes_.subspan(sizeof(Header), bytes);
  if (checksum(table) != header_.table) {
    fail_damaged("its table of sections is not what was written");
  }
  std::set<std::pair<uint32_t, int32_t>> seen;
  for (uint32_t i = 0; i < header_.sections; ++i) {
    const auto entry = read_plain<SectionEntry>(table.subspan(i * sizeof(SectionEntry)));
    const auto kind = static_cast<uint32_t>(entry.kind);
    if (kind >= kSectionNames.size() || entry.machine < -1 || !seen.emplace(kind, entry.machine).second) {
      fail_damaged(fmt::format("section {} is of kind {} for machine {}", i, kind, entry.machine));
    }
    if (entry.offset < 0 || entry.bytes < 0 || entry.offset > std::ssize(bytes_) ||
        entry.bytes > std::ssize(bytes_) - entry.offset || entry.offset % kSectionAlignment != 0) {
      fail_damaged(fmt::format("its section `{}` has {} bytes from {} on, of {}", name_of(entry.kind), entry.bytes,
                               entry.offset, bytes_.size()));
    }
    sections_.push_back(entry);
  }
}

std::string CheckedFile::tenon_version() const {
  return {header_.tenon.begin(), std::ranges::find(header_.tenon, '\0')};
}

const SectionEntry* CheckedFile::find(SectionKind kind, int machine) const {
  const auto found = std::ranges::find_if(
      sections_, [&](const SectionEntry& entry) { return entry.kind == kind && entry.machine == machine; });
  return found == sections_.end() ? nullptr : &*found;
}

std::span<const std::byte> CheckedFile::bytes_of(const SectionEntry& entry) const {
  return bytes_.subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.bytes));
}

std::span<const std::byte> CheckedFile::section(SectionKind kind, int machine) const {
  const SectionEntry* const entry = find(kind, machine);
  if (entry == nullptr) {
    fail_damaged(fmt::format("it has no section `{}`", name_of(kind)));
  }
  const std::span<const std::byte> bytes = bytes_of(*entry);
  if (checksum(bytes) != entry->checksum) {
    fail_damaged(fmt::format("its section `{}`, {} bytes from {} on, is not what was written", name_of(kind),
                             entry->bytes, entry->offset));
  }
  return bytes;
}

std::span<const std::byte> CheckedFile::section_if_any(SectionKind kind, int machine) const {
  return find(kind, machine) == nullptr ? std::span<const std::byte>() : section(kind, machine);
}

CheckedFile CheckedFile::part(int number, const std::string& name) const {
  const SectionEntry* const entry = find(SectionKind::part, number);
  if (entry == nullptr) {
    fail_damaged(fmt::format("it has no part {}", number));
  }
  return {bytes_of(*entry), owner_, name};
}

std::vector<ConstantPlace> CheckedFile::constants() const {
  bytes::Reader reader(section(SectionKind::constant_list));
  std::vector<ConstantPlace> list;
  reader(list);
  reader.end();
  const SectionEntry* const all = find(SectionKind::constants);
  for (const ConstantPlace& place : list) {
    if (all == nullptr || place.offset < 0 || place.bytes < 0 || place.offset > all->bytes ||
        place.bytes > all->bytes - place.offset || place.offset % kSectionAlignment != 0) {
      fail_damaged(fmt::format("a constant has {} bytes from {} on, of {}", place.bytes, place.offset,
                               all == nullptr ? 0 : all->bytes));
    }
  }
  if (all != nullptr && all->checksum != checksum_of(list)) {
    fail_damaged("its list of constants is of other constants");
  }
  return list;
}

std::span<const std::byte> CheckedFile::constant(const ConstantPlace& place) const {
  const SectionEntry* const all = find(SectionKind::constants);
  TENON_CHECK(all != nullptr, "a constant of a file without constants");
  return bytes_of(*all).subspan(static_cast<size_t>(place.offset), static_cast<size_t>(place.bytes));
}

Array CheckedFile::constant(const ConstantPlace& place, Dtype dtype, std::vector<int64_t> dims) const {
  const std::span<const std::byte> bytes = constant(place);
  // Nobody writes to it: arrays copy memory that others share, and this one has at least two owners.
  auto* const address = const_cast<std::byte*>(bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return Array::adopt(dtype, std::move(dims),
                      Storage{.place = {}, .address = address, .bytes = std::ssize(bytes), .owner = owner_});
}

Checksum checksum_of(const std::vector<ConstantPlace>& list) {
  std::vector<Checksum> sums;
  std::ranges::transform(list, std::back_inserter(sums), &ConstantPlace::checksum);
  return checksum(std::as_bytes(std::span(sums)));
}

}  // namespace tenon::saved
