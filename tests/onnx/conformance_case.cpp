#include "onnx/conformance_case.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "onnx/proto.h"
#include "onnx/tensor_data.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"
#include "tenon/onnx_export.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// What the official tests allow.
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;
// The tests' own numbers of half precision were rounded at every step: two units in the last place.
constexpr double kRelativeBf16 = 1.0 / 64;
constexpr double kRelativeF16 = 1.0 / 512;
// Sums that cancel leave what an f32 of the largest element is off by.
constexpr double kOfLargest = 2.4e-7;

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The tests store bf16 as u16, of the same bits.
Array read_tensor(const fs::path& file, const proto::ValueInfoProto& declared) {
  proto::TensorProto tensor;
  if (!tensor.ParseFromString(read(file))) {
    throw Error(fmt::format("{} is no tensor", file.filename().string()));
  }
  if (declared.type().tensor_type().elem_type() == proto::TensorProto::BFLOAT16) {
    tensor.set_data_type(proto::TensorProto::BFLOAT16);
  }
  importer::ExternalFiles files({});
  return importer::to_array(tensor, files);
}

struct CaseData {
  std::vector<Array> inputs;
  std::vector<Array> outputs;
};

struct Case {
  std::string model;
  std::vector<std::string> inputs;  // names, in order
  std::vector<int> ranks;           // of the inputs, as declared
  std::vector<CaseData> data;
};

void require_tensor(const proto::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) {
    throw Error(fmt::format("`{}` is no tensor", value.name()));
  }
}

Case read_case(const fs::path& folder) {
  Case result{.model = read(folder / "model.onnx"), .inputs = {}, .ranks = {}, .data = {}};
  proto::ModelProto model;
  model.ParseFromString(result.model);
  std::set<std::string> constants;
  std::vector<proto::ValueInfoProto> declared;
  for (const auto& tensor : model.graph().initializer()) {
    constants.insert(tensor.name());
  }
  for (const auto& input : model.graph().input()) {
    if (!constants.contains(input.name())) {
      require_tensor(input);
      result.inputs.push_back(input.name());
      result.ranks.push_back(input.type().tensor_type().shape().dim_size());
      declared.push_back(input);
    }
  }
  for (const auto& output : model.graph().output()) {
    require_tensor(output);
  }
  for (int set = 0; fs::exists(folder / fmt::format("test_data_set_{}", set)); ++set) {
    const fs::path data = folder / fmt::format("test_data_set_{}", set);
    CaseData one;
    for (size_t i = 0; i < result.inputs.size(); ++i) {
      one.inputs.push_back(read_tensor(data / fmt::format("input_{}.pb", i), declared[i]));
    }
    for (int i = 0; i < model.graph().output_size(); ++i) {
      one.outputs.push_back(read_tensor(data / fmt::format("output_{}.pb", i), model.graph().output(i)));
    }
    result.data.push_back(std::move(one));
  }
  return result;
}

constexpr std::string_view kOtherNumbers = "its random numbers are those of another generator";

/// Cases that contradict themselves, or ask for numbers that nobody else draws, and how.
struct Faulty {
  std::string_view name;
  std::string_view why;
};
constexpr Faulty kFaulty[] = {
    {"test_adam_multiple", "the case is at fault: its outputs were made with epsilon 0.01, its model does not say so"},
    {"test_bernoulli", kOtherNumbers},
    {"test_bernoulli_double", kOtherNumbers},
    {"test_bernoulli_seed", kOtherNumbers},
    {"test_bernoulli_expanded", kOtherNumbers},
    {"test_bernoulli_double_expanded", kOtherNumbers},
    {"test_bernoulli_seed_expanded", kOtherNumbers},
    {"test_training_dropout", kOtherNumbers},
    {"test_training_dropout_default", kOtherNumbers},
    {"test_training_dropout_default_mask", kOtherNumbers},
    {"test_training_dropout_mask", kOtherNumbers},
};

/// Names for all axes of two or more elements.
Shape with_names(const std::string& input, const Array& array) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < array.dims().size(); ++i) {
    const int64_t size = array.dims()[i];
    axes.push_back(size >= 2 ? Axis(Extent::name(fmt::format("{}_{}", input, i))) : Axis(size));
  }
  return {array.dtype(), std::move(axes)};
}

struct Imported {
  Graph graph;
  std::vector<Array> inputs;  // those that the graph still has
};

/// Values that decide shapes become part of the import.
Imported import_case(const Case& test, const CaseData& data, const fs::path& folder, Way way) {
  OnnxOptions options;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Array& array = data.inputs[i];
    if (way == Way::named && is_float(array.dtype())) {
      options.shapes.emplace(test.inputs[i], with_names(test.inputs[i], array));
    } else if (test.ranks[i] != array.rank()) {  // some cases declare another shape than they give
      options.shapes.emplace(test.inputs[i], Shape(array.dtype(), {array.dims().begin(), array.dims().end()}));
    }
  }
  while (true) {
    try {
      Imported result{.graph = import_onnx_bytes(test.model, folder, options), .inputs = {}};
      for (size_t i = 0; i < test.inputs.size(); ++i) {
        if (!options.values.contains(test.inputs[i])) {
          result.inputs.push_back(data.inputs[i]);
        }
      }
      return result;
    } catch (const OnnxValueNeeded& needed) {
      const auto found = std::ranges::find(test.inputs, needed.input());
      if (found == test.inputs.end() || options.values.contains(needed.input())) {
        throw;
      }
      options.values.emplace(needed.input(), data.inputs[static_cast<size_t>(found - test.inputs.begin())]);
      options.shapes.erase(needed.input());
    }
  }
}

/// Nothing when they agree.
std::string difference(const Array& actual, const Array& expected) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims()) {
    return fmt::format("gives {}, expected {}", actual.to_string(0), expected.to_string(0));
  }
  const double relative = actual.dtype() == Dtype::bf16  ? kRelativeBf16
                          : actual.dtype() == Dtype::f16 ? kRelativeF16
                                                         : kRelative;
  double largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    largest = std::isfinite(expected.at(i)) ? std::max(largest, std::fabs(expected.at(i))) : largest;
  }
  const double absolute = std::max(kAbsolute, kOfLargest * largest);
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.at(i);
    const double b = expected.at(i);
    const bool close = a == b || (std::isnan(a) && std::isnan(b)) ||
                       (is_float(actual.dtype()) && std::fabs(a - b) <= absolute + relative * std::fabs(b));
    if (!close) {
      return fmt::format("element {} is {}, expected {}", i, a, b);
    }
  }
  return {};
}

/// Steps that are not kernels, those of bodies among them: "library sort", "control loop".
void add_others(const std::vector<StepReport>& steps, std::set<std::string>& found) {
  for (const StepReport& step : steps) {
    if (step.kind != StepKind::kernel && step.kind != StepKind::copy) {
      found.insert(fmt::format("{} {}", name(step.kind), step.label.substr(0, step.label.find_first_of(" :"))));
    }
    for (const BodyReport& body : step.bodies) {
      add_others(body.steps, found);
    }
  }
}

std::string other_steps(const Executable& executable) {
  std::set<std::string> found;
  add_others(executable.steps(), found);
  return fmt::format("{}", fmt::join(found, ", "));
}

CaseResult run_checked(const fs::path& folder, Way way) {
  const Case test = read_case(folder);
  CaseResult result{.outcome = Outcome::passed, .reason = {}, .others = {}};
  for (const CaseData& data : test.data) {
    const Imported imported = import_case(test, data, folder, way);
    std::vector<Array> outputs;
    if (way == Way::interpreted) {
      outputs = interpret(imported.graph, imported.inputs);
    } else if (way == Way::exported) {
      outputs = interpret(import_onnx_bytes(export_onnx_bytes(imported.graph)), imported.inputs);
    } else {
      const Executable executable = compile(imported.graph, {.disk_cache = false});
      outputs = executable.run(imported.inputs);
      result.others = other_steps(executable);
    }
    for (size_t i = 0; i < data.outputs.size(); ++i) {
      if (const std::string found = difference(outputs[i], data.outputs[i]); !found.empty()) {
        return {.outcome = Outcome::wrong, .reason = fmt::format("output {} {}", i, found), .others = result.others};
      }
    }
  }
  return result;
}

}  // namespace

CaseResult run_case(const fs::path& folder, Way way) {
  for (const Faulty& faulty : kFaulty) {
    if (folder.filename() == faulty.name) {
      return {.outcome = Outcome::refused, .reason = std::string(faulty.why), .others = {}};
    }
  }
  try {
    return run_checked(folder, way);
  } catch (const Error& error) {
    return {.outcome = Outcome::refused, .reason = error.what(), .others = {}};
  } catch (const std::exception& error) {
    return {.outcome = Outcome::crashed, .reason = error.what(), .others = {}};
  }
}

}  // namespace tenon
