// Writes the code of products for usual machines of the architecture that this program itself was built for, as object
// files, and the table of them that linked_products() returns.
//
//   gen_products objects SLICE SLICES FOLDER   of all parts of all libraries, each SLICES-th from SLICE on
//   gen_products table SLICES FOLDER           the table and the list of files, of what the slices wrote
//
// In FOLDER a part is called NUMBER.o, and its function by the hash of its code: parts of equal code are linked once.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "codegen/products/product_library.h"
#include "disk/content_hash.h"
#include "native/linked_products.h"
#include "native/product_target.h"

namespace tenon::codegen {
namespace {

struct Library {
  ProductKind kind;
  Target target;
};

std::vector<Library> libraries() {
  std::vector<Library> all;
  for (const ProductKind& kind : product_kinds()) {
    for (const Target& target : usual_product_targets(kind.types, host_target().triple)) {
      all.push_back({kind, target});
    }
  }
  return all;
}

/// A file that cannot be written, or read, is an exception.
template <class Stream>
Stream open(const std::string& path) {
  Stream stream;
  stream.exceptions(std::ios::failbit | std::ios::badbit);
  stream.open(path, std::ios::binary);
  return stream;
}

const std::string kName = "tenon_products_";
constexpr size_t kHashDigits = 32;

/// The object of a request, whose function is named by the hash of all else.
std::string object_of(const Jit::Request& request, const Target& target, std::string& name) {
  const std::string unnamed = kName + std::string(kHashDigits, '0');
  const std::vector<char> bytes = emit_object(request, target, kAddressSanitizer, unnamed);
  std::string object(bytes.begin(), bytes.end());
  const size_t at = object.find(unnamed);
  TENON_CHECK(at != std::string::npos && object.find(unnamed, at + 1) == std::string::npos);
  name = kName + disk::to_hex(disk::content_hash(object));
  return object.replace(at, name.size(), name);
}

void write_objects(size_t slice, size_t slices, const std::string& folder) {
  auto names = open<std::ofstream>(fmt::format("{}/names_{}.txt", folder, slice));
  size_t number = 0;
  for (const Library& library : libraries()) {
    for (const Jit::Request& request : product_requests(library.kind.types, library.target)) {
      if (number++ % slices != slice) continue;
      std::string name;
      const std::string object = object_of(request, library.target, name);
      open<std::ofstream>(fmt::format("{}/{}.o", folder, number - 1)) << object;
      names << name << '\n';
    }
  }
}

void write_table(size_t slices, const std::string& folder) {
  std::vector<std::ifstream> names;
  for (size_t slice = 0; slice < slices; ++slice) {
    names.push_back(open<std::ifstream>(fmt::format("{}/names_{}.txt", folder, slice)));
  }
  auto objects = open<std::ofstream>(folder + "/objects.txt");
  std::set<std::string> declared;
  std::string declarations;
  std::string rows;
  size_t number = 0;
  for (const Library& library : libraries()) {
    std::string parts;
    const size_t count = product_requests(library.kind.types, library.target).size();
    for (const size_t end = number + count; number < end; ++number) {
      std::string name;
      names[number % slices] >> name;
      if (declared.insert(name).second) {
        objects << fmt::format("{}/{}.o\n", folder, number);
        declarations += fmt::format("void {}(void** addresses);\n", name);
      }
      parts += (parts.empty() ? "" : ",\n      ") + name;
    }
    rows += fmt::format("    {{\"{}\",\n     \"{}\",\n     {{{}}}}},\n", library.kind.symbol,
                        code_identity(library.target), parts);
  }
  open<std::ofstream>(folder + "/linked_products.cpp")
      << "// The products for usual machines. Made by gen_products; do not edit.\n"
         "#include \"native/linked_products.h\"\n\nextern \"C\" {\n"
      << declarations << "}\n\nnamespace tenon::codegen {\nnamespace {\n\nconstexpr LinkedProducts kProducts[] = {\n"
      << rows << "};\n\n}  // namespace\n\n"
      << "std::span<const LinkedProducts> linked_products() { return kProducts; }\n\n}  // namespace tenon::codegen\n";
}

}  // namespace

/// gen_products itself has none.
std::span<const LinkedProducts> linked_products() { return {}; }

}  // namespace tenon::codegen

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 4 && words[0] == "objects") {
      tenon::codegen::write_objects(std::stoul(words[1]), std::stoul(words[2]), words[3]);
      return 0;
    }
    if (words.size() == 3 && words[0] == "table") {
      tenon::codegen::write_table(std::stoul(words[1]), words[2]);
      return 0;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "gen_products: {}\n", error.what());
    return 1;
  }
  fmt::print(stderr, "usage: gen_products objects SLICE SLICES FOLDER\n       gen_products table SLICES FOLDER\n");
  return 1;
}
