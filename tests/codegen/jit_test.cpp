#include "codegen/jit/jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <numeric>
#include <thread>

#include "codegen/llvm_text.h"
#include "support/error_text.h"

namespace tenon::codegen::jit_test {
namespace {

extern "C" int tenon_test_triple(int x) { return 3 * x; }

JitOptions without_disk() {
  JitOptions options;
  options.cache.enabled = false;
  return options;
}

JitOptions with_disk(const std::string& name) {
  JitOptions options;
  options.emitter = "jit_test 1";
  options.cache.directory = ::testing::TempDir() + "tenon_jit_" + name;
  return options;
}

std::string fresh(const std::string& name) {
  std::filesystem::remove_all(with_disk(name).cache.directory);
  return name;
}

template <class Function>
Function* compile_one(Jit& jit, const Jit::Request& request) {
  return function_at<Function>(jit.compile({&request, 1}).front());
}

std::vector<Jit::Request> answers(int count) {
  std::vector<Jit::Request> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(answer_request(i));
  }
  return requests;
}

void expect_answers(const std::vector<void*>& addresses, int count) {
  ASSERT_EQ(addresses.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(function_at<int()>(addresses[static_cast<std::size_t>(i)])(), i);
  }
}

TEST(Jit, SumsAVectorWithTheHostsRegisters) {
  Jit jit(without_disk());
  const int lanes = host_target().lanes(32);
  std::vector<float> values(static_cast<std::size_t>(16 * lanes));
  std::iota(values.begin(), values.end(), 1.0f);
  auto* const sum = compile_one<float(const float*, int64_t)>(jit, sum_request(lanes));
  const auto n = static_cast<float>(values.size());
  EXPECT_EQ(sum(values.data(), static_cast<int64_t>(values.size())), n * (n + 1) / 2);
}

// What the host target claims must be there: the code below is made of the instructions that it names.
TEST(Jit, TheHostsFeaturesRun) {
  Jit jit(without_disk());
  const int lanes = host_target().lanes(32);
  // Where bf16 is no feature, LLVM would call a function for it.
  const std::string brain = host_target().bf16_dot ? fmt::format(R"(
      %brain = fptrunc <{0} x float> %x to <{0} x bfloat>
      %brain_bits = bitcast <{0} x bfloat> %brain to <{0} x i16>
      %brain_word = zext <{0} x i16> %brain_bits to <{0} x i32>
      %brain_shifted = shl <{0} x i32> %brain_word, splat (i32 16)
      %brain_wide = bitcast <{0} x i32> %brain_shifted to <{0} x float>)",
                                                                 lanes)
                                                   : fmt::format("%brain_wide = fneg <{0} x float> %minus_x", lanes);
  auto* const run = compile_one<void(const float*, float*)>(jit, request_of("run", fmt::format(R"(
    define void @run(ptr %in, ptr %out) {{
      %x = load <{0} x float>, ptr %in, align 4
      %minus_x = fneg <{0} x float> %x
      %half = fptrunc <{0} x float> %x to <{0} x half>
      %wide = fpext <{0} x half> %half to <{0} x float>
      {1}
      %y = call <{0} x float> @llvm.fma.v{0}f32(<{0} x float> %wide, <{0} x float> %brain_wide, <{0} x float> %x)
      store <{0} x float> %y, ptr %out, align 4
      ret void
    }}
    declare <{0} x float> @llvm.fma.v{0}f32(<{0} x float>, <{0} x float>, <{0} x float>)
  )",
                                                                                               lanes, brain)));
  std::vector<float> in(static_cast<std::size_t>(lanes));
  std::iota(in.begin(), in.end(), 1.0f);
  std::vector<float> out(in.size());
  run(in.data(), out.data());
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(out[i], in[i] * in[i] + in[i]) << i;
  }
}

TEST(Jit, SeesTheGivenSymbolsAlone) {
  const Jit::Request triple = request_of("nine", R"(
    define i32 @nine() { %r = call i32 @tenon_test_triple(i32 3)  ret i32 %r }
    declare i32 @tenon_test_triple(i32))");
  JitOptions options = without_disk();
  options.symbols = {{"tenon_test_triple", reinterpret_cast<void*>(&tenon_test_triple)}};
  Jit jit(options);
  EXPECT_EQ(compile_one<int()>(jit, triple)(), 9);

  const Jit::Request libc = request_of("id", R"(
    define i32 @id() { %r = call i32 @getpid()  ret i32 %r }
    declare i32 @getpid())");
  for (int attempt = 0; attempt < 2; ++attempt) {  // a failure is not remembered as an answer
    try {
      jit.compile({&libc, 1});
      FAIL() << "getpid was visible";
    } catch (const InternalError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("needs `getpid`, which is not among the symbols that kernels may call"), std::string::npos)
          << text;
    }
  }
  EXPECT_EQ(compile_one<int()>(jit, answer_request(4))(), 4);
}

TEST(Jit, OneErrorLeavesTheOthersWhole) {
  Jit jit(without_disk());
  std::vector<Jit::Request> requests = answers(6);
  requests[3].emit = [](llvm::LLVMContext&) -> std::unique_ptr<llvm::Module> { throw Error("no such kernel"); };
  EXPECT_EQ(error_text([&] { jit.compile(requests); }), "no such kernel");
  EXPECT_EQ(jit.counters().compiled, 5);
  expect_answers(jit.compile(answers(6)), 6);
  EXPECT_EQ(jit.counters().compiled, 6);
}

TEST(Jit, TellsWhatEachTook) {
  Jit jit(without_disk());
  std::vector<Jit::Request> requests = answers(3);
  requests.push_back(requests[1]);
  std::vector<double> taken;
  expect_answers(jit.compile(std::span(requests).first(3), &taken), 3);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_GT(std::ranges::min(taken), 0);
  jit.compile(requests, &taken);
  EXPECT_EQ(taken, std::vector<double>(4));
}

TEST(Jit, EqualKeysCompileOnce) {
  Jit jit(without_disk());
  std::atomic<int> emitted = 0;
  std::vector<Jit::Request> requests;
  for (int i = 0; i < 12; ++i) {
    Jit::Request request = answer_request(i % 3);
    request.emit = [inner = request.emit, &emitted](llvm::LLVMContext& context) {
      ++emitted;
      return inner(context);
    };
    requests.push_back(std::move(request));
  }
  std::vector<void*> first;
  std::vector<void*> second;
  {
    const std::jthread other([&] { first = jit.compile(requests); });
    second = jit.compile(requests);
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(emitted, 3);
  EXPECT_EQ(jit.counters().compiled, 3);
  EXPECT_EQ(jit.counters().requests, 24);
  EXPECT_EQ(jit.counters().from_memory, 21);
  EXPECT_EQ(second[0], second[3]);
  EXPECT_NE(second[0], second[1]);
}

TEST(Jit, HelpersOfTwoModulesDoNotCollide) {
  const auto request = [](int value) {
    return request_of("answer", fmt::format(R"(
      @table = constant [2 x i32] [i32 0, i32 {}]
      define i32 @helper(i32 %i) noinline {{
        %at = getelementptr [2 x i32], ptr @table, i32 0, i32 %i
        %v = load i32, ptr %at
        ret i32 %v
      }}
      define i32 @answer() {{ %v = call i32 @helper(i32 1)  ret i32 %v }}
    )",
                                            value));
  };
  Jit jit(without_disk());
  auto* const five = compile_one<int()>(jit, request(5));
  auto* const six = compile_one<int()>(jit, request(6));
  EXPECT_EQ(five(), 5);
  EXPECT_EQ(six(), 6);
}

TEST(Jit, MalformedCodeIsNamed) {
  Jit jit(without_disk());
  const Jit::Request missing = request_of("absent", "define void @present() { ret void }");
  EXPECT_THROW(jit.compile({&missing, 1}), InternalError);
}

TEST(Jit, SecondJitTakesAllFromDisk) {
  const std::string name = fresh("second");
  {
    Jit first(with_disk(name));
    expect_answers(first.compile(answers(5)), 5);
    EXPECT_EQ(first.counters().compiled, 5);
    EXPECT_EQ(first.counters().from_disk, 0);
  }
  Jit second(with_disk(name));
  std::vector<Jit::Request> requests = answers(5);
  for (Jit::Request& request : requests) {
    request.emit = nullptr;  // calling it would throw
  }
  expect_answers(second.compile(requests), 5);
  EXPECT_EQ(second.counters().emitted, 0);
  EXPECT_EQ(second.counters().from_disk, 5);

  // Another emitter, another target: other objects.
  JitOptions other = with_disk(name);
  other.emitter = "jit_test 2";
  Jit newer(other);
  expect_answers(newer.compile(answers(5)), 5);
  EXPECT_EQ(newer.counters().from_disk, 0);
  JitOptions plain = with_disk(name);
  plain.target.features += plain.target.features.empty() ? "" : ",";
  plain.target.features += plain.target.triple.starts_with("x86") ? "-avxvnni" : "-rdm";
  Jit narrower(plain);
  expect_answers(narrower.compile(answers(5)), 5);
  EXPECT_EQ(narrower.counters().from_disk, 0);
}

TEST(Jit, NoEmitterNoDisk) {
  JitOptions options = with_disk(fresh("unnamed"));
  options.emitter = "";
  Jit jit(options);
  expect_answers(jit.compile(answers(1)), 1);
  EXPECT_FALSE(jit.cache().enabled());
  EXPECT_FALSE(std::filesystem::exists(options.cache.directory));
}

TEST(Jit, ManyJitsAndThreadsShareADirectory) {
  const std::string name = fresh("shared");
  Jit one(with_disk(name));
  Jit two(with_disk(name));
  {
    std::vector<std::jthread> threads;
    for (Jit* jit : {&one, &two, &one, &two}) {
      threads.emplace_back([jit] { expect_answers(jit->compile(answers(20)), 20); });
    }
  }
  for (Jit* jit : {&one, &two}) {
    EXPECT_EQ(jit->counters().compiled + jit->counters().from_disk, 20);
    EXPECT_EQ(jit->cache().counters().damaged, 0);
  }
  Jit three(with_disk(name));
  expect_answers(three.compile(answers(20)), 20);
  EXPECT_EQ(three.counters().from_disk, 20);
}

TEST(Jit, TimesAreCounted) {
  Jit jit(without_disk());
  jit.compile(answers(2));
  const JitCounters counters = jit.counters();
  EXPECT_GT(counters.emit_ms, 0);
  EXPECT_GT(counters.optimize_ms, 0);
  EXPECT_GT(counters.codegen_ms, 0);
  EXPECT_GT(counters.link_ms, 0);
}

Jit::Request load_request() {
  return request_of("load", R"(
    define float @load(ptr %p, i64 %i) {
      %at = getelementptr float, ptr %p, i64 %i
      %v = load float, ptr %at
      ret float %v
    })");
}

TEST(Jit, SanitizedCodeCallsTheSanitizer) {
  const auto names_sanitizer = [](bool sanitize) {
    const std::vector<char> object = emit_object(load_request(), host_target(), sanitize);
    return std::string(object.begin(), object.end()).find("__asan_report_load4") != std::string::npos;
  };
  EXPECT_TRUE(names_sanitizer(true));
  EXPECT_FALSE(names_sanitizer(false));
}

TEST(Jit, SanitizerSeesCode) {
  if (!kAddressSanitizer) GTEST_SKIP() << "needs a build with the address sanitizer";
  Jit jit(without_disk());
  auto* const load = compile_one<float(const float*, int64_t)>(jit, load_request());
  const std::vector<float> values(16, 2.0f);
  EXPECT_EQ(load(values.data(), 15), 2.0f);
  EXPECT_DEATH(load(values.data(), 16), "heap-buffer-overflow");
}

}  // namespace
}  // namespace tenon::codegen::jit_test
