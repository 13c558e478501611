#include <algorithm>
#include <chrono>
#include <span>
#include <tuple>
#include <vector>

#include "base/fail.h"
#include "devices/cpu/cpu_device.h"
#include "native/target.h"
#include "runtime/run/make_executable.h"
#include "saved/checked_file.h"
#include "saved/file_constants.h"
#include "saved/file_info.h"
#include "saved/info_bytes.h"
#include "saved/segments_bytes.h"
#include "saved/verify_segments.h"
#include "tenon/program_file.h"

namespace tenon {
namespace saved {
namespace {

/// Of those that fit, the one that uses most of this machine; of equal ones the first.
int best_machine(const CheckedFile& file, const ProgramFileInfo& info) {
  const codegen::Target* const host =
      this_machine().cpu().instructions == InstructionSet::other ? nullptr : &codegen::host_target();
  const auto worth = [&](const ProgramFileMachine& each) {
    if (each.machine.cpu().instructions == InstructionSet::other || each.code == kInterpreted) {
      return std::tuple(0, 0, 0, size_t{0}, each.machine.cpu() == this_machine().cpu());
    }
    const codegen::Target target = codegen::target_of(each.machine);
    return std::tuple(1, std::max(target.vector_bits, target.sve_bits), host != nullptr && target == *host ? 1 : 0,
                      target.features.size(), each.machine.cpu() == this_machine().cpu());
  };
  int best = -1;
  for (int i = 0; i < std::ssize(info.machines); ++i) {
    const ProgramFileMachine& each = info.machines[static_cast<size_t>(i)];
    if (each.runs_here && (best < 0 || worth(each) > worth(info.machines[static_cast<size_t>(best)]))) {
      best = i;
    }
  }
  if (best >= 0) {
    return best;
  }
  std::string there;
  for (const ProgramFileMachine& each : info.machines) {
    there += fmt::format("{}{} ({})", there.empty() ? "" : "; ", each.machine.name, each.code);
  }
  fail("`{}` has no program for this machine, which is {}{}{}\n  it has: {}", file.name(),
       host == nullptr ? "no x86-64 or ARM64" : codegen::describe(*host),
       host == nullptr || host->features.empty() ? "" : " with ", host == nullptr ? "" : host->features, there);
}

Executable load_checked(const CheckedFile& file, const ProgramFileOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramFileInfo info = info_of(file);
  if (file.find(SectionKind::mesh) != nullptr) {
    fail(
        "`{}` is a program for the ranks of a mesh, each of which loads its part: `mpirun -n N tenon run FILE`, or "
        "load_mesh_program() of tenon/mesh_program.h",
        file.name());
  }
  const int machine = best_machine(file, info);
  const std::shared_ptr<devices::Device>& device = devices::host_device();
  FileConstants constants(file);
  ReadSegments read = segments_from_bytes(file.section(SectionKind::program, machine),
                                          file.section_if_any(SectionKind::reasons, machine),
                                          [&](const ConstantReference& reference) { return constants(reference); });
  const devices::Module module = devices::module_from_bytes(file.section(SectionKind::code, machine));
  verify_segments(read.segments, module.object_of.size());
  if (options.verify) {
    constants.verify();
  }
  read.segments.code = device->load(module);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  return runtime::make_executable(std::move(read.segments), {.memory_budget = options.memory_budget,
                                                             .device = device,
                                                             .compile_ms = taken.count(),
                                                             .code = module.description,
                                                             .code_bytes = devices::byte_count(module),
                                                             .names = std::move(read.names)});
}

}  // namespace

/// What is wrong inside of the file is said of the file.
Executable load(const CheckedFile& file, const ProgramFileOptions& options) {
  try {
    return load_checked(file, options);
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(fmt::format("`{}`", file.name()))) throw;
    fail("`{}` cannot be loaded: {}", file.name(), error.what());
  } catch (const InternalError& error) {  // our own checks, of what no Tenon would have written
    fail("`{}` cannot be loaded, as it contradicts itself: {}", file.name(), error.what());
  }
}

}  // namespace saved

Executable load_program(const std::string& path, const ProgramFileOptions& options) {
  return saved::load(saved::CheckedFile::open(path), options);
}

Executable load_program(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                        const ProgramFileOptions& options, const std::string& name) {
  return saved::load(saved::CheckedFile(bytes, std::move(owner), name), options);
}

}  // namespace tenon
