// The scalar table: every elementwise function Tenon knows, one record each. To add one, add a row to the file
// rows_<family>.cpp it belongs to; builders, interpreter, text form, gradients and tests read it from here.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernel/scalar/scalar_fn.h"

namespace tenon {

/// All rows, by family.
std::vector<const ScalarFn*> scalar_table();

/// The row of that name; null when there is none.
const ScalarFn* find_scalar_fn(std::string_view name);

/// The row of that name, which must exist.
const ScalarFn& scalar_fn(std::string_view name);

// The families.
std::span<const ScalarFn> arithmetic_rows();
std::span<const ScalarFn> exponential_rows();
std::span<const ScalarFn> trigonometric_rows();
std::span<const ScalarFn> comparison_rows();
std::span<const ScalarFn> rounding_rows();
std::span<const ScalarFn> activation_rows();

}  // namespace tenon
