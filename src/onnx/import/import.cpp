// Bytes become messages; the rest is the importer's.
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <set>

#include "base/fail.h"
#include "base/read_file.h"
#include "base/refused.h"
#include "onnx/import/declared_shape.h"
#include "onnx/import/importer.h"
#include "onnx/import/model_skeleton.h"

namespace tenon {
namespace {

/// Protobuf counts bytes in an int; larger models keep their weights in files beside them.
constexpr int64_t kMostBytes = std::numeric_limits<int>::max();

proto::ModelProto parse(std::string_view bytes) {
  if (static_cast<int64_t>(bytes.size()) > kMostBytes) {
    fail("a model of {} bytes is too large: weights beyond 2 GB belong into external data", bytes.size());
  }
  proto::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  // Missing fields are told by whoever needs them, in words of the model.
  if (!model.ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail("not an ONNX model: its bytes end too early, nest too deeply or are something else");
  }
  if (!model.has_graph()) {
    fail("not an ONNX model: there is no graph in it");
  }
  return model;
}

std::shared_ptr<const File> open_model(const std::filesystem::path& path) {
  require_file_size(path, kMostBytes, ": weights beyond 2 GB belong into external data");
  return std::make_shared<File>(path.string());
}

/// What export_onnx() wrote. Other programs may have kept it while they changed the model, so nothing depends on it.
Bindings usual_sizes(const proto::ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == "tenon.usual") {
      try {
        return Bindings::parse(entry.value());
      } catch (Error& error) {
        error.note("in the model's metadata `tenon.usual`");
        throw;
      }
    }
  }
  return {};
}

/// Of branches that sizes decide, when sizes are not told: how many ways are tried.
constexpr int kMostAttempts = 16;

/// The guesses to try when these failed: the last that was not made the other way; none when all were.
std::vector<bool> next_guesses(std::vector<bool> guesses) {
  while (!guesses.empty() && guesses.back()) {
    guesses.pop_back();
  }
  if (!guesses.empty()) {
    guesses.back() = true;
  }
  return guesses;
}

Graph import_model(const proto::ModelProto& model, const importer::ExternalFiles& files, const OnnxOptions& options) {
  if (options.usual != nullptr) {
    *options.usual = usual_sizes(model);
  }
  std::set<std::string> constants;  // weights whose value turned out to be needed now
  std::vector<bool> guesses;
  std::exception_ptr first_refusal;
  for (int attempt = 1; true; ++attempt) {
    if (options.weights != nullptr) {
      options.weights->clear();
    }
    importer::Importer importer(model, files, options, constants, guesses);
    try {
      return importer.run();
    } catch (const OnnxValueNeeded& needed) {
      const bool is_weight =
          options.weights != nullptr &&
          std::ranges::find(*options.weights, needed.input(), &OnnxWeight::name) != options.weights->end();
      if (!is_weight) {
        throw;
      }
      constants.insert(needed.input());
    } catch (const Refused&) {
      first_refusal = first_refusal ? first_refusal : std::current_exception();
      guesses = next_guesses(importer.guesses());
      if (guesses.empty() || attempt >= kMostAttempts) {
        std::rethrow_exception(first_refusal);
      }
    }
  }
}

}  // namespace

Graph import_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder, const OnnxOptions& options) {
  return import_model(parse(bytes), importer::ExternalFiles(folder), options);
}

OnnxSignature onnx_signature(const std::filesystem::path& file) {
  const proto::ModelProto model = parse(importer::read_skeleton(*open_model(file)));
  std::set<std::string> constants;
  for (const auto& tensor : model.graph().initializer()) {
    constants.insert(tensor.name());
  }
  const std::set<std::string> names = importer::plain_names(model.graph());
  OnnxSignature signature;
  for (const auto& input : model.graph().input()) {
    if (!constants.contains(input.name())) {
      signature.inputs.push_back({input.name(), importer::declared_shape(input, names)});
    }
  }
  for (const auto& output : model.graph().output()) {
    signature.outputs.push_back(output.name());
  }
  for (const auto& node : model.graph().node()) {
    signature.operators.insert(node.op_type());
  }
  return signature;
}

Graph import_onnx(const std::filesystem::path& file, const OnnxOptions& options) {
  const std::filesystem::path folder = file.parent_path();
  const std::shared_ptr<const File> own = open_model(file);
  try {
    const proto::ModelProto model = parse(importer::read_skeleton(*own));
    const importer::ExternalFiles files(folder.empty() ? "." : folder, own);
    Graph graph = import_model(model, files, options);
    if (options.files != nullptr) {
      options.files->assign(files.read().begin(), files.read().end());
    }
    return graph;
  } catch (const OnnxValueNeeded&) {
    throw;  // a question, not a mistake in the file
  } catch (Error& error) {
    error.note(fmt::format("in the file `{}`", file.string()));
    throw;
  }
}

}  // namespace tenon
