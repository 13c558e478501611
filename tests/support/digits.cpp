#include "support/digits.h"

#include <array>
#include <string_view>

namespace tenon {
namespace {

constexpr int64_t kSize = 12;

constexpr std::array<std::array<std::string_view, 7>, 10> kFont = {{
    {" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "},
    {"  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "},
    {" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"},
    {" ### ", "#   #", "    #", "  ## ", "    #", "#   #", " ### "},
    {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "},
    {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "},
    {"  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "},
    {"#####", "    #", "   # ", "  #  ", "  #  ", "  #  ", "  #  "},
    {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "},
    {" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "},
}};

}  // namespace

Digits draw_digits(int64_t count, std::mt19937_64& rng) {
  Digits digits{Array(f32, {count, 1, kSize, kSize}), Array(i64, {count})};
  std::uniform_real_distribution<float> unit(0, 1);
  std::normal_distribution<float> noise(0, 0.2f);
  auto pixels = digits.images.mutable_values<float>();
  auto labels = digits.labels.mutable_values<int64_t>();
  for (int64_t n = 0; n < count; ++n) {
    const auto digit = rng() % 10;
    labels[static_cast<size_t>(n)] = static_cast<int64_t>(digit);
    const auto top = static_cast<int64_t>(1 + rng() % 4);
    const auto left = static_cast<int64_t>(2 + rng() % 4);
    const float ink = 0.6f + 0.4f * unit(rng);
    for (int64_t y = 0; y < kSize; ++y) {
      for (int64_t x = 0; x < kSize; ++x) {
        const bool inside = y >= top && y < top + 7 && x >= left && x < left + 5;
        const bool on = inside && kFont[digit][static_cast<size_t>(y - top)][static_cast<size_t>(x - left)] == '#';
        pixels[static_cast<size_t>((n * kSize + y) * kSize + x)] = (on ? ink : 0.0f) + noise(rng);
      }
    }
  }
  return digits;
}

}  // namespace tenon
