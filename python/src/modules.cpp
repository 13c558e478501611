// Modules: layers with parameters, those of tenon/modules.h.
#include "tenon/modules.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "tenon/safetensors.h"
#include "tenon/traced.h"

namespace tenon::python {
namespace {

/// What modules that are written in Python use to own parameters, buffers and modules.
struct OpenModule : nn::Module {
  using nn::Module::add_child;
  using nn::Module::buffer;
  using nn::Module::parameter;
};

nb::dict arrays_of(const SafeTensors& tensors) {
  nb::dict result;
  for (const auto& [name, array] : tensors.arrays) {
    result[nb::cast(name)] = array;
  }
  return result;
}

SafeTensors tensors_from(const nb::dict& state) {
  SafeTensors result;
  for (const auto& [name, array] : state) {
    result.arrays.emplace_back(nb::cast<std::string>(name), array_from(array));
  }
  return result;
}

nb::dict named(const nn::NamedTensors& list) {
  nb::dict result;
  for (const auto& [name, tensor] : list) {
    result[nb::cast(name)] = tensor;
  }
  return result;
}

/// One number, or one for each axis.
std::vector<int64_t> integers_from(nb::handle object) {
  if (object.is_none()) {
    return {};
  }
  if (PyLong_Check(object.ptr())) {
    return {nb::cast<int64_t>(object)};
  }
  return nb::cast<std::vector<int64_t>>(object);
}

/// A tensor that may be missing as None.
template <class C>
auto member(Tensor C::* at) {
  return [at](const C& self) { return (self.*at).defined() ? std::optional(self.*at) : std::nullopt; };
}

template <class C>
nb::class_<C, nn::Module> layer(nb::module_& m, const char* name, const char* doc) {
  nb::class_<C, nn::Module> type(m, name, nb::dynamic_attr(), doc);
  type.def("__call__", [](const C& self, const Tensor& x) { return self(x); }, nb::arg("x"));
  return type;
}

template <class C>
void bind_conv(nb::module_& m, const char* name, const char* doc) {
  auto type = layer<C>(m, name, doc);
  type.def(
      "__init__",
      [](C* self, int64_t in, int64_t out, nb::handle size, nb::handle stride, nb::handle padding, nb::handle dilation,
         int64_t groups, bool bias) {
        new (self) C(in, out, integers_from(size),
                     {.stride = integers_from(stride),
                      .padding = integers_from(padding),
                      .dilation = integers_from(dilation),
                      .groups = groups,
                      .bias = bias});
      },
      nb::arg("in_channels"), nb::arg("out_channels"), nb::arg("kernel_size"), nb::arg("stride") = 1,
      nb::arg("padding") = 0, nb::arg("dilation") = 1, nb::arg("groups") = 1, nb::arg("bias") = true);
  type.def_prop_ro("weight", member(&nn::Conv::weight)).def_prop_ro("bias", member(&nn::Conv::bias));
}

void bind_module(nb::module_& m) {
  nb::class_<nn::Module> module(m, "ModuleBase", nb::dynamic_attr(), "Parameters, buffers and modules, by name.");
  module.def("__init__", [](nn::Module* self) { new (self) nn::Module(); });
  module.def("named_parameters", [](const nn::Module& self) { return named(self.named_parameters()); });
  module.def("named_buffers", [](const nn::Module& self) { return named(self.named_buffers()); });
  module.def("parameters", &nn::Module::parameters);
  module.def_prop_ro("parameter_count", &nn::Module::parameter_count);
  module.def(
      "train",
      [](nb::object self, bool training) {
        nb::cast<nn::Module&>(self).train(training);
        return self;
      },
      nb::arg("training") = true);
  module.def("eval", [](nb::object self) {
    nb::cast<nn::Module&>(self).eval();
    return self;
  });
  module.def_prop_ro("training", &nn::Module::is_training);
  module.def(
      "requires_grad_",
      [](nb::object self, bool wanted) {
        nb::cast<nn::Module&>(self).requires_grad(wanted);
        return self;
      },
      nb::arg("wanted") = true);
  module.def("state_dict", [](const nn::Module& self) { return arrays_of(self.state()); }, "All of it as arrays.");
  module.def(
      "load_state_dict",
      [](nn::Module& self, const nb::dict& state, bool strict) { self.load_state(tensors_from(state), strict); },
      nb::arg("state"), nb::arg("strict") = true);
  module.def(
      "save", [](const nn::Module& self, const std::string& path) { self.save(path); }, nb::arg("path"),
      "To a file of the safetensors format.");
  module.def(
      "load", [](nn::Module& self, const std::string& path, bool strict) { self.load(path, strict); }, nb::arg("path"),
      nb::arg("strict") = true);
  module.def(
      "register_parameter",
      [](nn::Module& self, const std::string& name, const Tensor& tensor) {
        return static_cast<OpenModule&>(self).parameter(name, tensor);
      },
      nb::arg("name"), nb::arg("tensor"));
  module.def(
      "register_buffer",
      [](nn::Module& self, const std::string& name, const Tensor& tensor) {
        return static_cast<OpenModule&>(self).buffer(name, tensor);
      },
      nb::arg("name"), nb::arg("tensor"));
  module.def(
      "add_module",
      [](nn::Module& self, const std::string& name, const nn::Module& child) {
        static_cast<OpenModule&>(self).add_child(name, child);
      },
      nb::arg("name"), nb::arg("module"));
}

template <class C>
void bind_max_pool(nb::module_& m, const char* name) {
  layer<C>(m, name, "The largest under a window that slides along the positions.")
      .def(
          "__init__",
          [](C* self, nb::handle size, nb::handle stride, nb::handle padding, nb::handle dilation, bool ceil_mode) {
            new (self) C(integers_from(size), {.stride = integers_from(stride),
                                               .padding = integers_from(padding),
                                               .dilation = integers_from(dilation),
                                               .ceil_mode = ceil_mode});
          },
          nb::arg("kernel_size"), nb::arg("stride") = nb::none(), nb::arg("padding") = 0, nb::arg("dilation") = 1,
          nb::arg("ceil_mode") = false);
}

template <class C>
void bind_average_pool(nb::module_& m, const char* name) {
  layer<C>(m, name, "The mean under a window that slides along the positions.")
      .def(
          "__init__",
          [](C* self, nb::handle size, nb::handle stride, nb::handle padding, bool ceil_mode, bool count_include_pad) {
            new (self) C(integers_from(size), {.stride = integers_from(stride),
                                               .padding = integers_from(padding),
                                               .ceil_mode = ceil_mode,
                                               .count_include_pad = count_include_pad});
          },
          nb::arg("kernel_size"), nb::arg("stride") = nb::none(), nb::arg("padding") = 0, nb::arg("ceil_mode") = false,
          nb::arg("count_include_pad") = true);
}

void bind_pools(nb::module_& m) {
  bind_max_pool<nn::MaxPool1d>(m, "MaxPool1d");
  bind_max_pool<nn::MaxPool2d>(m, "MaxPool2d");
  bind_max_pool<nn::MaxPool3d>(m, "MaxPool3d");
  bind_average_pool<nn::AvgPool1d>(m, "AvgPool1d");
  bind_average_pool<nn::AvgPool2d>(m, "AvgPool2d");
  bind_average_pool<nn::AvgPool3d>(m, "AvgPool3d");
  layer<nn::AdaptiveAvgPool>(m, "AdaptiveAvgPool", "Means of equal parts of each position axis.")
      .def(
          "__init__",
          [](nn::AdaptiveAvgPool* self, nb::handle size) { new (self) nn::AdaptiveAvgPool(integers_from(size)); },
          nb::arg("output_size"));
  layer<nn::Flatten>(m, "Flatten", "All axes from `start_dim` on as one.")
      .def(nb::init<int>(), nb::arg("start_dim") = 1);
}

void bind_norms(nb::module_& m) {
  auto batch = layer<nn::BatchNorm>(m, "BatchNorm", "Over all axes but the second.");
  batch.def(nb::init<int64_t, double, double>(), nb::arg("num_features"), nb::arg("momentum") = 0.1,
            nb::arg("eps") = 1e-5);
  batch.def_prop_ro("weight", member(&nn::BatchNorm::weight)).def_prop_ro("bias", member(&nn::BatchNorm::bias));
  batch.def_prop_ro("running_mean", member(&nn::BatchNorm::running_mean));
  batch.def_prop_ro("running_var", member(&nn::BatchNorm::running_var));
  const auto sizes_init = [](auto* self, nb::handle sizes, double eps) {
    new (self) std::remove_pointer_t<decltype(self)>(integers_from(sizes), eps);
  };
  auto norm = layer<nn::LayerNorm>(m, "LayerNorm", "Over the last axes, which have these sizes.");
  norm.def(
      "__init__", [sizes_init](nn::LayerNorm* self, nb::handle sizes, double eps) { sizes_init(self, sizes, eps); },
      nb::arg("normalized_shape"), nb::arg("eps") = 1e-5);
  norm.def_prop_ro("weight", member(&nn::LayerNorm::weight)).def_prop_ro("bias", member(&nn::LayerNorm::bias));
  auto rms = layer<nn::RMSNorm>(m, "RMSNorm", "Divided by the root of the mean square.");
  rms.def(
      "__init__", [sizes_init](nn::RMSNorm* self, nb::handle sizes, double eps) { sizes_init(self, sizes, eps); },
      nb::arg("normalized_shape"), nb::arg("eps") = 1e-5);
  rms.def_prop_ro("weight", member(&nn::RMSNorm::weight));
  auto group = layer<nn::GroupNorm>(m, "GroupNorm", "Over groups of channels.");
  group.def(nb::init<int64_t, int64_t, double>(), nb::arg("num_groups"), nb::arg("num_channels"),
            nb::arg("eps") = 1e-5);
  group.def_prop_ro("weight", member(&nn::GroupNorm::weight)).def_prop_ro("bias", member(&nn::GroupNorm::bias));
}

void bind_recurrent(nb::module_& m) {
  nb::class_<nn::LSTM, nn::Module> lstm(m, "LSTM", nb::dynamic_attr(), "Over [batch, seq, in].");
  lstm.def(nb::init<int64_t, int64_t, int64_t, bool>(), nb::arg("input_size"), nb::arg("hidden_size"),
           nb::arg("num_layers") = 1, nb::arg("bidirectional") = false);
  lstm.def(
      "__call__",
      [](const nn::LSTM& self, const Tensor& x, std::optional<Tensor> h, std::optional<Tensor> c) {
        const nn::LstmResult result = self(x, h.value_or(Tensor()), c.value_or(Tensor()));
        return nb::make_tuple(result.outputs, nb::make_tuple(result.h, result.c));
      },
      nb::arg("x"), nb::arg("h") = nb::none(), nb::arg("c") = nb::none());
  nb::class_<nn::GRU, nn::Module> gru(m, "GRU", nb::dynamic_attr(), "Over [batch, seq, in].");
  gru.def(nb::init<int64_t, int64_t, int64_t, bool>(), nb::arg("input_size"), nb::arg("hidden_size"),
          nb::arg("num_layers") = 1, nb::arg("bidirectional") = false);
  gru.def(
      "__call__",
      [](const nn::GRU& self, const Tensor& x, std::optional<Tensor> h) {
        const nn::GruResult result = self(x, h.value_or(Tensor()));
        return nb::make_tuple(result.outputs, result.h);
      },
      nb::arg("x"), nb::arg("h") = nb::none());
  nb::class_<nn::MultiheadAttention, nn::Module> attention(m, "MultiheadAttention", nb::dynamic_attr(),
                                                           "Self- or cross-attention over [batch, seq, width].");
  attention.def(nb::init<int64_t, int64_t>(), nb::arg("embed_dim"), nb::arg("num_heads"));
  attention.def(
      "__call__",
      [](const nn::MultiheadAttention& self, const Tensor& query, std::optional<Tensor> key,
         std::optional<Tensor> value, bool causal, std::optional<Tensor> mask) {
        return self(query, key.value_or(query), value.value_or(key.value_or(query)), causal, mask.value_or(Tensor()));
      },
      nb::arg("query"), nb::arg("key") = nb::none(), nb::arg("value") = nb::none(), nb::arg("is_causal") = false,
      nb::arg("mask") = nb::none());
}

nb::tuple traced_module(const nn::Module& module, const nb::callable& f, const nb::dict& examples,
                        const std::vector<std::string>& outputs) {
  nn::NamedTensors named_examples;
  for (const auto& [name, tensor] : examples) {
    named_examples.emplace_back(nb::cast<std::string>(name), nb::cast<Tensor>(tensor));
  }
  const auto call = [&](const std::vector<Tensor>& inputs) {
    nb::list arguments;
    for (const Tensor& each : inputs) {
      arguments.append(each);
    }
    const nb::object result = f(*arguments);
    return nb::isinstance<Tensor>(result) ? std::vector{nb::cast<Tensor>(result)}
                                          : nb::cast<std::vector<Tensor>>(result);
  };
  const TracedModel traced = trace(module, call, named_examples, {.outputs = outputs});
  nb::dict weights;
  for (const auto& [name, array] : traced.weights) {
    weights[nb::cast(name)] = array;
  }
  return nb::make_tuple(traced.graph, weights);
}

}  // namespace

void bind_modules(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("nn", "Layers.");
  bind_module(m);
  auto linear = layer<nn::Linear>(m, "Linear", "x w^T + b for x[..., in].");
  linear.def(nb::init<int64_t, int64_t, bool>(), nb::arg("in_features"), nb::arg("out_features"),
             nb::arg("bias") = true);
  linear.def_prop_ro("weight", member(&nn::Linear::weight)).def_prop_ro("bias", member(&nn::Linear::bias));
  bind_conv<nn::Conv1d>(m, "Conv1d", "Over [batch, channels, length].");
  bind_conv<nn::Conv2d>(m, "Conv2d", "Over [batch, channels, height, width].");
  bind_conv<nn::Conv3d>(m, "Conv3d", "Over [batch, channels, depth, height, width].");
  auto transposed = layer<nn::ConvTranspose>(m, "ConvTranspose", "The transpose of a convolution.");
  transposed.def(
      "__init__",
      [](nn::ConvTranspose* self, int64_t in, int64_t out, nb::handle size, nb::handle stride, nb::handle padding,
         nb::handle output_padding, nb::handle dilation, int64_t groups, bool bias) {
        new (self) nn::ConvTranspose(in, out, integers_from(size),
                                     {.stride = integers_from(stride),
                                      .padding = integers_from(padding),
                                      .output_padding = integers_from(output_padding),
                                      .dilation = integers_from(dilation),
                                      .groups = groups,
                                      .bias = bias});
      },
      nb::arg("in_channels"), nb::arg("out_channels"), nb::arg("kernel_size"), nb::arg("stride") = nb::none(),
      nb::arg("padding") = nb::none(), nb::arg("output_padding") = nb::none(), nb::arg("dilation") = nb::none(),
      nb::arg("groups") = 1, nb::arg("bias") = true);
  transposed.def_prop_ro("weight", member(&nn::ConvTranspose::weight));
  transposed.def_prop_ro("bias", member(&nn::ConvTranspose::bias));
  bind_norms(m);
  bind_pools(m);
  auto embedding = layer<nn::Embedding>(m, "Embedding", "Rows of `weight` at integer positions.");
  embedding.def(nb::init<int64_t, int64_t>(), nb::arg("num_embeddings"), nb::arg("embedding_dim"));
  embedding.def_prop_ro("weight", member(&nn::Embedding::weight));
  auto dropout = layer<nn::Dropout>(m, "Dropout", "Training, zeros with probability `p`, the rest scaled up.");
  dropout.def("__init__", [](nn::Dropout* self, double p) { new (self) nn::Dropout(p); }, nb::arg("p") = 0.5);
  bind_recurrent(m);

  nb::module_ init = m.def_submodule("init", "Ways to begin: they write into a tensor.");
  init.def(
      "uniform_", [](const Tensor& x, double low, double high) { nn::init::uniform_(x, low, high); }, nb::arg("tensor"),
      nb::arg("a") = 0.0, nb::arg("b") = 1.0);
  init.def(
      "normal_", [](const Tensor& x, double mean, double std) { nn::init::normal_(x, mean, std); }, nb::arg("tensor"),
      nb::arg("mean") = 0.0, nb::arg("std") = 1.0);
  init.def("constant_", &nn::init::constant_, nb::arg("tensor"), nb::arg("val"));
  init.def(
      "xavier_uniform_", [](const Tensor& x, double gain) { nn::init::xavier_uniform_(x, gain); }, nb::arg("tensor"),
      nb::arg("gain") = 1.0);
  init.def(
      "kaiming_uniform_", [](const Tensor& x, double a) { nn::init::kaiming_uniform_(x, a); }, nb::arg("tensor"),
      nb::arg("a") = 0.0);
  init.def(
      "kaiming_normal_", [](const Tensor& x, double a) { nn::init::kaiming_normal_(x, a); }, nb::arg("tensor"),
      nb::arg("a") = 0.0);

  parent.def("trace_module", &traced_module, nb::arg("module"), nb::arg("function"), nb::arg("examples"),
             nb::arg("outputs"), "The graph of a module, data first, then weights, and the weights by name.");
  parent.def(
      "load_safetensors", [](const std::string& path) { return arrays_of(load_safetensors(path)); }, nb::arg("path"),
      "Arrays by name; they lie in the file and are read when they are touched.");
  parent.def(
      "save_safetensors",
      [](const std::string& path, const nb::dict& arrays) { save_safetensors(path, tensors_from(arrays)); },
      nb::arg("path"), nb::arg("arrays"));
}

}  // namespace tenon::python
