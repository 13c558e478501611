#include "codegen/link/link_image.h"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "base/fail.h"
#include "codegen/link/llvm_relocate.h"
#include "native/code_image.h"

namespace tenon::codegen {
namespace {

namespace elf = llvm::ELF;
using llvm::object::ELFObjectFileBase;
using llvm::object::ELFRelocationRef;
using llvm::object::ELFSectionRef;
using llvm::object::ELFSymbolRef;
using llvm::object::ObjectFile;
using llvm::object::RelocationRef;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

template <class T>
T taken(llvm::Expected<T> value, const std::string& symbol) {
  if (!value) {
    check_failed("objects can be linked", __FILE__, __LINE__,
                 fmt::format("`{}`: {}", symbol, llvm::toString(value.takeError())));
  }
  return std::move(*value);
}

/// What a CPU needs of it to run; what unwinds the stack does not count: kernels never throw.
bool is_placed(const SectionRef& section) {
  const uint64_t flags = ELFSectionRef(section).getFlags();
  return (flags & elf::SHF_ALLOC) != 0 && section.getSize() > 0 && taken(section.getName(), "a section") != ".eh_frame";
}

bool is_code(const SectionRef& section) { return (ELFSectionRef(section).getFlags() & elf::SHF_EXECINSTR) != 0; }

class ImageLinker {
 public:
  ImageLinker(std::span<const ImageObject> objects, std::span<const ImageImport> known)
      : objects_(objects), known_(known) {}

  LinkedImage run() {
    for (const ImageObject& object : objects_) {
      open(object);
    }
    // Code first, so that what is called often lies together.
    for (const bool code : {true, false}) {
      for (Opened& each : opened_) {
        place_sections(each, code);
      }
    }
    find_imports();
    place_stubs();
    for (const Opened& each : opened_) {
      relocate_all(each);
      result_.entries.push_back(entry_of(each));
    }
    return std::move(result_);
  }

 private:
  struct Opened {
    const ImageObject& object;
    std::unique_ptr<ELFObjectFileBase> file;
    std::map<uint64_t, int64_t> places = {};  // of its sections, by their numbers
  };

  void open(const ImageObject& object) {
    const llvm::MemoryBufferRef bytes({object.bytes.data(), object.bytes.size()}, object.symbol);
    std::unique_ptr<ObjectFile> file = taken(ObjectFile::createELFObjectFile(bytes), object.symbol);
    auto* const opened = llvm::dyn_cast<ELFObjectFileBase>(file.get());
    TENON_CHECK(opened != nullptr && opened->isRelocatableObject(), "`{}` is no relocatable object", object.symbol);
    const uint16_t machine = opened->getEMachine();
    TENON_CHECK(machine == elf::EM_X86_64 || machine == elf::EM_AARCH64, "`{}` is for machine {}", object.symbol,
                machine);
    TENON_CHECK(opened_.empty() || machine == machine_, "objects for different machines");
    machine_ = machine;
    file.release();  // NOLINT(bugprone-unused-return-value): the next line has it
    opened_.push_back({.object = object, .file = std::unique_ptr<ELFObjectFileBase>(opened)});
  }

  void place_sections(Opened& each, bool code) {
    for (const SectionRef& section : each.file->sections()) {
      if (!is_placed(section) || is_code(section) != code) continue;
      const std::string& symbol = each.object.symbol;
      TENON_CHECK((ELFSectionRef(section).getFlags() & elf::SHF_WRITE) == 0, "`{}` has data that code would write",
                  symbol);
      TENON_CHECK(!section.isVirtual(), "`{}` has a section without contents", symbol);
      const llvm::StringRef contents = taken(section.getContents(), symbol);
      const int64_t place = align(static_cast<int64_t>(section.getAlignment().value()));
      std::vector<std::byte>& image = result_.code;
      image.resize(static_cast<size_t>(place) + contents.size());
      std::memcpy(image.data() + place, contents.data(), contents.size());
      each.places.emplace(section.getIndex(), place);
    }
  }

  int64_t align(int64_t alignment) {
    const int64_t place = (std::ssize(result_.code) + alignment - 1) / alignment * alignment;
    result_.code.resize(static_cast<size_t>(place));
    return place;
  }

  template <class F>
  void for_each_relocation(const Opened& each, const F& f) const {
    for (const SectionRef& section : each.file->sections()) {
      const auto relocated = taken(section.getRelocatedSection(), each.object.symbol);
      if (relocated == each.file->section_end()) continue;
      const auto place = each.places.find(relocated->getIndex());
      if (place == each.places.end()) continue;
      for (const RelocationRef& relocation : section.relocations()) {
        f(place->second, relocation);
      }
    }
  }

  /// Of the symbol, where it is outside of the object; else empty.
  std::string outside(const Opened& each, const RelocationRef& relocation) const {
    const auto symbol = relocation.getSymbol();
    TENON_CHECK(symbol != each.file->symbol_end(), "`{}`: a relocation by no symbol", each.object.symbol);
    const uint32_t flags = taken(symbol->getFlags(), each.object.symbol);
    return (flags & SymbolRef::SF_Undefined) == 0 ? "" : taken(symbol->getName(), each.object.symbol).str();
  }

  void find_imports() {
    std::map<std::string, ImageImport> used;
    for (const Opened& each : opened_) {
      for_each_relocation(each, [&](int64_t /*section*/, const RelocationRef& relocation) {
        const std::string name = outside(each, relocation);
        if (name.empty()) return;
        const auto known = std::ranges::find(known_, name, &ImageImport::name);
        TENON_CHECK(known != known_.end(), "`{}` needs `{}`, which is not among the symbols that kernels may call",
                    each.object.symbol, name);
        used.emplace(name, *known);
      });
    }
    for (const bool with_context : {false, true}) {
      for (const auto& [name, import] : used) {
        if (import.has_context == with_context) result_.imports.push_back(import);
      }
    }
  }

  void place_stubs() {
    constexpr int64_t kStubAlignment = 16;
    const int64_t first = align(kStubAlignment);
    const int64_t stubs = std::ssize(result_.imports) * kStubBytes;
    result_.code.resize(static_cast<size_t>(first + stubs));
    CodeImage image;
    image.code.swap(result_.code);
    int64_t slot = slots_at(image);
    image.code.swap(result_.code);
    TENON_CHECK(slot + 2 * 8 * std::ssize(result_.imports) <= kMostImageBytes, "{} bytes of code", result_.code.size());
    for (int64_t i = 0; i < std::ssize(result_.imports); ++i) {
      const ImageImport& import = result_.imports[static_cast<size_t>(i)];
      const int64_t place = first + i * kStubBytes;
      write_stub(machine_, result_.code, place, slot, import.has_context ? slot + 8 : -1);
      stubs_.emplace(import.name, Stub{.place = place, .slot = import.has_context ? -1 : slot});
      slot += 8 * import.slots();
    }
  }

  void relocate_all(const Opened& each) {
    for_each_relocation(each, [&](int64_t section, const RelocationRef& reference) {
      Relocation relocation{.type = static_cast<uint32_t>(reference.getType()),
                            .place = section + static_cast<int64_t>(reference.getOffset()),
                            .addend = taken(ELFRelocationRef(reference).getAddend(), each.object.symbol)};
      if (const std::string name = outside(each, reference); !name.empty()) {
        const Stub& stub = stubs_.at(name);
        TENON_CHECK(stub.slot >= 0 || is_call(machine_, relocation.type), "`{}` takes the address of `{}`",
                    each.object.symbol, name);
        relocation.symbol = stub.place;
        relocation.slot = stub.slot;
      } else {
        relocation.symbol = place_of(each, *reference.getSymbol());
      }
      relocate(machine_, result_.code, relocation);
    });
  }

  int64_t place_of(const Opened& each, const SymbolRef& symbol) const {
    const auto section = taken(symbol.getSection(), each.object.symbol);
    TENON_CHECK(section != each.file->section_end(), "`{}`: a symbol in no section", each.object.symbol);
    const auto place = each.places.find(section->getIndex());
    TENON_CHECK(place != each.places.end(), "`{}`: a symbol in a section that is not placed", each.object.symbol);
    return place->second + static_cast<int64_t>(taken(symbol.getValue(), each.object.symbol));
  }

  int64_t entry_of(const Opened& each) const {
    for (const SymbolRef& symbol : each.file->symbols()) {
      if (taken(symbol.getName(), each.object.symbol) == each.object.symbol) return place_of(each, symbol);
    }
    check_failed("objects define their symbols", __FILE__, __LINE__,
                 fmt::format("`{}` is missing", each.object.symbol));
  }

  struct Stub {
    int64_t place = 0;
    int64_t slot = -1;  // -1: code may call it and nothing else
  };

  std::span<const ImageObject> objects_;
  std::span<const ImageImport> known_;
  std::vector<Opened> opened_;
  std::map<std::string, Stub, std::less<>> stubs_;
  uint16_t machine_ = 0;
  LinkedImage result_;
};

}  // namespace

LinkedImage link_image(std::span<const ImageObject> objects, std::span<const ImageImport> known) {
  return ImageLinker(objects, known).run();
}

}  // namespace tenon::codegen
