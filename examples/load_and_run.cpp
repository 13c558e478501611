// Load an ONNX model, run it at several sizes, and see that it was compiled once.
//   load_and_run MODEL.onnx   runs that model; without a word, one that this program writes first
#include <tenon/load.h>
#include <tenon/onnx_export.h>
#include <tenon/tenon.h>

#include <filesystem>
#include <iostream>

namespace {

/// A model that somebody might have: a dense layer and a softmax, for any batch.
void write_model(const std::filesystem::path& path) {
  using namespace tenon;
  const Value x = input("x", shape(f32, "batch", 4));
  const Value weight = constant(Array::from<float>({4, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}));
  export_onnx(Graph("classifier", {x}, {{"probabilities", softmax(matmul(x, weight))}}), path);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::filesystem::path own = std::filesystem::temp_directory_path() / "tenon_load_and_run.onnx";
    const std::filesystem::path path = argc > 1 ? argv[1] : own;
    if (argc == 1) {
      write_model(own);
    }
    // [load]
    const tenon::LoadedModel model = tenon::load(path);
    for (const int64_t batch : {1, 3, 8}) {
      tenon::LoadedModel::Arrays inputs;
      for (const auto& port : model.inputs()) {
        // Whatever has no size of its own is the batch here.
        std::vector<int64_t> dims;
        for (const tenon::Axis& axis : port.shape.axes()) {
          dims.push_back(axis.is_static() ? *axis.extent().constant() : batch);
        }
        inputs[port.name] = tenon::Array::full(port.shape.dtype(), dims, 0.5);
      }
      for (const auto& [name, value] : model.run(inputs)) {
        std::cout << name << " " << value.to_string(6) << "\n";
      }
    }
    // [/load]
    std::cout << "compiled " << model.compile_count() << " time\n";
    if (argc == 1) {
      std::filesystem::remove(own);
    }
    return model.compile_count() == 1 ? 0 : 1;
  } catch (const tenon::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
