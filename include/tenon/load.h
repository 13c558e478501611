// Model files that run.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenon/compile.h"
#include "tenon/donate.h"
#include "tenon/onnx.h"

namespace tenon {

struct LoadOptions {
  OnnxOptions onnx = {};
  CompileOptions compile = {};
  /// Outputs that take over the memory of inputs: see donate().
  std::vector<Donation> donate = {};
  bool donate_found = false;  ///< also those that find_donations() finds
};

/// A compiled model whose inputs and outputs have names. A handle, cheap to copy; copies share the program. Safe to run
/// from many threads at once.
class LoadedModel {
 public:
  using Arrays = std::map<std::string, Array>;

  /// The outputs by name. Errors: an input that is missing or that the model does not have; else those of
  /// Executable::run().
  Arrays run(const Arrays& inputs, const RunOptions& options = {}) const;
  /// The same, but an input that an output takes over (LoadOptions::donate) is written in place when nobody else holds
  /// its memory.
  Arrays run(Arrays&& inputs, const RunOptions& options = {}) const;

  /// As the file declares them, those whose value is given at load left out; what grows along an axis has room there
  /// when it is donated.
  const std::vector<OnnxPort>& inputs() const;
  const std::vector<std::string>& output_names() const;

  /// Inputs whose value decides more than sizes: axes, an order, a number of steps. Most models have none: they are
  /// compiled when they are loaded, once. Otherwise a run compiles for values that it has not seen; the last few are
  /// kept. (Where a value is a size it is an axis name, `shape[0]`; one below 1 has a meaning of its own and is
  /// compiled for too.)
  std::vector<std::string> value_inputs() const;
  /// How often the model was compiled so far: once, unless values decide shapes, or sizes a rank or a branch; not at
  /// all where this machine compiled the file before and kept the program. Which sizes the last program that ran is for
  /// is told by assumptions().
  int compile_count() const;
  /// What the last program that ran takes for granted of sizes: the rank that a Squeeze without axes gives, a branch of
  /// another shape. A run at other sizes compiles a program for them.
  std::vector<OnnxAssumption> assumptions() const;
  /// The compiled program; an Error for a model with value_inputs() that has not run yet, else the last one that ran.
  Executable executable() const;

 private:
  friend LoadedModel load(const std::filesystem::path& file, const LoadOptions& options);
  struct State;
  explicit LoadedModel(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

/// Read an ONNX model and compile it for all sizes of its named axes:
///   const LoadedModel model = load("model.onnx");
///   const auto out = model.run({{"input_ids", ids}});
/// The program is kept under the user's cache directory, and another load of the same file finds it there, unless
/// CompileOptions::disk_cache is off. It is written on another thread when the first run is over; the end of the
/// process waits for that.
LoadedModel load(const std::filesystem::path& file, const LoadOptions& options = {});

}  // namespace tenon
