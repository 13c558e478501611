#include "devices/module.h"

#include "base/bytes.h"
#include "base/fail.h"

namespace tenon::devices {
namespace {

/// Written first; changes with what follows it.
constexpr uint32_t kVersion = 1;

}  // namespace

static void fields(bytes::Writer& archive, CodeObject& object) {
  archive(object.symbol);
  archive.count(object.bytes->size());
  archive.raw(reinterpret_cast<const std::byte*>(object.bytes->data()), object.bytes->size());
}
static void fields(bytes::Reader& archive, CodeObject& object) {
  archive(object.symbol);
  const std::span<const std::byte> code = archive.raw(archive.count());
  const auto* const first = reinterpret_cast<const char*>(code.data());
  object.bytes = std::make_shared<const std::vector<char>>(first, first + code.size());
}

void fields(auto& archive, Module& x) {
  archive(x.format, x.target, x.description, x.objects, x.object_of, x.product_kinds);
}

int64_t byte_count(const Module& module) {
  int64_t bytes = 0;
  for (const CodeObject& object : module.objects) {
    bytes += object.bytes ? std::ssize(*object.bytes) : 0;
  }
  return bytes;
}

std::vector<std::byte> to_bytes(const Module& module) {
  bytes::Writer writer;
  uint32_t version = kVersion;
  Module copy = module;  // whose fields are named once, for reading too
  writer(version, copy);
  return writer.take();
}

Module module_from_bytes(std::span<const std::byte> bytes) {
  bytes::Reader reader(bytes);
  uint32_t version = 0;
  reader(version);
  if (version != kVersion) {
    fail("code of version {}, where this Tenon reads version {}", version, kVersion);
  }
  Module module;
  reader(module);
  reader.end();
  for (const int object : module.object_of) {
    if (object < 0 || static_cast<size_t>(object) >= module.objects.size()) {
      fail("a kernel has code {}, of {}", object, module.objects.size());
    }
  }
  return module;
}

}  // namespace tenon::devices
