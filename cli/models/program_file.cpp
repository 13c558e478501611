#include "cli/models/program_file.h"

#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/fail.h"
#include "cli/models/model_ports.h"
#include "cli/print/stopwatch.h"
#include "cli/words/compile_options.h"
#include "cli/words/donation.h"
#include "saved/checksum.h"
#include "tenon/build_program.h"

namespace tenon::cli {
namespace {

std::string checksum_of(const std::string& path) { return to_hex(saved::checksum_of_file(path)); }

// Keys of metadata, each with a name behind it.
constexpr const char* kData = "source_data ";    // a file beside the model: its checksum
constexpr const char* kInput = "source_input ";  // an input whose value is part of the program: that value
constexpr const char* kDims = "source_dims ";    // an input: the sizes for which the model was read

std::optional<std::string> behind(const std::string& key, std::string_view prefix) {
  return key.starts_with(prefix) ? std::optional(key.substr(prefix.size())) : std::nullopt;
}

/// The path as it is given, where there is no current folder.
std::string absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return (error ? path : absolute).lexically_normal().string();
}

/// `i64[2] 3 5`: numbers that are read back as they were.
std::string text_of(const Array& array) {
  std::string text = fmt::format("{}[{}]", name(array.dtype()), fmt::join(array.dims(), ", "));
  if (is_float(array.dtype())) {
    const Array wide = array.cast(f64);
    return fmt::format("{} {}", text, fmt::join(wide.values<double>(), " "));
  }
  const Array wide = array.cast(i64);
  return fmt::format("{} {}", text, fmt::join(wide.values<int64_t>(), " "));
}

template <class T>
std::vector<T> numbers_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<T> numbers;
  for (std::string word; stream >> word;) {
    T number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) fail("`{}` is no number", word);
    numbers.push_back(number);
  }
  return numbers;
}

/// What text_of() wrote.
Array array_of(const std::string& text) {
  const size_t end = text.find(']') + 1;
  const Shape shape = Shape::parse(text.substr(0, end));
  const std::vector<int64_t> dims = resolve(shape, {}).dims();
  const auto array = [&]<class T>(const std::vector<T>& numbers) {
    if (!(shape.element_count() == Extent(std::ssize(numbers)))) {  // before memory is taken for so many
      fail("{} has {} numbers", shape.to_string(), numbers.size());
    }
    return Array::from(dims, numbers).cast(shape.dtype());
  };
  return is_float(shape.dtype()) ? array(numbers_of<double>(text.substr(end)))
                                 : array(numbers_of<int64_t>(text.substr(end)));
}

void require_not_given(const std::string& program, const std::string& input, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.starts_with(input + '=')) {
      fail("`--input {}`: the value of `{}` is part of `{}`, which was built for one", word, input, program);
    }
  }
}

void require_unchanged(const std::string& program, const std::string& model, const std::string& file,
                       const std::string& checksum) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    fail("`{}` was built from `{}`, which is not there to hold it against", program, file);
  }
  if (checksum_of(file) != checksum) {
    fail("`{}` was built from another file than `{}` is now{}: there is nothing to hold it against", program, file,
         file == model ? "" : fmt::format(", which has tensors of `{}`", model));
  }
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
  if (const auto device = arguments.find(kDevice.name); device && *device != "cpu") {
    fail("`{} {}`: `{}` is a program that was built, and those have code for processors alone; give the model itself",
         kDevice.name, *device, arguments.rest()[0]);
  }
  for (const Option* option : {&kDonate, &kNoPipelines, &kNoWinograd, &kPipelineRows, &kWeights, &kPrecision}) {
    if (arguments.has(option->name)) {
      fail("`{}` says how a model is compiled, and `{}` is a program that was built: give it to `tenon build`",
           option->name, arguments.rest()[0]);
    }
  }
}

std::map<std::string, std::string> source_of(const Arguments& arguments, const GraphModel& model) {
  const std::string& word = arguments.rest()[0];
  std::map<std::string, std::string> source;
  if (is_model_file(word)) {
    source["source"] = absolute_path(word);
    source["source_checksum"] = checksum_of(word);
  } else {
    source["source"] = word;
  }
  for (const std::filesystem::path& file : model.files) {
    source[kData + absolute_path(file)] = checksum_of(file.string());
  }
  for (const auto& [name, value] : model.decided_values) {
    source[kInput + name] = text_of(value);
  }
  for (const auto& [name, dims] : model.dims) {
    source[kDims + name] = fmt::format("{}", fmt::join(dims, " "));
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
    require_unchanged(path, source, source, text("source_checksum"));
  }
  for (const auto& [key, value] : info.metadata) {
    if (const auto file = behind(key, kData)) require_unchanged(path, source, *file, value);
    if (const auto name = behind(key, kInput)) {
      require_not_given(path, *name, options.inputs);
      options.values.emplace(*name, array_of(value));
    }
    if (const auto name = behind(key, kDims)) options.dims.emplace(*name, numbers_of<int64_t>(value));
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
