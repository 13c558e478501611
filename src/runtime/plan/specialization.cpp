#include "runtime/plan/specialization.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "runtime/plan/launches.h"
#include "runtime/plan/layout.h"
#include "runtime/plan/tile_regions.h"
#include "runtime/plan/waves.h"

namespace tenon::runtime {
namespace {

class Specializer {
 public:
  Specializer(const Program& program, const Plan& plan, int threads, TileChoices& tiles, Tiling tiling)
      : program_(program), plan_(plan), threads_(threads), tiles_(tiles), tiling_(tiling) {}

  Specialization run(const Bindings& bindings) {
    s_.bindings = bindings;
    s_.values = values_of(plan_.program, plan_.extents, plan_.names, bindings);
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      check_output(i);
    }
    s_.bodies.reserve(plan_.bodies.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Span& bodies = plan_.steps[i].bodies;
      for (uint32_t k = 0; k < bodies.count; ++k) {
        s_.bodies.push_back(specialize(bodies_of(program_.steps[i])[k], plan_.bodies[bodies.first + k], bindings,
                                       threads_, tiles_, tiling_));
        s_.lacks_choices = s_.lacks_choices || s_.bodies.back().lacks_choices;
      }
    }
    tile_regions(program_, plan_, {.threads = threads_, .tiling = tiling_}, tiles_, s_);
    const Waves waves = order_steps(plan_, threads_, s_);
    lay_out(program_, plan_, waves, s_);
    s_.sizes.resize(plan_.sizes.size());
    std::ranges::transform(plan_.sizes, s_.sizes.begin(), [&](ExtentId id) { return s_.value(id); });
    make_launches(plan_, waves, threads_, s_);
#ifndef NDEBUG
    check_races(program_, plan_, s_);
#endif
    return std::move(s_);
  }

 private:
  void check_output(size_t i) const {
    const OutputPlan& output = plan_.outputs[i];
    const std::vector<int64_t> dims = s_.values_of(output.dims);
    if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; })) {
      resolve(program_.outputs[i].shape, s_.bindings);  // says which axis
    }
    Array::require_memory(program_.outputs[i].shape.dtype(), dims);
    check_inside(i, dims);
  }

  /// Every element of a view lies in its buffer. An error, for a program from a file may say anything.
  void check_inside(size_t i, const std::vector<int64_t>& dims) const {
    const OutputPlan& output = plan_.outputs[i];
    if (std::ranges::find(dims, 0) != dims.end()) {
      return;
    }
    int64_t lowest = s_.value(output.offset);
    int64_t highest = lowest;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const std::optional<int64_t> reach = checked_mul(dims[axis] - 1, s_.value(output.strides[axis]));
      const std::optional<int64_t> end = reach ? checked_add(*reach < 0 ? lowest : highest, *reach) : std::nullopt;
      if (!end) {
        fail("output `{}` lies beyond 64 bits: the program is damaged", program_.outputs[i].name);
      }
      (*reach < 0 ? lowest : highest) = *end;
    }
    const int64_t elements = s_.value(plan_.slots[static_cast<size_t>(output.slot)].elements);
    if (lowest < 0 || highest >= elements) {
      fail("output `{}` has elements {} to {} of a buffer of {}: the program is damaged", program_.outputs[i].name,
           lowest, highest, elements);
    }
  }

  const Program& program_;
  const Plan& plan_;
  int threads_;
  TileChoices& tiles_;
  Tiling tiling_;
  Specialization s_;
};

template <class T>
int64_t bytes_of(const std::vector<T>& v) {
  return static_cast<int64_t>(v.capacity() * sizeof(T));
}

}  // namespace

namespace {

/// Runs the program; `values` has the value of each extent where the status is ok.
ExtentProgram::Status run_extents(const ExtentProgram& program, std::span<const std::string> names,
                                  const Bindings& bindings, std::span<int64_t> values) {
  std::vector<int64_t> registers(program.register_count() + names.size());
  const std::span sizes(registers.end() - std::ssize(names), registers.end());
  for (size_t i = 0; i < names.size(); ++i) {
    sizes[i] = bindings.at(names[i]);
  }
  const ExtentProgram::Status status = program.run(sizes, registers);
  for (size_t i = 0; i < values.size() && status.ok(); ++i) {
    values[i] = registers[program.result(i)];
  }
  return status;
}

}  // namespace

std::optional<std::vector<int64_t>> values_if_any(const ExtentProgram& program, size_t count,
                                                  std::span<const std::string> names, const Bindings& bindings) {
  std::vector<int64_t> values(count);
  return run_extents(program, names, bindings, values).ok() ? std::optional(std::move(values)) : std::nullopt;
}

std::vector<int64_t> values_of(const ExtentProgram& program, std::span<const Extent> extents,
                               std::span<const std::string> names, const Bindings& bindings) {
  std::vector<int64_t> values(extents.size());
  const ExtentProgram::Status status = run_extents(program, names, bindings, values);
  if (!status.ok()) {
    evaluate(extents[status.extent], bindings);  // says what went wrong
    TENON_CHECK(false, "extent `{}` has a value after all", extents[status.extent].to_string());
  }
  return values;
}

std::vector<int64_t> Specialization::values_of(const std::vector<ExtentId>& ids) const {
  std::vector<int64_t> result(ids.size());
  std::ranges::transform(ids, result.begin(), [&](ExtentId id) { return value(id); });
  return result;
}

bool Specialization::is_whole(const Plan& plan, const OutputPlan& output) const {
  int64_t expected = 1;
  for (size_t i = output.dims.size(); i-- > 0;) {
    if (value(output.dims[i]) != 1 && value(output.strides[i]) != expected) {
      return false;
    }
    expected *= value(output.dims[i]);
  }
  return value(output.offset) == 0 && expected == value(plan.slots[static_cast<size_t>(output.slot)].elements);
}

int64_t Specialization::byte_count() const {
  int64_t total = static_cast<int64_t>(sizeof(Specialization)) + bytes_of(values) + bytes_of(offsets) +
                  bytes_of(sizes) + bytes_of(ranges) + bytes_of(launches) + bytes_of(stages) + bytes_of(choices);
  for (const TiledRegion& region : regions) {
    total += static_cast<int64_t>(sizeof(TiledRegion)) + bytes_of(region.stages) + bytes_of(region.uses) +
             bytes_of(region.touched) + bytes_of(region.buffers);
  }
  for (const auto& [name, size] : bindings) {
    total += static_cast<int64_t>(sizeof(std::pair<std::string, int64_t>) + name.capacity());
  }
  for (const Specialization& body : bodies) {
    total += body.byte_count();
  }
  return total;
}

Specialization specialize(const Program& program, const Plan& plan, const Bindings& bindings, int threads,
                          TileChoices& tiles, Tiling tiling) {
  return Specializer(program, plan, threads, tiles, tiling).run(bindings);
}

}  // namespace tenon::runtime
