#include "base/element_text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/convert.h"

namespace tenon {
namespace {

template <class T>
auto bits_of(T value) {
  if constexpr (is_half_type<T>) {
    return value.bits;
  } else {
    using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    return std::bit_cast<Word>(value);
  }
}

template <class T>
std::string float_text(T value) {
  const auto wide = static_cast<ComputeType<T>>(value);
  if (std::isnan(wide)) {
    const auto quiet = convert<T>(std::numeric_limits<ComputeType<T>>::quiet_NaN());
    if (bits_of(value) == bits_of(quiet)) {
      return "nan";
    }
    // What the CPU makes of 0 / 0 has the sign bit set.
    const bool negated = bits_of(value) == bits_of(convert<T>(-std::numeric_limits<ComputeType<T>>::quiet_NaN()));
    return negated ? "-nan" : fmt::format("{:#x}", bits_of(value));
  }
  return fmt::format("{}", wide);
}

template <class T>
bool parse_float(std::string_view text, T& value) {
  if (text == "nan" || text == "-nan") {
    const auto quiet = std::numeric_limits<ComputeType<T>>::quiet_NaN();
    value = convert<T>(text == "nan" ? quiet : -quiet);
    return true;
  }
  if (text.starts_with("0x")) {
    decltype(bits_of(T{})) word = 0;
    const auto [end, status] = std::from_chars(text.data() + 2, text.data() + text.size(), word, 16);
    value = std::bit_cast<T>(word);
    return status == std::errc() && end == text.data() + text.size();
  }
  // The half types parse as double and round once; float parses as itself, which rounds once too.
  std::conditional_t<is_half_type<T>, double, T> wide{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), wide);
  if (status == std::errc::result_out_of_range || end != text.data() + text.size() || status != std::errc()) {
    return false;
  }
  value = convert<T>(wide);
  return true;
}

}  // namespace

std::string element_to_text(Dtype dtype, const std::byte* element) {
  return visit_dtype(dtype, [&]<class T>() -> std::string {
    T value;
    std::memcpy(&value, element, sizeof(T));
    if constexpr (is_float_type<T>) {
      return float_text(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else {
      return fmt::format("{}", value);
    }
  });
}

bool element_from_text(Dtype dtype, std::string_view text, std::byte* element) {
  return visit_dtype(dtype, [&]<class T>() {
    T value{};
    bool ok = false;
    if constexpr (is_float_type<T>) {
      ok = parse_float(text, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      ok = text == "true" || text == "false";
      value = text == "true";
    } else {
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
      ok = status == std::errc() && end == text.data() + text.size();
    }
    std::memcpy(element, &value, sizeof(T));
    return ok;
  });
}

}  // namespace tenon
