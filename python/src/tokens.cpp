// Sampling and the generator of tokens.
#include "tokens.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tenon/token_generator.h"

namespace tenon::python {
namespace {

using Logits = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

SamplingOptions sampling(double temperature, int64_t top_k, double top_p, double repetition_penalty,
                         std::optional<uint64_t> seed) {
  return {.temperature = temperature,
          .top_k = top_k,
          .top_p = top_p,
          .repetition_penalty = repetition_penalty,
          .seed = seed};
}

nb::tuple to_python(const Generation& result) {
  return nb::make_tuple(result.ids, result.reason, result.prompt_tokens);
}

}  // namespace

void bind_tokens(nb::module_& m) {
  nb::class_<Sampler> sampler(m, "Sampler", "Chooses the tokens of one text.");
  sampler.def(
      "__init__",
      [](Sampler* self, double temperature, int64_t top_k, double top_p, double repetition_penalty,
         std::optional<uint64_t> seed) {
        new (self) Sampler(sampling(temperature, top_k, top_p, repetition_penalty, seed));
      },
      nb::arg("temperature"), nb::arg("top_k"), nb::arg("top_p"), nb::arg("repetition_penalty"),
      nb::arg("seed").none());
  sampler.def(
      "choose",
      [](Sampler& self, const Logits& logits, const std::vector<int64_t>& seen) {
        return self.choose({logits.data(), logits.size()}, seen);
      },
      nb::arg("logits"), nb::arg("seen"));

  nb::class_<GenerationRequest> request(m, "TokenRequest", "A prompt that was submitted to a TokenGenerator.");
  request.def("is_done", &GenerationRequest::is_done);
  request.def("cancel", &GenerationRequest::cancel);
  request.def("result", [](const GenerationRequest& self) { return to_python(self.result()); });

  nb::class_<TokenGenerator> generator(
      m, "TokenGenerator", "The generator of C++ programs (tenon/token_generator.h): prompts and tokens are ids.");
  generator.def(
      "__init__",
      [](TokenGenerator* self, const std::string& model, int64_t rows, int64_t cache_bytes, int threads) {
        new (self) TokenGenerator(model, {.rows = rows, .cache_bytes = cache_bytes, .threads = threads});
      },
      nb::arg("model"), nb::arg("rows") = 16, nb::arg("cache_bytes") = 0, nb::arg("threads") = 0);
  generator.def(
      "submit",
      [](const TokenGenerator& self, const std::vector<int64_t>& prompt, int64_t max_new_tokens, double temperature,
         int64_t top_k, double top_p, double repetition_penalty, std::optional<uint64_t> seed,
         const std::vector<int64_t>& stop_ids) {
        return self.submit(prompt, {.max_new_tokens = max_new_tokens,
                                    .sampling = sampling(temperature, top_k, top_p, repetition_penalty, seed),
                                    .stop_ids = stop_ids});
      },
      nb::arg("prompt"), nb::arg("max_new_tokens") = 128, nb::arg("temperature") = 0.0, nb::arg("top_k") = 0,
      nb::arg("top_p") = 1.0, nb::arg("repetition_penalty") = 1.0, nb::arg("seed") = nb::none(),
      nb::arg("stop_ids") = std::vector<int64_t>());
  generator.def("step", [](const TokenGenerator& self) {
    const nb::gil_scoped_release release;
    return self.step();
  });
  generator.def("state", [](const TokenGenerator& self) {
    const TokenGenerator::State state = self.state();
    return nb::make_tuple(state.waiting, state.running, state.cache_bytes);
  });
  generator.def_prop_ro("vocabulary", &TokenGenerator::vocabulary);
  generator.def_prop_ro("context", &TokenGenerator::context);
}

}  // namespace tenon::python
