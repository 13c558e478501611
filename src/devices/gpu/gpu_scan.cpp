#include "devices/gpu/gpu_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tenon::devices {
namespace {

constexpr unsigned kThreadsOfScan = 128;
constexpr int64_t kMostBlocksOfScan = int64_t{1} << 20;
// A line longer than this is the host's, unless there are so many lines that a GPU is busy with them.
constexpr int64_t kMostOfFewLines = 4096;
constexpr int64_t kManyLines = 1024;

/// A type in PTX. Floats are combined in f64 and rounded once, as on the host.
struct ScannedType {
  Dtype dtype;
  std::string_view name;           // of what is loaded and stored
  std::string_view register_type;  // that holds it
  std::string_view combined;       // the type of the running value
  std::string_view widen;          // from the one to the other
  std::string_view narrow;
  std::string_view zero, one, lowest, highest;
};

constexpr std::string_view kZero = "0d0000000000000000";
constexpr std::string_view kOne = "0d3FF0000000000000";
constexpr std::string_view kInfinity = "0d7FF0000000000000";
constexpr std::string_view kMinusInfinity = "0dFFF0000000000000";

constexpr std::array kTypes = {
    ScannedType{Dtype::f32, "f32", "f32", "f64", "cvt.f64.f32", "cvt.rn.f32.f64", kZero, kOne, kMinusInfinity,
                kInfinity},
    ScannedType{Dtype::f64, "f64", "f64", "f64", "mov.f64", "mov.f64", kZero, kOne, kMinusInfinity, kInfinity},
    ScannedType{Dtype::f16, "b16", "b16", "f64", "cvt.f64.f16", "cvt.rn.f16.f64", kZero, kOne, kMinusInfinity,
                kInfinity},
    ScannedType{Dtype::i32, "s32", "s32", "s32", "mov.b32", "mov.b32", "0", "1", "0x80000000", "0x7fffffff"},
    ScannedType{Dtype::i64, "s64", "s64", "s64", "mov.b64", "mov.b64", "0", "1", "0x8000000000000000",
                "0x7fffffffffffffff"},
};

/// %next from %sum and %value.
std::string combine(const ScanRoutine& step, const ScannedType& type) {
  const bool is_float = type.combined == "f64";
  switch (step.op) {
    case ReduceOp::sum: return fmt::format("add{}.{} %next, %sum, %value;\n", is_float ? ".rn" : "", type.combined);
    case ReduceOp::product:
      return fmt::format("mul{}.{} %next, %sum, %value;\n", is_float ? ".rn" : ".lo", type.combined);
    default: break;
  }
  const char* const order = step.op == ReduceOp::max ? "gt" : "lt";
  std::string text =
      fmt::format("setp.{}.{} %p2, %value, %sum;\nselp.{} %next, %value, %sum, %p2;\n", order, type.combined,
                  is_float                 ? "f64"
                  : type.combined == "s32" ? "b32"
                                           : "b64");
  if (is_float) text += "setp.nan.f64 %p2, %value, %sum;\nselp.f64 %next, 0d7FF8000000000000, %next, %p2;\n";
  return text;
}

std::string_view start(const ScanRoutine& step, const ScannedType& type) {
  switch (step.op) {
    case ReduceOp::sum: return type.zero;
    case ReduceOp::product: return type.one;
    case ReduceOp::max: return type.lowest;
    default: return type.highest;
  }
}

}  // namespace

std::string scan_ptx(const ScanRoutine& step, Dtype dtype) {
  const auto* const type = std::ranges::find(kTypes, dtype, &ScannedType::dtype);
  if (type == kTypes.end()) return {};
  const std::string move = fmt::format("mov.{}", type->combined == "f64"   ? "f64"
                                                 : type->combined == "s32" ? "b32"
                                                                           : "b64");
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry scan(\n";
  for (int i = 0; i < 5; ++i)
    text += fmt::format(".param .u64 scan_param_{}{}\n", i, i < 4 ? "," : "");
  text += fmt::format(
      ")\n.maxntid {}, 1, 1\n{{\n.reg .pred %p<3>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<20>;\n.reg .{} %held;\n"
      ".reg .{} %sum;\n.reg .{} %next;\n.reg .{} %value;\n",
      kThreadsOfScan, type->register_type, type->combined, type->combined, type->combined);
  // rd1: the line, and how many there are; rd5: where its first element lies.
  text += fmt::format(
      "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd1, %r1, {};\ncvt.u64.u32 %rd2, %r2;\n"
      "add.s64 %rd1, %rd1, %rd2;\nld.param.u64 %rd2, [scan_param_2];\nld.param.u64 %rd3, [scan_param_3];\n"
      "ld.param.u64 %rd4, [scan_param_4];\nmov.u32 %r1, %nctaid.x;\nmul.wide.u32 %rd15, %r1, {};\n"
      "ld.param.u64 %rd10, [scan_param_0];\ncvta.to.global.u64 %rd10, %rd10;\n"
      "ld.param.u64 %rd11, [scan_param_1];\ncvta.to.global.u64 %rd11, %rd11;\n"
      "$line:\nsetp.ge.s64 %p1, %rd1, %rd2;\n@%p1 bra $done;\n"
      "div.s64 %rd6, %rd1, %rd3;\nmul.lo.s64 %rd7, %rd6, %rd3;\nsub.s64 %rd8, %rd1, %rd7;\n"
      "mul.lo.s64 %rd5, %rd7, %rd4;\nadd.s64 %rd5, %rd5, %rd8;\n",
      kThreadsOfScan, kThreadsOfScan);
  const size_t bytes = byte_size(dtype);
  text += fmt::format("mul.lo.s64 %rd12, %rd3, {};\n", bytes);  // from one element to the next
  if (step.reverse) {
    text += "sub.s64 %rd9, %rd4, 1;\nmul.lo.s64 %rd9, %rd9, %rd3;\nadd.s64 %rd5, %rd5, %rd9;\nneg.s64 %rd12, %rd12;\n";
  }
  text += fmt::format(
      "mul.lo.s64 %rd5, %rd5, {};\nadd.s64 %rd13, %rd10, %rd5;\nadd.s64 %rd14, %rd11, %rd5;\nmov.u64 %rd9, %rd4;\n"
      "{} %sum, {};\n"
      "$element:\nld.global.{} %held, [%rd13];\n{} %value, %held;\n{}{} %held, {};\nst.global.{} [%rd14], %held;\n"
      "{} %sum, %next;\nadd.s64 %rd13, %rd13, %rd12;\nadd.s64 %rd14, %rd14, %rd12;\nsub.s64 %rd9, %rd9, 1;\n"
      "setp.gt.s64 %p1, %rd9, 0;\n@%p1 bra $element;\nadd.s64 %rd1, %rd1, %rd15;\nbra.uni $line;\n$done:\nret;\n}}\n",
      bytes, move, start(step, *type), type->name, type->widen, combine(step, *type), type->narrow,
      step.exclusive ? "%sum" : "%next", type->name, move);
  return text;
}

GpuScans::~GpuScans() {
  for (const auto& [text, loaded] : by_text_)
    driver_.unload_module(loaded.module);
}

CudaDriver::Handle GpuScans::function_of(const std::string& text) {
  const std::lock_guard lock(mutex_);
  Loaded& loaded = by_text_[text];
  if (loaded.module == nullptr) loaded.module = linker_.load(text);
  if (loaded.function == nullptr) {
    check_cuda(driver_.function(&loaded.function, loaded.module, "scan"), "find a scan");
  }
  return loaded.function;
}

bool GpuScans::run(const ScanRoutine& step, const RoutineCall& call, CudaDriver::Handle stream) {
  const library::Memory& x = call.reads[0];
  if (x.size() == 0) return true;
  const library::Lines lines = library::lines_along(x.dims, step.axis);
  int64_t count = lines.outer * lines.inner;
  if (lines.count > kMostOfFewLines && count < kManyLines) return false;
  const std::string text = scan_ptx(step, x.dtype);
  if (text.empty()) return false;
  if (call.before_chunk) call.before_chunk();
  const CudaDriver::Handle function = function_of(text);
  auto from = reinterpret_cast<CudaDriver::Address>(x.data);
  auto to = reinterpret_cast<CudaDriver::Address>(call.writes[0].data);
  int64_t inner = lines.inner;
  int64_t length = lines.count;
  std::array<void*, 5> arguments{&from, &to, &count, &inner, &length};
  const int64_t blocks = std::min((count + kThreadsOfScan - 1) / kThreadsOfScan, kMostBlocksOfScan);
  check_cuda(driver_.launch(function, static_cast<unsigned>(blocks), 1, 1, kThreadsOfScan, 1, 1, 0, stream,
                            arguments.data(), nullptr),
             "run a scan");
  return true;
}

}  // namespace tenon::devices
