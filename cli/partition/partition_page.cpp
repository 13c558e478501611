#include "cli/partition/partition_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "base/read_file.h"
#include "cli/models/files.h"
#include "cli/print/page.h"
#include "cli/print/units.h"
#include "partition/plan/estimate.h"
#include "report/explain_page.h"

namespace tenon::cli {
namespace {

using partition::Plan;

constexpr std::string_view kScript = R"js(
const svgNs = "http://www.w3.org/2000/svg";
const bytes = n => n >= 2**30 ? (n / 2**30).toFixed(2) + " GiB" : n >= 2**20 ? (n / 2**20).toFixed(2) + " MiB" : n >= 1024 ? (n / 1024).toFixed(1) + " KiB" : n + " B";
const count = n => n >= 1e9 ? (n / 1e9).toFixed(2) + " G" : n >= 1e6 ? (n / 1e6).toFixed(2) + " M" : n >= 1e3 ? (n / 1e3).toFixed(1) + " k" : "" + n;
const time = s => s >= 1 ? s.toFixed(2) + " s" : s >= 1e-3 ? (s * 1e3).toFixed(2) + " ms" : (s * 1e6).toFixed(2) + " us";
function node(parent, kind, attributes, text) {
  const e = document.createElementNS(svgNs, kind);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  parent.appendChild(e);
  return e;
}
function chart(id) { const e = document.getElementById(id); const s = node(e, "svg", {class: "chart", viewBox: "0 0 600 240"}); return s; }
function choose(plan, index) {
  const view = document.getElementById("plan" + plan);
  document.querySelectorAll(".chosen").forEach(e => e.classList.remove("chosen"));
  view.querySelectorAll(`[data-part="${index}"]`).forEach(e => e.classList.add("chosen"));
  if (plan === 0) chosenPart = index;
  if (plan === 0) document.querySelectorAll(`circle[data-part="${index}"]`).forEach(e => e.classList.add("chosen"));
  const part = data.plans[plan].parts[index];
  const detail = document.getElementById("detail");
  detail.replaceChildren();
  const add = (tag, text) => { const e = document.createElement(tag); e.textContent = text; detail.appendChild(e); return e; };
  add("h2", `Part ${index + 1} on ${part.unit}` + (part.tiles > 1 ? `, in ${part.tiles} tiles` : ""));
  add("p", "Ends here: " + part.why);
  const table = add("table", "");
  const row = cells => { const r = table.insertRow(); cells.forEach((c, i) => { const d = r.insertCell(); d.textContent = c; if (i) d.className = "n"; }); };
  row(["arithmetic", count(part.flops)]); row(["reads", bytes(part.bytes_read)]); row(["of them weights", bytes(part.weight_bytes)]);
  row(["writes", bytes(part.bytes_written)]); row(["works on", bytes(part.working_set)]); row(["parallelism", count(part.parallelism)]);
  row(["estimated", time(part.seconds)]);
  if (data.measured && plan === 0) row(["measured", time(data.measured[index] / 1e6)]);
  if (part.joules > 0) row(["energy", (part.joules * 1e3).toPrecision(3) + " mJ"]);
  add("h2", part.operators.length + (part.operators.length === 1 ? " operator" : " operators"));
  add("p", part.operators.join(", "));
}
document.querySelectorAll(".graph").forEach((view, plan) => view.addEventListener("click", event => {
  const part = event.target.closest(".part");
  if (part) choose(plan, Number(part.dataset.part));
}));
// A frame with both axes and their names; `x` and `y` say where a value is, `ticks` at which values lines stand.
const LEFT = 78, RIGHT = 590, TOP = 14, FLOOR = 196;
function axes(s, {x, y, xs, ys, across, up}) {
  for (const [v, text] of xs) { node(s, "line", {class: "axis", x1: x(v), x2: x(v), y1: TOP, y2: FLOOR}); node(s, "text", {x: Math.min(x(v), RIGHT - 8), y: FLOOR + 19, "text-anchor": "middle"}, text); }
  for (const [v, text] of ys) { node(s, "line", {class: "axis", x1: LEFT, x2: RIGHT, y1: y(v), y2: y(v)}); node(s, "text", {x: LEFT - 6, y: y(v) + 4, "text-anchor": "end"}, text); }
  node(s, "text", {x: (LEFT + RIGHT) / 2, y: 234, "text-anchor": "middle"}, across);
  node(s, "text", {x: 12, y: 106, "text-anchor": "middle", transform: "rotate(-90 12 106)"}, up);
}
const decades = (from, to, text) => Array.from({length: to - from + 1}, (_, i) => [10 ** (from + i), text(10 ** (from + i))]);
const quarters = (most, text) => [0, .25, .5, .75, 1].map(k => [most * k, text(most * k)]);
const someParts = n => { const each = Math.max(1, Math.ceil(n / 12)); return Array.from({length: Math.ceil(n / each)}, (_, i) => [i * each, "" + (i * each + 1)]); };
const power = v => v < 1 ? "" + Number(v.toPrecision(3)) : count(v).replace(/\.0+(?= |$)/, "");
// Where parts were run, what was measured, with a line to what was estimated.
function roofline() {
  const s = chart("roofline"), roof = data.roof;
  const points = data.plans[0].parts.map((p, i) => {
    const measured = data.measured && data.measured[i] > 0 ? p.flops / data.measured[i] * 1e6 : undefined;
    return {i, x: p.flops / Math.max(1, p.bytes_read + p.bytes_written), estimated: p.flops / p.seconds, measured};
  }).filter(p => p.x > 0);
  const lx = points.map(p => Math.log10(p.x)), x0 = Math.floor(Math.min(-1, ...lx)), x1 = Math.ceil(Math.max(3, ...lx));
  const ly = points.flatMap(p => p.measured ? [p.estimated, p.measured] : [p.estimated]).map(y => Math.log10(y));
  const y1 = Math.ceil(Math.max(Math.log10(2 * roof.flops), ...ly)), y0 = Math.floor(Math.min(y1 - 3, ...ly));
  const X = v => LEFT + (RIGHT - LEFT) * (Math.log10(v) - x0) / (x1 - x0), Y = v => FLOOR - (FLOOR - TOP) * (Math.log10(v) - y0) / (y1 - y0);
  axes(s, {x: X, y: Y, xs: decades(x0, x1, power), ys: decades(y0, y1, power), across: "FLOPs a byte" + (data.measured ? "; points measured, rings estimated" : "; estimated"), up: "FLOPs a second"});
  node(node(s, "clipPath", {id: "frame"}), "rect", {x: LEFT, y: TOP, width: RIGHT - LEFT, height: FLOOR - TOP});
  const inside = node(s, "g", {"clip-path": "url(#frame)"});
  node(inside, "path", {class: "roof", d: `M${X(Math.min(...roof.memories.map(m => roof.flops / m.bandwidth), 10**x1))} ${Y(roof.flops)}L${X(10**x1)} ${Y(roof.flops)}`});
  // Each name beside its own roof.
  const lines = [], labels = [{text: node(s, "text", {class: "rimmed"}, "arithmetic, " + power(Number(roof.flops.toPrecision(3))) + "FLOP/s"), places: [[RIGHT - 6, Y(roof.flops) - 5, "end"], [RIGHT - 6, Y(roof.flops) + 14, "end"]]}];
  for (const memory of roof.memories) {
    const line = [X(10**x0), Y(10**x0 * memory.bandwidth), X(roof.flops / memory.bandwidth), Y(roof.flops)];
    node(inside, "path", {class: "roof", d: `M${line[0]} ${line[1]}L${line[2]} ${line[3]}`});
    const from = Math.max(10**y0, 10**x0 * memory.bandwidth);
    lines.push(line);
    labels.push({text: node(s, "text", {class: "rimmed"}, memory.name + ", " + bytes(memory.bandwidth) + "/s"), places: placesAlong([X(from / memory.bandwidth), Y(from), line[2], line[3]])});
  }
  placeNames({left: LEFT, right: RIGHT, top: TOP, bottom: FLOOR}, labels, lines, points.flatMap(p => p.measured ? [[X(p.x), Y(p.measured)], [X(p.x), Y(p.estimated)]] : [[X(p.x), Y(p.estimated)]]));
  for (const p of points) {
    const y = p.measured || p.estimated;
    if (p.measured) {
      node(inside, "path", {class: "axis", d: `M${X(p.x)} ${Y(p.estimated)}V${Y(y)}`});
      node(inside, "circle", {cx: X(p.x), cy: Y(p.estimated), r: 3, "data-part": p.i, style: "fill: none; stroke: currentColor; stroke-opacity: .5"});
    }
    const c = node(s, "circle", {cx: X(p.x), cy: Y(y), r: 4, "data-part": p.i});
    node(c, "title", {}, "part " + (p.i + 1) + (p.measured ? ": measured; estimated: the ring" : ": estimated"));
    c.addEventListener("click", () => choose(0, p.i));
  }
}
function memory() {
  const s = chart("memory"), live = data.live, most = Math.max(...live, 1);
  const X = i => LEFT + (RIGHT - LEFT) * i / Math.max(1, live.length), Y = v => FLOOR - (FLOOR - TOP) * v / most;
  axes(s, {x: i => X(i + .5), y: Y, xs: someParts(live.length), ys: quarters(most, bytes), across: "parts, in order", up: "activations in use"});
  node(s, "path", {class: "fill", d: `M${LEFT} ${FLOOR}` + live.map((v, i) => `L${X(i)} ${Y(v)}L${X(i + 1)} ${Y(v)}`).join("") + `L${RIGHT} ${FLOOR}Z`});
}
function bars() {
  const s = chart("bars"), parts = data.plans[0].parts;
  const most = Math.max(...parts.map(p => p.bytes_read + p.bytes_written), 1), w = (RIGHT - LEFT) / parts.length;
  axes(s, {x: i => LEFT + (i + .42) * w, y: v => FLOOR - (FLOOR - TOP) * v / most, xs: someParts(parts.length), ys: quarters(most, bytes), across: "parts: weights grey, activations read blue, written orange", up: "bytes moved"});
  parts.forEach((p, i) => {
    let y = FLOOR;
    for (const [cls, v] of [["weight", p.weight_bytes], ["", p.bytes_read - p.weight_bytes], ["write", p.bytes_written]]) {
      const h = (FLOOR - TOP) * v / most; y -= h;
      const r = node(s, "rect", {class: cls, x: LEFT + i * w, y, width: Math.max(w * 0.85, 0.5), height: h});
      node(r, "title", {}, `part ${i + 1}: ${bytes(v)} ${cls === "weight" ? "of weights" : cls === "write" ? "written" : "of activations read"}`);
    }
  });
}
function times() {
  const s = chart("times"), parts = data.plans[0].parts, measured = data.measured ? data.measured.map(us => us / 1e6) : [];
  const most = Math.max(...parts.map(p => p.seconds), ...measured, 1e-12), w = (RIGHT - LEFT) / parts.length;
  axes(s, {x: i => LEFT + (i + .42) * w, y: v => FLOOR - (FLOOR - TOP) * v / most, xs: someParts(parts.length), ys: quarters(most, time), across: measured.length ? "parts: bars measured, lines estimated" : "parts: estimated; click a bar for its part", up: "time"});
  parts.forEach((p, i) => {
    const seconds = measured.length ? measured[i] : p.seconds, h = (FLOOR - TOP) * seconds / most;
    const r = node(s, "rect", {x: LEFT + i * w, y: FLOOR - h, width: Math.max(w * 0.85, 0.5), height: h, "data-part": i});
    node(r, "title", {}, `part ${i + 1}: estimated ${time(p.seconds)}` + (measured.length ? `, measured ${time(measured[i])}` : ""));
    if (measured.length) node(s, "path", {class: "roof", d: `M${LEFT + i * w} ${FLOOR - (FLOOR - TOP) * p.seconds / most}h${Math.max(w * 0.85, 0.5)}`});
    r.addEventListener("click", () => choose(0, i));
  });
}
function zoom(plan, factor) {
  const view = document.getElementById("plan" + plan).querySelector(".graph"), svg = view.querySelector("svg"), box = svg.viewBox.baseVal;
  const now = svg.clientWidth / box.width, next = factor ? Math.min(4, Math.max(0.02, now * factor)) : Math.min(1, (view.clientWidth - 20) / box.width, (view.clientHeight - 20) / box.height);
  const x = (view.scrollLeft + view.clientWidth / 2) / now, y = (view.scrollTop + view.clientHeight / 2) / now;
  svg.setAttribute("width", box.width * next); svg.setAttribute("height", box.height * next);
  view.scrollTo(x * next - view.clientWidth / 2, y * next - view.clientHeight / 2);
}
roofline(); memory(); bars(); times();
let chosenPart = 0;
document.addEventListener("keydown", e => {
  const next = e.key === "n" ? chosenPart + 1 : e.key === "p" ? chosenPart - 1 : -1;
  if (next >= 0 && next < data.plans[0].parts.length && !e.ctrlKey && !e.metaKey) choose(0, next);
});
if (data.plans[0].parts.length) choose(0, 0);
)js";

/// What charts need of one plan.
Json plan_json(const Plan& plan, const PartitionModel& model) {
  Json parts = Json::array();
  for (const partition::Part& part : plan.parts) {
    Json names = Json::array();
    for (const int index : part.operators) {
      const partition::Operator& op = model.work.operators[static_cast<size_t>(index)];
      names.push(op.place.empty() ? op.name : fmt::format("{} ({})", op.name, op.place));
    }
    const partition::Figures& f = part.figures;
    Json json = Json::object().set("unit", part.unit).set("tiles", part.tiles).set("why", part.why);
    json.set("flops", f.flops).set("bytes_read", f.bytes_read).set("bytes_written", f.bytes_written);
    json.set("weight_bytes", f.weight_bytes).set("working_set", f.working_set).set("parallelism", f.parallelism);
    parts.push(json.set("seconds", f.seconds).set("joules", f.joules).set("operators", names));
  }
  return Json::object().set("parts", parts);
}

Json roof_json(const partition::Profile& profile) {
  double flops = 0;
  for (const partition::Unit& unit : profile.units) {
    flops = std::max(flops, static_cast<double>(unit.count) *
                                partition::rate_of(unit.flops, "f32", partition::rate_of(unit.flops, "any", 1)));
  }
  Json memories = Json::array();
  for (const partition::Memory& memory : profile.memories) {
    memories.push(Json::object().set("name", memory.name).set("bandwidth", memory.bandwidth));
  }
  return Json::object().set("flops", flops).set("memories", memories);
}

std::string totals_table(const std::vector<Plan>& plans) {
  std::string text = "<section><h2>Totals</h2><table><tr><th></th>";
  for (const Plan& plan : plans) {
    text += fmt::format("<th class=\"n\">fuse {}, by {}</th>", html_text(plan.fuse), html_text(plan.by));
  }
  const auto row = [&](std::string_view what, const auto& figure) {
    text += fmt::format("</tr><tr><td>{}</td>", what);
    for (const Plan& plan : plans) {
      text += fmt::format("<td class=\"n\">{}</td>", figure(plan));
    }
  };
  row("parts", [](const Plan& plan) { return std::to_string(plan.parts.size()); });
  row("transfers", [](const Plan& plan) { return std::to_string(plan.transfers.size()); });
  row("bytes transferred", [](const Plan& plan) { return bytes_text(plan.totals.transfer_bytes); });
  row("bytes moved in all", [](const Plan& plan) { return bytes_text(plan.totals.bytes_moved); });
  row("activations at once", [](const Plan& plan) { return bytes_text(plan.totals.peak_bytes); });
  row("latency", [](const Plan& plan) { return time_text(plan.totals.latency * 1e6); });
  row("a result every", [](const Plan& plan) { return time_text(plan.totals.interval * 1e6); });
  row("energy", [](const Plan& plan) {
    return plan.totals.joules > 0 ? fmt::format("{:.3g} mJ", plan.totals.joules * 1e3) : std::string("not known");
  });
  return text + "</tr></table></section>\n";
}

std::string ladder_section(const std::vector<Rung>& rungs) {
  if (rungs.empty()) {
    return "";
  }
  std::string text =
      "<section><h2>From operators to blocks</h2><table><tr><th>level</th><th class=\"n\">parts</th><th "
      "class=\"n\">transfers</th><th>bytes moved</th><th class=\"n\">saved</th></tr>\n";
  for (const Rung& rung : rungs) {
    const double share = static_cast<double>(rung.bytes) / static_cast<double>(std::max<int64_t>(1, rungs[0].bytes));
    text += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{:.1f} %</td></tr>\n",
        rung.name, rung.parts, rung.transfers, html_bar(share, bytes_text(rung.bytes)), 100 * rung.saved);
  }
  return text + "</table></section>\n";
}

std::string plan_html(const PartitionModel& model, const std::vector<Plan>& plans, const partition::Profile& profile,
                      const std::vector<Rung>& rungs, const std::vector<PlanRun>& runs) {
  const Plan& plan = plans[0];
  std::string body = std::string(report::explain_style()) +
                     fmt::format("<h1>{}</h1><p class=\"lead\">{} operators{}{} on {}: {}</p>\n", html_text(plan.model),
                                 model.work.operators.size(), plan.bindings.empty() ? "" : " at ",
                                 html_text(plan.bindings.to_string()), html_text(profile.name), html_text(profile.doc));
  body += "<div class=\"cards\">" + totals_table(plans) + ladder_section(rungs) +
          "<section><h2>Roofline of parts</h2><div id=\"roofline\"></div></section>"
          "<section><h2>Memory over time</h2><div id=\"memory\"></div></section>"
          "<section><h2>Bytes moved by parts</h2><div id=\"bars\"></div></section>"
          "<section><h2>Time of parts</h2><div id=\"times\"></div></section>";
  if (!runs.empty()) {
    body += "<section><h2>Estimated and measured</h2>" + estimate_svg(plan, runs[0]) + "</section>";
  }
  body += "</div>\n<div class=\"split\">";
  for (size_t i = 0; i < plans.size(); ++i) {
    body += fmt::format(
        "<section class=\"drawing\" id=\"plan{0}\"><div class=\"bar-of-tools\"><b>fuse {1}, by {2}: {3} "
        "parts</b>{4}<button "
        "onclick=\"zoom({0}, 1.4)\">+</button><button onclick=\"zoom({0}, 1 / 1.4)\">-</button><button "
        "onclick=\"zoom({0}, 0)\">all</button></div><div class=\"graph\">{5}</div></section>",
        i, html_text(plans[i].fuse), html_text(plans[i].by), plans[i].parts.size(), role_legend(),
        plan_svg(model, plans[i]));
  }
  body += "<aside class=\"detail\" id=\"detail\" aria-live=\"polite\"></aside></div>";
  Json all = Json::array();
  for (const Plan& each : plans) {
    all.push(plan_json(each, model));
  }
  const partition::SizedGraph graph = sized(model.work, plan.bindings);
  Json data = Json::object().set("plans", all).set("roof", roof_json(profile));
  data.set("live", live_bytes(graph, flow_of(graph, plan.parts)));
  if (!runs.empty()) {
    Json times = Json::array();
    for (const PartRun& part : runs[0].parts) {
      times.push(part.in_whole >= 0 ? part.in_whole : part.microseconds);
    }
    data.set("measured", times);
  }
  return html_page(fmt::format("{}: {} parts", plan.model, plan.parts.size()), body, data,
                   std::string(report::place_names_script()).append(kScript));
}

}  // namespace

void write_pages(const Arguments& arguments, const PartitionModel& model, const Plan& plan,
                 const partition::Profile& profile, const std::vector<Rung>& rungs, const std::vector<PlanRun>& runs) {
  if (const auto file = arguments.find("--dot")) {
    write_text(*file, plan_dot(model, plan));
  }
  if (const auto file = arguments.find("--plot")) {
    if (runs.empty()) {
      fail("`--plot {}` draws measured times: it needs `--run`", *file);
    }
    write_text(*file, estimate_svg(plan, runs[0]));
  }
  if (const auto file = arguments.find("--svg")) {
    const std::string colours = "<style>.edge{fill:none}.edge.cut{stroke:#d93025}</style>";
    std::string svg = plan_svg(model, plan);
    svg.insert(svg.find('>') + 1, colours);
    write_text(*file, svg);
  }
  const auto other = arguments.find("--compare");
  const auto page = arguments.find("--html");
  if (other && !page) {
    fail("`--compare {}` is for `--html`: both plans stand on one page", *other);
  }
  if (page) {
    std::vector<Plan> plans{plan};
    if (other) {
      constexpr int64_t most = int64_t{1} << 28;
      plans.push_back(parse_plan(read_file(*other, most), *other, model.work));
      verify(plans.back(), model.work, profile_by_name(plans.back().profile));
    }
    write_text(*page, plan_html(model, plans, profile, rungs, runs));
  }
}

}  // namespace tenon::cli
