// Every primitive as emitted, in every dtype it takes and several numbers of lanes, against the plain evaluator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/convert.h"
#include "codegen/scalar_loops.h"
#include "codegen/targets.h"
#include "kernel/scalar/scalar_eval.h"

namespace tenon::codegen::scalar_emit_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Dtype kComputed[] = {Dtype::f32, Dtype::f64, Dtype::i8,  Dtype::i16, Dtype::i32,    Dtype::i64,
                               Dtype::u8,  Dtype::u16, Dtype::u32, Dtype::u64, Dtype::boolean};
constexpr size_t kCount = 64 * 48;  // a multiple of every number of lanes

/// Values at which something is special, then random ones: half of them words of any kind, half of them small.
template <class T>
std::vector<T> values(std::mt19937_64& rng) {
  std::vector<T> result;
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    while (result.size() < kCount) {
      result.push_back((rng() & 1) != 0);
    }
    return result;
  } else if constexpr (std::is_floating_point_v<T>) {
    for (const double x : {0.0,
                           0.5,
                           1.0,
                           1.5,
                           2.0,
                           2.5,
                           3.0,
                           31.0,
                           127.0,
                           128.0,
                           255.5,
                           256.0,
                           32768.0,
                           65504.0,
                           65519.0,
                           65520.0,
                           1e5,
                           2147483648.0,
                           4294967296.0,
                           9223372036854775808.0,
                           18446744073709551616.0,
                           1e30}) {
      result.push_back(static_cast<T>(x));
      result.push_back(static_cast<T>(-x));
    }
    for (const T x : {Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), Limits::epsilon()}) {
      result.push_back(x);
      result.push_back(-x);
    }
    result.push_back(Limits::quiet_NaN());
  } else {
    for (const int x : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100}) {
      result.push_back(static_cast<T>(x));
      result.push_back(static_cast<T>(-x));
    }
    result.push_back(Limits::min());
    result.push_back(Limits::max());
  }
  std::shuffle(result.begin(), result.end(), rng);
  using Word = std::conditional_t<
      sizeof(T) == 8, uint64_t,
      std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  while (result.size() < kCount) {
    result.push_back(std::bit_cast<T>(static_cast<Word>(rng())));
    result.push_back(static_cast<T>(std::normal_distribution<double>(0, 20)(rng)));
    result.push_back(result[rng() % 40]);  // specials meet specials
  }
  result.resize(kCount);
  return result;
}

Bytes bytes_of(Dtype dtype, std::mt19937_64& rng) {
  return visit_dtype(dtype, [&]<class T>() -> Bytes {
    if constexpr (is_half_type<T>) {
      TENON_CHECK(false, "half types are not computed in");
    } else {
      Bytes bytes(kCount * sizeof(T));
      const std::vector<T> elements = values<T>(rng);
      for (size_t i = 0; i < kCount; ++i) {
        const T element = elements[i];
        std::memcpy(&bytes[i * sizeof(T)], &element, sizeof(T));
      }
      return bytes;
    }
  });
}

template <class T>
T element(const Bytes& bytes, size_t index) {
  T value;
  std::memcpy(&value, &bytes[index * sizeof(T)], sizeof(T));
  return value;
}

/// Units of the last place by which a function of f32 may be off. All else is exact.
int tolerance(Prim prim, Dtype dtype) {
  if (dtype != Dtype::f32) {
    return 0;
  }
  switch (prim) {
    case Prim::exp:
    case Prim::exp_normal:
    case Prim::log:
    case Prim::sin:
    case Prim::cos: return 2;
    case Prim::expm1:
    case Prim::log1p:
    case Prim::tanh:
    case Prim::erf:
    case Prim::pow:
    case Prim::atan2: return 4;
    default: return 0;
  }
}

/// The place of a float in the order of all floats, -0 just below 0.
int64_t place(float x) {
  const auto word = std::bit_cast<int32_t>(x);
  return word < 0 ? int64_t{std::numeric_limits<int32_t>::min()} - word - 1 : word;
}

template <class T>
bool agrees(T actual, T expected, int ulps) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(expected)) {
      return std::isnan(actual);
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    return ulps == 0
               ? std::bit_cast<uint32_t>(actual) == std::bit_cast<uint32_t>(expected)
               : std::abs(place(actual) - place(expected)) <= ulps && std::signbit(actual) == std::signbit(expected);
  } else if constexpr (is_half_type<T>) {
    return actual.bits == expected.bits ||
           (std::isnan(static_cast<float>(actual)) && std::isnan(static_cast<float>(expected)));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(actual) == std::bit_cast<uint64_t>(expected);
  } else {
    return actual == expected;
  }
}

/// Compile a program, run it and the evaluator on the same arguments, and compare all results.
void expect_same(Jit& jit, const ScalarProgram& program, const std::vector<Dtype>& argument_dtypes,
                 const ScalarLoopOptions& options) {
  std::mt19937_64 rng(11);
  std::vector<Bytes> arguments;
  std::vector<const std::byte*> sources;
  for (const Dtype dtype : argument_dtypes) {
    arguments.push_back(bytes_of(dtype, rng));
  }
  for (const Bytes& argument : arguments) {
    sources.push_back(argument.data());
  }
  std::vector<Bytes> actual;
  std::vector<Bytes> expected;
  std::vector<void*> targets;
  std::vector<std::byte*> expected_targets;
  for (const int result : program.results) {
    const Dtype dtype = program.code[static_cast<size_t>(result)].dtype;
    actual.emplace_back(kCount * byte_size(dtype));
    expected.emplace_back(kCount * byte_size(compute_dtype(dtype)));
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    targets.push_back(actual[i].data());
    expected_targets.push_back(expected[i].data());
  }
  evaluate(program, sources, expected_targets, kCount);
  const std::vector<const void*> opaque(sources.begin(), sources.end());
  compile_loop(jit, program, options)(opaque.data(), targets.data(), kCount);

  for (size_t r = 0; r < actual.size(); ++r) {
    const ScalarInstruction& in = program.code[static_cast<size_t>(program.results[r])];
    visit_dtype(in.dtype, [&]<class T>() {
      for (size_t i = 0; i < kCount; ++i) {
        const T got = element<T>(actual[r], i);
        const T wanted = convert<T>(element<ComputeType<T>>(expected[r], i));
        std::string operands;
        for (size_t a = 0; a < arguments.size(); ++a) {
          visit_dtype(argument_dtypes[a],
                      [&]<class A>() { operands += fmt::format(" {}", convert<double>(element<A>(arguments[a], i))); });
        }
        ASSERT_TRUE(agrees(got, wanted, tolerance(in.prim, in.dtype))) << fmt::format(
            "{} {} -> {} of{}: {}, not {}; lanes {}, fma {}", name(in.prim), name(in.operand_dtype), name(in.dtype),
            operands, convert<double>(got), convert<double>(wanted), options.lanes, options.math.fma);
      }
    });
  }
}

std::vector<Prim> unary_prims(Dtype dtype) {
  if (dtype == Dtype::boolean) {
    return {};
  }
  std::vector<Prim> prims = {Prim::neg, Prim::abs};
  if (is_float(dtype)) {
    prims.insert(prims.end(), {Prim::sqrt, Prim::exp, Prim::exp_normal, Prim::expm1, Prim::log, Prim::log1p, Prim::sin,
                               Prim::cos, Prim::tanh, Prim::erf, Prim::floor, Prim::round});
  }
  return prims;
}

std::vector<Prim> binary_prims(Dtype dtype) {
  std::vector<Prim> prims = {Prim::min, Prim::max, Prim::eq, Prim::lt, Prim::le};
  if (dtype != Dtype::boolean) {
    prims.insert(prims.end(), {Prim::add, Prim::sub, Prim::mul, Prim::div, Prim::rem, Prim::pow});
  }
  if (is_float(dtype)) {
    prims.push_back(Prim::atan2);
  } else {
    prims.insert(prims.end(), {Prim::bit_and, Prim::bit_or, Prim::bit_xor});
    if (dtype != Dtype::boolean) {
      prims.insert(prims.end(), {Prim::shl, Prim::shr});
    }
  }
  return prims;
}

/// All primitives of a dtype over arguments x, y and a condition.
ScalarProgram all_prims(Dtype dtype) {
  const Expr x = expr::argument(0, dtype);
  const Expr y = expr::argument(1, dtype);
  std::vector<Expr> roots = {expr::select(expr::argument(2, Dtype::boolean), x, y), x, expr::constant(dtype, 1.25)};
  for (const Prim prim : unary_prims(dtype)) {
    roots.push_back(expr::apply(prim, {x}));
  }
  for (const Prim prim : binary_prims(dtype)) {
    roots.push_back(expr::apply(prim, {x, y}));
  }
  return flatten(roots);
}

ScalarProgram all_casts(Dtype from) {
  std::vector<Expr> roots;
  for (int i = 0; i < kDtypeCount; ++i) {
    roots.push_back(expr::cast(expr::argument(0, from), static_cast<Dtype>(i)));
  }
  return flatten(roots);
}

class ScalarEmit : public testing::TestWithParam<Dtype> {};

TEST_P(ScalarEmit, EveryPrimitiveIsWhatTheEvaluatorSays) {
  Jit jit(loop_options());
  for (const unsigned lanes : {0U, 1U, 4U, 16U, 64U}) {
    expect_same(jit, all_prims(GetParam()), {GetParam(), GetParam(), Dtype::boolean},
                {.lanes = lanes, .math = math_options(jit.target())});
  }
}

TEST_P(ScalarEmit, AlsoWithoutHelpOfTheTarget) {
  Jit jit(loop_options());
  for (const unsigned lanes : {0U, 3U, 8U}) {
    expect_same(jit, all_prims(GetParam()), {GetParam(), GetParam(), Dtype::boolean}, {.lanes = lanes});
  }
}

TEST_P(ScalarEmit, EveryCastIsWhatTheEvaluatorSays) {
  Jit jit(loop_options());
  for (const unsigned lanes : {0U, 1U, 4U, 16U, 64U}) {
    expect_same(jit, all_casts(GetParam()), {GetParam()}, {.lanes = lanes});
    if (jit.target().f16_convert) {
      expect_same(jit, all_casts(GetParam()), {GetParam()}, {.lanes = lanes, .math = {.f16 = true}});
    }
  }
}

#if defined(__x86_64__)
TEST_P(ScalarEmit, OnTheOldestMachine) {
  Jit jit(loop_options(x86_target(1)));
  for (const unsigned lanes : {0U, 4U, 16U}) {
    expect_same(jit, all_prims(GetParam()), {GetParam(), GetParam(), Dtype::boolean}, {.lanes = lanes});
    expect_same(jit, all_casts(GetParam()), {GetParam()}, {.lanes = lanes});
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Dtypes, ScalarEmit, testing::ValuesIn(kComputed),
                         [](const auto& row) { return std::string(name(row.param)); });

/// What a reduction leaves is one number: its function must not depend on how many lanes there are.
TEST(ScalarEmitLanes, AFunctionHasTheSameBitsInLanesOfAnyNumber) {
  Jit jit(loop_options());
  const MathOptions math = math_options(jit.target());
  for (const Prim prim : unary_prims(Dtype::f32)) {
    const ScalarProgram program = program_of(prim, Dtype::f32, 1);
    std::mt19937_64 rng(12);
    const Bytes x = bytes_of(Dtype::f32, rng);
    std::vector<Bytes> results;
    for (const unsigned lanes : {0U, 1U, 4U, 8U, 16U, 32U}) {
      Bytes y(x.size());
      const void* const arguments[] = {x.data()};
      void* const targets[] = {y.data()};
      compile_loop(jit, program, {.lanes = lanes, .math = math})(arguments, targets, kCount);
      results.push_back(std::move(y));
    }
    for (const Bytes& each : results) {
      for (size_t i = 0; i < kCount; ++i) {
        ASSERT_TRUE(agrees(element<float>(each, i), element<float>(results[0], i), 0))
            << name(prim) << " of " << element<float>(x, i) << ": " << element<float>(each, i) << " among lanes, "
            << element<float>(results[0], i) << " alone";
      }
    }
  }
}

TEST(ScalarSymbols, AreSortedNamedOnceAndThere) {
  const auto symbols = external_symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    EXPECT_NE(symbols[i].address, nullptr) << symbols[i].name;
    EXPECT_TRUE(i == 0 || symbols[i - 1].name < symbols[i].name) << symbols[i].name;
  }
}

}  // namespace
}  // namespace tenon::codegen::scalar_emit_test
