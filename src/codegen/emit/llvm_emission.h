// A kernel that is being emitted: what the parts of the emitter share. Internal to emit_*.cpp.
//
// Inside a vectorised loop a value that depends on the loop's axis is a vector of lanes, any other a scalar; scalars
// are spread where they meet vectors. The code of the body is emitted anew for each width that the loop runs in.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fail.h"
#include "codegen/emit/emit_kernel.h"
#include "codegen/emit/nontemporal_stores.h"
#include "codegen/emit/prefetch_plan.h"
#include "codegen/math/llvm_lanes.h"
#include "kernel/loop/loop.h"
#include "native/target.h"

namespace tenon::codegen {

/// Bytes of a line of the caches; where lines are longer, some are asked for twice.
inline constexpr uint64_t kLine = 64;
/// Loops of at most this many iterations are written out when that stays small: their positions become immediates.
inline constexpr int64_t kWriteOut = 4;

/// The vectorised loop that code is emitted for.
struct VectorContext {
  unsigned lanes = 0;                  // 0: none; all is scalar
  int axis = -1;                       // Emission::axes holds the position of the first lane
  llvm::Value* mask = nullptr;         // the lanes that exist; null: all of them. At least one does
  bool unit_strides = false;           // run-time strides along the axis are known to be 1
  llvm::Value* nontemporal = nullptr;  // an i1, whether outputs, then in whole lines, go past the caches; null: never
  llvm::BasicBlock* before = nullptr;  // runs once before the loop, whatever widths it then has
};

/// A value of an accumulator: one, or a pair with its position for argmax and argmin.
struct Partial {
  llvm::Value* value = nullptr;
  llvm::Value* position = nullptr;
};

/// An accumulator between the begin and the end of its loop. It is kept apart for each number of lanes that feeds it;
/// the parts are combined when the loop ends.
struct OpenAccumulator {
  struct Slot {
    unsigned lanes = 0;
    Partial memory;                // stack slots, which LLVM turns into registers
    llvm::Value* moved = nullptr;  // a stack slot of f64, for what was moved out of `memory`; null: never any
  };
  llvm::BasicBlock* begin = nullptr;  // runs once before the loop
  unsigned lanes = 0;                 // of the context in which it began: what it holds there stays apart by lane
  std::vector<Slot> slots;
  size_t last_slot = 0;  // that was fed
  bool is_open = false;
  double steps = 1;                  // that the loops around may take since it began; infinite: not known
  llvm::Value* has_moved = nullptr;  // a stack slot, an i1: whether a slot was moved; null: never any
};

/// What the threads of a block hold of an accumulator that they feed together (loops::Accumulator), one after the
/// other.
struct ThreadParts {
  int64_t count = 0;   // 0: it is whole
  size_t outside = 0;  // how many loops bound to threads were open when it began
  Partial memory;      // arrays of the parts, on the stack
};

/// Code for blocks of threads that a GPU runs side by side: each thread runs all of it, but for iterations of loops
/// that are bound to other threads.
struct GpuBlock {
  std::vector<llvm::Value*> buffers;  // arguments, by buffer; null: scratch
  std::vector<llvm::Value*> sizes;    // arguments, by slot
  llvm::Value* status = nullptr;
  llvm::Value* thread = nullptr;          // of the block, an i64
  int64_t threads = 1;                    // iterations of loops bound to threads that all threads run at once,
  int64_t lanes = 1;                      // of which each thread runs so many side by side
  int64_t group = 1;                      // that run the statement which is emitted
  llvm::GlobalVariable* parts = nullptr;  // a word for each warp, twice, in shared memory
  bool shares_scratch = false;            // scratch of the block is in shared memory
};

/// Where a loop over an axis begins each time round: what depends on no axis further inside has its place there, so
/// that all loops further inside share it.
struct LoopHead {
  llvm::BasicBlock* block = nullptr;
  llvm::Instruction* last = nullptr;  // of what was placed there; null: nothing yet
};

struct Emission {
  Emission(llvm::Module& into, const loops::Kernel& what, const Target& machine, const EmitOptions& how);

  llvm::Module& module;
  const loops::Kernel& kernel;
  const Target& target;
  const EmitOptions& options;
  llvm::IRBuilder<> b;
  EmitContext scalar_context;

  std::unordered_map<Extent, int> size_slots;  // where KernelArgs::sizes holds an extent
  std::vector<bool> fused;                     // products that are added to a sum as they are computed
  PrefetchPlan prefetches;
  std::vector<NontemporalStore> nontemporal_stores;

  llvm::Function* function = nullptr;
  llvm::Value* args = nullptr;  // of the function
  llvm::Value* scratch = nullptr;
  llvm::BasicBlock* allocas = nullptr;  // for stack slots
  llvm::BasicBlock* entry = nullptr;    // of the phase: what is loaded once

  std::unordered_map<Extent, llvm::Value*> sizes;  // loaded in `entry`
  std::vector<llvm::Value*> buffers;               // likewise, null: not yet
  std::vector<llvm::Value*> nontemporal;           // likewise, by nontemporal_stores: whether they are, an i1
  std::vector<llvm::Value*> axes;                  // i64; null: not bound
  std::vector<LoopHead> heads;                     // of the loops that bind them
  std::vector<int> depths;                         // of the loops that bind them
  std::unordered_map<int, int> made_depths;        // of axes that change with other loops than their own: of these
  std::vector<llvm::Value*> values;
  std::vector<bool> in_vector_loop;  // values that the vectorised loop around them defined
  std::vector<OpenAccumulator> accumulators;
  GpuBlock* gpu = nullptr;                                 // null: code for CPUs
  std::vector<ThreadParts> parts;                          // by accumulator
  int64_t most_threads = 1;                                // of a block of the kernel
  std::vector<int> thread_axes;                            // of the loops bound to threads that are open
  std::vector<llvm::MDNode*> alias_scopes, distinct_from;  // by buffer
  VectorContext vector;

  // Small things that every part needs.
  llvm::LLVMContext& context() { return module.getContext(); }
  llvm::IntegerType* i64() { return b.getInt64Ty(); }
  const loops::Axis& axis(int index) const { return kernel.axes[static_cast<size_t>(index)]; }
  const loops::Buffer& buffer(int index) const { return kernel.buffers[static_cast<size_t>(index)]; }
  /// The depth of the loop with whose iterations an axis changes.
  int made_at(int axis) const {
    const auto other = made_depths.find(axis);
    return other != made_depths.end() ? other->second : depths[static_cast<size_t>(axis)];
  }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context(), name, function); }
  /// Code of `emit`, placed at the end of `entry` or another block that ends in a branch.
  llvm::Value* in_block(llvm::BasicBlock* place, const std::function<llvm::Value*()>& emit);
  /// Code of `emit`, which may depend on these axes and no other: as far outside as they allow.
  llvm::Value* in_head_of(const std::vector<loops::Term>& terms, const std::function<llvm::Value*()>& emit);
};

inline bool is_vector(const llvm::Value* value) { return value->getType()->isVectorTy(); }

// emit_index.cpp: sizes, positions, masks.

/// The value of an extent: an immediate, or a size that was loaded once.
llvm::Value* extent(Emission& e, const Extent& size);
/// An affine expression at the first lane.
llvm::Value* first_lane(Emission& e, const loops::Affine& at);
/// An affine expression: a scalar, or a vector where it depends on the vectorised axis.
llvm::Value* position(Emission& e, const loops::Affine& at);
/// 0, 1, 2 ... in every lane of an integer type of so many bits.
llvm::Constant* lane_numbers(Emission& e, unsigned bits);
/// A scalar in every lane; vectors stay.
llvm::Value* spread(Emission& e, llvm::Value* value);
/// The lanes below `count`, which is positive and has few bits.
llvm::Value* lanes_below(Emission& e, llvm::Value* count);
/// Both, where null stands for always.
llvm::Value* both(Emission& e, llvm::Value* a, llvm::Value* b);
/// Where all bounds hold that do not depend on the lane: an i1, or null.
llvm::Value* uniform_bounds(Emission& e, const std::vector<loops::Bound>& bounds);
/// Where all others hold: a vector of i1, or null.
llvm::Value* lane_bounds(Emission& e, const std::vector<loops::Bound>& bounds);
/// Whether these others hold in all lanes: an i1, or null where there are none.
llvm::Value* all_lanes_inside(Emission& e, const std::vector<loops::Bound>& bounds);
/// a < b, a <= b or a == b of two positions, of which at least one depends on the lane; null when that needs vectors of
/// the positions themselves.
llvm::Value* compare_positions(Emission& e, Prim prim, const loops::Affine& a, const loops::Affine& b);

// emit_memory.cpp: loads, stores, lookups.

llvm::Value* load(Emission& e, const loops::Load& what);
void store(Emission& e, const loops::Store& what);
/// Sets up Emission::alias_scopes and distinct_from: what KernelArgs says of memory that overlaps.
void name_alias_scopes(Emission& e);

// emit_prefetch.cpp

/// Asks for the lines that lie ahead of those that the lanes of this step meet.
void prefetch(Emission& e, const Prefetch& what);

// emit_nontemporal_stores.cpp

/// Whether the store of this loop is non-temporal in this call: an i1, computed once a phase. Null: it never is.
llvm::Value* is_nontemporal_loop(Emission& e, const loops::Loop& loop);
/// The same, of the loop that stores to this buffer.
llvm::Value* is_nontemporal_buffer(Emission& e, int buffer);
/// At the end of a phase: other threads see what was stored.
void order_nontemporal_stores(Emission& e);

// emit_accumulator.cpp

void begin_accumulators(Emission& e, const std::vector<int>& begins);
void accumulate(Emission& e, int accumulator);
/// What an accumulator holds behind its loop.
Partial end_accumulator(Emission& e, int accumulator);
/// Combines what each accumulator holds, and defines the Result values.
void end_accumulators(Emission& e, const std::vector<int>& begins);
/// What an accumulator begins with.
Partial identity_of(Emission& e, int accumulator);
/// Two of them as one.
Partial combine(Emission& e, int accumulator, const Partial& held, const Partial& next);

// emit_threads.cpp: blocks of threads, run one after the other.

/// Begins the accumulators of a loop that are in parts; which are not, comes back.
std::vector<int> begin_parts(Emission& e, const loops::Loop& loop);
/// All parts as one, behind the loop.
Partial end_parts(Emission& e, int accumulator);
/// An iteration of a loop bound to threads: adds to the parts of its accumulators what the body feeds.
void emit_thread(Emission& e, const loops::Loop& loop);
/// Where scratch of the thread that runs begins, in a buffer that has scratch for each.
llvm::Value* scratch_of_thread(Emission& e, int buffer, llvm::Value* pointer);

// emit_gpu_threads.cpp: blocks of threads side by side.

/// The iteration of a loop bound to threads that this thread has.
void gpu_thread_loop(Emission& e, const loops::Loop& loop);
/// All parts of an accumulator as one, in each thread.
Partial gpu_end_parts(Emission& e, int accumulator);
/// then(), by one of the threads that run the statement.
void gpu_by_one_thread(Emission& e, const std::function<void()>& then);
void gpu_barrier(Emission& e);
/// The loop by instructions on matrices, where it is one of matrix_step.h and these reach its operands; else nothing.
bool gpu_matrix_step(Emission& e, const loops::Loop& loop);
/// Reports a position out of range, unless another one was.
void gpu_report(Emission& e, llvm::Value* site, llvm::Value* position, llvm::Value* size);

// emit_long_sums.cpp: sums that would drift.

/// A loop is entered that takes so many steps at most: what comes back is to be given to leave_loop() behind it.
std::vector<double> enter_loop(Emission& e, double most_steps);
void leave_loop(Emission& e, const std::vector<double>& entered);
/// Open sums of f32 that are fed in the body of a loop, not by loops in it, and may take too many steps to be added one
/// after the other.
std::vector<int> long_sums(const Emission& e, const loops::Loop& loop);
/// counted_loop(), whose body feeds these sums, of which it began those in `begun`. They move to sums of f64 from time
/// to time.
void summing_loop(Emission& e, const std::vector<int>& sums, llvm::Value* begin, llvm::Value* end, unsigned step,
                  const std::vector<int>& begun, const std::function<void(llvm::Value*)>& body);
/// A sum of f32 with what was moved out of it, in f64.
llvm::Value* read_with_moved(Emission& e, const OpenAccumulator::Slot& slot);

// emit_loop.cpp

void emit_block(Emission& e, const loops::Block& block);
/// How often the loop over an axis runs here.
llvm::Value* trip_count(Emission& e, const loops::Axis& axis);
/// for (i = begin; i < end; i += step) body(i).
void counted_loop(Emission& e, llvm::Value* begin, llvm::Value* end, unsigned step,
                  const std::function<void(llvm::Value*)>& body);
/// if (condition) then();
void when(Emission& e, llvm::Value* condition, const std::function<void()>& then);
/// condition ? then() : otherwise, where then() runs under the condition alone. A null condition always holds.
llvm::Value* when(Emission& e, llvm::Value* condition, const std::function<llvm::Value*()>& then,
                  llvm::Value* otherwise);

// emit_product_call.cpp

void emit_product(Emission& e, const loops::Product& product);

}  // namespace tenon::codegen
