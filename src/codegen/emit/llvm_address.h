// Where elements lie in memory: pointers, strides along lanes, and positions that data decides. Internal to
// emit_*.cpp.
#pragma once

#include <vector>

#include "codegen/emit/llvm_emission.h"

namespace tenon::codegen {

/// Where the elements of an access lie: `stride` apart, from the first lane on, or `offset` elements further each.
struct Address {
  llvm::Value* first = nullptr;
  Extent stride = 0;
  llvm::Value* offset = nullptr;  // a vector of i64, in which the stride is included; null: none
};

/// Where a buffer begins; loaded once a phase.
llvm::Value* buffer_pointer(Emission& e, int buffer);

/// The address of an affine position: of the first lane, and the stride of the others.
Address address_of(Emission& e, int buffer, const loops::Affine& at);

/// Checks positions that data decides where `mask` holds (null: everywhere). A bad one is reported, and control goes to
/// the block of result() without a load, because a table may have no element to read instead.
class Lookups {
 public:
  Lookups(Emission& e, llvm::Value* mask) : e_(e), mask_(mask), end_(e.block("looked_up")) {}

  /// Moves an address by what is looked up.
  void move(Address& address, const loops::Load& what);
  /// `loaded` where nothing failed, else 0. To be called once, after the load.
  llvm::Value* result(llvm::Value* loaded);

 private:
  /// The checked position times its stride, a scalar or a vector.
  llvm::Value* checked_offset(const loops::Lookup& lookup);
  void check(const loops::Lookup& lookup, llvm::Value* bad, llvm::Value* value);

  Emission& e_;
  llvm::Value* mask_;
  llvm::BasicBlock* end_;
  std::vector<llvm::BasicBlock*> failed_;
};

}  // namespace tenon::codegen
