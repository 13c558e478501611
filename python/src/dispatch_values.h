// Values as PyTorch's dispatcher hands them to kernels.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "dispatch_functions.h"

namespace tenon::python {

/// Error where PyTorch could not say `what`.
void check_said(int status, const char* what);

inline void* pointer_of(StableValue value) { return std::bit_cast<void*>(static_cast<uintptr_t>(value)); }
inline StableValue value_of(const void* pointer) { return static_cast<StableValue>(std::bit_cast<uintptr_t>(pointer)); }
/// Of a dtype, a layout and the like, and of a device its index.
inline int32_t number_of(StableValue value) { return static_cast<int32_t>(value & 0xFFFFFFFF); }

/// The numbers that PyTorch has for dtypes.
enum TorchDtype : int32_t { torch_i64 = 4, torch_f32 = 6, torch_f64 = 7, torch_bool = 11 };

/// The items of a list; they are the list's, which is deleted without them.
std::vector<StableValue> items_of(StableValue list);
std::string_view text_of(StableValue text);
bool is_defined(TensorHandle tensor);
/// Where a tensor without axes on the CPU has its number, of a dtype that numbers of Python have; null for others.
const void* number_data(TensorHandle tensor, int32_t& dtype);

}  // namespace tenon::python
