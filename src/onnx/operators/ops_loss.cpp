// Losses of models that are exported for training.
#include "base/refused.h"
#include "onnx/import/registry.h"
#include "tenon/losses.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

LabelOptions label_options(const NodeCall& call) {
  const std::string reduction = call.text_attribute("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    refuse("reduction is `{}`, must be none, mean or sum", reduction);
  }
  LabelOptions options{.reduction = reduction == "none"   ? Reduction::none
                                    : reduction == "mean" ? Reduction::mean
                                                          : Reduction::sum,
                       .axis = 1,
                       .ignore_index = {},
                       .weight = call.x_or_none(2)};
  if (call.has_attribute("ignore_index")) {
    options.ignore_index = call.attribute("ignore_index");
  }
  return options;
}

/// Labels that are known are looked at now: a run would tell of a position.
void require_labels(const NodeCall& call, const LabelOptions& options) {
  const std::optional<Array> labels = call.known_array(call.x(1));
  const std::optional<int64_t> classes = call.x(0).extent(1).constant();
  if (!labels || !classes || !is_integer(labels->dtype())) {
    return;
  }
  const Array wide = labels->cast(Dtype::i64);
  for (const int64_t label : wide.values<int64_t>()) {
    if ((label < 0 || label >= *classes) && label != options.ignore_index) {
      refuse("label {} is none of the {} classes of {}", label, *classes, call.x(0).shape().to_string());
    }
  }
}

Results negative_log_likelihood(const NodeCall& call) {
  const LabelOptions options = label_options(call);
  require_labels(call, options);
  return nll_loss(call.x(0), call.x(1), options);
}

Results softmax_cross_entropy(const NodeCall& call) {
  require_labels(call, label_options(call));
  const Value loss = cross_entropy(call.x(0), call.x(1), label_options(call));
  return call.wants(1) ? std::vector<Value>{loss, log_softmax(call.x(0), 1)} : std::vector<Value>{loss};
}

}  // namespace

std::vector<OperatorEntry> loss_operators() {
  return {
      {"", "NegativeLogLikelihoodLoss", 12, negative_log_likelihood},
      {"", "SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy},
  };
}

}  // namespace tenon::importer
