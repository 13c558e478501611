#include "kernel/program/program_bytes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/fail.h"
#include "kernel/loop/loop_fields.h"
#include "kernel/program/program_fields.h"

namespace tenon::bytes {
template <>
inline constexpr int kLast<Memory> = static_cast<int>(Memory::output);
template <>
inline constexpr int kLast<NumberCode> = static_cast<int>(NumberCode::e5m2fnuz);
template <>
inline constexpr int kLast<ScatterOp> = static_cast<int>(spellings(ScatterOp()).size()) - 1;
}  // namespace tenon::bytes

// What the fields of each type are, beside the type: Writer and Reader find these by its namespace. Each is called with
// either, so a program is written and read in one order.
namespace tenon {

static void fields(bytes::Writer& archive, Shape& shape) { archive.repeated(shape.to_string()); }
static void fields(bytes::Reader& archive, Shape& shape) { shape = archive.repeated<Shape>(Shape::parse); }

static void fields(bytes::Writer& archive, Array& array) {
  Dtype dtype = array.dtype();
  std::vector<int64_t> dims = array.dims();
  archive(dtype, dims);
  archive.raw(array.data(), array.byte_count());
}
static void fields(bytes::Reader& archive, Array& array) {
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> dims;
  archive(dtype, dims);
  std::optional<int64_t> size = static_cast<int64_t>(byte_size(dtype));
  for (const int64_t dim : dims) {
    size = size && dim >= 0 ? checked_mul(*size, dim) : std::nullopt;
  }
  if (!size) {
    fail("a constant has sizes that no array can have");
  }
  const std::span<const std::byte> from = archive.raw(static_cast<size_t>(*size));
  array = Array::uninitialized(dtype, std::move(dims));
  std::ranges::copy(from, array.mutable_data());
}

void fields(auto& archive, ProgramBuffer& x) { archive(x.dtype, x.elements, x.memory, x.source); }
void fields(auto& archive, ProgramInput& x) { archive(x.name, x.shape, x.buffer); }
void fields(auto& archive, ProgramOutput& x) { archive(x.name, x.shape, x.buffer, x.offset, x.strides, x.aliases); }
void fields(auto& archive, LaunchPart& x) { archive(x.kernel, x.buffers, x.long_rows_of, x.row_bytes); }
void fields(auto& archive, PartialWrite& x) { archive(x.buffer, x.elements); }
void fields(auto& archive, Region& x) { archive(x.first, x.count); }
void fields(auto& archive, Pipelines& x) { archive(x.on, x.rows, x.cache, x.last_cache); }
void fields(auto& archive, ConstantLayout& x) { archive(x.constant, x.layout); }

void fields(auto& /*archive*/, BranchControl& /*x*/) {}
void fields(auto& /*archive*/, CallControl& /*x*/) {}
void fields(auto& archive, LoopControl& x) { archive(x.trips, x.carried, x.scanned, x.conditional); }

void fields(auto& archive, SortRoutine& x) { archive(x.axis, x.descending); }
void fields(auto& archive, ScanRoutine& x) { archive(x.op, x.axis, x.exclusive, x.reverse); }
void fields(auto& archive, ScatterRoutine& x) { archive(x.op, x.axes, x.x_batch, x.index_batch, x.place); }
void fields(auto& /*archive*/, PositionsRoutine& /*x*/) {}
void fields(auto& archive, FewBitsRoutine& x) { archive(x.bits, x.rounds, x.code); }

void fields(auto& archive, LaunchStep& x) { archive(x.parts); }
void fields(auto& archive, RoutineStep& x) { archive(x.routine, x.shapes); }
void fields(auto& archive, ControlStep& x) { archive(x.control, x.bodies); }
void fields(auto& archive, Step& x) {
  archive(x.what, x.reads, x.writes, x.updates, x.label, x.nodes, x.boundary, x.region_end, x.flops);
}

template <class Archive>
void program_fields(Archive& archive, Program& x) {
  std::apply(archive, fields_of(x));
  archive(x.constants);
}
static void fields(bytes::Writer& archive, Program& x) { program_fields(archive, x); }
static void fields(bytes::Reader& archive, Program& x) {
  const bytes::Reader::Inside inside(archive);
  program_fields(archive, x);
}

namespace layouts {
void fields(auto& archive, StorageOrder& x) { archive(x.axes); }
void fields(auto& archive, PanelLayout::Digit& x) { archive(x.count, x.stride); }
void fields(auto& archive, WinogradForm& x) { archive(x.results); }
void fields(auto& archive, WinogradPositions& x) { archive(x.y, x.x, x.form); }
void fields(auto& archive, PanelLayout& x) {
  archive(x.panel, x.columns, x.base, x.column, x.depth, x.together, x.winograd);
}
}  // namespace layouts

namespace loops {
void fields(auto& archive, Touched& x) { archive(x.first, x.last, x.step, x.item_step, x.least, x.most); }
void fields(auto& archive, Footprint& x) { archive(x.whole, x.ranges); }
void fields(auto& archive, BufferUse& x) { archive(x.reads, x.writes); }
void fields(auto& archive, PhaseFacts& x) { archive(x.grid, x.items, x.rows, x.work, x.buffers); }
void fields(auto& archive, KernelFacts& x) {
  archive(x.name, x.arguments, x.may_share, x.sizes, x.scratch_bytes, x.phases, x.is_copy, x.integer_products, x.sites);
}
}  // namespace loops

namespace {

/// Changed with what is written.
constexpr uint32_t kVersion = 6;
constexpr uint32_t kMark = 0x50'4e'4e'54;  // "TNNP"

}  // namespace

std::vector<std::byte> to_bytes(const Program& program) {
  bytes::Writer writer;
  uint32_t mark = kMark;
  uint32_t version = kVersion;
  writer(mark, version);
  Program copy = program;  // of all but the elements of constants
  fields(writer, copy);
  return writer.take();
}

Program program_from_bytes(std::span<const std::byte> bytes) {
  bytes::Reader reader(bytes);
  uint32_t mark = 0;
  uint32_t version = 0;
  reader(mark, version);
  if (mark != kMark) {
    fail("these bytes are no program");
  }
  if (version != kVersion) {
    fail("a program of version {}, where {} can be read", version, kVersion);
  }
  Program program;
  fields(reader, program);
  reader.end();
  return program;
}

}  // namespace tenon
