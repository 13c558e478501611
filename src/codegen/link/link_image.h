// Relocatable objects become one block of position-independent code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon::codegen {

/// An object file, and the function in it that others are to find. Objects see nothing of each other.
struct ImageObject {
  std::span<const char> bytes;
  std::string symbol;
};

/// A function outside that objects call, and what a call of it is: with `has_context`, code puts what its second slot
/// holds into the third argument of each call.
struct ImageImport {
  std::string name;
  bool has_context = false;

  int64_t slots() const { return has_context ? 2 : 1; }
};

struct LinkedImage {
  std::vector<std::byte> code;       // stubs included
  std::vector<ImageImport> imports;  // in the order of their slots; those without context come first
  std::vector<int64_t> entries;      // where the function of each object begins
};

/// Link `objects`, ELF files for x86-64 or ARM64, which may call `known`; only what is called is among the imports.
/// The slots lie where slots_at() of native/code_image.h says. Errors are our own: an object that is none, a symbol
/// that nobody knows, data that code would write, a relocation of another kind, more code than calls reach.
LinkedImage link_image(std::span<const ImageObject> objects, std::span<const ImageImport> known);

}  // namespace tenon::codegen
