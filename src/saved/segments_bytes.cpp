#include "saved/segments_bytes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/fail.h"
#include "kernel/loop/loop_fields.h"
#include "kernel/program/program_bytes.h"

namespace tenon::bytes {
template <>
inline constexpr int kLast<Constraint::Kind> = static_cast<int>(Constraint::Kind::broadcasts);
}  // namespace tenon::bytes

namespace tenon {

static void fields(bytes::Writer& archive, Shape& shape) { archive.repeated(shape.to_string()); }
static void fields(bytes::Reader& archive, Shape& shape) { shape = archive.repeated<Shape>(Shape::parse); }
static void fields(auto& archive, SignatureInput& x) { archive(x.name, x.shape, x.gives); }
static void fields(auto& archive, SignatureOutput& x) { archive(x.name, x.shape); }
static void fields(auto& archive, Signature& x) { archive(x.name, x.inputs, x.outputs); }
static void fields(auto& archive, Constraint& x) { archive(x.kind, x.lhs, x.rhs, x.needed_by, x.place); }

static void fields(bytes::Writer& archive, ConstraintSet& set) {
  std::vector<Constraint> added = set.added();
  archive(added);
}
static void fields(bytes::Reader& archive, ConstraintSet& set) {
  std::vector<Constraint> added;
  archive(added);
  for (const Constraint& each : added) {
    set.add(each);
  }
}

namespace runtime {
static void fields(auto& archive, SegmentSource& x) { archive(x.segment, x.index); }
static void fields(auto& archive, BoundAxis& x) { archive(x.name, x.at_most, x.positions, x.count, x.place); }
}  // namespace runtime

namespace saved {

static void fields(auto& archive, ConstantReference& x) { archive(x.number, x.dtype, x.dims); }

/// What only people read of a step: why it ends where it does, and names of the model's nodes.
struct Reason {
  std::string boundary;
  std::string region_end;
  std::vector<std::string> nodes;
};
static void fields(auto& archive, Reason& x) { archive(x.boundary, x.region_end, x.nodes); }

namespace {

/// The program, then those inside of its steps, in order.
template <class AnyProgram, class F>
void for_each_program(AnyProgram& program, const F& f) {
  f(program);
  for (auto& step : program.steps) {
    for (auto& body : bodies_of(step)) {
      for_each_program(body, f);
    }
  }
}

}  // namespace

SegmentsBytes to_bytes(const runtime::Segments& segments, const std::vector<std::string>& names,
                       const std::function<uint32_t(const Array&)>& number_of) {
  bytes::Writer writer;
  Signature signature = segments.signature;
  std::vector<runtime::SegmentSource> outputs = segments.outputs;
  std::vector<std::string> late(segments.late.begin(), segments.late.end());
  std::vector<std::string> copy_of_names = names;
  writer(signature, outputs, late, copy_of_names);
  writer.count(segments.segments.size());
  std::vector<Reason> reasons;
  for (const runtime::Segment& segment : segments.segments) {
    std::vector<runtime::SegmentSource> inputs = segment.inputs;
    std::vector<runtime::BoundAxis> binds = segment.binds;
    ConstraintSet constraints = segment.constraints;
    writer(inputs, binds, constraints);
    Program program = segment.program;
    std::vector<ConstantReference> constants;
    std::vector<uint32_t> counts;  // of constants, of each program inside
    for_each_program(program, [&](Program& each) {
      TENON_CHECK(each.layouts.empty(), "constants are laid out before they are written");
      counts.push_back(static_cast<uint32_t>(each.constants.size()));
      for (const Array& constant : each.constants) {
        constants.push_back({.number = number_of(constant), .dtype = constant.dtype(), .dims = constant.dims()});
      }
      each.constants.clear();
      each.kernels.clear();
      for (Step& step : each.steps) {
        reasons.push_back({.boundary = std::exchange(step.boundary, {}),
                           .region_end = std::exchange(step.region_end, {}),
                           .nodes = std::exchange(step.nodes, {})});
      }
    });
    writer(constants, counts);
    const std::vector<std::byte> bytes = tenon::to_bytes(program);
    writer.count(bytes.size());
    writer.raw(bytes.data(), bytes.size());
  }
  SegmentsBytes result{.program = writer.take(), .reasons = {}};
  bytes::Writer of_reasons;
  of_reasons(reasons);
  result.reasons = of_reasons.take();
  return result;
}

namespace {

runtime::Segment read_segment(bytes::Reader& reader, const std::function<Array(const ConstantReference&)>& constant) {
  runtime::Segment segment;
  std::vector<ConstantReference> constants;
  std::vector<uint32_t> counts;
  reader(segment.inputs, segment.binds, segment.constraints, constants, counts);
  segment.program = program_from_bytes(reader.raw(reader.count()));
  auto next = constants.begin();
  auto count = counts.begin();
  for_each_program(segment.program, [&](Program& each) {
    if (count == counts.end() || static_cast<size_t>(constants.end() - next) < *count || !each.constants.empty()) {
      fail("a program's constants are not those that are listed for it");
    }
    std::transform(next, next + *count, std::back_inserter(each.constants), constant);
    next += *count++;
  });
  if (count != counts.end() || next != constants.end()) {
    fail("constants are listed that no program has");
  }
  return segment;
}

}  // namespace

ReadSegments segments_from_bytes(std::span<const std::byte> program, std::span<const std::byte> reasons,
                                 const std::function<Array(const ConstantReference&)>& constant) {
  bytes::Reader reader(program);
  ReadSegments result;
  runtime::Segments& segments = result.segments;
  std::vector<std::string> late;
  reader(segments.signature, segments.outputs, late, result.names);
  segments.late = {late.begin(), late.end()};
  const size_t count = reader.count();
  for (size_t i = 0; i < count; ++i) {
    segments.segments.push_back(read_segment(reader, constant));
  }
  reader.end();
  if (!reasons.empty()) {
    bytes::Reader of_reasons(reasons);
    std::vector<Reason> list;
    of_reasons(list);
    of_reasons.end();
    auto next = list.begin();
    for (runtime::Segment& segment : segments.segments) {
      for_each_program(segment.program, [&](Program& each) {
        for (Step& step : each.steps) {
          if (next == list.end()) fail("{} reasons, and more steps", list.size());
          step.boundary = std::move(next->boundary);
          step.region_end = std::move(next->region_end);
          step.nodes = std::move(next->nodes);
          ++next;
        }
      });
    }
    if (next != list.end()) fail("{} reasons, and fewer steps", list.size());
  }
  return result;
}

}  // namespace saved
}  // namespace tenon
