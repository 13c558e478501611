// All kernels of one combination of dtypes, in a few modules: the requested functions hand out their addresses.
#include <fmt/format.h>

#include "codegen/products/llvm_product.h"
#include "codegen/products/product_library.h"
#include "native/linked_products.h"
#include "native/product_table.h"

namespace tenon::codegen {
namespace {

constexpr const char* kSymbol = "products";

/// What functions are in a part. Those of one role are the same code for several combinations of dtypes: once packed,
/// operands are alike.
enum class Part : uint8_t { operands, tiles, more_tiles, matrix };
static_assert(static_cast<size_t>(Part::matrix) + 1 == kProductParts);

/// The functions of a library in the order in which it hands them out; null where they belong to another part of it, or
/// where there is none.
class Library {
 public:
  explicit Library(Part part) : part_(part) {}

  void add_kernels(const ProductEmission& e) {
    add(Part::operands, [&] { return emit_pack_rows(e); });
    add(Part::operands, [&] { return emit_pack_columns(e); });
    add(Part::operands, [&] { return emit_pack_left(e); });
    for (size_t rows = 1; rows < e.shape.widths.size(); ++rows) {
      for (const int vectors : e.shape.widths[rows]) {
        add_tiles(e, static_cast<int>(rows), vectors);
      }
    }
    for (int rows = 1; rows < static_cast<int>(e.shape.dot_columns.size()); ++rows) {
      add(Part::operands, [&] { return emit_product_dot(e, rows, e.shape.dot_columns[static_cast<size_t>(rows)]); });
      add(Part::operands, [&] { return emit_product_dot(e, rows, 1); });
    }
    const bool in_panels = e.types == ProductTypes{} || has_narrow_right(e.types) || is_byte_product(e.types);
    for (const int panels : kProductPanels) {
      add(Part::operands, [&] { return in_panels ? emit_product_panels(e, 1, panels) : nullptr; });
    }
    for (int rows = 1; rows <= e.shape.pair_rows; ++rows) {
      add(Part::operands, [&] { return emit_product_panels(e, rows, 2); });
    }
  }

  void add_matrix(const ProductEmission& e) {
    add(Part::matrix, [&] { return emit_matrix_begin(e); });
    add(Part::matrix, [&] { return emit_matrix_end(e); });
    add(Part::matrix, [&] { return emit_matrix_tile(e, 1); });
    add(Part::matrix, [&] { return emit_matrix_tile(e, 2); });
    add(Part::matrix, [&] { return emit_pack_rows(e); });
    add(Part::matrix, [&] { return emit_pack_columns(e); });
  }

  const std::vector<llvm::Function*>& functions() const { return functions_; }

 private:
  void add(Part part, const auto& emit) { functions_.push_back(part == part_ ? emit() : nullptr); }

  /// Columns that are left over by the widest tiles: a partial tile. It would do for whole ones too, but what is read
  /// soon after a part of a vector was written waits for memory: those of one vector are often all there is.
  void add_tiles(const ProductEmission& e, int rows, int vectors) {
    const bool part = vectors <= e.shape.vectors;
    const bool full = vectors == 1 || vectors >= e.shape.vectors;
    add(Part::tiles, [&] { return full ? emit_product_tile(e, rows, vectors, false) : nullptr; });
    add(Part::more_tiles, [&] { return part ? emit_product_tile(e, rows, vectors, true) : nullptr; });
  }

  Part part_;
  std::vector<llvm::Function*> functions_;
};

/// Vectors of as many bits are registers: what LLVM has to know of SVE. All other code does without.
void use_sve(llvm::Module& module, const Target& target) {
  const auto length = static_cast<unsigned>(target.sve_bits) / 128;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-features", target.features.empty() ? "+sve" : target.features + ",+sve");
    function.addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(module.getContext(), length, length));
  }
}

std::unique_ptr<llvm::Module> emit_library(llvm::LLVMContext& context, const ProductTypes& types, const Target& target,
                                           Part part) {
  auto module = std::make_unique<llvm::Module>(kSymbol, context);
  const ProductShape shape = product_shape(types, target);
  const ProductShape panels = matrix_shape(types, target);
  const ProductShape squares = float_squares_shape(types, target);
  Library library(part);
  library.add_kernels({*module, shape, types, target});
  if (has_float_squares(types, target)) library.add_kernels({*module, squares, types, target});
  if (has_matrix_unit(types, target)) library.add_matrix({*module, panels, types, target});
  llvm::IRBuilder<> b(context);
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* const table = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kSymbol, *module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", table));
  for (size_t i = 0; i < library.functions().size(); ++i) {
    llvm::Function* const function = library.functions()[i];
    if (function != nullptr) b.CreateStore(function, b.CreateConstGEP1_64(b.getPtrTy(), table->getArg(0), i));
  }
  b.CreateRetVoid();
  if (shape.bits == target.sve_bits) use_sve(*module, target);
  return module;
}

}  // namespace

std::vector<Jit::Request> product_requests(const ProductTypes& types, const Target& target) {
  std::vector<Jit::Request> requests;
  for (const Part part : {Part::operands, Part::tiles, Part::more_tiles, Part::matrix}) {
    if (part == Part::matrix && !has_matrix_unit(types, target)) continue;
    requests.push_back(
        {.key = fmt::format("products {} {} {} {}", name(types.left), name(types.right), name(types.tile),
                            static_cast<int>(part)),
         .symbol = kSymbol,
         .emit = [=](llvm::LLVMContext& context) { return emit_library(context, types, target, part); }});
  }
  return requests;
}

}  // namespace tenon::codegen
