#include "saved/write.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/file.h"
#include "saved/info_bytes.h"
#include "saved/segments_bytes.h"

namespace tenon::saved {

namespace {

FileLayout layout_of(const SavedProgram& program) {
  FileLayout layout;
  ProgramFileInfo info = program.info;
  info.machines.clear();
  for (const MachineProgram& each : program.machines) {
    info.machines.push_back({.machine = each.machine, .code = each.code.description});
  }
  layout.add(SectionKind::info, -1, to_bytes(info));
  for (size_t i = 0; i < program.machines.size(); ++i) {
    const MachineProgram& machine = program.machines[i];
    const auto number = static_cast<int32_t>(i);
    SegmentsBytes bytes = saved::to_bytes(machine.segments, machine.names,
                                          [&](const Array& constant) { return layout.number_of(constant); });
    layout.add(SectionKind::program, number, std::move(bytes.program));
    layout.add(SectionKind::code, number, devices::to_bytes(machine.code));
    if (program.reasons) {
      layout.add(SectionKind::reasons, number, std::move(bytes.reasons));
    }
  }
  layout.finish();
  return layout;
}

}  // namespace

void write_file(const FileLayout& layout, const std::string& path, const WriteOptions& options) {
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

void write_program(const SavedProgram& program, const std::string& path, const WriteOptions& options) {
  write_file(layout_of(program), path, options);
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
  const FileLayout layout = layout_of(program);
  std::vector<std::byte> all;
  all.reserve(static_cast<size_t>(layout.file_bytes()));
  layout.write([&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

}  // namespace tenon::saved
