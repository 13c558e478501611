#include "load/kept_load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/fail.h"

namespace tenon {
namespace {

// Keys of metadata: these, a number and a name; a shape is the value of the first, nothing that of the second.
constexpr std::string_view kInput = "input ";
constexpr std::string_view kOutput = "output ";

/// Numbers sort as texts do.
std::string key(std::string_view kind, size_t number, const std::string& name) {
  return fmt::format("{}{:08} {}", kind, number, name);
}

std::optional<std::string> name_behind(const std::string& key, std::string_view kind) {
  return key.starts_with(kind) ? std::optional(key.substr(kind.size() + 9)) : std::nullopt;
}

OnnxSignature signature_of(const ProgramFileInfo& info) {
  OnnxSignature signature;
  for (const auto& [key, value] : info.metadata) {
    if (const auto input = name_behind(key, kInput)) signature.inputs.push_back({*input, Shape::parse(value)});
    if (const auto output = name_behind(key, kOutput)) signature.outputs.push_back(*output);
  }
  return signature;
}

/// What the import is told of the model, as text.
std::vector<std::string> texts_of(const LoadOptions& options) {
  std::vector<std::string> texts = {"load", options.onnx.at.to_string(), options.donate_found ? "donate found" : ""};
  texts.push_back(fmt::format("{} {}", options.onnx.sizes, options.onnx.dims));
  for (const auto& [input, shape] : options.onnx.shapes) {
    texts.push_back("shape of " + input);
    texts.push_back(shape.to_string());
  }
  for (const Donation& pair : options.donate) {
    texts.push_back("donate " + pair.input);
    texts.push_back("to " + pair.output);
  }
  return texts;
}

bool asks_for_more(const OnnxOptions& options) {
  return !options.values.empty() || options.assumed != nullptr || options.weights != nullptr ||
         options.usual != nullptr || options.files != nullptr;
}

}  // namespace

KeptLoad::KeptLoad(const std::filesystem::path& file, const LoadOptions& options) : options_(options) {
  if (!asks_for_more(options.onnx)) {
    program_.emplace(KeptModelKey{.model = file.string(), .is_file = true, .more = texts_of(options)}, options.compile);
  }
}

std::optional<KeptModelFile> KeptLoad::open() const {
  std::optional<KeptExecutable> found = program_ ? program_->open() : std::nullopt;
  if (!found) {
    return std::nullopt;
  }
  KeptModelFile result{.signature = signature_of(found->info), .sizes = {}, .executable = std::move(found->executable)};
  for (const ProgramFileInput& input : found->info.inputs) {
    const bool is_given = options_.onnx.sizes.contains(input.name) || options_.compile.sizes_from.contains(input.name);
    if (!input.gives.empty() && !is_given) {
      result.sizes.emplace(input.name, input.gives);
    }
  }
  return result;
}

Executable KeptLoad::compile(Graph&& graph, const CompileOptions& options, const OnnxSignature& signature,
                             const std::vector<std::filesystem::path>& files) {
  if (!program_) {
    return tenon::compile(std::move(graph), options);
  }
  BuildOptions build{.compile = options};
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    build.metadata[key(kInput, i, signature.inputs[i].name)] = signature.inputs[i].shape.to_string();
  }
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    build.metadata[key(kOutput, i, signature.outputs[i])] = "";
  }
  return program_->compile(std::move(graph), std::move(build), files);
}

void KeptLoad::keep() {
  if (program_) {
    program_->keep_in_background();
    program_.reset();  // which has the folder open
  }
}

}  // namespace tenon
