#include "compiler/inspect.h"

#include <algorithm>
#include <functional>

#include "base/fail.h"

#ifdef TENON_WITH_LLVM
#include "disk/object_cache.h"
#include "native/code_generator.h"
#endif

namespace tenon::compiler {
namespace {

/// Which parts of a step run a kernel, for people.
std::string describe_parts(const Step& step, int kernel) {
  const std::span<const LaunchPart> all = parts_of(step);
  std::vector<size_t> parts;
  bool long_rows = false;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].kernel == kernel) {
      parts.push_back(i + 1);
      long_rows = all[i].long_rows_of >= 0;
    }
  }
  std::string text = parts.size() == 1 ? "part " : "parts ";
  text += fmt::format("{} of {}", fmt::join(parts, ", "), all.size());
  return long_rows ? text + ", where rows are too long to stay in cache" : text;
}

using Show = std::function<std::string(const loops::Kernel&)>;

/// Every different kernel of a step once, then those of its bodies. `where` names the step.
std::string show_kernels(const Program& program, const Step& step, const std::string& where, const Show& show) {
  std::string text;
  std::vector<int> shown;
  for (const LaunchPart& part : parts_of(step)) {
    if (std::ranges::find(shown, part.kernel) != shown.end()) {
      continue;
    }
    shown.push_back(part.kernel);
    text +=
        fmt::format("{}# {}, {}: {}\n", text.empty() ? "" : "\n", where, describe_parts(step, part.kernel), step.label);
    text += show(program.kernels[static_cast<size_t>(part.kernel)]);
  }
  for (const Program& body : bodies_of(step)) {
    for (size_t i = 0; i < body.steps.size(); ++i) {
      const std::string inside =
          show_kernels(body, body.steps[i], fmt::format("{}, step {} of `{}`", where, i + 1, body.name), show);
      text += (text.empty() || inside.empty() ? "" : "\n") + inside;
    }
  }
  return text;
}

std::string show_step(const Lowered& lowered, int64_t number, const Show& show) {
  const std::vector<LoweredStep> steps = lowered.steps();
  if (number < 1 || number > std::ssize(steps)) {
    fail("there is no step {}; graph `{}` has steps 1 to {}", number, lowered.given.name(), steps.size());
  }
  const auto& [program, step, nodes] = steps[static_cast<size_t>(number - 1)];
  std::string text = show_kernels(program, step, fmt::format("step {}", number), show);
  if (text.empty()) {
    fail("step {} ({}) has no kernel", number, step.label);
  }
  return text;
}

}  // namespace

std::string step_loops(const Lowered& lowered, int64_t step) {
  return show_step(lowered, step, [](const loops::Kernel& kernel) { return to_string(kernel); });
}

#ifdef TENON_WITH_LLVM

std::string step_assembly(const Lowered& lowered, int64_t step) {
  if (lowered.machine.is_gpu()) {
    return show_step(lowered, step, [&](const loops::Kernel& kernel) {
      return codegen::code_generator().ptx(kernel, lowered.machine);
    });
  }
  const codegen::Target target = codegen::target_of(lowered.machine);
  return fmt::format("# {}\n", describe(target)) + show_step(lowered, step, [&](const loops::Kernel& kernel) {
           return codegen::code_generator().assembly(kernel, target);
         });
}

BuildReport build_report() {
  BuildReport report{.code = "native code by LLVM",
                     .target = describe(codegen::host_target()),
                     .cache = disk::ObjectCache({}).status()};
  try {
    codegen::code_generator();
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

#else

std::string step_assembly(const Lowered&, int64_t) {
  fail("this build makes no machine code, so there is no assembly to show (it was configured with TENON_LLVM=OFF)");
}

BuildReport build_report() { return {.code = "loop interpreter", .target = "", .cache = "off: nothing is compiled"}; }

#endif

}  // namespace tenon::compiler
