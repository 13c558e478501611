#include "kernel/loop/loop_bytes.h"

#include <utility>

#include "base/fail.h"
#include "kernel/loop/loop_fields.h"

namespace tenon::bytes {
template <>
inline constexpr int kLast<Prim> = static_cast<int>(Prim::select);
template <>
inline constexpr int kLast<loops::Binding> = static_cast<int>(loops::Binding::blocks);
}  // namespace tenon::bytes

namespace tenon::loops {

void fields(auto& archive, Axis& x) { archive(x.extent, x.name, x.tile_of, x.total, x.binding); }
void fields(auto& archive, Term& x) { archive(x.axis, x.scale); }
void fields(auto& archive, Affine& x) { archive(x.base, x.terms); }
void fields(auto& archive, Bound& x) { archive(x.index, x.size); }
void fields(auto& archive, Lookup& x) { archive(x.value, x.stride, x.size, x.site); }
void fields(auto& archive, Load& x) { archive(x.buffer, x.at, x.inside, x.lookups); }
void fields(auto& archive, Position& x) { archive(x.at); }
void fields(auto& archive, Compute& x) { archive(x.prim, x.operand_dtype, x.operands, x.literal); }
void fields(auto& archive, Result& x) { archive(x.accumulator); }
void fields(auto& archive, Value& x) { archive(x.what, x.dtype); }
void fields(auto& archive, Accumulator& x) { archive(x.op, x.dtype, x.input, x.position, x.may_skip_nan); }
void fields(auto& archive, Define& x) { archive(x.value); }
void fields(auto& archive, Store& x) { archive(x.buffer, x.at, x.inside, x.value); }
void fields(auto& archive, Accumulate& x) { archive(x.accumulator); }
void fields(auto& /*archive*/, Barrier& /*x*/) {}
void fields(auto& archive, Matrix& x) { archive(x.buffer, x.at, x.row, x.column); }
void fields(auto& archive, Product& x) {
  archive(x.left, x.right, x.tile, x.rows, x.columns, x.depth, x.panel, x.together, x.adds_after, x.work);
}
void fields(auto& archive, Statement& x) { archive(x.what); }
void fields(auto& archive, Digit& x) { archive(x.of, x.apart); }

/// In the place of Loop::unless, which loops at digits do not have.
constexpr int kAtDigit = -2, kAtFirstDigit = -3;

static void fields(bytes::Writer& archive, Loop& x) {
  int unless = !x.digit ? x.unless : x.digit->is_first ? kAtFirstDigit : kAtDigit;
  archive(x.axis, x.begins, x.body, unless);
  if (x.digit) archive(*x.digit);
}
static void fields(bytes::Reader& archive, Loop& x) {
  const bytes::Reader::Inside inside(archive);
  archive(x.axis, x.begins, x.body, x.unless);
  if (x.unless != kAtDigit && x.unless != kAtFirstDigit) return;
  x.digit = Digit{.of = {}, .apart = 0, .is_first = x.unless == kAtFirstDigit};
  x.unless = -1;
  archive(*x.digit);
}
void fields(auto& archive, Phase& x) { archive(x.grid, x.body); }
void fields(auto& archive, Kernel& x) {
  archive(x.name, x.axes, x.buffers, x.values, x.accumulators, x.phases, x.may_share, x.arguments, x.sites);
}

std::vector<std::byte> to_bytes(const Kernel& kernel) {
  bytes::Writer writer;
  Kernel copy = kernel;  // whose fields are named once, for reading too
  writer(copy);
  return writer.take();
}

Kernel kernel_from_bytes(std::span<const std::byte> bytes) {
  bytes::Reader reader(bytes);
  Kernel kernel;
  reader(kernel);
  reader.end();
  return kernel;
}

}  // namespace tenon::loops
