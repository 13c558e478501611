// Operators that make tensors from numbers and sizes, and of random numbers.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.h"
#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/import/registry.h"
#include "tenon/indexing.h"
#include "tenon/nn.h"
#include "tenon/random.h"

namespace tenon::importer {
namespace {

constexpr double kLongestTable = 1 << 24;

template <class T, class From>
Value list_constant(const std::vector<From>& list) {
  return constant(Array::from<T>({static_cast<int64_t>(list.size())}, std::vector<T>(list.begin(), list.end())));
}

Results constant_tensor(const NodeCall& call) {
  if (call.has_attribute("value_float")) {
    return scalar(Dtype::f32, call.number_attribute("value_float", 0));
  }
  if (call.has_attribute("value_int")) {
    return constant(Array::from<int64_t>({}, {call.attribute("value_int")}));
  }
  if (call.has_attribute("value_floats")) {
    std::vector<float> numbers;
    for (const double number : call.numbers_attribute("value_floats")) {
      numbers.push_back(static_cast<float>(number));
    }
    return list_constant<float>(numbers);
  }
  if (call.has_attribute("value_ints")) {
    return list_constant<int64_t>(call.list_attribute("value_ints"));
  }
  if (call.has_attribute("value")) {
    Format format = Format::plain;
    const Array value = call.array_attribute("value", &format);
    return Item(constant(value), format);
  }
  refuse("constants that are strings or sparse are not supported");
}

Results constant_of_shape(const NodeCall& call) {
  const Array value = call.has_attribute("value") ? call.array_attribute("value") : Array::scalar(Dtype::f32, 0);
  if (value.size() != 1) {
    refuse("the value has {} elements, must have one", value.size());
  }
  return broadcast_to(constant(value.reshaped({})), to_shape_axes(call.extents(0)));
}

/// The operand as a fraction of a size; an Error when it is not known.
Element element(const NodeCall& call, size_t i) {
  const std::optional<Elements>& known = call.importer().known().elements(call.x(i));
  if (!known) {
    call.fail_unknown(call.x(i), fmt::format("input {}", i));
  }
  if (known->size() != 1) {
    refuse("input {} has {} elements, must have one", i, known->size());
  }
  return known->front();
}

/// Bounds may be sizes that were cast.
Value symbolic_float_range(const NodeCall& call) {
  const Element start = element(call, 0);
  const Element limit = element(call, 1);
  const Element delta = element(call, 2);
  const std::optional<int64_t> step = delta.numerator.constant();
  if (!step || *step == 0) {
    refuse("the step is {}, must be a number other than 0", delta.numerator.to_string());
  }
  const Extent length = limit.numerator * start.denominator - start.numerator * limit.denominator;
  const int64_t unit = start.denominator * limit.denominator;
  const Extent toward = *step > 0 ? length : -length;
  const Extent count = simplify(max(ceildiv(toward * delta.denominator, unit * std::abs(*step)), 0));
  const Value steps = iota(shape(call.x(0).dtype(), count), 0);
  return steps * reshape(call.x(2), {}) + reshape(call.x(0), {});
}

Results float_range(const NodeCall& call) {
  for (size_t i = 0; i < 3; ++i) {
    if (!call.known_array(call.x(i))) {
      return symbolic_float_range(call);
    }
  }
  const double start = call.number(0);
  const double limit = call.number(1);
  const double delta = call.number(2);
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count <= kLongestTable)) {
    refuse("a range from {} to {} by {} is too long", start, limit, delta);
  }
  const Dtype dtype = call.x(0).dtype();
  const Value steps = iota(shape(dtype, static_cast<int64_t>(count)), 0);
  return steps * delta + start;
}

Results range(const NodeCall& call) {
  if (is_float(call.x(0).dtype())) {
    return float_range(call);
  }
  const int64_t step = call.integer(2);
  if (step == 0) {
    refuse("the step is 0");
  }
  return cast(arange(call.extent(0), call.extent(1), step), call.x(0).dtype());
}

Results eye_like(const NodeCall& call) {
  const Value& x = call.x(0);
  if (x.rank() != 2) {
    refuse("the input has {} axes, must have 2", x.rank());
  }
  return eye(x.extent(0), x.extent(1), call.attribute("k", 0), call.dtype_attribute("dtype", x.dtype()));
}

Results triangle(const NodeCall& call) {
  const Extent k = call.has(1) ? call.extent(1) : Extent(0);
  return call.flag("upper", true) ? triu(call.x(0), k) : tril(call.x(0), k);
}

/// What a random operator draws from: its seed, and a stream of its own, another one in each trip of the bodies around
/// it. The same in every run of a model.
struct Draw {
  Value key;
  Value counter;
};
Draw draw_of(const NodeCall& call) {
  const bool is_integer = call.type() == "Dropout";  // the seeds of all others are floats
  const uint64_t bits = is_integer ? static_cast<uint64_t>(call.attribute("seed", 0))
                                   : std::bit_cast<uint32_t>(static_cast<float>(call.number_attribute("seed", 0)));
  const uint64_t stream = call.has_attribute("seed") ? 0 : hash_bytes(call.node().output(0));
  constexpr uint64_t spread = 0x9e3779b97f4a7c15;  // odd, so that trips of nested bodies do not meet
  const auto number = [](uint64_t n) { return constant(Array::from<uint64_t>({}, {n})); };
  Value counter = number(stream);
  for (const Value& trip : call.importer().trips()) {
    counter = counter * number(spread) + cast(trip, Dtype::u64) + number(1);
  }
  return {number(bits), counter};
}

Shape random_shape(const NodeCall& call, bool like) {
  if (like) {
    const Value& x = call.x(0);
    return x.shape().with_dtype(call.dtype_attribute("dtype", is_float(x.dtype()) ? x.dtype() : Dtype::f32));
  }
  const std::vector<int64_t> dims = call.list_attribute("shape");
  return {call.dtype_attribute("dtype", Dtype::f32), {dims.begin(), dims.end()}};
}

Importing random_normal(bool like) {
  return [like](const NodeCall& call) -> Results {
    const Draw draw = draw_of(call);
    return normal(draw.key, draw.counter, random_shape(call, like), call.number_attribute("mean", 0),
                  call.number_attribute("scale", 1));
  };
}

Importing random_uniform(bool like) {
  return [like](const NodeCall& call) -> Results {
    const Draw draw = draw_of(call);
    return uniform(draw.key, draw.counter, random_shape(call, like), call.number_attribute("low", 0),
                   call.number_attribute("high", 1));
  };
}

Results bernoulli_of(const NodeCall& call) {
  const Draw draw = draw_of(call);
  const Value& x = call.x(0);
  const Value is_set = bernoulli(draw.key, draw.counter, x.shape().axes(), cast(x, Dtype::f32));
  return cast(is_set, call.dtype_attribute("dtype", x.dtype()));
}

/// A class for each sample, from logits [batch, class]: how many classes lie below a number between 0 and 1.
Results multinomial(const NodeCall& call) {
  const Draw draw = draw_of(call);
  const Value& x = call.x(0);
  require_rank(x, 2, 2, "the logits");
  const int64_t samples = call.attribute("sample_size", 1);
  const Value below = cumulative_sum(softmax(cast(x, Dtype::f32), 1), 1);
  const Value at = uniform(draw.key, draw.counter, Shape(Dtype::f32, {x.shape().axis(0), Axis(samples)}));
  const Value passed = cast(ge(expand_dims(at, {2}), expand_dims(below, {1})), Dtype::i64);
  const Value index = min(reduce_sum(passed, {2}), extent_value(x.extent(1) - 1));
  return cast(index, call.dtype_attribute("dtype", Dtype::i32));
}

/// In training some elements are 0, and the others larger for it.
Results dropout_of(const NodeCall& call) {
  const Value& x = call.x(0);
  const Dtype mask_dtype = call.version() < 10 ? x.dtype() : Dtype::boolean;
  double ratio = call.number_attribute("ratio", 0.5);
  bool trains = call.version() < 7 && call.has_attribute("is_test") && !call.flag("is_test");
  if (call.version() >= 12) {
    const std::optional<Array> training = call.has(2) ? call.known_array(call.x(2)) : std::nullopt;
    if (call.has(2) && !training) {
      call.fail_unknown(call.x(2), "training_mode");
    }
    trains = training && training->at(0) != 0;
    ratio = trains && call.has(1) ? call.number(1) : 0.5;
  }
  if (!trains || ratio == 0) {
    return std::vector<Value>{x, full(x.shape().with_dtype(mask_dtype), 1)};
  }
  const Draw draw = draw_of(call);
  const Value kept = bernoulli(draw.key, draw.counter, x.shape().axes(), 1 - ratio);
  const Value scaled = ratio >= 1 ? full(x.shape(), 0) : x / (1 - ratio);
  return std::vector<Value>{select(kept, scaled, scalar(x.dtype(), 0)), cast(kept, mask_dtype)};
}

}  // namespace

std::vector<OperatorEntry> leaf_operators() {
  return {
      {"", "Constant", 1, constant_tensor},
      {"", "ConstantOfShape", 9, constant_of_shape},
      {"", "Range", 11, range},
      {"", "EyeLike", 9, eye_like},
      {"", "Trilu", 14, triangle},
      {kMicrosoft, "Trilu", 1, triangle},
      {"", "RandomNormal", 1, random_normal(false)},
      {"", "RandomNormalLike", 1, random_normal(true)},
      {"", "RandomUniform", 1, random_uniform(false)},
      {"", "RandomUniformLike", 1, random_uniform(true)},
      {"", "Bernoulli", 15, bernoulli_of},
      {"", "Multinomial", 7, multinomial},
      {"", "Dropout", 1, dropout_of},
  };
}

}  // namespace tenon::importer
