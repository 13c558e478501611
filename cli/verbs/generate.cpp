// `tenon generate` and `tenon serve`: language models, by the Python package.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fail.h"
#include "cli/verb.h"

namespace tenon::cli {
namespace {

/// Calls the command of a Python module under the name of the verb. Without the package it says what is missing.
constexpr const char* kCall = R"(
import sys
verb, module, *words = sys.argv[1:]
try:
    import importlib
    main = importlib.import_module(module).main
except ImportError as error:
    sys.exit(f"tenon: `tenon {verb}` needs Python with the package tenon, and {sys.executable} says: {error}")
raise SystemExit(main(words, f"tenon {verb}"))
)";

/// The folder of the package in a build tree, which other places need not be told.
void show_own_package() {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path folder = program.parent_path() / "python";
  if (none || !std::filesystem::exists(folder / "tenon", none)) {
    return;
  }
  const char* const before = std::getenv("PYTHONPATH");
  const std::string all = before != nullptr && *before != 0 ? folder.string() + ":" + before : folder.string();
  setenv("PYTHONPATH", all.c_str(), 1);
}

int call_python(const Verb& verb, const char* module, const Arguments& arguments) {
  std::vector<std::string> words = {arguments.find("--python").value_or("python3"), "-c", kCall, std::string(verb.name),
                                    module};
  for (const Option& option : options_of(verb)) {
    if (option.name == "--python") {
      continue;
    }
    for (const std::string& value : arguments.all(option.name)) {
      // One word, so that a value may begin with a dash.
      words.push_back(option.value.empty() ? std::string(option.name) : std::string(option.name) + "=" + value);
    }
  }
  words.emplace_back("--");
  words.insert(words.end(), arguments.rest().begin(), arguments.rest().end());
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  show_own_package();
  execvp(pointers[0], pointers.data());
  fail("cannot run `{}`: {}; --python names another Python, in which the package tenon is installed", words[0],
       std::strerror(errno));
}

constexpr Option kPython = {"--python", "PROGRAM", "the Python that has the package tenon (default python3)"};
constexpr Option kWeights = {"--weights", "bf16|f16|i8|i4", "keep matrices in fewer bits, rounded"};

constexpr Option kPrefixBytes = {"--prefix-bytes", "N",
                                 "memory for what prompts that begin alike share (default 256 MiB; 0: none)"};
constexpr Option kSpeculate = {"--speculate", "N", "guess so many tokens at a time, where the text repeats itself"};
constexpr Option kDraft = {"--draft", "FOLDER", "a smaller model that guesses tokens instead"};

constexpr Option kGenerateOptions[] = {
    {"--prompt", "TEXT", "what is continued"},
    {"--prompt-ids", "N,N,...", "the same as token ids, where there is no tokenizer"},
    {"--chat", "MESSAGE", "a message that the model's chat template makes a prompt of"},
    {"--system", "MESSAGE", "what the model is told before that message"},
    {"--batch", "FILE", "a prompt in each line, all at once; one JSON object is printed for each"},
    {"--save", "FILE", "write the compiled model, which later runs and C++ programs take for the folder, and end"},
    {"--max-new-tokens", "N", "at most so many (default 128)"},
    {"--temperature", "X", "0, the default: always the most likely token"},
    {"--top-k", "K", "choose among the K most likely tokens"},
    {"--top-p", "P", "choose among the likely tokens that make up P"},
    {"--repetition-penalty", "X", "above 1: rather tokens that are new"},
    {"--seed", "N", "the same text each time"},
    {"--stop", "WORD", "end before this", true},
    {"--threads", "N", "at most so many"},
    {"--rows", "N", "prompts of --batch that run at a time (default 16)"},
    kPrefixBytes,
    kSpeculate,
    kDraft,
    kWeights,
    kPython,
};

constexpr Example kGenerateExamples[] = {
    {R"(generate llama --prompt "Once upon a time" --max-new-tokens 60)", "continues the text, piece by piece"},
    {"generate llama --prompt-ids 1,17,30 --temperature 0.8 --seed 1", "token ids, chosen by chance"},
    {"generate llama --batch prompts.txt --rows 4", "four prompts at a time"},
    {"generate llama --save llama.tenon --weights i4", "then `generate llama.tenon ...` compiles nothing"},
};

constexpr Option kServeOptions[] = {
    {"--host", "ADDRESS", "where it listens (default 127.0.0.1: this machine alone)"},
    {"--port", "N", "default 8000; 0: one that is free, which is printed"},
    {"--name", "NAME", "what clients call the model (default: the folder's name)"},
    {"--rows", "N", "requests that run at a time (default 16); others wait"},
    {"--waiting", "N", "requests that may wait (default 256); more are refused with status 503"},
    {"--cache-bytes", "N", "the most that caches of all requests take; others wait"},
    {"--max-new-tokens", "N", "the most that a request may ask for (default 1024)"},
    {"--threads", "N", "at most so many"},
    kPrefixBytes,
    kSpeculate,
    kDraft,
    kWeights,
    kPython,
};

constexpr Example kServeExamples[] = {
    {"serve llama --port 8000", "answers http://127.0.0.1:8000/v1/completions"},
    {"serve llama --rows 32 --cache-bytes 2000000000", "32 requests at a time in 2 GB of caches"},
};

int run_serve(const Arguments& arguments) { return call_python(kServeVerb, "tenon.serve.__main__", arguments); }

int run_generate(const Arguments& arguments) {
  return call_python(kGenerateVerb, "tenon.generation.__main__", arguments);
}

}  // namespace

const Verb kGenerateVerb{
    .name = "generate",
    .words = "FOLDER",
    .doc = "continue prompts with a language model",
    .about =
        "The folder is one of transformers (config.json, safetensors) or of onnxruntime-genai's model builder "
        "(genai_config.json, an ONNX model), with tokenizer.json where prompts are texts; or a file that --save wrote. "
        "The text is printed as it comes; "
        "then, to the error stream, how many tokens there were a second, the time to the first one, and memory.",
    .options = kGenerateOptions,
    .examples = kGenerateExamples,
    .run = run_generate};

const Verb kServeVerb{
    .name = "serve",
    .words = "FOLDER",
    .doc = "answer requests for texts of a language model over HTTP",
    .about =
        "The requests and answers are those of OpenAI's API: POST /v1/completions and /v1/chat/completions, also as a "
        "stream, GET /v1/models; GET /metrics is for Prometheus, GET /health for whoever balances load. Requests join "
        "and "
        "leave while others run. A client that goes away frees its place. SIGTERM or Ctrl-C ends the server when the "
        "requests that it has are answered. It needs the packages that python/requirements-serve.txt names.",
    .options = kServeOptions,
    .examples = kServeExamples,
    .run = run_serve};

}  // namespace tenon::cli
