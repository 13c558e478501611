#include "web_explain.h"

#include <fmt/format.h>

#include "page.h"
#include "web_explain_script.h"

namespace tenon::cli {
namespace {

constexpr std::string_view kExplainStyle = R"css(<style>
:root { --box: white; --hull: #e8eef7; --warm: #b3261e; --mark: #fef7e0; color-scheme: light; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --ink: #e8eaed; --soft: #a3a8ae; --line: #3c4043; --accent: #8ab4f8; --ground: #17181b; --box: #202124; --hull: #2b313b; --warm: #f28b82; --mark: #3b3520; color-scheme: dark; } }
:root[data-theme=dark] { --ink: #e8eaed; --soft: #a3a8ae; --line: #3c4043; --accent: #8ab4f8; --ground: #17181b; --box: #202124; --hull: #2b313b; --warm: #f28b82; --mark: #3b3520; color-scheme: dark; }
section, aside, .bar-of-tools button { background: var(--box); color: var(--ink); }
.bar-of-tools input { font: inherit; flex: 1; min-width: 9em; max-width: 24em; padding: .2em .6em; border: 1px solid var(--line); border-radius: 6px; background: var(--ground); color: var(--ink); }
.split { align-items: stretch; margin-bottom: 1em; } .detail { height: auto; max-height: 80vh; } .view { position: relative; } .view > svg { display: block; width: 100%; height: 70vh; cursor: grab; touch-action: none; }
.view > svg:focus-visible, tr:focus-visible, button:focus-visible, input:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
#mini { position: absolute; right: .6em; bottom: .6em; width: 9em; height: 9em; background: var(--box); border: 1px solid var(--line); border-radius: 6px; opacity: .9; cursor: pointer; }
#mini rect { fill: var(--accent); fill-opacity: .2; stroke: var(--accent); vector-effect: non-scaling-stroke; }
.graph text { fill: var(--ink); } g.graph > polygon { fill: none; stroke: none; } .graph .cluster path, .graph .cluster polygon { fill: var(--hull); stroke: var(--line); }
.graph .node path, .graph .node polygon, .graph .node ellipse { fill: var(--box); stroke: var(--soft); } .graph .edge path { stroke: var(--soft); } .graph .edge polygon { fill: var(--soft); stroke: var(--soft); }
.view .node, .view .cluster { cursor: pointer; } .graph .cluster.chosen path, .graph .cluster.chosen polygon { stroke: var(--accent); stroke-width: 4; } .graph .hit path, .graph .hit polygon, .graph .hit ellipse { stroke: var(--warm); stroke-width: 3; }
.folded .inside { display: none; }
tr.step { cursor: pointer; } tr.chosen td { background: var(--mark); } tr.module td { background: var(--ground); cursor: pointer; font-weight: 600; } tr[hidden] { display: none; }
aside dl { display: grid; grid-template-columns: max-content 1fr; gap: .2em .9em; margin: 0 0 .8em; } aside dt { color: var(--soft); } aside dd { margin: 0; overflow-wrap: anywhere; }
aside pre { overflow: auto; max-height: 22em; font-size: 12px; background: var(--ground); padding: .6em; border-radius: 6px; } aside a { color: var(--accent); }
.scroll { overflow-x: auto; } .chart .level { fill: none; stroke: var(--warm); } .chart .limit { fill: none; stroke: var(--warm); stroke-width: 2; } .chart .block { fill: var(--accent); fill-opacity: .35; stroke: var(--accent); stroke-width: .5; cursor: pointer; } .chart .block.window { fill-opacity: .12; } .chart .stretch { cursor: pointer; fill: var(--accent); fill-opacity: .75; } .chart .stretch.odd { fill-opacity: .4; } .chart text.on { fill: var(--ink); pointer-events: none; } .chart .peak { stroke: var(--warm); stroke-dasharray: 4 3; }
@media (max-width: 900px) { body { padding: 1em; } .split { flex-direction: column; } .drawing, .detail { width: 100%; flex: none; } .detail { height: auto; max-height: none; min-width: 0; } .cards { grid-template-columns: 1fr; } .view > svg { height: 55vh; } }
@media print { .bar-of-tools, #mini { display: none !important; } body { padding: 0; background: white; } section, aside { break-inside: avoid; border: none; } .view > svg { height: auto; } .detail { height: auto; } }
</style>)css";

constexpr std::string_view kExplainBody = R"html(
<div class="split">
<section class="drawing" id="drawing"><div class="bar-of-tools"><b>steps</b>
<input id="search" type="search" placeholder="find an operator or a node (/)" aria-label="find an operator or a node">
<span class="key" id="found" role="status"></span>
<button id="fold" aria-pressed="false" title="show steps without the operators in them (f)">fold</button>
<button id="in" aria-label="zoom in" title="zoom in (+)">+</button><button id="out" aria-label="zoom out" title="zoom out (-)">&minus;</button>
<button id="fit" title="show all of it (0)">fit</button><button id="theme" title="dark or light (t)">dark / light</button></div>
<div class="view" id="view"></div></section>
<aside class="detail" id="detail" aria-live="polite"><h2>a step</h2><p>Choose a step in the picture or in the table.
Keys: <kbd>n</kbd> and <kbd>p</kbd> next and previous step, <kbd>/</kbd> find, <kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> zoom,
arrows move, <kbd>f</kbd> fold, <kbd>t</kbd> dark or light.</p></aside>
</div>
<div class="cards"><section id="roofline" hidden><h2>how far from the limit</h2></section>
<section id="memory" hidden><h2>memory over time</h2></section></div>
<section id="run" hidden><h2>one run</h2></section>
<section id="sizes" class="scroll" hidden><h2>sizes that came</h2></section>
<section class="scroll"><table id="steps"></table></section>
<section id="tiles" hidden><h2>tiles</h2></section>
)html";

}  // namespace

std::string_view explain_style() { return kExplainStyle; }

std::string explain_page(const ExplainPage& page) {
  const size_t start = page.picture.find("<svg");
  const std::string picture = start == std::string::npos ? "" : page.picture.substr(start);
  std::string body =
      fmt::format("{}<h1>{}</h1><p class=\"lead\">{}</p>", kExplainStyle, html_text(page.title), html_text(page.lead));
  body += kExplainBody;
  const std::string_view view = "<div class=\"view\" id=\"view\">";
  body.insert(body.find(view) + view.size(), picture);
  return html_page(page.title, body, page.data,
                   std::string(kExplainScript) + std::string(kExplainRun) + std::string(kExplainCharts));
}

}  // namespace tenon::cli
