// Caches of imported decoders that are donated: written in place.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/donate.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"
#include "tenon/ops.h"

namespace tenon::donated_caches_test {
namespace {

Array evaluated(const Value& value) { return interpret(Graph({}, {{"y", value}}), {})[0]; }

/// Caches with room: new keys and values are written behind the own end of each element, and nothing else is.
TEST(OnnxDonatedCaches, GroupQueryAttentionUpdatesDonatedCaches) {
  std::mt19937_64 rng(4);
  OnnxModelBuilder model;
  model.opset("com.microsoft", 1);
  for (const char* name : {"q", "k", "v"}) {
    model.input(name, name == std::string("q") ? "f32[batch, seq, 8]" : "f32[batch, seq, 4]");
  }
  model.input("past_key", "f32[batch, 1, past, 4]");
  model.input("past_value", "f32[batch, 1, past, 4]");
  model.input("last", "i32[batch]");
  model.input("total", "i32[]");
  for (const char* name : {"y", "present_key", "present_value"}) {
    model.output(name);
  }
  model.node("GroupQueryAttention", {"q", "k", "v", "past_key", "past_value", "last", "total"},
             {"y", "present_key", "present_value"},
             {attribute("num_heads", int64_t{2}), attribute("kv_num_heads", int64_t{1})}, "com.microsoft");
  const Graph plain = import_onnx_bytes(model.bytes());
  EXPECT_EQ(find_donations(plain).size(), 2);
  const Graph donated = donate(plain, find_donations(plain));
  const Executable executable = compile(donated, {.disk_cache = false});
  const auto first_of = [](const Array& array, int64_t count) {
    return evaluated(slice_axis(constant(array), 2, 0, count));
  };
  Array keys = Array::full(f32, {2, 1, 8, 4}, 0);  // room for 8
  Array values = keys;
  for (const auto& [seq, past, last] : {std::tuple{3, 0, std::vector<int32_t>{2, 0}},  // 3 and 1 tokens
                                        {1, 3, {3, 1}},
                                        {1, 4, {4, 2}}}) {
    const std::vector<Array> fresh = {random_array(f32, {2, seq, 8}, rng), random_array(f32, {2, seq, 4}, rng),
                                      random_array(f32, {2, seq, 4}, rng)};
    std::vector<Array> inputs = {fresh[0],
                                 fresh[1],
                                 fresh[2],
                                 first_of(keys, past),
                                 first_of(values, past),
                                 Array::from<int32_t>({2}, last),
                                 Array::from<int32_t>({}, {past + seq})};
    const std::vector<Array> expected = interpret(plain, inputs);
    inputs[3] = std::move(keys);
    inputs[4] = std::move(values);
    const std::byte* const memory = inputs[3].mutable_data();
    std::vector<Array> results = executable.run(std::move(inputs), {.bindings = {{"past", past}}});
    EXPECT_EQ(results[1].data(), memory);
    EXPECT_TRUE(close(results[0], expected[0], 1e-5, 1e-5)) << past;
    for (int64_t element = 0; element < 2; ++element) {  // what is behind the end of an element is never seen
      const int64_t length = last[static_cast<size_t>(element)] + 1;
      const auto own = [&](const Array& array) {
        return evaluated(slice_axis(slice_axis(constant(array), 0, element, element + 1), 2, 0, length));
      };
      EXPECT_TRUE(same(own(results[1]), own(expected[1]))) << past;
      EXPECT_TRUE(same(own(results[2]), own(expected[2]))) << past;
    }
    keys = std::move(results[1]);
    values = std::move(results[2]);
  }
}

}  // namespace
}  // namespace tenon::donated_caches_test
