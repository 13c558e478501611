// The code of kernels, as a back end made it: data that can be written, read back and loaded by a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon::devices {

/// One piece of code. Kernels of equal code share it.
struct CodeObject {
  std::string symbol;                              ///< the function in it
  std::shared_ptr<const std::vector<char>> bytes;  ///< in the form that Module::format names

  friend bool operator==(const CodeObject& a, const CodeObject& b) {
    return a.symbol == b.symbol && (a.bytes == b.bytes || (a.bytes && b.bytes && *a.bytes == *b.bytes));
  }
};

/// Code for a list of kernels. How they are launched is in the facts of a Program (kernel/facts/).
struct Module {
  std::string format;       ///< what the bytes are, which decides who can load them: kLoopCode, ...
  std::string target;       ///< the machine that the code is for, in the words of its back end; empty: any
  std::string description;  ///< the same for people: "x86-64-v4, 512-bit vectors, fma"
  std::vector<CodeObject> objects;
  std::vector<int> object_of;      ///< of each kernel
  std::vector<int> product_kinds;  ///< places in product_kinds() that the code calls

  friend bool operator==(const Module&, const Module&) = default;
};

/// Loops as bytes (kernel/loop/loop_bytes.h), for their interpreter.
inline constexpr const char* kLoopCode = "loops";
/// A relocatable object file of the host's kind.
inline constexpr const char* kObjectCode = "object";
/// Linked machine code of all kernels together (native/code_image.h): one object, which they all have.
inline constexpr const char* kImageCode = "image";

/// PTX: text for NVIDIA's driver, with a function `phase0`, `phase1`, ... for each phase of a kernel. Objects of the
/// second half have `phase0_in_device_memory` in their place, of those of the first half, where scratch may not fit
/// what a block shares; else they are empty. A line `//in registers 8192` says how many bytes of a launch's scratch
/// registers have, and `//no scratch 2` that phase 2 uses no other.
inline constexpr const char* kPtxCode = "ptx";

/// Of all its code.
int64_t byte_count(const Module& module);

std::vector<std::byte> to_bytes(const Module& module);
/// What to_bytes() wrote. Other bytes are an Error.
Module module_from_bytes(std::span<const std::byte> bytes);

}  // namespace tenon::devices
