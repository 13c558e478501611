// What a run of training is made with.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/optimizers.h"
#include "train/objective.h"

namespace tenon::train {

struct OptimizerKind {
  std::string_view name;
  std::string_view doc;
  double rate = 0;  // a usual one
  UpdateRule (*make)(double rate) = nullptr;
};
std::span<const OptimizerKind> optimizer_table();
/// An Error that lists what there is.
const OptimizerKind& find_optimizer(std::string_view name);

struct Settings {
  ObjectiveOptions objective = {};
  std::string optimizer = "adam";
  double rate = 0;
  int64_t batch = 32;
  int64_t epochs = 10;
  double held_out = 0;  // the part of the examples that is not trained on
  uint64_t seed = 0;    // of the order of examples, and of which are held out
  std::vector<std::string> freeze = {};

  friend bool operator==(const Settings&, const Settings&) = default;
};

using TextMap = std::map<std::string, std::string>;
/// One of them as a whole number; an Error that names `file` where it is missing or none.
int64_t number_in(const TextMap& texts, const std::string& name, std::string_view file);

/// As texts by name, and back; Errors as above.
TextMap to_texts(const Settings& settings);
Settings settings_from(const TextMap& texts, std::string_view file);

}  // namespace tenon::train
