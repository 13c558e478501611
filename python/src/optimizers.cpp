// Optimisers over lazy tensors, those of tenon/optim.h.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "interrupt.h"
#include "tenon/optim.h"

namespace tenon::python {

void bind_optimizers(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("optim", "Optimisers, and schedules of learning rates.");
  nb::class_<optim::Optimizer> optimizer(m, "Optimizer", nb::dynamic_attr(),
                                         "Parameters and the rule by which they change.");
  optimizer.def(
      "step",
      [](optim::Optimizer& self) {
        const LazyCall place;
        self.step(std::source_location());
      },
      "Every parameter that has a gradient moves; recorded, like everything else.");
  optimizer.def("zero_grad", &optim::Optimizer::zero_grad, "No parameter has a gradient any more.");
  optimizer.def("undo_step", &optim::Optimizer::undo_step,
                "Take back what has not been computed of the last step; whether there was something.");
  optimizer.def_prop_rw("lr", &optim::Optimizer::learning_rate, &optim::Optimizer::set_learning_rate,
                        "The learning rate; a new one needs no new program.");
  optimizer.def_prop_ro("steps", &optim::Optimizer::steps).def_prop_ro("parameters", &optim::Optimizer::parameters);
  optimizer.def("state_dict", [](const optim::Optimizer& self) {
    nb::dict result;
    for (const auto& [name, array] : self.state().arrays) {
      result[nb::cast(name)] = array;
    }
    for (const auto& [name, text] : self.state().metadata) {
      result[nb::cast("metadata." + name)] = text;
    }
    return result;
  });
  optimizer.def(
      "load_state_dict",
      [](optim::Optimizer& self, const nb::dict& state) {
        SafeTensors tensors;
        constexpr std::string_view kMetadata = "metadata.";
        for (const auto& [key, value] : state) {
          const std::string name = nb::cast<std::string>(key);
          if (name.starts_with(kMetadata)) {
            tensors.metadata.emplace(name.substr(kMetadata.size()), nb::cast<std::string>(value));
          } else {
            tensors.arrays.emplace_back(name, array_from(value));
          }
        }
        self.load_state(tensors);
      },
      nb::arg("state"));

  nb::class_<optim::SGD, optim::Optimizer>(m, "SGD").def(
      "__init__",
      [](optim::SGD* self, std::vector<Tensor> parameters, double lr, double momentum, double weight_decay,
         bool nesterov) {
        new (self)
            optim::SGD(std::move(parameters),
                       {.learning_rate = lr, .momentum = momentum, .weight_decay = weight_decay, .nesterov = nesterov});
      },
      nb::arg("params"), nb::arg("lr") = 1e-2, nb::arg("momentum") = 0.0, nb::arg("weight_decay") = 0.0,
      nb::arg("nesterov") = false);
  nb::class_<optim::Adam, optim::Optimizer>(m, "Adam").def(
      "__init__",
      [](optim::Adam* self, std::vector<Tensor> parameters, double lr, std::pair<double, double> betas, double eps,
         double weight_decay) {
        new (self) optim::Adam(std::move(parameters), {.learning_rate = lr,
                                                       .beta1 = betas.first,
                                                       .beta2 = betas.second,
                                                       .epsilon = eps,
                                                       .weight_decay = weight_decay});
      },
      nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("betas") = std::pair(0.9, 0.999), nb::arg("eps") = 1e-8,
      nb::arg("weight_decay") = 0.0);
  nb::class_<optim::AdamW, optim::Optimizer>(m, "AdamW")
      .def(
          "__init__",
          [](optim::AdamW* self, std::vector<Tensor> parameters, double lr, std::pair<double, double> betas, double eps,
             double weight_decay) {
            AdamWOptions options;
            options.learning_rate = lr;
            options.beta1 = betas.first;
            options.beta2 = betas.second;
            options.epsilon = eps;
            options.weight_decay = weight_decay;
            new (self) optim::AdamW(std::move(parameters), options);
          },
          nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("betas") = std::pair(0.9, 0.999), nb::arg("eps") = 1e-8,
          nb::arg("weight_decay") = 0.01);
  m.def("clip_grad_norm_", &optim::clip_grad_norm, nb::arg("parameters"), nb::arg("max_norm"),
        "Scales all gradients so that their common norm is at most this; gives what it was.");
  m.def("clip_grad_value_", &optim::clip_grad_value, nb::arg("parameters"), nb::arg("clip_value"));
  const auto schedule = [&](const char* name, auto make, auto... args) { m.def(name, make, args...); };
  schedule(
      "cosine",
      [](double rate, int64_t steps, double least, int64_t step) { return optim::cosine(rate, steps, least)(step); },
      nb::arg("rate"), nb::arg("steps"), nb::arg("least") = 0.0, nb::kw_only(), nb::arg("step"));
}

}  // namespace tenon::python
