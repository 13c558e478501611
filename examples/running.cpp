// One executable at many sizes: prepared ahead, in the caller's memory, cancelled, traced. docs/running.md explains it.
#include <tenon/tenon.h>

#include <iostream>
#include <thread>

using namespace tenon;

namespace {

Graph model() {
  const Value x = input("x", shape(f32, "batch", "seq"));
  return Graph({x}, {{"y", softmax(x)}});
}

void prepare(const Executable& executable) {
  executable.pre_specialize(std::vector<Bindings>{{{"batch", 1}, {"seq", 128}}, {{"batch", 8}, {"seq", 128}}});
  try {
    executable.specialize({{"batch", 1}, {"sequence", 128}});
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
  }
}

void run_in_own_memory(const Executable& executable) {
  std::vector<float> in(8 * 128, 1);
  std::vector<float> out(in.size());
  const std::vector<TensorView> inputs = {{.data = in.data(), .dims = {8, 128}}};
  const std::vector<TensorView> outputs = {{.data = out.data(), .dims = {8, 128}}};
  executable.run_into(inputs, outputs);
  std::cout << "1/128 is " << out.front() << "\n";
}

void cancel(const Executable& executable) {
  CancelToken token;
  std::jthread other([&] { token.cancel(); });
  try {
    while (true) {
      (void)executable.run({Array(f32, {100, 1000})}, {.cancel = &token});
    }
  } catch (const Cancelled& cancelled) {
    std::cout << cancelled.what() << "\n";
  }
}

void trace(const Executable& executable) {
  Trace trace;
  (void)executable.run({Array(f32, {1, 128})}, {.trace = &trace});
  std::cout << trace.events().size() << " event: " << trace.events().front().label << "\n";
}

}  // namespace

int main() {
  const Executable executable = compile(model());
  prepare(executable);
  run_in_own_memory(executable);
  cancel(executable);
  trace(executable);
  const RunCounters counters = executable.counters();
  std::cout << counters.compiles << " compile, " << counters.specializations << " specializations\n";
}
