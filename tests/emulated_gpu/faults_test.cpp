// What the emulated GPU finds that a GPU would not tell.
#include <gtest/gtest.h>

#include "emulated_gpu/emulated_driver.h"

namespace tenon::faults_test {
namespace {

class EmulatedFaults : public EmulatedDriver {
 protected:
  static constexpr const char* kOfThread =
      "mul.wide.u32 %rd1, %t, 4;\nadd.s64 %rd2, %a, %rd1;\nadd.s64 %rd3, %b, %rd1;\n";
  static constexpr const char* kShared = ".shared .align 16 .b8 s[256];";

  void expect_fault(const std::string& body, const std::string& words, unsigned threads = 32, unsigned blocks = 1) {
    const Address a = upload(std::vector<float>(64, 1.0F));
    const Address b = upload(std::vector<float>(64, 1.0F));
    const std::string found = run(kernel(kOfThread + body, kShared), a, b, threads, blocks);
    EXPECT_NE(found.find(words), std::string::npos) << found;
    EXPECT_NE(driver().wait(stream()), 0) << "it stays until the context is made anew";
  }

  void expect_right(const std::string& body, unsigned threads = 32, unsigned blocks = 1) {
    const Address a = upload(std::vector<float>(64, 1.0F));
    EXPECT_EQ(run(kernel(kOfThread + body, kShared), a, a, threads, blocks), "no error");
  }
};

TEST_F(EmulatedFaults, AccessesBeyondTheEnd) {
  expect_right("ld.global.f32 %f1, [%rd2+128];");
  expect_fault("ld.global.f32 %f1, [%rd2+132];",
               "block 0: thread 31: 4 bytes at byte 256 of 256, beyond the end of the memory");
}

TEST_F(EmulatedFaults, StoresBeyondTheEndOfSharedMemory) {
  expect_fault("st.shared.f32 [s+256], 0f00000000;", "byte 256 of 256 of shared memory");
}

TEST_F(EmulatedFaults, MemoryOfTheHost) {
  static float there = 0;
  const std::string found = run(kernel("ld.global.f32 %f1, [%a];"), reinterpret_cast<Address>(&there), 0, 1);
  EXPECT_NE(found.find("is not in the memory of the GPU"), std::string::npos) << found;
}

TEST_F(EmulatedFaults, AccessesThatAreNotAligned) {
  expect_right("ld.global.v2.f32 {%f1, %f2}, [%a+8];");
  expect_fault("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%a+8];", "an access of 16 bytes at address");
}

TEST_F(EmulatedFaults, MemoryThatWasReleased) {
  const Address a = upload(std::vector<float>(64, 1.0F));
  EXPECT_EQ(driver().release(a), 0);
  const std::string found = run(kernel("ld.global.f32 %f1, [%a];"), a, a, 1);
  EXPECT_NE(found.find("of memory that was released"), std::string::npos) << found;
}

TEST_F(EmulatedFaults, SharedMemoryThatIsReadBeforeABarrier) {
  const std::string write = "shl.b32 %r1, %t, 2;\nmov.u32 %r2, s;\nadd.s32 %r2, %r2, %r1;\nst.shared.u32 [%r2], %t;\n";
  const std::string read = "ld.shared.u32 %r3, [s+252];\n";
  expect_right(write + "bar.sync 0;\n" + read, 64);
  expect_fault(write + read, "between the same barriers", 64);
  tenon_emulator_reset();
  expect_fault(write + "bar.sync 0;\n" + read + "st.shared.u32 [%r2], %r3;",
               "another thread reads it between the same barriers", 64);
}

TEST_F(EmulatedFaults, TwoThreadsThatWriteOnePlace) {
  expect_fault("st.global.f32 [%a], 0f3F800000;", "another thread writes it between the same barriers");
}

TEST_F(EmulatedFaults, BlocksThatReadWhatOthersWrite) {
  const std::string by_first = "mov.u32 %r1, %ctaid.x;\nsetp.eq.s32 %p1, %r1, 0;\n";
  expect_fault(by_first + "@%p1 st.global.f32 [%rd2], 0f00000000;\n@!%p1 ld.global.f32 %f1, [%rd2];",
               "another block of the launch writes it", 32, 2);
  tenon_emulator_reset();
  expect_fault(by_first + "@%p1 ld.global.f32 %f1, [%rd2];\n@!%p1 st.global.f32 [%rd2], 0f00000000;",
               "another block of the launch reads it", 32, 2);
}

TEST_F(EmulatedFaults, ConstantMemoryThatTheLaunchWrites) {
  expect_fault("st.global.f32 [%rd2], 0f00000000;\nld.global.nc.f32 %f1, [%rd2];",
               "the launch writes what it reads as constant");
}

TEST_F(EmulatedFaults, BarriersInDivergentCode) {
  const std::string half = "setp.lt.u32 %p1, %t, 16;\n@%p1 bra $L1;\n";
  expect_right(half + "add.s32 %r1, %t, 1;\n$L1:\nbar.sync 0;");
  expect_fault(half + "bar.sync 0;\nbra.uni $L2;\n$L1:\nbar.sync 0;\n$L2:", "wait for each other");
  tenon_emulator_reset();
  expect_fault("setp.lt.u32 %p1, %t, 32;\n@%p1 ret;\nbar.sync 0;", "others have ended", 64);
}

TEST_F(EmulatedFaults, ShufflesOfThreadsThatAreNotThere) {
  expect_fault("setp.lt.u32 %p1, %t, 16;\n@%p1 ret;\nshfl.sync.down.b32 %r1, %t, 1, 31, -1;", "are not all there");
}

TEST_F(EmulatedFaults, InstructionsThatAreNotKnown) {
  Handle function = nullptr;
  const int result = load(kernel("frobnicate.b32 %r1, %t;"), function);
  EXPECT_EQ(text_of(result), "`k`, line 22: `frobnicate.b32`: the instruction is not known");
  const int other = load(kernel("add.rz.f32 %f1, %f2, %f3;"), function);
  EXPECT_EQ(text_of(other), "`k`, line 22: `add.rz.f32`: `rz` is not known");
}

TEST_F(EmulatedFaults, LaunchesBeyondLimits) {
  const Address a = upload(std::vector<float>(64, 1.0F));
  EXPECT_EQ(run(kernel(""), a, a, 512), "more threads than the function is for");
  EXPECT_EQ(run(kernel(""), a, a, 32, 1, 60'000), "more shared memory than was asked for");
  EXPECT_EQ(run(kernel(""), a, a, 32, 0), "the shape of a launch");
}

TEST_F(EmulatedFaults, ResultsThatNobodyWaitedFor) {
  const Address a = upload(std::vector<int>{1, 2, 3});
  int found = 7;
  ASSERT_EQ(driver().copy_out(&found, a, sizeof(int), stream()), 0);
  EXPECT_EQ(found, 7) << "not yet";
  ASSERT_EQ(driver().wait(stream()), 0);
  EXPECT_EQ(found, 1);
}

TEST_F(EmulatedFaults, CallsWithoutAContext) {
  ASSERT_EQ(driver().set_context(nullptr), 0);
  Address memory = 0;
  const int result = driver().allocate(&memory, 64);
  EXPECT_EQ(text_of(result), "no context is current in this thread");
}

}  // namespace
}  // namespace tenon::faults_test
