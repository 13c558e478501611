#include "report/units.h"

#include <fmt/format.h>

#include <string_view>

namespace tenon::report {

std::string bytes_text(int64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) {
    value /= 1024;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, units[unit]);
}

std::string time_text(double microseconds) {
  if (microseconds > 0 && microseconds < 0.01) {
    return fmt::format("{:.2g} ns", microseconds * 1e3);
  }
  if (microseconds < 1) {
    return fmt::format("{:.0f} ns", microseconds * 1e3);
  }
  if (microseconds < 1e3) {
    return fmt::format("{:.1f} us", microseconds);
  }
  constexpr double year = 365.25 * 24 * 3600 * 1e6;
  if (microseconds >= 100 * year) {
    return "more than a century";
  }
  if (microseconds >= year) {
    return fmt::format("{:.3g} years", microseconds / year);
  }
  return microseconds < 1e6 ? fmt::format("{:.2f} ms", microseconds / 1e3)
                            : fmt::format("{:.2f} s", microseconds / 1e6);
}

std::string count_text(double count) {
  if (count >= 1e15) {
    return fmt::format("{:.3g}", count);
  }
  constexpr std::string_view units[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  for (; count >= 1000 && unit + 1 < std::size(units); ++unit) {
    count /= 1000;
  }
  return fmt::format("{:.3g}{}", count, units[unit]);
}

}  // namespace tenon::report
