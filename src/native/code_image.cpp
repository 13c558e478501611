#include "native/code_image.h"

#include "base/bytes.h"
#include "base/fail.h"
#include "kernel/product/product.h"

namespace tenon::codegen {
namespace {

/// Changed with what is written, and with what code expects of those who load it.
constexpr uint32_t kVersion = 1;

void check_place(int64_t place, const CodeImage& image) {
  if (place < 0 || place >= std::ssize(image.code)) {
    fail("a function begins at byte {} of {} bytes of code", place, image.code.size());
  }
}

void check(const CodeImage& image) {
  if (slots_at(image) + 8 * slot_count(image) > kMostImageBytes) {
    fail("{} bytes of code with {} slots are more than one image holds", image.code.size(), slot_count(image));
  }
  for (const int64_t place : image.kernels) {
    check_place(place, image);
  }
  for (const ImageProduct& product : image.products) {
    if (product.kind < 0 || product.kind >= std::ssize(product_kinds())) {
      fail("code needs products of kind {}, and there are {}", product.kind, product_kinds().size());
    }
    for (const int64_t place : product.parts) {
      check_place(place, image);
    }
  }
}

}  // namespace

static void fields(auto& archive, ImageProduct& x) { archive(x.kind, x.parts); }

int64_t slots_at(const CodeImage& image) {
  return (std::ssize(image.code) + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

int64_t slot_count(const CodeImage& image) { return std::ssize(image.imports) + 2 * std::ssize(image.products); }

std::vector<std::byte> to_bytes(const CodeImage& image) {
  bytes::Writer writer;
  uint32_t version = kVersion;
  std::string machine = to_text(image.machine);
  std::vector<std::string> imports = image.imports;
  std::vector<ImageProduct> products = image.products;
  std::vector<int64_t> kernels = image.kernels;
  writer(version, machine, imports, products, kernels);
  writer.count(image.code.size());
  writer.raw(image.code.data(), image.code.size());
  return writer.take();
}

CodeImage image_from_bytes(std::span<const std::byte> bytes) {
  bytes::Reader reader(bytes);
  uint32_t version = 0;
  reader(version);
  if (version != kVersion) {
    fail("machine code of version {}, where this Tenon reads version {}", version, kVersion);
  }
  CodeImage image;
  std::string machine;
  reader(machine, image.imports, image.products, image.kernels);
  image.machine = parse_machine(machine);
  const std::span<const std::byte> code = reader.raw(reader.count());
  image.code.assign(code.begin(), code.end());
  reader.end();
  check(image);
  return image;
}

}  // namespace tenon::codegen
