// Scalar primitives as LLVM instructions, one element or a vector of lanes at a time.
//
// In registers bool is i1 and the half types are float; in memory bool is i8, 0 or 1, and the half types are i16. The
// semantics are those of kernel/scalar/scalar.h for every operand, without traps, so lanes that nobody asked for may
// hold anything. Functions of f32 are those of llvm_math.h, with its bounds; those of f64 call libm lane by lane; all
// else is exact.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <vector>

#include "codegen/math/llvm_lanes.h"
#include "kernel/scalar/scalar_program.h"

namespace tenon::codegen {

/// The type of `lanes` elements; 0 lanes are a scalar, which is not a vector of one.
llvm::Type* register_type(llvm::LLVMContext& context, Dtype dtype, unsigned lanes);
llvm::Type* memory_type(llvm::LLVMContext& context, Dtype dtype, unsigned lanes);

/// `literal` converted to the dtype, in registers.
llvm::Constant* emit_constant(llvm::LLVMContext& context, Dtype dtype, double literal, unsigned lanes);

/// One primitive, not an argument or a constant, over operands that are all scalars or all vectors of one length. May
/// leave the builder in another block (EmitContext).
llvm::Value* emit_prim(const EmitContext& context, const ScalarInstruction& in, std::span<llvm::Value* const> operands);

/// All of a program: its results, for arguments in registers.
std::vector<llvm::Value*> emit_program(const EmitContext& context, const ScalarProgram& program,
                                       std::span<llvm::Value* const> arguments, unsigned lanes);

/// From memory to registers.
llvm::Value* widen(const EmitContext& context, Dtype dtype, llvm::Value* memory);
/// From registers to memory. Rounds to the half types with the bits of base/convert.h: to nearest even, NaN stays NaN.
llvm::Value* narrow(const EmitContext& context, Dtype dtype, llvm::Value* value);
/// The value that storing as `dtype` and loading again would leave; the value itself for all but the half types.
llvm::Value* round_to(const EmitContext& context, Dtype dtype, llvm::Value* value);
/// As base/convert.h does it; both dtypes in registers.
llvm::Value* emit_cast(const EmitContext& context, Dtype from, Dtype to, llvm::Value* value);

}  // namespace tenon::codegen
