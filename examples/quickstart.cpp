// The example of README.md: build, compile once, run at two bindings, explain.
// [quickstart]
#include <tenon/tenon.h>

#include <iostream>

int main() {
  using namespace tenon;
  const Value x = input("x", shape(f32, "batch", "seq", 4));
  const Value w = input("w", shape(f32, 4, 3));
  const Graph model({x, w}, {{"y", relu(matmul(x, w) + 1.0)}});
  const Executable executable = compile(model);  // once
  const Array weights = Array::full(f32, {4, 3}, 0.5);
  for (const int64_t seq : {1, 5}) {  // at every size
    std::cout << executable.run({Array::full(f32, {2, seq, 4}, 1), weights})[0].to_string(6) << "\n";
  }
  std::cout << executable.explain();
}
// [/quickstart]
