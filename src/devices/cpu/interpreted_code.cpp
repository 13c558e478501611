#include <span>

#include "devices/cpu/cpu_device.h"
#include "kernel/loop/loop_bytes.h"
#include "kernel/loop/loop_run.h"

namespace tenon::devices {

std::shared_ptr<const HostCode> interpreted_code(const Module& module) {
  std::vector<KernelEntry> of_objects;
  for (const CodeObject& object : module.objects) {
    of_objects.push_back(loops::interpreted(loops::kernel_from_bytes(std::as_bytes(std::span(*object.bytes)))));
  }
  std::vector<KernelEntry> entries;
  for (const int object : module.object_of) {
    entries.push_back(of_objects[static_cast<size_t>(object)]);
  }
  return std::make_shared<HostCode>(std::move(entries));
}

}  // namespace tenon::devices
