#include "report/explain_page.h"

#include <fmt/format.h>

#include "report/page.h"
#include "report/scripts/scripts.h"

namespace tenon::report {
namespace {

constexpr std::string_view kExplainStyle = R"css(<style>
:root { --box: white; --hull: #f1f5fb; --warm: #b3261e; --mark: #fef7e0; color-scheme: light; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --ink: #e8eaed; --soft: #a3a8ae; --line: #3c4043; --accent: #8ab4f8; --ground: #17181b; --box: #202124; --hull: #272b33; --warm: #f28b82; --mark: #3b3520; color-scheme: dark; } }
:root[data-theme=dark] { --ink: #e8eaed; --soft: #a3a8ae; --line: #3c4043; --accent: #8ab4f8; --ground: #17181b; --box: #202124; --hull: #272b33; --warm: #f28b82; --mark: #3b3520; color-scheme: dark; }
a { color: var(--accent); } section, aside, .bar-of-tools button { background: var(--box); color: var(--ink); }
.bar-of-tools button[aria-pressed=true] { border-color: var(--accent); box-shadow: inset 0 -2px var(--accent); }
.bar-of-tools input { font: inherit; flex: 1; min-width: 9em; max-width: 24em; padding: .2em .6em; border: 1px solid var(--line); border-radius: 6px; background: var(--ground); color: var(--ink); }
.split { align-items: stretch; margin-bottom: 1em; } .drawing { display: flex; flex-direction: column; } .detail { height: auto; max-height: 80vh; } .view { position: relative; flex: 1; min-height: 70vh; }
#picture { position: absolute; inset: 0; display: block; width: 100%; height: 100%; cursor: grab; touch-action: none; font: 12px system-ui, sans-serif; }
#picture:focus-visible, tr:focus-visible, button:focus-visible, input:focus-visible, pre:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
#mini { display: none; position: absolute; right: 0; top: 0; width: 6rem; height: 100%; padding: .5em; border-left: 1px solid var(--line); cursor: pointer; }
.chart text.rimmed { paint-order: stroke; stroke: var(--box); stroke-width: 4px; stroke-linejoin: round; }
@media (min-width: 40em) { .mapped #mini { display: block; } .mapped #picture { width: calc(100% - 6rem); } }
#mini path { fill: var(--soft); } #mini rect { fill: var(--accent); fill-opacity: .2; stroke: var(--accent); vector-effect: non-scaling-stroke; }
#picture text { fill: var(--ink); pointer-events: none; text-rendering: geometricPrecision; } #picture text.small { font-size: 10.5px; fill: var(--soft); } #picture text.head { font-weight: 600; } #picture.far text { display: none; }
#picture .box, #picture .back { fill: var(--box); stroke: var(--soft); } #picture .module, #picture .step { cursor: pointer; }
#picture .module > .box { fill: var(--hull); stroke-width: 1.2; } #picture .step.open > .box { fill: var(--hull); } #picture .operator > .box { stroke: var(--line); } #picture .constant > .box { stroke-dasharray: 2 2; } #picture .tiled > .box { stroke-dasharray: 7 3; stroke: var(--accent); }
#picture .input > .box, #picture .output > .box { fill: var(--ground); stroke-width: 1.6; } #picture .port { cursor: pointer; } #picture .port .box { fill: var(--ground); stroke: var(--line); }
#picture .share { fill: var(--accent); } #picture .edge { fill: none; stroke: var(--soft); stroke-width: 1; } #picture .edge.turned { stroke-dasharray: 5 3; } #arrow path { fill: var(--soft); }
#picture .edge.near { stroke: var(--accent); stroke-width: 2.2; } #picture .chosen > .box { stroke: var(--accent); stroke-width: 3.5; } #picture .hit > .box { stroke: var(--warm); stroke-width: 3; stroke-dasharray: 3 2; }
tr.step { cursor: pointer; } tr.chosen td { background: var(--mark); } tr.chosen td:first-child { box-shadow: inset 4px 0 var(--accent); font-weight: 700; } tr.module td { background: var(--ground); font-weight: 600; } tr.module button { font: inherit; border: none; background: none; color: inherit; cursor: pointer; padding: 0; } tr[hidden] { display: none; }
aside dl { display: grid; grid-template-columns: max-content 1fr; gap: .2em .9em; margin: 0 0 .8em; } aside dt { color: var(--soft); } aside dd { margin: 0; overflow-wrap: anywhere; }
aside ol.inside { list-style: none; padding-left: 1em; margin: .2em 0; } aside ol.inside li { overflow-wrap: anywhere; margin-bottom: .4em; } aside pre { overflow: auto; max-height: 26em; font-size: 12px; background: var(--ground); padding: .6em; border-radius: 6px; } summary { cursor: pointer; font-weight: 600; margin: .4em 0; } summary.plain { font-weight: 400; margin: 0; } mark { background: var(--mark); color: inherit; display: block; width: max-content; min-width: 100%; }
.scroll { overflow-x: auto; } .chart .level { fill: none; stroke: var(--warm); } .chart .limit { fill: none; stroke: var(--warm); stroke-width: 2; } .chart .block { fill: var(--accent); fill-opacity: .35; stroke: var(--accent); stroke-width: .5; cursor: pointer; } .chart .block.window { fill-opacity: .12; } .chart .block.chosen { stroke-width: 2.5; } .chart .stretch { cursor: pointer; fill: var(--accent); fill-opacity: .75; } .chart .stretch.odd { fill-opacity: .4; } .chart text.on { fill: var(--ink); pointer-events: none; } .curves { display: flex; flex-wrap: wrap; gap: .6em; } .curves svg { width: 15em; flex: none; } .chart .curve { fill: none; stroke: var(--accent); stroke-width: 1.5; } .chart .peak { stroke: var(--warm); stroke-dasharray: 4 3; }
@media (max-width: 900px) { body { padding: 1em; } .split { flex-direction: column; } .drawing, .detail { width: 100%; flex: none; } .detail { height: auto; max-height: none; min-width: 0; } .cards { grid-template-columns: 1fr; } .view { min-height: 55vh; } }
@media (max-width: 700px) { /* a row of the table is a block */
#steps thead { display: none; } #steps, #steps tbody, #steps tr:not([hidden]), #steps td { display: block; } #steps tr.step { border-bottom: 1px solid var(--line); padding: .5em 0; } #steps td { border: none; padding: .05em .4em; text-align: left; }
#steps tr.step td:first-child { float: left; min-width: 2.4em; font-weight: 700; } #steps tr.step td:nth-child(2) { padding-bottom: .3em; margin-left: 2.4em; } #steps tr.step td:nth-child(n+3):not(:last-child) { display: inline-block; margin-left: 2.4em; margin-right: -1.4em; } #steps tr.step td:last-child { margin-left: 2.4em; } #steps tr.step td:nth-child(n+3)::before { content: attr(data-head) " "; color: var(--soft); } #steps .bar { display: none; }
}
@media print { .bar-of-tools, #mini { display: none !important; } .mapped #picture { width: 100%; } body { padding: 0; background: white; } section, aside { break-inside: avoid; border: none; padding: .4em 0; } .scroll { break-inside: auto; } tr { break-inside: avoid; } .split { display: block; } .view { flex: none; min-height: 0; height: 60vh; } .detail { height: auto; max-height: none; } aside pre { max-height: none; white-space: pre-wrap; } }
</style>)css";

constexpr std::string_view kExplainBody = R"html(
<section id="realizations" class="scroll" hidden><h2>what ran, and why</h2></section>
<div class="split">
<section class="drawing" id="drawing"><div class="bar-of-tools"><b>steps</b>
<input id="search" type="search" placeholder="find an operator or a node (/)" aria-label="find an operator or a node">
<span class="key" id="found" role="status"></span>
<button id="fold" aria-pressed="false" title="modules as one box each, or what is in them (f)">fold modules</button>
<button id="operators" aria-pressed="false" title="the operators in each step (o)">operators</button>
<button id="in" aria-label="zoom in" title="zoom in (+)">+</button><button id="out" aria-label="zoom out" title="zoom out (-)">&minus;</button>
<button id="fit" title="show all of it (0)">fit</button><button id="theme" title="dark or light (t)">dark / light</button></div>
<div class="view" id="view"><svg id="picture" role="img" tabindex="0"></svg><svg id="mini" aria-hidden="true"></svg></div></section>
<aside class="detail" id="detail" aria-live="polite"><h2>a step</h2><p>Choose a step in the picture or in the table. A click
on a module opens or folds it, a double click on a step shows the operators in it. A dashed arrow leads up: the upper box
reads what the lower one makes.
Keys: <kbd>n</kbd> and <kbd>p</kbd> next and previous step, <kbd>/</kbd> find, <kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> zoom,
arrows move, <kbd>f</kbd> modules, <kbd>o</kbd> operators, <kbd>t</kbd> dark or light.</p></aside>
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

std::string_view place_names_script() { return kPlaceNames; }

std::string explain_page(const ExplainPage& page) {
  std::string body =
      fmt::format("{}<h1>{}</h1><p class=\"lead\">{}</p>", kExplainStyle, html_text(page.title), html_text(page.lead));
  body += kExplainBody;
  std::string script;
  for (const std::string_view part : {kExplainBase, kExplainLayout, kExplainGroups, kExplainPicture, kExplainSteps,
                                      kExplainRun, kPlaceNames, kExplainCharts, kExplainKeys}) {
    script += part;
  }
  return html_page(page.title, body, page.data, script);
}

}  // namespace tenon::report
