// Names of a model go with it into files and come back.
#include <gtest/gtest.h>

#include <set>

#include "ir/node.h"
#include "onnx/export/round_trip.h"
#include "tenon/ops.h"

namespace tenon::export_names_test {
namespace {

TEST(ExportNames, ArePlacesOfNodes) {
  const Value x = input("x", shape(f32, "n", 4));
  const Value w = input("w", shape(f32, 4, 8));
  const Value b = input("b", shape(f32, 8));
  const Graph graph = [&] {
    const Place place("layers.0");
    return Graph("f", {x, w, b}, {{"y", relu(matmul(x, w) + b)}});
  }();
  const auto places = [](const Graph& of) {
    std::set<std::string> found;
    for (const Node* node : of.nodes()) {
      found.insert(node->place);
    }
    found.erase("");
    return found;
  };
  const Graph again = round_trip(graph);
  EXPECT_EQ(places(again), (std::set<std::string>{"layers.0", "layers.0/Add", "layers.0/Relu"}));
  EXPECT_EQ(places(round_trip(again)), places(again));
}

}  // namespace
}  // namespace tenon::export_names_test
