// A model in parts on several processes: `mpirun -n 2 example_mesh model=2`. Without a mesh, two threads are the
// ranks, and no MPI is needed.
#include <tenon/tenon.h>

#include <cmath>
#include <iostream>

#include "require.h"

using namespace tenon;

namespace {

// [in_parts]
// A weight of the model lies in columns over `model`, the next one in rows: the sum of parts is all that is sent.
void run(const Mesh& mesh) {
  const Model model = find_model("mlp").build();
  MeshOptions options{.shard = "layers.0.weight.1=model,layers.1.weight.0=model"};
  for (const Parameter& parameter : model.parameters) {
    options.values.emplace(parameter.name, initial_value(parameter));  // each rank keeps its part
  }
  const MeshExecutable program = compile(model.graph, mesh, options);
  const Array x = Array::full(f32, {6, 784}, 0.5);
  const Array y = program.run({x})[0];  // the same on all ranks
  // [/in_parts]

  const Array expected = compile(with_weights(model)).run({x})[0];
  for (int64_t i = 0; i < y.size(); ++i) {
    require(std::abs(y.at(i) - expected.at(i)) < 1e-4, "ranks together compute what one process does");
  }
  if (mesh.rank() == 0) {
    std::cout << mesh.axes() << ": rank 0 sent " << program.sent_bytes() << " bytes\n";
    for (const CollectiveReport& each : program.collectives()) {
      std::cout << "  " << each.kind << " over " << each.over << " of " << each.of << "\n";
    }
  }
}

}  // namespace

int main(int count, char** words) try {
  if (count > 1) {
    run(Mesh(words[1]));  // the processes that mpirun started
  } else {
    Mesh::run_as_threads("model=2", run);
  }
  return 0;
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
