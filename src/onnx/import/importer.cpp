#include "onnx/import/importer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/fail.h"
#include "ir/data_axes.h"
#include "ir/unify_names.h"
#include "onnx/import/declared_shape.h"
#include "onnx/import/functions.h"
#include "onnx/import/operand_formats.h"
#include "onnx/import/operand_ranks.h"
#include "onnx/import/registry.h"
#include "onnx/import/unsupported.h"
#include "ops/keep_binders.h"
#include "ops/needed_by.h"
#include "tenon/ops.h"

namespace tenon::importer {
namespace {

constexpr int kFirstIrWithOpsets = 3;
constexpr int kDeepestNesting = 64;
constexpr int64_t kMostFunctionNodes = 100'000;  // functions that call functions multiply

bool has_body(const proto::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const proto::AttributeProto& each) { return each.has_g(); });
}

/// The node that is called so in the bodies of `node`, at any depth.
const proto::NodeProto* find_in_bodies(const proto::NodeProto& node, std::string_view place) {
  for (const proto::AttributeProto& attribute : node.attribute()) {
    for (const proto::NodeProto& inner : attribute.g().node()) {
      if (describe(inner) == place) {
        return &inner;
      }
      if (const proto::NodeProto* deeper = find_in_bodies(inner, place)) {
        return deeper;
      }
    }
  }
  return nullptr;
}

/// What an error does not say yet of where in the model it arose. Some say it: a builder, or a node in a body.
void tell_place(Error& error, const proto::NodeProto& node) {
  constexpr std::string_view said = "at node \"";
  constexpr std::string_view in_body = "in the body of \"";
  const std::string_view text = error.what();
  const size_t found = text.find(said);
  if (found == std::string_view::npos) {
    error.note(fmt::format("at node \"{}\" ({})", describe(node), node.op_type()));
    return;
  }
  if (text.find(in_body) != std::string_view::npos) {
    return;
  }
  const size_t begin = found + said.size();
  if (const proto::NodeProto* inner = find_in_bodies(node, text.substr(begin, text.find('"', begin) - begin))) {
    error.note(fmt::format("which is {} {}{}\" ({})", inner->op_type(), in_body, describe(node), node.op_type()));
  }
}

/// Masks hold infinities, and single numbers are scales and limits.
bool may_be_trained(const Array& value, bool is_unread) {
  if (!is_float(value.dtype()) || value.rank() == 0) {
    return false;
  }
  if (is_unread) {
    return true;
  }
  for (int64_t i = 0; i < value.size(); ++i) {
    if (!std::isfinite(value.at(i))) {
      return false;
    }
  }
  return true;
}

std::map<std::string, int, std::less<>> read_opsets(
    const google::protobuf::RepeatedPtrField<proto::OperatorSetIdProto>& list) {
  std::map<std::string, int, std::less<>> opsets;
  for (const auto& opset : list) {
    const std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    if (opset.version() < 1 || (domain.empty() && opset.version() > kNewestOpset)) {
      fail("the model is of opset {}; 1 to {} are supported", opset.version(), kNewestOpset);
    }
    opsets[domain] = static_cast<int>(std::min<int64_t>(opset.version(), 1000));
  }
  opsets.try_emplace("", 1);
  return opsets;
}

}  // namespace

Importer::Importer(const proto::ModelProto& model, ExternalFiles files, const OnnxOptions& options,
                   const std::set<std::string>& constants, std::vector<bool> guesses)
    : model_(model),
      options_(options),
      constants_(constants),
      files_(std::move(files)),
      opsets_(read_opsets(model.opset_import())),
      sizes_(options.at),
      guesses_(std::move(guesses)) {
  if (model.ir_version() >= kFirstIrWithOpsets && model.opset_import_size() == 0) {
    fail("the model does not say which opset it is of");
  }
}

Importer::Mark Importer::mark() const {
  return {scopes_.size(), visible_from_, relations_.size(), decided_.size(), assumed_.size(),
          guessed_,       trips_.size(), graphs_.size(),    depth_,          opsets_};
}

void Importer::rewind(const Mark& to) {
  scopes_.resize(to.scopes);
  visible_from_ = to.visible_from;
  relations_.erase(relations_.begin() + static_cast<std::ptrdiff_t>(to.relations), relations_.end());
  decided_.erase(decided_.begin() + static_cast<std::ptrdiff_t>(to.decided), decided_.end());
  assumed_.erase(assumed_.begin() + static_cast<std::ptrdiff_t>(to.assumed), assumed_.end());
  graphs_.resize(to.graphs);
  guessed_ = to.guessed;
  trips_.resize(to.trips);
  advice_.clear();
  depth_ = to.depth;
  opsets_ = to.opsets;
}

void Importer::define(const std::string& name, Item item) {
  if (!name.empty() && !scopes_.back().emplace(name, std::move(item)).second) {
    fail("`{}` is defined twice", name);
  }
}

Item Importer::find(const std::string& name) const {
  for (size_t i = scopes_.size(); i > visible_from_; --i) {
    if (const auto found = scopes_[i - 1].find(name); found != scopes_[i - 1].end()) {
      return found->second;
    }
  }
  fail("`{}` is used before anything defines it", name);
}

Items Importer::find_all(const google::protobuf::RepeatedPtrField<std::string>& names) const {
  Items items;
  for (const std::string& name : names) {
    items.push_back(name.empty() ? Item() : find(name));
  }
  return items;
}

void Importer::read_initializers(const proto::GraphProto& graph, bool is_main) {
  for (const auto& tensor : graph.initializer()) {
    const Array value = to_array(tensor, files_);
    if (is_main && options_.weights != nullptr && !constants_.contains(tensor.name()) &&
        may_be_trained(value, options_.weights_unread)) {
      graph_inputs_[tensor.name()] = true;
      weights_.push_back(input(tensor.name(), Shape(value.dtype(), {value.dims().begin(), value.dims().end()})));
      options_.weights->push_back({tensor.name(), value, tensor.doc_string() == kStatisticDoc});
      define(tensor.name(), weights_.back());
      continue;
    }
    define(tensor.name(), Item(constant(value), format_of(tensor.data_type())));
  }
  if (graph.sparse_initializer_size() > 0) {
    fail("sparse initializers are not supported");
  }
}

void Importer::tell_statistic(const Value& value) {
  if (const auto at = std::ranges::find(weights_, value); at != weights_.end()) {
    (*options_.weights)[static_cast<size_t>(at - weights_.begin())].statistic = true;
  }
}

void Importer::read_inputs(const proto::GraphProto& graph, std::vector<Value>& inputs) {
  const std::set<std::string> names = plain_names(graph);
  std::set<std::string> used;
  for (const auto& input : graph.input()) {
    if (scopes_.back().contains(input.name())) {
      continue;  // older models list initializers among the inputs too
    }
    if (const auto given = options_.values.find(input.name()); given != options_.values.end()) {
      used.insert(input.name());
      define(input.name(), constant(as_declared(given->second, declared_shape(input, names), input.name())));
      continue;
    }
    graph_inputs_[input.name()] = true;
    const auto other = options_.shapes.find(input.name());
    const Shape shape = other != options_.shapes.end() ? other->second : declared_shape(input, names);
    used.insert(input.name());
    inputs.push_back(tenon::input(input.name(), shape));
    define(input.name(), Item(inputs.back(), format_of(input.type().tensor_type().elem_type())));
    if (const auto sizes = options_.sizes.find(input.name()); sizes != options_.sizes.end()) {
      tell_sizes(inputs.back(), sizes->second);
    }
  }
  const auto require_used = [&](const auto& given) {
    for (const auto& [name, _] : given) {
      if (!used.contains(name)) {
        fail("the model has no input `{}`", name);
      }
    }
  };
  require_used(options_.values);
  require_used(options_.shapes);
  require_used(options_.sizes);
}

void Importer::read_sizes(const std::vector<Value>& inputs) {
  std::vector<ConcreteInput> given;
  for (const Value& input : inputs) {
    const std::string& name = input.node().as<Input>()->name;
    if (const auto dims = options_.dims.find(name); dims != options_.dims.end()) {
      given.push_back({name, input.shape(), input.dtype(), dims->second});
    }
  }
  for (const auto& [name, size] : extract(given)) {
    sizes_.set(name, size);
  }
}

void Importer::tell_sizes(const Value& input, const std::vector<std::string>& names) {
  const Shape& shape = input.shape();
  if (!is_integer(shape.dtype()) || shape.rank() > 1 ||
      shape.element_count() != Extent(static_cast<int64_t>(names.size()))) {
    fail("{} names are given for the elements of an input that is {}", names.size(), shape.to_string());
  }
  Elements elements;
  for (const std::string& name : names) {
    elements.push_back({Extent::name(name)});
  }
  known_.tell(input, std::move(elements));
}

Graph Importer::run() {
  const proto::GraphProto& graph = model_.graph();
  require_supported(model_, opsets_, read_opsets);
  const UnifyNames unify;
  DataAxisScope data_axes;
  scopes_.emplace_back();
  std::vector<Value> inputs;
  read_initializers(graph, true);
  read_inputs(graph, inputs);
  read_sizes(inputs);
  for (const Value& input : inputs) {
    data_axes.taken.merge(needed_axes(input.node()));
  }
  graphs_.push_back(&graph);
  run_nodes(graph.node());
  inputs.insert(inputs.end(), weights_.begin(), weights_.end());
  std::vector<Output> outputs;
  for (const auto& output : graph.output()) {
    const Item item = find(output.name());
    if (!item.value) {
      fail("output `{}` is a sequence, which is not supported", output.name());
    }
    outputs.push_back({.name = output.name(), .value = item.value});
  }
  if (outputs.empty()) {
    fail("the model has no outputs");
  }
  keep_binders(outputs, relations_, data_axes.made);
  if (options_.assumed != nullptr) {
    *options_.assumed = std::move(assumed_);
  }
  return {graph.name().empty() ? "main" : graph.name(), std::move(inputs), std::move(outputs), std::move(relations_)};
}

void Importer::run_nodes(const google::protobuf::RepeatedPtrField<proto::NodeProto>& nodes) {
  for (const proto::NodeProto& node : nodes) {
    if (visible_from_ > 0 && ++function_nodes_ > kMostFunctionNodes) {
      fail("calls of functions are more than {} nodes", kMostFunctionNodes);
    }
    const Place place(describe(node));
    try {
      run_node(node);
    } catch (Error& error) {
      tell_place(error, node);
      if (!advice_.empty()) {
        error.note(std::exchange(advice_, {}));
      }
      throw;
    }
  }
}

void Importer::run_node(const proto::NodeProto& node) {
  if (node.output_size() == 0) {
    fail("it has no outputs, so that nothing can use what it computes");
  }
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  const Items operands = find_all(node.input());
  Items results;
  if (const proto::FunctionProto* function = find_local_function(model_, node)) {
    results = run_function(*function, node, operands);
  } else {
    const auto opset = opsets_.find(domain);
    const int version = opset == opsets_.end() ? 1 : opset->second;
    const OperatorEntry* entry = find_operator(domain, node.op_type(), version);
    if (entry == nullptr) {
      fail("operator {} is not supported", node.op_type());
    }
    require_operand_ranks(domain, node.op_type(), version, operands);
    std::optional<NeededBy> needed;
    if (!has_body(node)) {  // nodes of bodies speak for themselves
      needed.emplace(node.op_type());
    }
    results = entry->import(NodeCall(*this, node, operands, version)).items;
    if (domain.empty()) {
      carry_formats(entry->elements, node.op_type(), operands, results);
    }
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) {
      continue;
    }
    if (static_cast<size_t>(i) >= results.size()) {
      fail("output {} of {} is not supported", i, node.op_type());
    }
    if (i == 0 && results[0].value && options_.merged != nullptr) {
      const Value& value = results[0].value;
      const std::string maker(value.node().place.empty() ? value.name() : std::string_view(value.node().place));
      if (const std::string own = describe(node); !maker.empty() && maker != own) {
        options_.merged->emplace(own, maker);
      }
    }
    define(node.output(i), std::move(results[static_cast<size_t>(i)]));
  }
}

Items Importer::run_function(const proto::FunctionProto& function, const proto::NodeProto& node,
                             const Items& operands) {
  if (++depth_ > kDeepestNesting) {
    fail("functions and bodies nest deeper than {}", kDeepestNesting);
  }
  const auto nodes = instantiate(function, node);
  const size_t previous_scope = std::exchange(visible_from_, scopes_.size());
  Opsets previous_opsets = std::exchange(opsets_, read_opsets(function.opset_import()));
  scopes_.emplace_back();
  graphs_.push_back(nullptr);
  for (int i = 0; i < function.input_size(); ++i) {
    define(function.input(i), static_cast<size_t>(i) < operands.size() ? operands[static_cast<size_t>(i)] : Item());
  }
  run_nodes(nodes);
  Items results = find_all(function.output());
  graphs_.pop_back();
  scopes_.pop_back();
  opsets_ = std::move(previous_opsets);
  visible_from_ = previous_scope;
  --depth_;
  return results;
}

Items Importer::run_body(const proto::GraphProto& body, const Items& inputs, const Value& trip) {
  if (++depth_ > kDeepestNesting) {
    fail("functions and bodies nest deeper than {}", kDeepestNesting);
  }
  if (static_cast<size_t>(body.input_size()) != inputs.size()) {
    fail("the body `{}` takes {} inputs, must take {}", body.name(), body.input_size(), inputs.size());
  }
  scopes_.emplace_back();
  graphs_.push_back(&body);
  read_initializers(body, false);
  for (int i = 0; i < body.input_size(); ++i) {
    define(body.input(i).name(), inputs[static_cast<size_t>(i)]);
  }
  if (trip) {
    trips_.push_back(trip);
  }
  run_nodes(body.node());
  if (trip) {
    trips_.pop_back();
  }
  Items results;
  for (const auto& output : body.output()) {
    results.push_back(find(output.name()));
  }
  graphs_.pop_back();
  scopes_.pop_back();
  --depth_;
  return results;
}

}  // namespace tenon::importer
