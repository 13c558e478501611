#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "base/fail.h"
#include "native/target.h"
#include "saved/checked_file.h"
#include "saved/file_info.h"
#include "saved/info_bytes.h"
#include "tenon/program_file.h"

namespace tenon {
namespace saved {
namespace {

bool runs_here(const ProgramFileMachine& machine) {
  if (machine.code == kInterpreted) {
    return true;
  }
  const auto is_known = [](const Machine& each) { return each.cpu().instructions != InstructionSet::other; };
  return !machine.machine.is_gpu() && is_known(machine.machine) && is_known(this_machine()) &&
         codegen::runs_on(codegen::target_of(machine.machine), codegen::host_target());
}

bool is_intact(const CheckedFile& file, const SectionEntry& entry) {
  try {
    if (entry.kind != SectionKind::constants) {
      file.section(entry.kind, entry.machine);
      return true;
    }
    const std::vector<ConstantPlace> list = file.constants();
    std::vector<std::span<const std::byte>> bytes;
    for (const ConstantPlace& place : list) {
      bytes.push_back(file.constant(place));
    }
    return std::ranges::equal(checksums(bytes), list, {}, {}, &ConstantPlace::checksum);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

ProgramFileInfo info_of(const CheckedFile& file) {
  ProgramFileInfo info = info_from_bytes(file.section(SectionKind::info));
  info.tenon_version = file.tenon_version();
  info.format_version = static_cast<int>(file.header().version);
  info.bytes = file.header().file_bytes;
  for (ProgramFileMachine& machine : info.machines) {
    if (machine.machine.is_gpu()) {
      fail("`{}` has a program for `{}`, which is a GPU", file.name(), machine.machine.name);
    }
    machine.runs_here = runs_here(machine);
  }
  return info;
}

}  // namespace saved

ProgramFileInfo inspect_program(const std::string& path, const ProgramFileOptions& options) {
  const saved::CheckedFile file = saved::CheckedFile::open(path);
  ProgramFileInfo info = saved::info_of(file);
  for (const saved::SectionEntry& entry : file.sections()) {
    info.sections.push_back({.kind = std::string(saved::kSectionNames[static_cast<size_t>(entry.kind)]),
                             .machine = entry.machine,
                             .offset = entry.offset,
                             .bytes = entry.bytes,
                             .checksum = to_hex(entry.checksum),
                             .is_intact = !options.verify || saved::is_intact(file, entry)});
  }
  return info;
}

bool is_program_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return false;  // to open a pipe would wait for who writes it
  }
  if (path.ends_with(".tenon")) {
    return true;  // or was one
  }
  std::ifstream file(path, std::ios::binary);
  std::array<char, saved::kMark.size()> begin = {};
  return file.read(begin.data(), begin.size()) && begin == saved::kMark;
}

}  // namespace tenon
