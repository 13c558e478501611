// `tenon train`: a model learns from data.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/fail.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/mesh/train_mesh.h"
#include "cli/models/files.h"
#include "cli/models/load_trainable.h"
#include "cli/models/train_data.h"
#include "cli/models/write_onnx.h"
#include "cli/print/interrupt.h"
#include "cli/print/stopwatch.h"
#include "cli/print/terminal.h"
#include "cli/print/train_report.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "tenon/safetensors.h"
#include "tenon/text.h"
#include "train/trainer.h"

namespace tenon::cli {
namespace {

constexpr double kUsualHeldOut = 0.2;  // of made-up data

constexpr Option kTrainOptions[] = {
    {"--input", "NAME=FILE.npy", "all examples of an input, along its axis `batch` or its first; NAME= where several",
     true},
    {"--target", "FILE.npy", "what should come out: integers are labels, other numbers are compared"},
    {"--loss", "cross_entropy|nll|mse|l1|huber|bce|bce_logits|kl|hinge",
     "default: cross_entropy for labels, which takes logits, else mse"},
    {"--optimizer", "sgd|momentum|adam|adamw", "default: adam"},
    {"--rate", "R", "the learning rate (default 0.001; 0.01 for sgd and momentum)"},
    {"--batch", "N", "examples a step (default 32); the last batch of an epoch may be smaller, at no new compile"},
    {"--epochs", "N", "how often all examples are seen, in total (default 10)"},
    {"--validate", "PART", "hold out this part of the examples, as 0.1, and tell loss and accuracy on them"},
    {"--freeze", "PATTERN", "do not train parameters whose names match: 'layers.0.*'", true},
    {"--output", "NAME", "the output that the loss looks at (default: the first)"},
    {"--axis", "N", "the axis of classes in that output (default: 1 of four and more axes, else the last)"},
    {"--seed", "N", "of the order of examples and of which are held out (default 0)"},
    {"--bind", "NAME=SIZE,...", "sizes of axes that no file has"},
    {"--examples", "N", "how many examples to make up where no files are given"},
    {"--stop-on-nan", "", "end with an error when the loss is no number, before anything more is written"},
    {"--save", "FILE", "the trained model: FILE.onnx, FILE.graph, or FILE.safetensors for the weights alone", false,
     true},
    {"--checkpoint", "FILE.safetensors", "write where the run stands after each epoch, and when interrupted", false,
     true},
    {"--resume", "FILE.safetensors",
     "go on from there, with the settings that are in it; --rate and --epochs may change"},
    {"--curve", "FILE.svg", "a picture of the losses", false, true},
    kMesh,
    kShard,
    kRanks,
    kMeshPatience,
    kNetwork,
    kPipeline,
};

constexpr Example kTrainExamples[] = {
    {"train mlp", "a built-in model on made-up data"},
    {"train model.onnx --input x=images.npy --target labels.npy --validate 0.1 --save better.onnx", "fine-tune a file"},
    {"train model.onnx --input images.npy --target labels.npy --freeze 'features.*'", "the last layers alone"},
    {"train mlp --epochs 50 --checkpoint run.safetensors --curve run.svg", "Ctrl-C, and go on later"},
    {"train mlp --mesh data=2 --ranks threads", "each batch in two parts; processes: mpirun -n 2 tenon ..."},
    {"train bert_base --mesh pipe=2,data=2 --pipeline pipe=8", "in stages of the model, 8 pieces of a batch at a time"},
    {"train mlp --resume run.safetensors --epochs 80", "going on"},
};

/// What of a run cannot change when it is resumed, by option.
void require_same(const Arguments& arguments, std::string_view option, const std::string& given,
                  const std::string& before) {
  if (arguments.has(option) && given != before) {
    fail("`{} {}`: the run to be resumed was made with {}; begin another one for that", option, given,
         before.empty() ? "none" : before);
  }
}

train::Settings read_settings(const Arguments& arguments, const TrainingFiles& files) {
  train::Settings settings;
  settings.objective.loss = arguments.find("--loss").value_or("");
  settings.objective.output = arguments.find("--output").value_or("");
  if (arguments.has("--axis")) {
    settings.objective.axis = arguments.find_number("--axis", -16);
  }
  settings.optimizer = arguments.find("--optimizer").value_or("adam");
  settings.rate = arguments.find_real("--rate").value_or(train::find_optimizer(settings.optimizer).rate);
  settings.batch = arguments.find_number("--batch", 1).value_or(settings.batch);
  settings.epochs = arguments.find_number("--epochs", 1).value_or(settings.epochs);
  settings.held_out = arguments.find_real("--validate").value_or(files.empty() ? kUsualHeldOut : 0);
  settings.seed = static_cast<uint64_t>(arguments.find_number("--seed").value_or(0));
  settings.freeze = arguments.all("--freeze");
  if (settings.held_out >= 1) {
    fail("`--validate {}`: a part of the examples is less than 1", settings.held_out);
  }
  if (!settings.objective.loss.empty()) {
    train::find_loss(settings.objective.loss);  // an unknown one is told before anything is loaded
  } else if (files.target) {
    settings.objective.loss = usual_loss(*files.target);
  }
  return settings;
}

/// The settings of the run that goes on; `given` may change the rate and the number of epochs.
train::Settings resumed_settings(const Arguments& arguments, const train::Settings& given,
                                 const SafeTensors& checkpoint, const std::string& file) {
  train::Settings settings = train::settings_of(checkpoint, file);
  const train::TextMap wanted = train::to_texts(given);
  const train::TextMap before = train::to_texts(settings);
  constexpr std::pair<std::string_view, const char*> fixed[] = {
      {"--loss", "loss"},   {"--output", "output"},     {"--axis", "axis"}, {"--optimizer", "optimizer"},
      {"--batch", "batch"}, {"--validate", "held_out"}, {"--seed", "seed"}};
  for (const auto& [option, name] : fixed) {
    require_same(arguments, option, wanted.at(name), before.at(name));
  }
  require_same(arguments, "--freeze", fmt::format("{}", fmt::join(given.freeze, " ")),
               fmt::format("{}", fmt::join(settings.freeze, " ")));
  settings.rate = arguments.has("--rate") ? given.rate : settings.rate;
  settings.epochs = arguments.has("--epochs") ? given.epochs : settings.epochs;
  return settings;
}

/// Where the run is kept: named, or the one that it was resumed from, or beside the model's name.
std::string checkpoint_path(const Arguments& arguments) {
  if (const auto file = arguments.find("--checkpoint")) {
    return *file;
  }
  return arguments.find("--resume")
      .value_or(std::filesystem::path(arguments.rest()[0]).stem().string() + ".checkpoint.safetensors");
}

/// What takes long should fail before it begins.
void check_files(const Arguments& arguments) {
  if (const auto save = arguments.find("--save")) {
    const std::string ending = std::filesystem::path(*save).extension();
    if (ending != ".onnx" && ending != ".graph" && ending != ".safetensors") {
      fail("`--save {}`: the ending says what is written: FILE.onnx, FILE.graph or FILE.safetensors", *save);
    }
    if (ending == ".onnx") {
      require_onnx(*save);
    }
  }
}

void save(const train::Trainer& trainer, const Bindings& typical, const std::string& path) {
  const Model& model = trainer.model().inference;
  const std::string ending = std::filesystem::path(path).extension();
  const std::vector<train::Weight> weights = model_weights(model, trainer.values());
  if (ending == ".onnx") {
    write_onnx(path, {.graph = model.graph, .weights = weights, .usual = typical});
  } else if (ending == ".graph") {
    write_text(path, to_text(trainer.trained()));
  } else {
    SafeTensors tensors;
    for (const train::Weight& weight : weights) {
      tensors.arrays.emplace_back(weight.name, weight.value);
    }
    save_safetensors(path, tensors);
  }
}

/// The command that goes on from a checkpoint.
std::string command_to_resume(const Arguments& arguments, const std::string& file) {
  std::string command = fmt::format("tenon train {} --resume {}", shell_word(arguments.rest()[0]), shell_word(file));
  for (const std::string_view option : {"--input", "--target", "--bind", "--save", "--curve"}) {
    for (const std::string& value : arguments.all(option)) {
      command += fmt::format(" {} {}", option, shell_word(value));
    }
  }
  return command + (arguments.has("--stop-on-nan") ? " --stop-on-nan" : "");
}

/// What the loop needs beside the trainer.
struct Loop {
  const Arguments& arguments;
  std::string checkpoint;
  bool is_first = true;  // of the ranks of a mesh: the one that prints and writes
  std::vector<EpochRow> rows = {};
  bool interrupted = false;
};

void require_number(const Loop& loop, const train::Trainer& trainer, double loss) {
  if (loop.arguments.has("--stop-on-nan") && std::isnan(loss)) {
    fail("the loss is NaN at step {}, in epoch {}; {}", trainer.steps(),
         (trainer.steps() - 1) / trainer.steps_per_epoch() + 1,
         loop.arguments.has("--checkpoint") && !loop.rows.empty()
             ? fmt::format("{} has the run as it was after epoch {}", loop.checkpoint, loop.rows.back().epoch)
             : "nothing was saved");
  }
}

/// Until the end, or an interrupt between two steps.
void train_all(Loop& loop, train::Trainer& trainer, const Progress& progress) {
  const bool as_json = loop.arguments.has("--json");
  const bool keeps = loop.arguments.has("--checkpoint") || loop.arguments.has("--resume");
  const Pace pace(trainer.steps(), trainer.settings().epochs * trainer.steps_per_epoch());
  while (!trainer.is_done()) {
    EpochRow row{.epoch = trainer.epoch() + 1};
    row.microseconds = microseconds([&] {
      while (trainer.epoch() < row.epoch && !loop.interrupted) {
        const double loss = trainer.step();
        require_number(loop, trainer, loss);
        if (loop.is_first) {
          progress.show(pace.line(
              trainer.steps(), fmt::format("epoch {} of {}, loss {:.5g}", row.epoch, trainer.settings().epochs, loss),
              progress.columns()));
        }
        loop.interrupted = InterruptibleRun::token()->is_cancelled();
      }
    });
    if (trainer.epoch() < row.epoch) {
      return;
    }
    row.loss = epoch_loss(trainer, row.epoch - 1);
    if (trainer.held_out() > 0) {
      row.score = trainer.validate();
    }
    progress.show("");
    if (!as_json && loop.is_first) {
      if (loop.rows.empty()) {
        print_heading(row.score.has_value(), row.score && row.score->accuracy);
      }
      print_epoch(row);
    }
    loop.rows.push_back(row);
    if (keeps) {
      const SafeTensors checkpoint = trainer.checkpoint();
      if (loop.is_first) save_safetensors(loop.checkpoint, checkpoint);
    }
    if (loop.interrupted) {
      return;
    }
  }
}

/// `world`: of a mesh, of which this process, or this thread, is one rank.
int train_model(const Arguments& arguments, mesh::Communicator* world) {
  const bool is_first = world == nullptr || world->rank() == 0;
  check_files(arguments);
  const TrainingFiles files{.inputs = arguments.all("--input"), .target = arguments.find("--target")};
  const Bindings sizes = Bindings::parse(arguments.find("--bind").value_or(""));
  const auto resumed = arguments.find("--resume");
  const SafeTensors checkpoint = resumed ? load_safetensors(*resumed) : SafeTensors();
  train::Settings settings = read_settings(arguments, files);
  if (resumed) {
    settings = resumed_settings(arguments, settings, checkpoint, *resumed);
  }
  const std::string& word = arguments.rest()[0];
  const Progress progress;
  progress.show("loading");
  LoadedTrainable loaded = load_trainable(word, {.inputs = files.inputs, .sizes = sizes});
  if (files.empty() && is_model_file(word)) {
    fail("`{}` is trained on data: --input NAME=FILE.npy and --target FILE.npy; built-in models alone make some up",
         word);
  }
  const train::Objective objective = train::make_objective(loaded.model.training, settings.objective);
  settings.objective.loss = objective.kind->name;
  train::freeze(loaded.model, objective, settings.freeze);
  std::optional<int64_t> examples = arguments.find_number("--examples", 2);
  if (resumed && !examples) {
    examples = train::examples_of(checkpoint, *resumed);
  }
  train::Dataset data = files.empty() ? make_up_dataset(loaded, objective, sizes, examples, settings.seed)
                                      : read_dataset(loaded, objective, files, sizes);
  progress.show("compiling");
  train::MakeStep make;
  if (world != nullptr) {
    make = step_on_mesh(arguments, data, settings.batch, *world);
  }
  std::optional<train::Trainer> trainer;
  const double compile_us = microseconds(
      [&] { trainer.emplace(std::move(loaded.model), objective, std::move(settings), std::move(data), make); });
  if (resumed) {
    trainer->resume(checkpoint, *resumed);
    if (trainer->is_done()) {
      fail("{}: this run has made its {} epochs; `--epochs N` goes on to more", *resumed, trainer->settings().epochs);
    }
  }
  progress.show("");
  const bool as_json = arguments.has("--json");
  if (!as_json && is_first) {
    print_start(*trainer, compile_us);
  }
  Loop loop{.arguments = arguments, .checkpoint = checkpoint_path(arguments), .is_first = is_first};
  std::optional<InterruptibleRun> interruptible;
  if (world == nullptr) {
    interruptible.emplace(Patience::any);  // ranks of a mesh end at once: the others could not know between which steps
  }
  train_all(loop, *trainer, progress);
  if (!is_first) {
    if (arguments.has("--save")) trainer->values();  // of which the first rank needs every rank's part
    return 0;
  }
  std::vector<std::string> written;
  if (const auto file = arguments.find("--curve")) {
    write_text(*file, curve_svg(*trainer));
    written.push_back(*file);
  }
  if (loop.interrupted && !trainer->is_done()) {
    save_safetensors(loop.checkpoint, trainer->checkpoint());
    progress.show("");
    fmt::print(stderr, "tenon: interrupted after step {}; {} has the run. To go on:\n  {}\n", trainer->steps(),
               loop.checkpoint, command_to_resume(arguments, loop.checkpoint));
    return kInterruptedStatus;
  }
  if (const auto file = arguments.find("--save")) {
    progress.show("saving");
    save(*trainer, loaded.typical, *file);
    progress.show("");
    written.push_back(*file);
  }
  if (arguments.has("--checkpoint")) {
    written.push_back(loop.checkpoint);
  }
  if (as_json) {
    print_train_json(*trainer, loop.rows, compile_us, written);
  } else if (!written.empty()) {
    fmt::print("  wrote {}\n", fmt::join(written, ", "));
  }
  return 0;
}

int run_train(const Arguments& arguments) {
  if (arguments.has(kMesh.name)) {
    return on_ranks(arguments, [&](mesh::Communicator& world) { return train_model(arguments, &world); });
  }
  require_mesh_for_its_options(arguments);
  return train_model(arguments, nullptr);
}

}  // namespace

const Verb kTrainVerb{.name = "train",
                      .words = "MODEL",
                      .doc = "train a built-in model or fine-tune an ONNX file on data, and save what came out",
                      .about =
                          "One step (loss, gradients, optimiser) is compiled once for every size of a batch. All float "
                          "weights of an ONNX "
                          "file are trained but for scalars, what --freeze names and the statistics of batch norms, "
                          "which stay as the file "
                          "has them. A run is the same for the same seed, and one that is resumed ends with the same "
                          "bits as one that was "
                          "not interrupted.",
                      .options = kTrainOptions,
                      .examples = kTrainExamples,
                      .run = run_train};

}  // namespace tenon::cli
