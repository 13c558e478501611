// The arenas of the built-in models, against the most bytes that live at once.
#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/models.h"

namespace tenon::models_memory_test {
namespace {

class ModelsMemory : public testing::TestWithParam<size_t> {};

TEST_P(ModelsMemory, TheArenaIsHardlyLargerThanWhatLives) {
  const ModelEntry& model = model_table()[GetParam()];
  const Executable executable = compile(model.build().graph, {.native = false});
  const MemoryReport memory = executable.memory(Bindings::parse(model.typical));
  EXPECT_GE(memory.arena_bytes, memory.live_bytes);
  EXPECT_LE(static_cast<double>(memory.arena_bytes), 1.05 * static_cast<double>(memory.live_bytes))
      << memory.intermediate_bytes << " bytes in all";
}

INSTANTIATE_TEST_SUITE_P(All, ModelsMemory, testing::Range(size_t{0}, model_table().size()),
                         [](const auto& each) { return std::string(model_table()[each.param].name); });

}  // namespace
}  // namespace tenon::models_memory_test
