#include "tenon/token_generator.h"

#include "base/fail.h"
#include "generation/engine.h"

namespace tenon {

bool GenerationRequest::is_done() const { return request_->is_done; }

Generation GenerationRequest::result() const {
  if (!request_->is_done) {
    fail("the text is not done: TokenGenerator::step() brings it on");
  }
  if (request_->error != nullptr) {
    std::rethrow_exception(request_->error);
  }
  return request_->result;
}

void GenerationRequest::cancel() const { request_->is_cancelled = true; }

TokenGenerator::TokenGenerator(const std::filesystem::path& model, const GeneratorOptions& options)
    : engine_(std::make_shared<generation::Engine>(model, options)) {}

int64_t TokenGenerator::vocabulary() const { return engine_->decoder().facts().vocabulary; }
int64_t TokenGenerator::context() const { return engine_->decoder().facts().context; }
const Executable& TokenGenerator::model() const { return engine_->decoder().model(); }

Generation TokenGenerator::generate(const std::vector<int64_t>& prompt, const GenerateOptions& options) const {
  return generate(std::span(&prompt, 1), options).front();
}

std::vector<Generation> TokenGenerator::generate(std::span<const std::vector<int64_t>> prompts,
                                                 const GenerateOptions& options) const {
  std::vector<GenerationRequest> requests;
  /// What an Error leaves behind goes.
  struct Cancelling {
    std::vector<GenerationRequest>& requests;
    ~Cancelling() {
      for (const GenerationRequest& each : requests) {
        each.cancel();
      }
    }
  } cancelling{requests};
  for (const std::vector<int64_t>& prompt : prompts) {
    requests.push_back(submit(prompt, options));
  }
  std::vector<Generation> results;
  for (const GenerationRequest& each : requests) {
    while (!each.is_done()) {
      step();
    }
    results.push_back(each.result());
  }
  return results;
}

GenerationRequest TokenGenerator::submit(const std::vector<int64_t>& prompt, const GenerateOptions& options) const {
  return GenerationRequest(engine_->submit(prompt, options));
}

bool TokenGenerator::step() const { return engine_->step(); }

TokenGenerator::State TokenGenerator::state() const { return engine_->state(); }

}  // namespace tenon
