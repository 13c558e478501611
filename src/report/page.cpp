#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::report {
namespace {

constexpr std::string_view kStyle = R"css(
:root { --ink: #202124; --soft: #5f6368; --line: #dadce0; --accent: #1a73e8; --ground: #f8f9fa; }
* { box-sizing: border-box; }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); margin: 0; padding: 1.5em 2em; background: var(--ground); }
h1 { font-size: 1.5em; margin: 0 0 .2em; } h2 { font-size: 1.05em; margin: 0 0 .5em; }
p.lead { color: var(--soft); margin: 0 0 1.2em; }
section, aside { background: white; border: 1px solid var(--line); border-radius: 10px; padding: 1em 1.2em; margin-bottom: 1em; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .3em .7em; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr:target, tr.chosen { background: #fef7e0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(34em, 1fr)); gap: 1em; }
.cards section { margin: 0; overflow-x: auto; } .cards { margin-bottom: 1em; }
.split { display: flex; gap: 1em; align-items: flex-start; }
.drawing { flex: 3; padding: 0; min-width: 0; margin: 0; } .graph { overflow: auto; height: 78vh; } .detail { flex: 1; height: 78vh; overflow: auto; min-width: 20em; margin: 0; }
.bar-of-tools { display: flex; flex-wrap: wrap; gap: .3em .9em; align-items: center; padding: .5em .9em; border-bottom: 1px solid var(--line); } .bar-of-tools b { margin-right: auto; }
.bar-of-tools button { font: inherit; min-width: 2.2em; border: 1px solid var(--line); border-radius: 6px; background: white; cursor: pointer; } .key { color: var(--soft); font-size: .85em; } .key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .3em; }
.cards section > svg { width: 100%; height: auto; } .figure { white-space: nowrap; } .bar { display: inline-block; height: .8em; background: var(--accent); opacity: .75; border-radius: 2px; margin-right: .5em; vertical-align: middle; }
.part rect.hull { fill-opacity: .55; stroke: #9aa0a6; cursor: pointer; } .part.chosen rect.hull { stroke: var(--accent); stroke-width: 2.5; }
.op rect { fill: var(--box, white); stroke: #bdc1c6; } .op text tspan { fill: var(--soft); } .op text, .part text { font: 11px system-ui, sans-serif; fill: var(--ink); pointer-events: none; }
.part > text { font-weight: 600; fill: var(--ink); } @media (prefers-color-scheme: dark) { .part rect.hull { fill-opacity: .25; } } path.edge { pointer-events: none; fill: none; stroke: #80868b; stroke-width: 1; opacity: .6; } path.edge.cut { stroke: #d93025; opacity: .75; }
svg.chart { width: 100%; height: auto; } .chart text { font: 11px system-ui, sans-serif; fill: var(--soft); } .chart .axis { stroke: var(--line); }
.chart circle { fill: var(--accent); fill-opacity: .6; cursor: pointer; } .chart circle.chosen { fill: #d93025; fill-opacity: 1; r: 6; } .chart .fill { fill: var(--accent); fill-opacity: .25; stroke: var(--accent); }
.chart .roof { fill: none; stroke: #d93025; stroke-width: 1.5; } .chart rect { fill: var(--accent); fill-opacity: .7; } .chart rect.write { fill: #f9ab00; } .chart rect.weight { fill: #9aa0a6; }
)css";

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string{c};
  }
  return result;
}

std::string html_bar(double share, const std::string& figure) {
  return fmt::format("<span class=\"figure\"><span class=\"bar\" style=\"width:{:.1f}em\"></span>{}</span>",
                     8 * std::clamp(share, 0.0, 1.0), html_text(figure));
}

std::string html_page(const std::string& title, const std::string& body, const Json& data, std::string_view script) {
  std::string json = data.to_string();
  for (size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3) {
    json.replace(at, 2, "<\\/");  // or a name would end the script
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\n<style>{}</style></head>"
      "<body>\n{}\n<script>const data = {};\n{}</script></body></html>\n",
      html_text(title), kStyle, body, json, script);
}

}  // namespace tenon::report
