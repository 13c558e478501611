// The functions of {fmt} that the layers of libtenon_run call, compiled into it, so that it needs no other library.
// This source alone sees {fmt} as headers with bodies (FMT_HEADER_ONLY); that it takes a function's address makes the
// compiler emit it. A function that is missing here is an undefined symbol when the library is linked.
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace tenon::capi {

void emit_fmt_functions();

void emit_fmt_functions() {
  [[maybe_unused]] std::string (*volatile vformat)(fmt::string_view, fmt::format_args) = fmt::vformat;
  [[maybe_unused]] bool (*volatile printable)(uint32_t) = fmt::detail::is_printable;
  [[maybe_unused]] void (*volatile wrong)(const char*) = fmt::detail::throw_format_error;
  [[maybe_unused]] fmt::detail::thousands_sep_result<char> (*volatile separator)(fmt::detail::locale_ref) =
      fmt::detail::thousands_sep_impl<char>;
}

}  // namespace tenon::capi
