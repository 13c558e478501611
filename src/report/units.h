// Numbers as people write them.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::report {

/// 512 B, 1.5 KiB, 12 MiB.
std::string bytes_text(int64_t bytes);
/// 850 ns, 12.3 us, 4.56 ms, 1.2 s, 3.4 years; beyond, that it is more than a century.
std::string time_text(double microseconds);
/// 12, 3.4 k, 5.67 M, 1.2 G, 3 T; 1.2e+15 and so on.
std::string count_text(double count);

}  // namespace tenon::report
