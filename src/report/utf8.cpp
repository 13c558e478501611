#include "report/utf8.h"

namespace tenon::report {

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  // Characters that have a shorter form, halves of pairs, and what lies beyond the last one.
  const unsigned char next = length > 2 ? byte(1) : 0x80;
  const bool wrong = (lead == 0xe0 && next < 0xa0) || (lead == 0xed && next >= 0xa0) || (lead == 0xf0 && next < 0x90) ||
                     (lead == 0xf4 && next >= 0x90);
  return wrong ? 0 : length;
}

}  // namespace tenon::report
