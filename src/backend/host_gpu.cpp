#include "base/fail.h"
#include "devices/gpu/gpu_device.h"
#include "tenon/gpu.h"

namespace tenon {

Machine gpu() { return devices::host_gpu_facts(); }

Machine machine_of_device(std::string_view name) {
  if (name == "cpu") return this_machine();
  if (name == "gpu" || name == "cuda") return gpu();
  fail("there is no device `{}`: programs run on `cpu` or `gpu`", name);
}

}  // namespace tenon
