// Tenon's side of `./dev bench peers`: a process that answers lines of standard input until it ends.
//   open infer|decode|train NETWORK FILE  compile; the seconds that it took
//   run FOLDER,FOLDER... TIMES            each folder's inputs (NAME.npy) in turn, so many times; the seconds of each
//   write FOLDER                          outputs of the last run, as 0.npy, 1.npy, ...
// Words are separated by tabs. An answer is one line of JSON; {"error": "..."} where it went wrong. Reading inputs is
// not timed. Machine code is neither read from disk nor kept there, so that a first call is one; with the argument
// `cached` it is both. A FILE may be one that `tenon build` made.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/models/load_trainable.h"
#include "cli/models/npy.h"
#include "cli/models/stateful_run.h"
#include "support/timing.h"
#include "tenon/load.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;  // NOLINT: as in the documentation
using Arrays = LoadedModel::Arrays;

double now() { return bench::read_clock(CLOCK_MONOTONIC); }

Arrays read_inputs(const std::filesystem::path& folder) {
  Arrays inputs;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    inputs.emplace(file.path().stem().string(), cli::read_npy(file.path()));
  }
  return inputs;
}

/// What is measured. A call gives its seconds.
class Work {
 public:
  Work() = default;
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  virtual void take(Arrays inputs) = 0;
  virtual double call() = 0;
  virtual std::vector<Array> outputs() const = 0;
};

/// A file, as a program loads one. An output `new_x` of decoding is the next call's `x`, and `past` counts on until
/// the cache is full, then begins again where it began.
class Inference : public Work {
 public:
  Inference(const std::string& model, int threads, bool decode, bool cached)
      : model_(load(model, {.compile = {.disk_cache = cached}})), options_{.threads = threads}, decode_(decode) {}

  void take(Arrays inputs) override {
    inputs_ = std::move(inputs);
    if (decode_) past_ = first_ = inputs_.at("past").values<int64_t>()[0];
  }

  double call() override {
    const double begin = now();
    outputs_ = model_.run(inputs_, options_);
    if (decode_) pass_on();
    return now() - begin;
  }

  std::vector<Array> outputs() const override {
    std::vector<Array> all;
    for (const std::string& name : model_.output_names()) {
      all.push_back(outputs_.at(name));
    }
    return all;
  }

 private:
  void pass_on() {
    for (auto& [name, value] : inputs_) {
      if (const auto found = outputs_.find("new_" + name); found != outputs_.end()) value = found->second;
    }
    past_ = past_ + 1 < inputs_.at("keys").dims()[3] ? past_ + 1 : first_;
    Array next(i64, {});
    next.mutable_values<int64_t>()[0] = past_;
    inputs_.at("past") = next;
  }

  LoadedModel model_;
  RunOptions options_;
  bool decode_;
  int64_t past_ = 0;
  int64_t first_ = 0;
  Arrays inputs_, outputs_;
};

/// A program that was built before.
class Built : public Work {
 public:
  Built(const std::string& file, int threads) : program_(load_program(file)), options_{.threads = threads} {}

  void take(Arrays inputs) override {
    inputs_.clear();
    for (const Port& port : program_.inputs()) {
      inputs_.push_back(inputs.at(port.name));
    }
  }

  double call() override {
    const double begin = now();
    outputs_ = program_.run(inputs_, options_);
    return now() - begin;
  }

  std::vector<Array> outputs() const override { return outputs_; }

 private:
  Executable program_;
  RunOptions options_;
  std::vector<Array> inputs_, outputs_;
};

/// Steps of training by cross-entropy and gradient descent with momentum. The output is the last step's loss.
class Training : public Work {
 public:
  Training(const std::string& model, int threads)
      : step_(cli::load_training_step(model, {.loss = "cross_entropy"}, "momentum")),
        executable_(compile(step_.graph, {.disk_cache = false})),
        options_{.threads = threads} {}

  /// The first time; later the weights that training has come to stay.
  void take(Arrays inputs) override {
    if (run_) return;
    std::vector<Array> all;
    for (const Port& port : executable_.inputs()) {
      const auto given = inputs.find(port.name);
      all.push_back(given != inputs.end() ? given->second : step_.values.at(port.name));
    }
    run_.emplace(executable_, step_.graph, std::move(all));
  }

  double call() override {
    const double begin = now();
    loss_ = run_.value()(options_).at(0);
    return now() - begin;
  }

  std::vector<Array> outputs() const override { return {loss_}; }

 private:
  cli::GraphModel step_;
  Executable executable_;
  RunOptions options_;
  std::optional<cli::StatefulRun> run_;
  Array loss_;
};

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

int number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) throw Error("not a count: " + text);
  return value;
}

std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return '"' + safe + '"';
}

class Server {
 public:
  Server(int threads, bool cached) : threads_(threads), cached_(cached) {}

  std::string answer(const std::vector<std::string>& words) {
    if (words.size() == 4 && words[0] == "open") return open(words[1], words[2], words[3]);
    if (words.size() == 3 && words[0] == "run" && work_) return run(split(words[1], ','), number(words[2]));
    if (words.size() == 2 && words[0] == "write" && work_) return write(words[1]);
    throw Error("what is '" + words[0] + "' with so many words, at this point?");
  }

 private:
  /// What is trained is a built-in model where there is one of that name: a file has no form with norms by the batch.
  std::string open(const std::string& kind, const std::string& network, const std::string& file) {
    work_.reset();
    const double begin = now();
    if (kind == "train") {
      const auto is_it = [&](const ModelEntry& entry) { return entry.name == network; };
      work_ = std::make_unique<Training>(std::ranges::any_of(model_table(), is_it) ? network : file, threads_);
    } else if (file.ends_with(".tenon")) {
      work_ = std::make_unique<Built>(file, threads_);
    } else {
      work_ = std::make_unique<Inference>(file, threads_, kind == "decode", cached_);
    }
    return fmt::format("{}", now() - begin);
  }

  std::string run(const std::vector<std::string>& folders, int times) {
    std::vector<Arrays> inputs;
    for (const std::string& folder : folders) {
      inputs.push_back(read_inputs(folder));
    }
    std::vector<double> seconds;
    for (Arrays& each : inputs) {
      work_->take(std::move(each));
      for (int i = 0; i < times; ++i) {
        seconds.push_back(work_->call());
      }
    }
    return fmt::format("[{}]", fmt::join(seconds, ", "));
  }

  std::string write(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const Array& output : work_->outputs()) {
      cli::write_npy(folder / fmt::format("{}.npy", number++), output);
    }
    return fmt::format("{}", number);
  }

  int threads_;
  bool cached_;
  std::unique_ptr<Work> work_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool cached = argc == 3 && std::string_view(argv[2]) == "cached";
  if (argc != 2 && !cached) {
    std::cerr << "usage: bench_peers_steps THREADS [cached], then lines; see bench/peers_steps.cpp\n";
    return 2;
  }
  Server server(number(argv[1]), cached);
  std::cout << "\"ready\"" << '\n' << std::flush;
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::cout << server.answer(split(line, '\t')) << '\n' << std::flush;
    } catch (const std::exception& error) {
      std::cout << "{\"error\": " << quoted(error.what()) << "}" << '\n' << std::flush;
    }
  }
  return 0;
}
