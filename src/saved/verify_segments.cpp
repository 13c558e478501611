#include "saved/verify_segments.h"

#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "kernel/program/program_verify.h"

namespace tenon::saved {
namespace {

using runtime::BoundAxis;
using runtime::Segment;
using runtime::Segments;
using runtime::SegmentSource;

bool has(size_t count, int place) { return place >= 0 && static_cast<size_t>(place) < count; }

/// Whether a source is an input of the whole, or an output of a segment before `segment`.
bool is_made(const Segments& all, const SegmentSource& source, int segment) {
  return source.segment == -1
             ? has(all.signature.inputs.size(), source.index)
             : source.segment >= 0 && source.segment < segment &&
                   has(all.segments[static_cast<size_t>(source.segment)].program.outputs.size(), source.index);
}

Dtype dtype_of(const Segments& all, const SegmentSource& source) {
  const auto index = static_cast<size_t>(source.index);
  return source.segment == -1 ? all.signature.inputs[index].shape.dtype()
                              : all.segments[static_cast<size_t>(source.segment)].program.outputs[index].shape.dtype();
}

void check_signature(const Signature& signature) {
  for (const SignatureInput& input : signature.inputs) {
    const Shape& shape = input.shape;
    const bool are_sizes = !is_float(shape.dtype()) && shape.dtype() != Dtype::boolean &&
                           shape.element_count().constant() == std::ssize(input.gives);
    if (!input.gives.empty() && !are_sizes) {
      fail("input `{}` is {}, which is not {} sizes", input.name, shape.to_string(), input.gives.size());
    }
  }
}

void check_binds(const Segment& segment) {
  const std::vector<ProgramOutput>& outputs = segment.program.outputs;
  for (const BoundAxis& axis : segment.binds) {
    if (!has(outputs.size(), axis.positions) || !has(outputs.size(), axis.count)) {
      fail("axis `{}` is bound by outputs {} and {}, of {}", axis.name, axis.positions, axis.count, outputs.size());
    }
    const Shape& positions = outputs[static_cast<size_t>(axis.positions)].shape;
    const Shape& count = outputs[static_cast<size_t>(axis.count)].shape;
    if (positions.rank() != 1 || count.dtype() != Dtype::i64 || !(count.element_count() == Extent(1))) {
      fail("axis `{}` is bound by {} and {}", axis.name, positions.to_string(), count.to_string());
    }
  }
}

void check_inputs(const Segments& all, size_t at) {
  const Segment& segment = all.segments[at];
  if (segment.inputs.size() != segment.program.inputs.size()) {
    fail("segment {} is given {} inputs, and takes {}", at, segment.inputs.size(), segment.program.inputs.size());
  }
  for (size_t i = 0; i < segment.inputs.size(); ++i) {
    const SegmentSource& source = segment.inputs[i];
    const Shape& wanted = segment.program.inputs[i].shape;
    if (!is_made(all, source, static_cast<int>(at)) || dtype_of(all, source) != wanted.dtype()) {
      fail("input {} of segment {} is value {} of segment {}", i, at, source.index, source.segment);
    }
  }
}

/// A segment that is the whole has its inputs and outputs in its order.
void check_whole(const Segments& all) {
  const Segment& only = all.segments.front();
  const auto is_own = [](const std::vector<SegmentSource>& list, int segment) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] != SegmentSource{.segment = segment, .index = static_cast<int>(i)}) return false;
    }
    return true;
  };
  const auto same_rank = [](const auto& a, const auto& b) {
    return a.shape.dtype() == b.shape.dtype() && a.shape.rank() == b.shape.rank();
  };
  if (!is_own(only.inputs, -1) || !is_own(all.outputs, 0) ||
      !std::ranges::equal(only.program.inputs, all.signature.inputs, same_rank) ||
      !std::ranges::equal(only.program.outputs, all.signature.outputs, same_rank)) {
    fail("the program takes and gives other values than it says");
  }
}

}  // namespace

void verify_segments(Segments& segments, size_t kernels) {
  if (segments.segments.empty()) {
    fail("there is no program");
  }
  check_signature(segments.signature);
  size_t used = 0;
  for (size_t i = 0; i < segments.segments.size(); ++i) {
    for (const Constraint& each : verify_program(segments.segments[i].program)) {
      segments.segments[i].constraints.add(each);
    }
    used += kernel_count(segments.segments[i].program);
    check_inputs(segments, i);
    check_binds(segments.segments[i]);
  }
  if (used > kernels) {
    fail("a program of {} kernels, with code of {}", used, kernels);
  }
  if (segments.outputs.size() != segments.signature.outputs.size()) {
    fail("{} values for {} outputs", segments.outputs.size(), segments.signature.outputs.size());
  }
  for (size_t i = 0; i < segments.outputs.size(); ++i) {
    const SegmentSource& source = segments.outputs[i];
    if (source.segment < 0 || !is_made(segments, source, static_cast<int>(segments.segments.size())) ||
        dtype_of(segments, source) != segments.signature.outputs[i].shape.dtype()) {
      fail("output `{}` is value {} of segment {}", segments.signature.outputs[i].name, source.index, source.segment);
    }
  }
  if (segments.segments.size() == 1 && segments.segments.front().binds.empty()) {
    check_whole(segments);
  }
}

}  // namespace tenon::saved
