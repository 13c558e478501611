// GPUs of this machine, to compile for.
#pragma once

#include <string_view>

#include "tenon/machine.h"

namespace tenon {

/// The first NVIDIA GPU of this machine, as its driver describes it: `compile(graph, {.machine = gpu()})` runs there.
/// Error: there is no GPU, no driver, or one that is too old.
Machine gpu();

/// What a device's name stands for: "cpu" is this_machine(), "gpu" and "cuda" are gpu(). Error: another name; those of
/// gpu().
Machine machine_of_device(std::string_view name);

}  // namespace tenon
