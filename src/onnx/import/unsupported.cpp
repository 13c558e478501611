#include "onnx/import/unsupported.h"

#include <set>
#include <vector>

#include "base/fail.h"
#include "onnx/import/registry.h"

namespace tenon::importer {
namespace {

struct Missing {
  int count = 0;
  std::string first_place;
};

class Search {
 public:
  Search(const proto::ModelProto& model, const ReadOpsets& read_opsets) : model_(model), read_opsets_(read_opsets) {}

  void look_at(const google::protobuf::RepeatedPtrField<proto::NodeProto>& nodes, const OpsetTable& opsets) {
    for (const proto::NodeProto& node : nodes) {
      for (const proto::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) {
          look_at(attribute.g().node(), opsets);
        }
      }
      if (const proto::FunctionProto* function = find_local_function(model_, node)) {
        if (seen_.insert(function).second) {
          pending_.push_back(function);  // not at once: chains of functions may be long
        }
        continue;
      }
      const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
      const auto opset = opsets.find(domain);
      if (find_operator(domain, node.op_type(), opset == opsets.end() ? 1 : opset->second) == nullptr) {
        const std::string name = domain.empty() ? node.op_type() : domain + "." + node.op_type();
        Missing& missing = missing_[name];
        if (++missing.count == 1) {
          missing.first_place = !node.name().empty()     ? node.name()
                                : node.output_size() > 0 ? node.output(0)
                                                         : "a node without name";
        }
      }
    }
  }

  /// Functions that were called, and those that they call.
  void look_at_functions() {
    while (!pending_.empty()) {
      const proto::FunctionProto& function = *pending_.back();
      pending_.pop_back();
      look_at(function.node(), read_opsets_(function.opset_import()));
    }
  }

  void report() const {
    if (missing_.empty()) {
      return;
    }
    std::string text;
    for (const auto& [name, missing] : missing_) {
      text +=
          fmt::format("{}{} ({}, first at \"{}\")", text.empty() ? "" : ", ", name, missing.count, missing.first_place);
    }
    fail("the model has operators that are not supported: {}", text);
  }

 private:
  const proto::ModelProto& model_;
  const ReadOpsets& read_opsets_;
  std::set<const proto::FunctionProto*> seen_;
  std::vector<const proto::FunctionProto*> pending_;
  std::map<std::string, Missing> missing_;
};

}  // namespace

const proto::FunctionProto* find_local_function(const proto::ModelProto& model, const proto::NodeProto& node) {
  for (const auto& function : model.functions()) {
    if (function.name() == node.op_type() && function.domain() == node.domain()) {
      return &function;
    }
  }
  return nullptr;
}

void require_supported(const proto::ModelProto& model, const OpsetTable& opsets, const ReadOpsets& read_opsets) {
  Search search(model, read_opsets);
  search.look_at(model.graph().node(), opsets);
  search.look_at_functions();
  search.report();
}

}  // namespace tenon::importer
