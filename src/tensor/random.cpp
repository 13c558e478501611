#include "tenon/random.h"

#include <mutex>

#include "tenon/tensor.h"
#include "tensor/record/record.h"

namespace tenon {

using namespace tensors;

namespace {

Tensor u64_scalar(uint64_t number) { return tensor(Array::from<uint64_t>({}, {number})); }

Tensor draw(const std::vector<Axis>& axes, Dtype dtype, Generator* generator,
            Value (*build)(const Value&, const Value&, const Shape&, double, double), double a, double b) {
  const auto [key, counter] = (generator != nullptr ? *generator : default_generator()).next();
  const std::vector<Tensor> operands{key, counter};
  return record(operands,
                [&](Sizes) -> std::vector<Value> {
                  return {build(read(operands[0]), read(operands[1]), Shape(dtype, axes), a, b)};
                })
      .front();
}

}  // namespace

Generator::Generator(uint64_t seed) { this->seed(seed); }
void Generator::seed(uint64_t seed) { set(seed, 0); }
void Generator::set(uint64_t key, uint64_t counter) {
  key_number_ = key;
  counter_ = counter;
  key_ = u64_scalar(key);
}
std::pair<Tensor, Tensor> Generator::next() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return {key_, u64_scalar(counter_++)};
}

Generator& default_generator() {
  static auto& instance = *new Generator;
  return instance;
}
void manual_seed(uint64_t seed) { default_generator().seed(seed); }

Tensor Tensor::rand(const std::vector<Axis>& axes, Dtype dtype, Generator* generator) {
  return draw(axes, dtype, generator, tenon::uniform, 0, 1);
}
Tensor Tensor::randn(const std::vector<Axis>& axes, Dtype dtype, Generator* generator) {
  return draw(axes, dtype, generator, tenon::normal, 0, 1);
}

}  // namespace tenon
