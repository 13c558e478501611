#include "tenon/donate.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/fail.h"
#include "ir/unify_names.h"
#include "ir/walk.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/uniform.h"
#include "tenon/elementwise.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

const std::string& input_name(const Value& value) { return value.node().as<Input>()->name; }

bool same_shape(const Value& a, const Value& b) {
  return a.dtype() == b.dtype() &&
         std::ranges::equal(a.shape().axes(), b.shape().axes(), {}, &Axis::extent, &Axis::extent);
}

/// The concat that makes the input longer, and scatters into what it gives, the last one first.
struct Growth {
  const Node* concat = nullptr;
  std::vector<const Node*> scatters = {};

  int axis() const { return concat->as<Concat>()->axis; }
  /// Zeros behind the input, where the scatters write what is new: they make room, and there is room already.
  bool is_room() const {
    return !scatters.empty() && std::all_of(concat->inputs.begin() + 1, concat->inputs.end(),
                                            [](const Value& part) { return passes::uniform_number(part) == 0.0; });
  }
};

/// How the output is the input with something behind it, into which positions may be written; nothing where it is
/// anything else.
std::optional<Growth> growth_of(const Value& input, const Value& output) {
  Growth growth;
  growth.concat = &output.node();
  while (growth.concat->as<Scatter>() != nullptr) {
    growth.scatters.push_back(growth.concat);
    growth.concat = &growth.concat->inputs[0].node();
  }
  const Node& concat = *growth.concat;
  if (concat.as<Concat>() == nullptr || concat.inputs[0] != input || concat.inputs.size() < 2 ||
      std::ranges::count(concat.inputs, input) > 1) {  // past behind past is no new part
    return {};
  }
  for (const Node* scatter : growth.scatters) {  // others write all places along the axis, or each in its own batch
    if (std::ranges::find(scatter->as<Scatter>()->axes, growth.axis()) == scatter->as<Scatter>()->axes.end()) {
      return {};
    }
  }
  return growth;
}

bool can_donate(const Value& input, const Value& output) {
  return same_shape(input, output) || growth_of(input, output);
}

/// Letters in lower case and numbers, apart where anything else stands between them.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words = {""};
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::erase(words, "");
  return words;
}

using Words = std::vector<std::string>;

struct Affixes {
  std::vector<Words> before;
  std::vector<Words> behind;
};

/// What a name says beside that it is the state before a run, or after it; nothing where it says neither.
std::optional<Words> stem_of(const std::string& name, const Affixes& affixes) {
  const Words words = words_of(name);
  for (const Words& before : affixes.before) {
    if (words.size() >= before.size() && std::equal(before.begin(), before.end(), words.begin())) {
      return Words(words.begin() + std::ssize(before), words.end());
    }
  }
  for (const Words& behind : affixes.behind) {
    if (words.size() > behind.size() && std::equal(behind.rbegin(), behind.rend(), words.rbegin())) {
      return Words(words.begin(), words.end() - std::ssize(behind));
    }
  }
  return {};
}

const Affixes kBeforeRun = {
    .before = {{"past", "key", "values"}, {"past", "key", "value"}, {"past"}, {"old"}, {"prev"}},
    .behind = {{"in"}, {"input"}, {"prev"}, {"old"}}};
const Affixes kAfterRun = {
    .before = {{"present", "key", "values"}, {"present", "key", "value"}, {"present"}, {"new"}, {"next"}, {"updated"}},
    .behind = {{"out"}, {"output"}, {"new"}, {"next"}}};

/// Whether the names say that the output is the input after a run.
bool are_paired(const std::string& input, const std::string& output) {
  const std::optional<Words> after = stem_of(output, kAfterRun);
  return after && (*after == stem_of(input, kBeforeRun) || (!after->empty() && *after == words_of(input)));
}

template <class Items, class Name>
std::string list_names(const Items& items, const Name& name) {
  std::string text;
  for (const auto& item : items) {
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", std::invoke(name, item));
  }
  return text.empty() ? "none" : text;
}

size_t donated_input(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.inputs(), name, input_name);
  if (found == graph.inputs().end()) {
    fail("donate {}: the model has no such input; it takes {}", name, list_names(graph.inputs(), input_name));
  }
  return static_cast<size_t>(found - graph.inputs().begin());
}

size_t donated_output(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.outputs(), name, &Output::name);
  if (found == graph.outputs().end()) {
    fail("donate to {}: the model has no such output; it gives {}", name, list_names(graph.outputs(), &Output::name));
  }
  return static_cast<size_t>(found - graph.outputs().begin());
}

std::set<std::string, std::less<>> names_in(const Graph& graph) {
  std::set<std::string, std::less<>> names;
  const auto add = [&](const Shape& shape) {
    for (const Axis& axis : shape.axes()) {
      const std::vector<std::string> found = axis.extent().names();
      names.insert(found.begin(), found.end());
    }
  };
  for (const Value& value : graph.inputs()) {
    add(value.shape());
  }
  for (const Node* node : graph.nodes()) {
    std::ranges::for_each(node->shapes, add);
  }
  return names;
}

/// An input that gets room behind its elements.
struct Growing {
  Value cache;           // the input with room
  Extent past;           // places that hold something
  int axis = 0;          // along which it grows
  bool is_room = false;  // nothing is written but by scatters
  Extent total = {};     // places that hold something afterwards
  Value updated = {};    // the cache with what is new, once that is built
};

std::vector<Extent> extents(const Value& x) { return extents_of(x.shape().axes()); }

/// The first places of the cache along its axis.
Value first_of(const Value& cache, int axis, const Extent& count) {
  std::vector<Extent> size = extents(cache);
  size[static_cast<size_t>(axis)] = count;
  return slice(cache, std::vector<Extent>(size.size(), 0), size);
}

/// The scatter into the cache with room: positions mean what they meant in the part that is in use, and others are
/// errors as they were.
Value scatter_with_room(const Node& scatter, const std::vector<Value>& operands, const Growing& growing) {
  const auto& op = *scatter.as<Scatter>();
  std::vector<Value> into = operands;
  into[0] = growing.updated;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    if (op.axes[i] == growing.axis) {
      const Value given = cast(operands[2 + i], Dtype::i64);
      const Value total = extent_value(growing.total);
      const Value place = select(lt(given, 0), given + total, given);
      const Value is_there = logical_and(ge(place, 0), lt(place, total));
      into[2 + i] = select(is_there, place, extent_value(growing.cache.extent(growing.axis)));
    }
  }
  return make(op, into);
}

class Donating {
 public:
  explicit Donating(const Graph& graph)
      : graph_(graph), inputs_(graph.inputs()), outputs_(graph.outputs()), names_(names_in(graph)) {}

  void add(const Donation& pair) {
    const size_t from = donated_input(graph_, pair.input);
    const size_t to = donated_output(graph_, pair.output);
    const Value& input = graph_.inputs()[from];
    const Value& output = graph_.outputs()[to].value;
    if (!given_.insert(from).second || !taken_.insert(to).second) {
      fail("donate {}={}: `{}` is donated already", pair.input, pair.output,
           taken_.contains(to) ? pair.output : pair.input);
    }
    if (const std::optional<Growth> growth = growth_of(input, output); growth && !same_shape(input, output)) {
      Growing& growing = growing_.emplace(growth->concat, grow(input, *growth)).first->second;
      for (const Node* scatter : growth->scatters) {
        written_.emplace(scatter, &growing);
      }
      inputs_[from] = growing.cache;
      sources_.emplace(to, growth->concat);
    } else if (!same_shape(input, output)) {
      fail("donate {}={}: the output is {} and no update of the input, which is {}, nor that with something behind it",
           pair.input, pair.output, output.shape().to_string(), input.shape().to_string());
    }
    outputs_[to].aliases = static_cast<int>(from);
  }

  Graph finish() && {
    if (!growing_.empty()) {
      rebuild();
    }
    return {graph_.name(), std::move(inputs_), std::move(outputs_), graph_.relations()};
  }

 private:
  Growing grow(const Value& input, const Growth& growth) {
    const int axis = growth.axis();
    const Extent& past = input.extent(axis);
    auto capacity = capacities_.find(past);
    if (capacity == capacities_.end()) {
      std::string name = "capacity";
      for (int i = 2; !names_.insert(name).second; ++i) {
        name = fmt::format("capacity_{}", i);
      }
      capacity = capacities_.emplace(past, Axis(Extent::name(name))).first;
    }
    std::vector<Axis> axes = growth.concat->shapes[0].axes();  // where what is new says more of a size than the input
    axes[static_cast<size_t>(axis)] = capacity->second;
    return {.cache = tenon::input(input_name(input), input.shape().with_axes(axes)),
            .past = past,
            .axis = axis,
            .is_room = growth.is_room()};
  }

  void rebuild() {
    const UnifyNames unify;
    std::unordered_map<Value, Value> known;
    for (auto& [concat, growing] : growing_) {
      known.emplace(concat->inputs[0], first_of(growing.cache, growing.axis, growing.past));
    }
    std::vector<Value> roots;
    for (const Output& output : outputs_) {
      roots.push_back(output.value);
    }
    const std::vector<Value> values = passes::rewrite_values(
        roots, std::move(known),
        [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
          if (const auto written = written_.find(&node); written != written_.end()) {
            Growing& growing = *written->second;
            growing.updated = scatter_with_room(node, operands, growing);
            return std::vector<Value>{first_of(growing.updated, growing.axis, growing.total)};
          }
          const auto found = growing_.find(&node);
          if (found == growing_.end()) {
            return {};
          }
          Growing& growing = found->second;
          const std::vector<Value> parts(operands.begin() + 1, operands.end());
          const Value fresh = parts.size() == 1 ? parts[0] : concat(parts, growing.axis);
          std::vector<Extent> start(static_cast<size_t>(fresh.rank()), 0);
          start[static_cast<size_t>(growing.axis)] = growing.past;
          growing.updated = growing.is_room ? growing.cache : update_slice(growing.cache, fresh, start);
          growing.total = growing.past + fresh.extent(growing.axis);
          return std::vector<Value>{first_of(growing.updated, growing.axis, growing.total)};
        });
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto source = sources_.find(i);
      outputs_[i].value = source == sources_.end() ? values[i] : growing_.at(source->second).updated;
    }
  }

  const Graph& graph_;
  std::vector<Value> inputs_;
  std::vector<Output> outputs_;
  std::set<std::string, std::less<>> names_;
  std::set<size_t> given_;
  std::set<size_t> taken_;
  std::unordered_map<const Node*, Growing> growing_;   // by the concat that they grow in
  std::unordered_map<const Node*, Growing*> written_;  // by the scatters into these
  std::map<size_t, const Node*> sources_;              // of outputs
  std::unordered_map<Extent, Axis> capacities_;        // by what is there already
};

}  // namespace

Donation parse_donation(std::string_view text) {
  const size_t split = text.find('=');
  if (split == std::string_view::npos || split == 0 || split + 1 == text.size()) {
    fail("`{}` is no donation: write INPUT=OUTPUT, such as past=present", text);
  }
  return {.input = std::string(text.substr(0, split)), .output = std::string(text.substr(split + 1))};
}

Graph donate(const Graph& graph, const std::vector<Donation>& pairs) {
  Donating donating(graph);
  for (const Donation& pair : pairs) {
    donating.add(pair);
  }
  return std::move(donating).finish();
}

std::vector<Donation> find_donations(const Graph& graph) {
  std::vector<Donation> found;
  std::set<const Node*> given;
  for (const Output& output : graph.outputs()) {
    const Value* source = nullptr;
    int candidates = 0;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value& input = graph.inputs()[i];
      const bool is_declared = output.aliases == static_cast<int>(i);
      if (is_declared ||
          (output.aliases < 0 && are_paired(input_name(input), output.name) && can_donate(input, output.value))) {
        source = &input;
        ++candidates;
      }
    }
    if (candidates == 1 && given.insert(&source->node()).second) {
      found.push_back({.input = input_name(*source), .output = output.name});
    }
  }
  return found;
}

std::vector<std::string> describe_donations(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Output& output : graph.outputs()) {
    if (output.aliases < 0) {
      continue;
    }
    const std::string& input = input_name(graph.inputs()[static_cast<size_t>(output.aliases)]);
    Extent written = 0;
    Value value = output.value;
    for (; value.node().as<Update>(); value = value.node().inputs[0]) {
      written += value.node().inputs[1].shape().element_count();
    }
    lines.push_back(value.node().as<Input>() && value != output.value
                        ? fmt::format("output `{}` takes over input `{}`: {} of {} elements are written", output.name,
                                      input, written.to_string(), output.value.shape().element_count().to_string())
                        : fmt::format("output `{}` takes over input `{}`", output.name, input));
  }
  return lines;
}

}  // namespace tenon
