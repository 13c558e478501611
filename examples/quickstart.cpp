// The example of README.md: build, print, read back, run at two bindings.
// [quickstart]
#include <tenon/tenon.h>

#include <iostream>

int main() {
  using namespace tenon;
  const Value x = input("x", shape(f32, "batch", "seq", 4));
  const Value w = input("w", shape(f32, 4, 3));
  const Graph model({x, w}, {{"y", relu(matmul(x, w) + 1.0)}});
  std::cout << to_text(model);                     // y: f32[batch, seq, 3]
  const Graph same = parse_graph(to_text(model));  // and back
  const Array weights = Array::full(f32, {4, 3}, 0.5);
  for (const int64_t seq : {1, 5}) {  // one graph, every size
    std::cout << interpret(same, {Array::full(f32, {2, seq, 4}, 1), weights})[0].to_string(6) << "\n";
  }
}
// [/quickstart]
