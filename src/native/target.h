// The machines that code is made for.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/machine.h"

namespace tenon::codegen {

/// A machine as LLVM names it (triple, baseline CPU, features) and as emitters see it. Plain data; equal targets get
/// equal code.
struct Target {
  std::string name;    ///< for people: "x86-64-v4", "arm64"
  std::string triple;  ///< "x86_64-unknown-linux-gnu"
  std::string cpu;  ///< always a baseline ("x86-64-v3", "generic"): the name of a model may imply what is switched off
  std::string features;  ///< beyond the baseline: "+avx512bf16,+avx512vnni"
  int vector_bits = 128;
  int vector_registers = 16;
  int sve_bits = 0;            ///< vectors of products of floats are so long, by ARM's SVE; 0: as all others
  bool fma = false;            ///< multiply and add with one rounding
  bool f16_convert = false;    ///< f16 to f32 and back, a vector at a time
  bool f16_math = false;       ///< arithmetic on vectors of f16
  bool bf16_dot = false;       ///< products of bf16 summed in f32
  bool i8_dot = false;         ///< products of bytes summed by fours in i32
  bool bf16_matmul = false;    ///< 2x4 by 4x2 products of bf16 summed in f32 (ARM bf16)
  bool i8_matmul = false;      ///< 2x8 by 8x2 products of bytes (ARM i8mm)
  bool lane_operands = false;  ///< instructions multiply a vector by one lane of another

  /// Elements of `bits` bits in one vector register.
  int lanes(int bits) const { return vector_bits / bits; }

  friend bool operator==(const Target&, const Target&) = default;
};

/// By its instructions. Vectors of SVE of 512 bits are used by products of floats; all else has vectors of 128 bits on
/// ARM. Processors with SVE of 128 or 256 bits have as many units for as many bits of the other vectors, and are no
/// faster by it. Error: a GPU, or a processor that no code is made for.
Target target_of(const Machine& machine);

/// Of this_machine().
const Target& host_target();

/// Whether code for a target is known to run on another: that is of the same family and has all of its features.
bool runs_on(const Target& code, const Target& machine);

/// All of a target that code depends on, in one line for programs.
std::string code_identity(const Target& target);

/// One line for people: "x86-64-v4, 512-bit vectors, fma".
std::string describe(const Target& target);

/// What emitted arithmetic may rely on. Results may differ in their last bits with and without fma.
struct MathOptions {
  bool fma = false;            // multiply and add with one rounding
  bool f16 = false;            // f16 to f32 and back by instructions
  bool scale = false;          // vectors of 16 floats times powers of two by one instruction
  bool tables = false;         // ... and looked up in tables of 32 floats
  bool limits = false;         // the smaller and the larger of two numbers, where NaN stays NaN, by one instruction
  bool loads_addends = false;  // a multiply-add overwrites its addend: to load it again is better than to copy it
};

MathOptions math_options(const Target& target);

}  // namespace tenon::codegen
