// The table itself: every row is complete, every primitive is reached.
#include "ops/scalar/scalar_table.h"

#include <map>

#include "kernel/scalar/scalar_program.h"
#include "support/arrays.h"

namespace tenon::scalar_table_test {
namespace {

TEST(ScalarTable, EveryRowIsComplete) {
  for (const ScalarFn* fn : scalar_table()) {
    EXPECT_FALSE(fn->doc.empty()) << fn->name;
    EXPECT_NE(fn->value, nullptr) << fn->name;
    EXPECT_EQ(find_scalar_fn(fn->name), fn);
    EXPECT_GE(fn->arity, 1) << fn->name;
    EXPECT_LE(fn->arity, 3) << fn->name;
    EXPECT_EQ(fn->onnx.name.empty(), fn->onnx.since == 0) << fn->name;
  }
  EXPECT_EQ(find_scalar_fn("no_such_function"), nullptr);
}

TEST(ScalarTable, EveryPrimitiveIsReachedByARow) {
  std::map<Prim, int> used;
  for (const ScalarFn* fn : scalar_table()) {
    for (const Dtype dtype : {f64, i32, boolean}) {
      if (contains(fn->domain, dtype)) {
        std::vector<Dtype> operands(static_cast<size_t>(fn->arity), dtype);
        if (fn->name == "select") {
          operands[0] = boolean;
        }
        for (const ScalarInstruction& instruction : flatten({instantiate(*fn, operands, f16)}).code) {
          ++used[instruction.prim];
        }
      }
    }
  }
  for (int i = 0; i <= static_cast<int>(Prim::select); ++i) {
    EXPECT_GT(used[static_cast<Prim>(i)], 0) << name(static_cast<Prim>(i));
  }
}

}  // namespace
}  // namespace tenon::scalar_table_test
