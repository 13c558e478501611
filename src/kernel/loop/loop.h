// The loop IR: what one kernel computes, as a tree of loops over symbolic axes. schedule/ builds it, codegen/ makes
// machine code of it, and loop_run.h interprets it. Plain data; verify() says what is well-formed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernel/product/product.h"
#include "kernel/scalar/reduce_op.h"
#include "kernel/scalar/scalar.h"
#include "tenon/dtype.h"
#include "tenon/extent.h"

namespace tenon::loops {

/// Where the iterations of an axis run.
///
/// A kernel for a machine that runs blocks of threads binds the axes of its grids to blocks, and loops inside to
/// threads. These loops stand one after the other or inside each other, with serial loops around, between and inside
/// them. A nest of them counts its iterations as one loop would, the innermost fastest and tiles as if none were
/// shorter: iteration i runs on thread i of the block. All nests of a phase have as many iterations as its blocks have
/// threads.
///
/// A thread runs its iterations in the order of the text; different threads run in any order, but for barriers. A
/// statement that stands outside of some of these loops, or of all, belongs to several threads: each of them computes
/// its values, and one of them, no matter which, writes.
///
/// So where two threads of a block touch the same element of block scratch, of an output or of a partial buffer, and
/// one of them writes, a barrier must lie between. Two blocks of a phase must not do so at all.
enum class Binding : uint8_t {
  serial,   // one after the other; of a grid's axis: in any order
  lanes,    // side by side in vector lanes
  threads,  // each on a thread of the block. The extent is a constant
  blocks,   // of a grid's axis: each is a block of threads
};

/// A loop variable, counting from 0.
struct Axis {
  Extent extent;     // how often it runs; for a tile: the elements of a whole tile
  std::string name;  // for people
  int tile_of = -1;  // a tile: the axis that counts tiles; the last tile is shorter, so that all tiles together
  Extent total = 0;  // have `total` elements: min(extent, total - tile_of * extent)
  Binding binding = Binding::serial;
};

struct Term {
  int axis = 0;
  Extent scale;

  friend bool operator==(const Term&, const Term&) = default;
};

/// base + the sum of scale * axis. Terms are sorted by axis, no axis twice and no scale 0.
struct Affine {
  Extent base = 0;
  std::vector<Term> terms;

  friend bool operator==(const Affine&, const Affine&) = default;
};

/// Holds where 0 <= index < size.
struct Bound {
  Affine index;
  Extent size;

  friend bool operator==(const Bound&, const Bound&) = default;
};

/// A position that data decides: adds value * stride to an address. A value outside [0, size) of an active element
/// reports `site` through the status word, and the access goes to position 0 instead.
struct Lookup {
  int value = 0;  // an i64
  Extent stride;
  Extent size;
  int site = 0;  // Kernel::sites

  friend bool operator==(const Lookup&, const Lookup&) = default;
};

// ---------------------------------------------------------------------------------------------------------------------
// Values: each is computed once in every iteration of the loop whose block defines it.

/// An element of a buffer, widened to its compute dtype. Where a bound does not hold nothing is read and the value is
/// 0.
struct Load {
  int buffer = 0;
  Affine at;  // in elements
  std::vector<Bound> inside;
  std::vector<Lookup> lookups;

  friend bool operator==(const Load&, const Load&) = default;
};

/// An affine expression as an i64.
struct Position {
  Affine at;

  friend bool operator==(const Position&, const Position&) = default;
};

/// One primitive (not `argument`). A cast to a half type rounds to its values and stays f32.
struct Compute {
  Prim prim = Prim::constant;
  Dtype operand_dtype = Dtype::f32;  // of the operands, past a select's condition
  std::vector<int> operands;
  double literal = 0;  // of a constant

  friend bool operator==(const Compute&, const Compute&) = default;
};

/// What an accumulator holds after its loop. Defined by the loop, not by a Define.
struct Result {
  int accumulator = 0;

  friend bool operator==(const Result&, const Result&) = default;
};

struct Value {
  std::variant<Load, Position, Compute, Result> what;
  Dtype dtype = Dtype::f32;  // in registers: never f16 or bf16, but for a cast to one of them

  friend bool operator==(const Value&, const Value&) = default;
};

/// Starts at the identity of `op` and combines `input` at every Accumulate. The order is fixed by the sizes alone. The
/// identity of argmax and argmin is the largest i64.
///
/// Where it begins outside of loops bound to threads and is fed inside, each of their iterations, counted as Binding
/// says, has a part of its own. Behind the loop that begins it the n parts, each rounded to the dtype, are combined
/// with their neighbours, and each step rounds to the dtype:
///   for (s = 1; s < n; s *= 2)
///     for (i = 0; i + s < n; i += 2 * s) part[i] = part[i] op part[i + s];
/// So the threads of a warp may combine theirs by shuffles, and then warps what is left. This is no barrier for memory.
struct Accumulator {
  ReduceOp op = ReduceOp::sum;
  Dtype dtype = Dtype::f32;  // of the input and of what is accumulated: a compute dtype
  int input = 0;
  int position = -1;  // argmax, argmin: the i64 that goes with the input; ties go to the smallest
  /// max, min of floats: a NaN may be passed over, since whatever is made of the result is NaN then by other ways.
  bool may_skip_nan = false;

  friend bool operator==(const Accumulator&, const Accumulator&) = default;
};

// ---------------------------------------------------------------------------------------------------------------------
// Statements

struct Statement;
using Block = std::vector<Statement>;

struct Define {
  int value = 0;
};

/// Narrows to the buffer's dtype.
struct Store {
  int buffer = 0;
  Affine at;
  std::vector<Bound> inside;  // elsewhere nothing is written
  int value = 0;
};

struct Accumulate {
  int accumulator = 0;
};

/// A digit of a number: (of floordiv apart) mod the extent of an axis; of its first one, of floordiv apart. The number
/// is not negative.
struct Digit {
  Affine of;
  Extent apart;
  bool is_first = false;

  friend bool operator==(const Digit&, const Digit&) = default;
};

/// Runs `body` for every value of `axis`. `begins` are the accumulators that start before the first iteration and whose
/// Result is defined after the last.
struct Loop {
  int axis = 0;
  std::vector<int> begins;
  Block body;
  /// A bool from outside, or -1: nothing runs where it holds, which is almost everywhere. The loop begins nothing then,
  /// and what it writes to scratch is for itself.
  int unless = -1;
  /// The loop runs once, with its axis at this digit, and begins nothing: so a loop over several axes as if they were
  /// one knows where each of them is. The axis is serial.
  std::optional<Digit> digit = {};
};

/// A matrix in a buffer: where it begins, and how far apart its rows and its columns lie, in elements.
struct Matrix {
  int buffer = 0;
  Affine at;
  Extent row;
  Extent column;

  friend bool operator==(const Matrix&, const Matrix&) = default;
};

/// tile[m, n] = the sum over k of left[m, k] * right[k, n], as ProductCall of kernel/product/product.h describes it.
/// The statement runs over its own axes, several as if they were one: how often they run is how many rows, columns and
/// steps there are.
struct Product {
  Matrix left;   // m by k
  Matrix right;  // k by n
  Matrix tile;   // m by n, in scratch or an output; columns side by side
  std::vector<int> rows, columns, depth;
  /// Above 0: `right` lies in panels of so many columns, right.column apart, with so many steps together.
  int64_t panel = 0;
  int64_t together = 1;
  int adds_after = -1;  // a loop around it over blocks of k: from its second iteration on, the tile is added to
  int work = 0;  // scratch that the product may use as it likes: kProductScratchBytes, or less where that is enough
};

/// What the threads of a block wrote before it, all of them read behind it, and what they read before it, they may
/// overwrite. It stands outside of loops bound to threads or to lanes, and of loops that may not run.
struct Barrier {};

struct Statement {
  std::variant<Define, Store, Accumulate, Loop, Product, Barrier> what;
};

/// Iterations of the grid (all of its axes, the last fastest) are independent and run in any order on any thread. All
/// of a phase ends before the next begins.
struct Phase {
  std::vector<int> grid;
  Block body;
};

enum class Role : uint8_t {
  input,
  output,
  scratch,  // of one iteration of the grid: Scope; at most a few hundred kilobytes
  partial,  // lives from phase to phase
};

/// Whose a scratch buffer is. What belongs to a thread is used where that thread runs alone, and keeps what it holds
/// from one loop bound to threads to the next.
enum class Scope : uint8_t {
  iteration,  // of an iteration of the grid or, where that is a block of threads, of each thread
  block,      // of an iteration of the grid, for all of its threads
};

struct Buffer {
  Dtype dtype = Dtype::f32;
  Role role = Role::input;
  Extent elements;
  Scope scope = Scope::iteration;

  friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// Scratch that one thread alone uses: no other one reads there what it has overwritten.
inline bool is_private_scratch(const Buffer& buffer) {
  return buffer.role == Role::scratch && buffer.scope == Scope::iteration;
}

/// An output that the caller may lay over an input: the same memory, from the same element on.
struct MayShare {
  int input = 0;  // buffers of the kernel, of elements of the same size
  int output = 0;

  friend bool operator==(const MayShare&, const MayShare&) = default;
};

struct Kernel {
  std::string name;
  std::vector<Axis> axes;
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  std::vector<Accumulator> accumulators;
  std::vector<Phase> phases;
  /// Code holds for each of these pairs, laid over one another or not. Of all other buffers, what is written overlaps
  /// nothing but outputs by outputs.
  std::vector<MayShare> may_share;
  /// What names that mean something in this kernel alone stand for: sizes in which kernels of equal code differ.
  std::map<std::string, Extent, std::less<>> arguments;
  std::vector<std::string> sites;  // what a failed lookup says; {position}, {size}, and {given}: the position as it
                                   // was before those below 0 were counted from the end
};

/// The extents that are not constants, each once, in the order of a walk over the kernel: the run-time `sizes`. How
/// many elements a buffer has is none of them, but for scratch: no code needs it.
std::vector<Extent> runtime_sizes(const Kernel& kernel);

/// How many iterations the grid of a phase has.
Extent grid_size(const Kernel& kernel, const Phase& phase);

/// What a product reads and accumulates in.
ProductTypes types_of(const Kernel& kernel, const Product& product);

/// Bytes of scratch of one grid iteration: every scratch buffer, each rounded up to 64. What belongs to threads is
/// there for each of most_threads() (loop_threads.h).
Extent scratch_bytes(const Kernel& kernel);

/// The kernel as text, a statement a line. With `canonical`, names of axes and of the kernel are left out and run-time
/// sizes are s0, s1, ..., and what may share memory is named: kernels with equal canonical text are the same code.
std::string to_string(const Kernel& kernel, bool canonical = false);

/// TENON_CHECKs that the kernel is well-formed: values are defined before use in a block that is still open, by loops
/// that bind all the axes they need (blocks side by side may each define a value, which then is computed in both);
/// accumulators begin and are fed inside their loop; buffers are used by role; rows in scratch are read in the
/// iteration that wrote them, but for what each iteration updates; tiles name axes bound outside, and are whole inside
/// of other loops of a product; vectorised loops do not nest; products stand in no vectorised loop, nor do loops that
/// may not run; addresses hold no division; what may share memory is an input and an output of elements of the same
/// size; blocks of threads are as Binding and Barrier say, but for what depends on order: loop_run.h finds that.
void verify(const Kernel& kernel);

}  // namespace tenon::loops
