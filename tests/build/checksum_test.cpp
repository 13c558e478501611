// Checksums of what lies in files: all changes are seen, and they are the same on every machine and with any threads.
#include "saved/checksum.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "program_folder.h"
#include "tenon/error.h"

namespace tenon::checksum_test {
namespace {

using saved::checksum;
using saved::Checksum;

std::vector<std::byte> some_bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 12345;
  for (std::byte& each : bytes) {
    state = state * 1664525 + 1013904223;
    each = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

constexpr size_t kMiB = size_t{1} << 20;  // a piece for a thread

TEST(FileChecksum, OfAFileIsThatOfItsBytes) {
  const ProgramFolder folder;
  const std::string path = folder / "bytes";
  for (const size_t size : {size_t{0}, size_t{100}, 16 * kMiB, 16 * kMiB + 5, 33 * kMiB}) {
    const std::vector<std::byte> bytes = some_bytes(size);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
    EXPECT_EQ(saved::checksum_of_file(path), checksum(bytes)) << size;
  }
  EXPECT_THROW(saved::checksum_of_file(folder / "missing"), Error);
}

TEST(FileChecksum, SeesEachBit) {
  for (const size_t size : {1U, 7U, 8U, 9U, 63U, 64U, 65U, 130U}) {
    std::vector<std::byte> bytes = some_bytes(size);
    std::set<Checksum> seen = {checksum(bytes)};
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      const auto change = static_cast<std::byte>(1 << (bit % 8));
      bytes[bit / 8] ^= change;
      EXPECT_TRUE(seen.insert(checksum(bytes)).second) << "bit " << bit << " of " << size << " bytes";
      bytes[bit / 8] ^= change;
    }
  }
}

TEST(FileChecksum, SeesHowManyZerosThereAre) {
  std::set<Checksum> seen;
  const std::vector<std::byte> zeros(3 * kMiB);
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, kMiB - 1, kMiB, kMiB + 1, 2 * kMiB})
    EXPECT_TRUE(seen.insert(checksum(std::span(zeros).first(size))).second) << size;
}

TEST(FileChecksum, SeesWhatChangedPlaces) {
  for (const size_t distance : {size_t{8}, size_t{16}, size_t{64}, size_t{4096}, kMiB}) {
    std::vector<std::byte> bytes = some_bytes(2 * kMiB + 100);
    const Checksum before = checksum(bytes);
    for (size_t i = 0; i < 8; ++i)
      std::swap(bytes[256 + i], bytes[256 + distance + i]);
    EXPECT_NE(checksum(bytes), before) << distance;
  }
}

TEST(FileChecksum, SeesAWordThatIsMultipliedByZero) {
  std::vector<std::byte> bytes(64);
  std::set<Checksum> seen;
  for (uint32_t half = 0; half < 1000; ++half) {  // for some, the other half and the key have equal bits
    std::memcpy(bytes.data() + 8, &half, sizeof(half));
    EXPECT_TRUE(seen.insert(checksum(bytes)).second);
  }
}

TEST(FileChecksum, OfManyIsThatOfEach) {
  const std::vector<std::byte> bytes = some_bytes(3 * kMiB + 5);
  const std::span all(bytes);
  const std::vector<std::span<const std::byte>> spans = {all, all.first(0), all.first(kMiB), all.subspan(64, 2 * kMiB),
                                                         all.subspan(3, 10)};
  const std::vector<Checksum> sums = saved::checksums(spans);
  ASSERT_EQ(sums.size(), spans.size());
  for (size_t i = 0; i < spans.size(); ++i)
    EXPECT_EQ(sums[i], checksum(spans[i])) << i;
  EXPECT_TRUE(saved::checksums({}).empty());
}

/// Files are read on other machines than those that wrote them.
TEST(FileChecksum, IsTheSameOnEveryMachine) {
  EXPECT_EQ(to_hex(checksum(some_bytes(1000))), "26cbdae4127332a930511493af9a820b");
  EXPECT_EQ(to_hex(checksum(some_bytes(kMiB + 1000))), "42d10b0dbf41028d353fe72aa9161855");
}

}  // namespace
}  // namespace tenon::checksum_test
