#include "passes/recognize/recognize_composites.h"

#include "passes/recognize/recognize.h"

namespace tenon::passes {

Graph recognize_composites(Graph graph) {
  // Parts before wholes: attention is made of softmax, dense ends with an activation, qkv_dense is made of dense.
  for (const Recognizer find : {find_activation, find_softmax, find_norm, find_attention, find_dense, find_qkv}) {
    graph = recognize(std::move(graph), find);
  }
  return graph;
}

}  // namespace tenon::passes
