#include "kernel/program/program.h"

#include <algorithm>
#include <set>

#include "base/mapped_file.h"
#include "kernel/facts/in_place.h"
#include "kernel/program/program_fields.h"
#include "kernel/program/signature.h"

namespace tenon {
namespace {

void collect_kernels(const Program& program, std::vector<const loops::Kernel*>& kernels) {
  for (const loops::Kernel& kernel : program.kernels) {
    kernels.push_back(&kernel);
  }
  for (const Step& step : program.steps) {
    for (const Program& body : bodies_of(step)) {
      collect_kernels(body, kernels);
    }
  }
}

}  // namespace

std::span<const LaunchPart> parts_of(const Step& step) {
  const auto* const launch = std::get_if<LaunchStep>(&step.what);
  return launch == nullptr ? std::span<const LaunchPart>() : launch->parts;
}

std::span<const Program> bodies_of(const Step& step) {
  const auto* const control = std::get_if<ControlStep>(&step.what);
  return control == nullptr ? std::span<const Program>() : control->bodies;
}

std::span<Program> bodies_of(Step& step) {
  auto* const control = std::get_if<ControlStep>(&step.what);
  return control == nullptr ? std::span<Program>() : control->bodies;
}

bool operator==(const Program& a, const Program& b) {
  return fields_of(a) == fields_of(b) && std::ranges::equal(a.constants, b.constants, same_bits);
}

Signature signature_of(const Program& program) {
  Signature signature{.name = program.name, .inputs = {}, .outputs = {}};
  for (const ProgramInput& input : program.inputs) {
    signature.inputs.push_back({.name = input.name, .shape = input.shape});
  }
  for (const ProgramOutput& output : program.outputs) {
    signature.outputs.push_back({.name = output.name, .shape = output.shape});
  }
  return signature;
}

int add_kernel(Program& program, loops::Kernel kernel) {
  kernel.may_share = loops::find_may_share(kernel);
  loops::verify(kernel);
  program.facts.push_back(loops::facts_of(kernel));
  program.kernels.push_back(std::move(kernel));
  return static_cast<int>(program.kernels.size()) - 1;
}

void lay_out_constants(Program& program) {
  for (const ConstantLayout& layout : program.layouts) {
    Array& constant = program.constants[static_cast<size_t>(layout.constant)];
    const Array given = constant;
    constant = layouts::lay_out(given, layout.layout);
    release_clean_pages(given.data(), given.byte_count());
  }
  program.layouts.clear();
  for (Step& step : program.steps) {
    std::ranges::for_each(bodies_of(step), lay_out_constants);
  }
}

std::vector<const loops::Kernel*> all_kernels(const Program& program) {
  std::vector<const loops::Kernel*> kernels;
  collect_kernels(program, kernels);
  return kernels;
}

size_t kernel_count(const Program& program) {
  size_t count = program.facts.size();
  for (const Step& step : program.steps) {
    for (const Program& body : bodies_of(step)) {
      count += kernel_count(body);
    }
  }
  return count;
}

int launch_count(const Program& program) {
  int count = 0;
  for (const Step& step : program.steps) {
    count += std::holds_alternative<LaunchStep>(step.what) ? 1 : 0;
    for (const Program& body : bodies_of(step)) {
      count += launch_count(body);
    }
  }
  return count;
}

Traffic traffic(const Program& program, const Step& step) {
  const auto bytes = [&](int i, const Extent& elements) {
    return elements * static_cast<int64_t>(byte_size(program.buffers.at(static_cast<size_t>(i)).dtype));
  };
  Traffic result;
  for (const int i : std::set(step.reads.begin(), step.reads.end())) {
    result.read += bytes(i, program.buffers.at(static_cast<size_t>(i)).elements);
  }
  for (const int i : std::set(step.writes.begin(), step.writes.end())) {
    const auto partial = std::ranges::find(step.updates, i, &PartialWrite::buffer);
    result.written += bytes(
        i, partial == step.updates.end() ? program.buffers.at(static_cast<size_t>(i)).elements : partial->elements);
  }
  return result;
}

}  // namespace tenon
