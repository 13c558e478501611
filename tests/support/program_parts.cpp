#include "support/program_parts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "base/bytes.h"
#include "base/fail.h"
#include "tenon/error.h"
#include "tenon/program_file.h"

namespace tenon {
namespace {

constexpr size_t kAlignment = saved::kSectionAlignment;

/// The list with the checksums that the constants have now; as it is where it is no list.
void repair_constants(ProgramParts& parts) {
  const auto is = [](saved::SectionKind kind) {
    return [kind](const ProgramParts::Section& each) { return each.entry.kind == kind; };
  };
  const auto list = std::ranges::find_if(parts.sections, is(saved::SectionKind::constant_list));
  const auto all = std::ranges::find_if(parts.sections, is(saved::SectionKind::constants));
  if (list == parts.sections.end() || all == parts.sections.end()) return;
  std::vector<saved::ConstantPlace> places;
  try {
    bytes::Reader reader(list->bytes);
    reader(places);
    reader.end();
  } catch (const Error&) {
    return;
  }
  const std::span<const std::byte> elements(all->bytes);
  for (saved::ConstantPlace& place : places) {
    const int64_t size = std::ssize(all->bytes);
    if (place.offset < 0 || place.bytes < 0 || place.offset > size || place.bytes > size - place.offset) continue;
    place.checksum =
        saved::checksum(elements.subspan(static_cast<size_t>(place.offset), static_cast<size_t>(place.bytes)));
  }
  all->entry.checksum = saved::checksum_of(places);
  bytes::Writer writer;
  writer(places);
  list->bytes = writer.take();
}

}  // namespace

ProgramParts::Section& ProgramParts::find(saved::SectionKind kind) {
  const auto found = std::ranges::find_if(sections, [&](const Section& each) { return each.entry.kind == kind; });
  TENON_CHECK(found != sections.end(), "no section of kind {}", static_cast<uint32_t>(kind));
  return *found;
}

AlignedBytes::AlignedBytes(std::span<const std::byte> bytes) : size(bytes.size()) {
  const size_t room = (bytes.size() / kAlignment + 1) * kAlignment;
  memory = {static_cast<std::byte*>(std::aligned_alloc(kAlignment, room)), [](std::byte* each) { std::free(each); }};
  std::ranges::copy(bytes, memory.get());
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

ProgramParts take_apart(std::span<const std::byte> file) {
  ProgramParts parts;
  if (file.size() < sizeof(saved::Header)) return parts;
  std::memcpy(&parts.header, file.data(), sizeof(saved::Header));
  const std::span<const std::byte> table = file.subspan(sizeof(saved::Header));
  const size_t count = std::min<size_t>({parts.header.sections, table.size() / sizeof(saved::SectionEntry), 64});
  for (size_t i = 0; i < count; ++i) {
    ProgramParts::Section section;
    std::memcpy(&section.entry, table.data() + i * sizeof(saved::SectionEntry), sizeof(saved::SectionEntry));
    const auto [offset, bytes] = std::pair(section.entry.offset, section.entry.bytes);
    if (offset >= 0 && bytes >= 0 && offset <= std::ssize(file) && bytes <= std::ssize(file) - offset) {
      const auto from = file.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes));
      section.bytes.assign(from.begin(), from.end());
    }
    parts.sections.push_back(std::move(section));
  }
  return parts;
}

std::vector<std::byte> put_together(ProgramParts parts) {
  repair_constants(parts);
  std::vector<std::byte> file(sizeof(saved::Header) + parts.sections.size() * sizeof(saved::SectionEntry));
  std::vector<saved::SectionEntry> table;
  for (ProgramParts::Section& each : parts.sections) {
    file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment);
    each.entry.offset = std::ssize(file);
    each.entry.bytes = std::ssize(each.bytes);
    if (each.entry.kind != saved::SectionKind::constants) each.entry.checksum = saved::checksum(each.bytes);
    file.insert(file.end(), each.bytes.begin(), each.bytes.end());
    table.push_back(each.entry);
  }
  saved::Header& header = parts.header;
  header.sections = static_cast<uint32_t>(table.size());
  header.file_bytes = std::ssize(file);
  header.table = saved::checksum(std::as_bytes(std::span(table)));
  header.check = saved::checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(saved::Header, check))).first;
  std::memcpy(file.data(), &header, sizeof(header));
  std::ranges::copy(std::as_bytes(std::span(table)), file.data() + sizeof(header));
  return file;
}

Executable load_bytes(std::span<const std::byte> file) {
  const AlignedBytes bytes(file);
  return load_program(bytes.span(), bytes.memory);
}

void plan_program(const Executable& executable, int64_t size) {
  try {
    (void)executable.explain();
    Bindings bindings;
    std::set<std::string> names;
    for (const Port& port : executable.inputs()) {
      for (const Axis& axis : port.shape.axes()) {
        for (const std::string& name : axis.extent().names())
          names.insert(name);
      }
    }
    for (const std::string& name : names)
      bindings.set(name, size);
    executable.specialize(bindings);
    (void)executable.memory(bindings);
    (void)executable.pipelines(bindings);
    (void)executable.output_shapes(bindings);
  } catch (const Error&) {  // which is as good
  }
}

}  // namespace tenon
