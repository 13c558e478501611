#include "program_file.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "compile_options.h"
#include "donation.h"
#include "model_ports.h"
#include "saved/checksum.h"
#include "stopwatch.h"
#include "tenon/build_program.h"

namespace tenon::cli {
namespace {

std::string checksum_of(const std::string& path) {
  const MappedFile file = map_file(path);
  const std::span<const std::byte> bytes(file.memory.get(), static_cast<size_t>(file.bytes));
  return to_hex(saved::checksums(std::span(&bytes, 1)).front());
}

}  // namespace

std::vector<int> ProgramFile::aliases() const {
  std::vector<int> result;
  for (const ProgramFileOutput& output : info.outputs) {
    result.push_back(output.aliases);
  }
  return result;
}

ProgramFile open_program(const std::string& path) {
  std::optional<Executable> executable;
  ProgramFileInfo info;
  const double us = microseconds([&] {
    info = inspect_program(path, {.verify = false});
    executable = load_program(path);
  });
  return {.info = std::move(info), .executable = *std::move(executable), .load_us = us};
}

void require_no_compile_options(const Arguments& arguments) {
  for (const Option* option : {&kDonate, &kNoPipelines, &kNoWinograd, &kPipelineRows, &kNoCacheOption, &kWeights}) {
    if (arguments.has(option->name)) {
      fail("`{}` says how a model is compiled, and `{}` is a program that was built: give it to `tenon build`",
           option->name, arguments.rest()[0]);
    }
  }
}

std::map<std::string, std::string> source_of(const Arguments& arguments) {
  const std::string& word = arguments.rest()[0];
  std::map<std::string, std::string> source;
  if (is_model_file(word)) {
    source["source"] = std::filesystem::absolute(word).lexically_normal().string();
    source["source_checksum"] = checksum_of(word);
  } else {
    source["source"] = word;
  }
  if (const auto sizes = arguments.find("--bind")) {
    source["source_sizes"] = Bindings::parse(*sizes).to_string();
  }
  if (const std::vector<std::string> pairs = arguments.all("--donate"); !pairs.empty()) {
    source["source_donate"] = fmt::format("{}", fmt::join(pairs, "\n"));
  }
  return source;
}

GraphModel model_of(const std::string& path, const ProgramFileInfo& info, LoadGraphOptions options) {
  const auto text = [&](const std::string& key) {
    const auto found = info.metadata.find(key);
    return found == info.metadata.end() ? "" : found->second;
  };
  const std::string source = text("source");
  if (source.empty()) {
    fail("`{}` does not say what model it was built from, so there is nothing to hold it against", path);
  }
  if (is_model_file(source)) {
    std::error_code error;
    if (!std::filesystem::exists(source, error)) {
      fail("`{}` was built from `{}`, which is not there to hold it against", path, source);
    }
    if (checksum_of(source) != text("source_checksum")) {
      fail("`{}` was built from another file than `{}` is now: there is nothing to hold it against", path, source);
    }
  }
  const Bindings sizes = Bindings::parse(text("source_sizes"));
  for (const auto& [name, size] : sizes) {
    if (!options.sizes.find(name)) {
      options.sizes.set(name, size);
    }
  }
  const std::vector<std::string> pairs =
      text("source_donate").empty() ? std::vector<std::string>() : split(text("source_donate"), '\n');
  GraphModel model = with_donations(pairs, load_model(source, options));
  model.graph = with_sizes(model.graph, without(sizes, model.decided));
  return model;
}

}  // namespace tenon::cli
