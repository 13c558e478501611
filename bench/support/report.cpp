#include "support/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace bench {
namespace {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string json_number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "null";
}

std::string json_line(const Figure& figure) {
  const std::optional<bool> ok = figure.ok();
  const char* verdict = !ok.has_value() ? "null" : *ok ? "true" : "false";
  return fmt::format(R"({{"name": {}, "value": {}, "unit": {}, "target": {}, "ok": {}}})", json_string(figure.name),
                     json_number(figure.value), json_string(figure.unit), json_number(figure.target), verdict);
}

std::string cell(std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : "-"; }

std::string note_cell(const Figure& figure) { return (figure.ok() == false ? "MISSED  " : "") + figure.note; }

std::string target_cell(const Figure& figure) {
  return figure.target ? fmt::format("{} {:.6g}", figure.better == Better::lower ? "<=" : ">=", *figure.target) : "";
}

}  // namespace

std::optional<bool> Figure::ok() const {
  if (!value || !target) {
    return std::nullopt;
  }
  return std::isfinite(*value) && (better == Better::lower ? *value <= *target : *value >= *target);
}

Report::Report(int argc, char** argv) : Report(false) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--json") {
      json_ = true;
    } else if (option == "--only" && i + 1 < argc) {
      only_ = argv[++i];
    } else {
      fmt::print(stderr, "usage: {} [--json] [--only PART_OF_A_NAME]\n", argv[0]);
      std::exit(2);
    }
  }
}

void Report::add(std::string name, double value, std::string unit, std::optional<double> target, Better better,
                 std::string note) {
  record({std::move(name), value, std::move(unit), target, better, std::move(note)});
}

void Report::add_pending(std::string name, std::string unit, std::optional<double> target, Better better,
                         std::string note) {
  record({std::move(name), std::nullopt, std::move(unit), target, better, std::move(note)});
}

void Report::record(Figure figure) {
  missed_ += figure.ok() == false ? 1 : 0;
  if (json_) {
    fmt::print(out_, "{}\n", json_line(figure));
    std::fflush(out_);
  } else {
    figures_.push_back(std::move(figure));
  }
}

int Report::finish() {
  if (figures_.empty() && !only_.empty()) {
    fmt::print(stderr, "no figure has \"{}\" in its name; without --only all of them are measured\n", only_);
    return 2;
  }
  size_t name_width = 0;
  size_t value_width = 0;
  size_t unit_width = 0;
  size_t target_width = 0;
  for (const Figure& figure : figures_) {
    name_width = std::max(name_width, figure.name.size());
    value_width = std::max(value_width, cell(figure.value).size());
    unit_width = std::max(unit_width, figure.unit.size());
    target_width = std::max(target_width, target_cell(figure).size());
  }
  for (const Figure& figure : figures_) {
    std::string line =
        fmt::format("{:<{}}  {:>{}} {:<{}}  {:<{}}  {}", figure.name, name_width, cell(figure.value), value_width,
                    figure.unit, unit_width, target_cell(figure), target_width, note_cell(figure));
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print(out_, "{}\n", line);
  }
  figures_.clear();
  std::fflush(out_);
  return missed_ == 0 ? 0 : 1;
}

}  // namespace bench
