// Kernels of an image that was linked before (native/code_image.h), as functions of this process.
#pragma once

#include <memory>

#include "devices/cpu/cpu_device.h"

namespace tenon::devices {

/// The kernels of a module of kImageCode, whose one object is the image. No page of its memory can be written and run
/// at once; it goes with the last copy of the result. Errors: bytes that are no image, code for a machine that has
/// instructions which this one lacks, functions that this Tenon does not have.
std::shared_ptr<const HostCode> image_code(const Module& module);

}  // namespace tenon::devices
