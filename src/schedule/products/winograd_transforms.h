// What Winograd's forms of a convolution do with pixels and with sums, as values of loops: winograd_form.h.
#pragma once

#include <vector>

#include "kernel/constants/winograd_form.h"
#include "schedule/draft/values.h"

namespace tenon::schedule {

/// B^T times a column of f32 values of loops, as many as the form has pixels.
std::vector<int> transformed_pixels(layouts::WinogradForm form, KernelValues& values, const std::vector<int>& d);
/// A^T times a column of as many.
std::vector<int> transformed_sums(layouts::WinogradForm form, KernelValues& values, const std::vector<int>& m);

}  // namespace tenon::schedule
