// A loop kernel prepared for its interpreter: extents are places in a table of numbers, statements a flat list, values
// registers with a place in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernel/loop/loop.h"
#include "kernel/scalar/scalar_program.h"

namespace tenon::loops {

/// Iterations of a vectorised loop that run side by side.
inline constexpr int64_t kLanes = 256;

/// An extent at run time: a constant, or one of the sizes of the launch.
struct Number {
  int64_t constant = 0;
  int size = -1;
};

/// Places in Code::numbers; `lane_scale` is the scale of the vectorised axis around, 0 outside of one.
struct AffineCode {
  size_t base = 0;
  std::vector<std::pair<int, size_t>> terms;  // axis, scale
  size_t lane_scale = 0;
};

struct BoundCode {
  AffineCode index;
  size_t size = 0;
};

struct LookupCode {
  int value = 0;
  size_t stride = 0, size = 0;
  int site = 0;
};

struct LoadCode {
  int buffer = 0;
  AffineCode at;
  std::vector<BoundCode> inside;
  std::vector<LookupCode> lookups;
  int target = 0;
};

struct StoreCode {
  int buffer = 0;
  AffineCode at;
  std::vector<BoundCode> inside;
  int value = 0;
};

struct PositionCode {
  AffineCode at;
  int target = 0;
};

/// Operands are values; the target is too.
struct ComputeCode {
  ScalarInstruction instruction;
  int target = 0;
};

struct AccumulateCode {
  int accumulator = 0;
  std::vector<std::pair<int, int64_t>> part;  // axes, and how far apart the parts of their iterations are
};

struct BeginCode {
  int accumulator = 0;
  int64_t parts = 1;
};

struct DigitCode {
  AffineCode of;
  size_t apart = 0;
  bool is_first = false;
};

struct LoopCode {
  int axis = 0;
  Binding binding = Binding::serial;
  size_t end = 0;  // past the last instruction of the body
  std::vector<BeginCode> begins;
  std::vector<std::pair<int, int>> results;  // accumulator, value
  std::vector<int> captures;                 // lanes: values from outside, the same in every lane
  int unless = -1;                           // a bool, or none
  std::optional<DigitCode> digit = {};       // the axis is there alone
};

struct MatrixCode {
  int buffer = 0;
  AffineCode at;
  size_t row = 0, column = 0;
};

struct ProductCode {
  ProductTypes types;
  MatrixCode left, right, tile;
  std::vector<int> rows, columns, depth;
  int64_t panel = 0;
  int64_t together = 1;
  int adds_after = -1;
};

struct BarrierCode {};

using InstructionCode =
    std::variant<LoadCode, StoreCode, PositionCode, ComputeCode, AccumulateCode, LoopCode, ProductCode, BarrierCode>;

struct AxisCode {
  size_t extent = 0;
  int tile_of = -1;
  size_t total = 0;
};

struct AccumulatorCode {
  Accumulator what;
  bool per_lane = false;  // begins inside a vectorised loop: a state for every lane
  int64_t states = 1;     // lanes, or parts of threads
  size_t state = 0;       // bytes from the start of the frame: running values, then positions
};

struct PhaseCode {
  std::vector<int> grid;
  int64_t threads = 1;  // of a block
  std::vector<InstructionCode> code;
};

struct Code {
  std::string name;         // of the kernel
  bool has_blocks = false;  // of threads
  int64_t most_threads = 1;
  std::vector<Number> numbers;
  std::vector<AxisCode> axes;
  std::vector<Buffer> buffers;
  std::vector<size_t> scratch_elements;  // of each buffer; place in numbers, unused but for scratch
  std::vector<size_t> registers;         // of each value: bytes from the start of the frame
  std::vector<Dtype> register_dtypes;    // of each value
  std::vector<AccumulatorCode> accumulators;
  std::vector<PhaseCode> phases;
  size_t frame_bytes = 0;
};

/// The kernel must be well-formed.
Code prepare(const Kernel& kernel);

}  // namespace tenon::loops
