#include "report/tile_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "report/units.h"

namespace tenon::report {
namespace {

/// The numbers in a reason, as they are written, and the text around them: one piece more than numbers.
struct ReasonParts {
  std::vector<std::string> texts = {""};
  std::vector<std::string> numbers = {};
};

ReasonParts parts_of_reason(std::string_view reason) {
  constexpr std::string_view kDigits = "0123456789";
  ReasonParts parts;
  while (!reason.empty()) {
    const size_t begin = std::min(reason.find_first_of(kDigits), reason.size());
    parts.texts.back() += reason.substr(0, begin);
    reason.remove_prefix(begin);
    size_t length = std::min(reason.find_first_not_of("0123456789."), reason.size());
    while (length > 0 && reason[length - 1] == '.') {  // the end of a sentence
      --length;
    }
    if (length > 0) {
      parts.numbers.emplace_back(reason.substr(0, length));
      parts.texts.emplace_back();
      reason.remove_prefix(length);
    }
  }
  return parts;
}

double number_in(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

/// Steps that run whole for one reason.
struct WholeSteps {
  std::vector<int> steps = {};  // counted from 1
  ReasonParts least = {};
  ReasonParts most = {};

  void add(int step, const ReasonParts& parts) {
    steps.push_back(step);
    for (size_t i = 0; i < parts.numbers.size(); ++i) {
      if (number_in(parts.numbers[i]) < number_in(least.numbers[i])) {
        least.numbers[i] = parts.numbers[i];
      }
      if (number_in(parts.numbers[i]) > number_in(most.numbers[i])) {
        most.numbers[i] = parts.numbers[i];
      }
    }
  }

  std::string reason() const {
    std::string text = least.texts[0];
    for (size_t i = 0; i < least.numbers.size(); ++i) {
      text += least.numbers[i] == most.numbers[i] ? least.numbers[i]
                                                  : fmt::format("{} to {}", least.numbers[i], most.numbers[i]);
      text += least.texts[i + 1];
    }
    return text;
  }
};

/// "3, 7, 9-12".
std::string ranges_text(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text += text.empty() ? "" : ", ";
    text += last == i ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string number_of(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> tile_lines(const std::vector<PipelineReport>& reports) {
  std::vector<std::string> lines;
  std::vector<WholeSteps> whole;
  for (const PipelineReport& report : reports) {
    if (report.tiled) {
      lines.push_back(fmt::format(
          "steps {} to {} run tile by tile: {} of {} in {}; {} of intermediates in windows of {} for all threads; {}",
          report.first_step + 1, report.first_step + report.steps, number_of(report.tiles, "tile"),
          number_of(report.rows, "row"), number_of(report.strips, "strip"), bytes_text(report.kept_bytes),
          bytes_text(report.window_bytes), report.reason));
      continue;
    }
    const ReasonParts parts = parts_of_reason(report.reason);
    auto same = std::ranges::find_if(whole, [&](const WholeSteps& each) { return each.least.texts == parts.texts; });
    if (same == whole.end()) {
      same = whole.insert(whole.end(), {.least = parts, .most = parts});
    }
    same->add(report.first_step + 1, parts);
  }
  for (const WholeSteps& each : whole) {
    lines.push_back(each.steps.size() == 1
                        ? fmt::format("step {} runs whole: {}", each.steps[0], each.reason())
                        : fmt::format("steps {} run whole: {}", ranges_text(each.steps), each.reason()));
  }
  return lines;
}

}  // namespace tenon::report
