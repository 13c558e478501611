// Files of weights: what comes back, and what a broken one gets.
#include "tenon/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "support/error_text.h"

namespace tenon::safetensors_test {
namespace {

struct SafeTensorsFile : testing::Test {
  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 ("tenon_safetensors_" + std::to_string(reinterpret_cast<uintptr_t>(this)));
  std::filesystem::path file = folder / "x.safetensors";
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string& header, const std::string& data, int64_t length = -1) const {
    std::ofstream out(file, std::ios::binary);
    const uint64_t bytes = length < 0 ? header.size() : static_cast<uint64_t>(length);
    out.write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    out << header << data;
  }
  std::string error() const {
    return error_text([&] { load_safetensors(file); });
  }
};

TEST_F(SafeTensorsFile, ComesBack) {
  SafeTensors saved;
  saved.metadata = {{"made by", "a \"test\"\n"}};
  for (const Dtype dtype : {Dtype::boolean, Dtype::u8, Dtype::i64, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    saved.arrays.emplace_back("of \\ " + std::string(name(dtype)), Array::full(dtype, {2, 3}, 1));
  }
  saved.arrays.emplace_back("none", Array(Dtype::f32, {0, 5}));
  saved.arrays.emplace_back("scalar", Array::scalar(Dtype::f32, 7));
  save_safetensors(file, saved);
  const SafeTensors loaded = load_safetensors(file);
  EXPECT_EQ(loaded.metadata, saved.metadata);
  ASSERT_EQ(loaded.arrays.size(), saved.arrays.size());
  for (const auto& [name, array] : saved.arrays) {
    ASSERT_NE(loaded.find(name), nullptr) << name;
    EXPECT_TRUE(same_bits(*loaded.find(name), array)) << name;
  }
  EXPECT_EQ(loaded.find("other"), nullptr);
}

TEST_F(SafeTensorsFile, WritingToWhatWasLoadedLeavesTheFile) {
  save_safetensors(file, {.arrays = {{"x", Array::full(Dtype::f32, {4}, 1)}}});
  SafeTensors loaded = load_safetensors(file);
  loaded.arrays[0].second.mutable_values<float>()[0] = 5;
  EXPECT_EQ(load_safetensors(file).arrays[0].second.at(0), 1);
}

TEST_F(SafeTensorsFile, ElementsAtAnyAddress) {
  write(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})" + std::string(1, ' '), "\0\0\x80\x3f");
  std::ofstream(file, std::ios::app).flush();
  EXPECT_TRUE(mentions(error(), {"bytes"})) << "the literal ends at its first zero";
  write(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})" + std::string(1, ' '),
        std::string("\0\0\x80\x3f", 4));
  EXPECT_EQ(load_safetensors(file).arrays[0].second.at(0), 1);
}

TEST_F(SafeTensorsFile, BrokenFilesAreRefused) {
  EXPECT_TRUE(mentions(error(), {"x.safetensors"})) << "there is none";
  std::ofstream(file) << "abc";
  EXPECT_TRUE(mentions(error(), {"x.safetensors", "it has 3 bytes"}));
  write("{}", "", 1'000'000);
  EXPECT_TRUE(mentions(error(), {"cut off", "1000000"}));
  write("{\"x\": ", "");
  EXPECT_TRUE(mentions(error(), {"no JSON", "line 1"}));
  write("[]", "");
  EXPECT_TRUE(mentions(error(), {"the header is no object"}));
  const std::string one(4, '\0');
  write(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", one);
  EXPECT_TRUE(mentions(error(), {"`x`", "f32[2]", "4 bytes"}));
  write(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", one);
  EXPECT_TRUE(mentions(error(), {"`x`", "outside"}));
  write(R"({"x":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}})", one);
  EXPECT_TRUE(mentions(error(), {"`x`", "Q4"}));
  write(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", one + one);
  EXPECT_TRUE(mentions(error(), {"4 bytes belong to no tensor"}));
  write(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
      one + one);
  EXPECT_TRUE(mentions(error(), {"`y`", "begins at byte 2"}));
  write(R"({"x":{"dtype":"F32","shape":[4503599627370496,4503599627370496],"data_offsets":[0,4]}})", one);
  EXPECT_TRUE(mentions(error(), {"`x`", "4 bytes"}));
  write(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", one);
  EXPECT_TRUE(mentions(error(), {"`shape` of tensor `x`"}));
}

TEST_F(SafeTensorsFile, WhatCannotBeWrittenLeavesWhatWasThere) {
  save_safetensors(file, {.arrays = {{"x", Array::full(Dtype::f32, {4}, 1)}}});
  EXPECT_TRUE(mentions(error_text([&] { save_safetensors(folder / "no" / "x", {}); }), {"cannot be written"}));
  EXPECT_EQ(load_safetensors(file).arrays.size(), 1);
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".new"));
}

TEST_F(SafeTensorsFile, NamesThatCannotBeReadAreNotWritten) {
  EXPECT_TRUE(
      mentions(error_text([&] { save_safetensors(file, {.arrays = {{"a", Array()}, {"a", Array()}}}); }), {"`a`"}));
  EXPECT_TRUE(
      mentions(error_text([&] { save_safetensors(file, {.arrays = {{"__metadata__", Array()}}}); }), {"__metadata__"}));
}

}  // namespace
}  // namespace tenon::safetensors_test
