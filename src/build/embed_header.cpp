#include "build/embed_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tenon {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Names that begin as those of tenon/c.h are the interface's.
std::string identifier(std::string text) {
  std::ranges::replace_if(text, [](char c) { return !is_letter(c) && !is_digit(c); }, '_');
  const bool is_taken = text == "tenon" || text.starts_with("tenon_") || text.starts_with("TENON");
  return text.empty() || !is_letter(text[0]) || is_taken ? "model_" + text : text;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

/// Text of a model's within a comment of C.
std::string in_comment(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == '\\' || c == '*'; }, '.');
  return text;
}

template <class Port>
std::vector<std::string> constants(const std::vector<Port>& ports, const std::string& prefix,
                                   std::set<std::string>& taken) {
  std::vector<std::string> names;
  for (const Port& port : ports) {
    const std::string wanted = upper(prefix + "_" + identifier("x" + port.name).substr(1));
    std::string name = wanted;
    for (int n = 2; !taken.insert(name).second; ++n) {
      name = fmt::format("{}_{}", wanted, n);
    }
    names.push_back(name);
  }
  return names;
}

template <class Port>
std::string enumerated(const std::vector<Port>& ports, const std::vector<std::string>& names,
                       const std::string& count) {
  std::string text = "enum {\n";
  for (size_t i = 0; i < ports.size(); ++i) {
    text += fmt::format("  {} = {}, /* {}: {} */\n", names[i], i, in_comment(ports[i].name),
                        in_comment(ports[i].shape.to_string()));
  }
  return text + fmt::format("  {} = {}\n}};\n", count, ports.size());
}

/// `@` stands for the model's name, `#` for it in capitals.
constexpr std::string_view kFunctions = R"(
/* The model. The first call loads it, on whatever thread; @_unload() frees it, when nobody uses it any more. */
static inline tenon_status @_model(const tenon_model** model) { return tenon_embedded_model(&@_program, model); }
static inline void @_unload(void) { tenon_embedded_unload(&@_program); }

/* tenon_run() of it: a tensor for each input and each output, in the order above; options may be NULL. */
static inline tenon_status @_run(const tenon_tensor* inputs, const tenon_tensor* outputs,
                                 const tenon_options* options) {
  const tenon_model* model = NULL;
  const tenon_status status = @_model(&model);
  return status != TENON_OK ? status
                            : tenon_run(model, inputs, #_INPUT_COUNT, outputs, #_OUTPUT_COUNT, options);
}

/* The sizes of an output where the inputs have such sizes; their elements are not read. */
static inline tenon_status @_output_shape(size_t output, const tenon_tensor* inputs, const tenon_options* options,
                                          int64_t* dims) {
  const tenon_model* model = NULL;
  const tenon_status status = @_model(&model);
  return status != TENON_OK ? status
                            : tenon_output_dims_for(model, output, inputs, #_INPUT_COUNT, options, dims);
}
)";

std::string functions_of(const std::string& model) {
  std::string text;
  for (const char c : kFunctions) {
    text += c == '@' ? model : c == '#' ? upper(model) : std::string(1, c);
  }
  return text;
}

}  // namespace

EmbedNames embed_names(const ProgramFileInfo& info, const std::string& name) {
  const std::string model = identifier(name);
  std::set<std::string> taken = {upper(model) + "_INPUT_COUNT", upper(model) + "_OUTPUT_COUNT"};
  EmbedNames names{.model = model, .variable = model + "_program", .inputs = {}, .outputs = {}};
  names.inputs = constants(info.inputs, model, taken);
  names.outputs = constants(info.outputs, model, taken);
  return names;
}

std::string embed_header(const ProgramFileInfo& info, const EmbedNames& names) {
  const std::string guard = upper(names.model) + "_TENON_H";
  std::string machines;
  for (const ProgramFileMachine& each : info.machines) {
    machines += (machines.empty() ? "" : ", ") + in_comment(each.machine.name);
  }
  std::string text = fmt::format("/* The model `{}`, built by Tenon {} for {}. Link libtenon_run with it. */\n",
                                 in_comment(info.name), in_comment(info.tenon_version), machines);
  text += fmt::format("#ifndef {0}\n#define {0}\n\n#include <tenon/c.h>\n\n", guard);
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += fmt::format("extern tenon_embedded {};\n\n", names.variable);
  text += enumerated(info.inputs, names.inputs, upper(names.model) + "_INPUT_COUNT");
  text += enumerated(info.outputs, names.outputs, upper(names.model) + "_OUTPUT_COUNT");
  text += functions_of(names.model);
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string embed_source_begin(const EmbedNames& names) {
  return fmt::format(
      "#include <tenon/c.h>\n\nextern tenon_embedded {};\n\n_Alignas(64) static const uint64_t words[] = {{\n",
      names.variable);
}

std::string embed_source_end(const EmbedNames& names, int64_t bytes) {
  return fmt::format("\n}};\n\ntenon_embedded {} = {{words, {}, NULL}};\n", names.variable, bytes);
}

}  // namespace tenon
