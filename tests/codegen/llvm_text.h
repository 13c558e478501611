// Requests to the JIT from LLVM's text form, which reads better in a test than a builder.
#pragma once

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "codegen/jit/jit.h"

namespace tenon::codegen {

/// The function `symbol` of the module `text`; the text is the key.
inline Jit::Request request_of(const std::string& symbol, const std::string& text) {
  return {text, symbol, [text](llvm::LLVMContext& context) {
            llvm::SMDiagnostic diagnostic;
            std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
            if (module == nullptr) throw std::runtime_error(diagnostic.getMessage().str());
            return module;
          }};
}

/// `float sum(const float* values, int64_t count)` by vectors of `lanes`; count is a positive multiple of it.
inline Jit::Request sum_request(int lanes) {
  return request_of("sum", fmt::format(R"(
    define float @sum(ptr %values, i64 %count) {{
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %so_far = phi <{0} x float> [ zeroinitializer, %entry ], [ %sum, %loop ]
      %address = getelementptr float, ptr %values, i64 %i
      %vector = load <{0} x float>, ptr %address, align 4
      %sum = fadd <{0} x float> %so_far, %vector
      %next = add i64 %i, {0}
      %more = icmp ult i64 %next, %count
      br i1 %more, label %loop, label %done
    done:
      %total = call float @llvm.vector.reduce.fadd.v{0}f32(float -0.0, <{0} x float> %sum)
      ret float %total
    }}
    declare float @llvm.vector.reduce.fadd.v{0}f32(float, <{0} x float>)
  )",
                                       lanes));
}

/// `int answer()` that gives `value`.
inline Jit::Request answer_request(int value) {
  return request_of("answer", fmt::format("define i32 @answer() {{ ret i32 {} }}", value));
}

/// A function at an address that the JIT gave.
template <class Function>
Function* function_at(void* address) {
  return reinterpret_cast<Function*>(address);
}

}  // namespace tenon::codegen
