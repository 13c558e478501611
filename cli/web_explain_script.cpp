#include "web_explain_script.h"

namespace tenon::cli {

const std::string_view kExplainScript = R"js("use strict";
const $ = id => document.getElementById(id);
const steps = data.steps, svg = document.querySelector("#view > svg");
const make = (tag, props = {}, ...inside) => { const e = Object.assign(document.createElement(tag), props); e.append(...inside); return e; };
const draw = (tag, attributes = {}, text) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
};
const scaled = (x, base, units) => { let i = 0; while (x >= base && i + 1 < units.length) { x /= base; ++i; } return (x < 10 && i ? x.toFixed(2) : x < 100 && i ? x.toFixed(1) : Math.round(x)) + units[i]; };
const bytes = x => scaled(x, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const count = x => scaled(x, 1000, ["", " k", " M", " G", " T", " P"]);
const time = us => us >= 1e6 ? (us / 1e6).toFixed(2) + " s" : us >= 1e3 ? (us / 1e3).toFixed(2) + " ms" : us.toFixed(1) + " us";
const timed = steps.some(s => s.bound && s.bound.microseconds !== undefined);
const limited = steps.some(s => s.bound && s.bound.limited_by);
const moduleOf = s => { const n = (s.nodes || [])[0]; if (!n) return ""; const parts = n.replace(/^\//, "").split(/[\/.]/); return parts.slice(0, Math.max(1, Math.min(2, parts.length - 1))).join("."); };
const words = steps.map(s => (s.step + " " + s.operators + " " + (s.nodes || []).join(" ")).toLowerCase());
let chosen = 0;

// The table of steps, in groups by module where nodes have names.
const rows = [];
{
  const heads = ["step", "operators", "reads", "writes", "FLOPs"];
  if (timed) heads.push("time");
  if (limited) heads.push("of its limit", "limited by");
  heads.push("why it ends there");
  $("steps").append(make("thead", {}, make("tr", {}, ...heads.map(h => make("th", { textContent: h, scope: "col" })))));
  const longest = Math.max(1e-9, ...steps.map(s => (s.bound || {}).microseconds || 0));
  const body = make("tbody");
  const modules = steps.map(moduleOf), sorts = new Set(modules).size, grouped = sorts > 1 && 2 * sorts < steps.length;
  let head = null;
  steps.forEach((s, i) => {
    if (grouped && (i === 0 || modules[i] !== modules[i - 1])) {
      const button = make("button", { textContent: "\u25be " + (modules[i] || "no name") });
      button.setAttribute("aria-expanded", "true");
      const inside = [];
      head = make("tr", { className: "module" }, make("td", { colSpan: heads.length }, button));
      head.inside = inside;
      button.addEventListener("click", () => {
        const open = button.getAttribute("aria-expanded") !== "true";
        button.setAttribute("aria-expanded", open);
        button.textContent = (open ? "\u25be " : "\u25b8 ") + (modules[i] || "no name") + (open ? "" : " (" + inside.length + " steps)");
        inside.forEach(r => r.hidden = !open);
      });
      body.append(head);
    }
    const b = s.bound, cell = (text, n) => make("td", { textContent: text, className: n ? "n" : "" });
    const name = make("td", {}, s.operators);
    if (s.nodes && s.nodes.length) name.append(make("div", { className: "key", textContent: s.nodes.slice(0, 3).join(", ") + (s.nodes.length > 3 ? " and " + (s.nodes.length - 3) + " more" : "") }));
    const row = make("tr", { className: "step", id: "row" + s.step, tabIndex: 0 }, cell(s.step, true), name,
      cell(b ? bytes(b.bytes_read) : s.bytes_read, b), cell(b ? bytes(b.bytes_written) : s.bytes_written, b),
      cell(b ? count(b.arithmetic !== undefined ? b.arithmetic : b.flops) : s.flops, b));
    if (timed) {
      const td = make("td", { className: "figure" });
      const bar = make("span", { className: "bar" });
      bar.style.width = 6 * b.microseconds / longest + "em";
      td.append(bar, time(b.microseconds));
      row.append(td);
    }
    if (limited) row.append(cell(b.limit_microseconds > 0 ? (b.microseconds / b.limit_microseconds).toFixed(1) + " times" : "-", true), cell(b.limited_by));
    row.append(cell(s.boundary));
    row.addEventListener("click", () => choose(s.step, true));
    row.addEventListener("keydown", e => { if (e.key === "Enter") choose(s.step, true); });
    if (head) head.inside.push(row);
    rows.push(row);
    body.append(row);
  });
  $("steps").append(body);
}

// The picture: what is in which step, what is next to what.
const stepOf = e => { for (const c of e.classList) if (/^step\d+$/.test(c)) return +c.slice(4); return 0; };
const clusters = new Map(), around = new Map(steps.map(s => [s.step, { before: new Set(), after: new Set() }]));
let box = null, whole = null;
if (svg) {
  const stepOfNode = new Map();
  svg.querySelectorAll("g.cluster").forEach(c => { const s = stepOf(c); if (s) clusters.set(s, c); });
  svg.querySelectorAll("g.node").forEach(n => { const s = stepOf(n); stepOfNode.set(n.querySelector("title").textContent, s); if (s) n.classList.add("inside"); });
  svg.querySelectorAll("g.edge").forEach(e => {
    const [a, b] = e.querySelector("title").textContent.split("->").map(x => stepOfNode.get(x) || 0);
    if (a && a === b) e.classList.add("inside");
    if (a && a < b) { around.get(a).after.add(b); around.get(b).before.add(a); }
  });
  svg.querySelectorAll("a").forEach(a => { a.removeAttribute("xlink:href"); a.removeAttribute("href"); });
  const v = svg.viewBox.baseVal;
  whole = { x: v.x, y: v.y, w: v.width, h: v.height };
  box = { ...whole };
  svg.removeAttribute("width"); svg.removeAttribute("height");
  svg.setAttribute("tabindex", "0"); svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "the graph of " + data.model + ": " + steps.length + " steps; the table below has the same");
  const mini = draw("svg", { id: "mini", viewBox: [v.x, v.y, v.width, v.height].join(" ") });
  const frame = draw("rect");
  mini.append(draw("use", { href: "#" + svg.querySelector("g.graph").id }), frame);
  $("view").append(mini);
  const show = () => {
    svg.setAttribute("viewBox", [box.x, box.y, box.w, box.h].join(" "));
    for (const [k, x] of Object.entries({ x: box.x, y: box.y, width: box.w, height: box.h })) frame.setAttribute(k, x);
    mini.style.display = box.w < .8 * whole.w || box.h < .8 * whole.h ? "" : "none";
  };
  const scale = () => Math.max(box.w / svg.clientWidth, box.h / svg.clientHeight);
  const at = e => { const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse()); return [p.x, p.y]; };
  var zoom = (by, x = box.x + box.w / 2, y = box.y + box.h / 2) => {
    by = Math.min(Math.max(by, whole.w / 200 / box.w), 4 * whole.w / box.w);
    box = { x: x - (x - box.x) * by, y: y - (y - box.y) * by, w: box.w * by, h: box.h * by };
    show();
  };
  var move = (dx, dy) => { box.x += dx * box.w; box.y += dy * box.h; show(); };
  var fit = () => { box = { ...whole }; show(); };
  var reveal = e => {
    const b = e.getBBox(), m = e.ownerSVGElement.querySelector("g.graph").transform.baseVal.consolidate().matrix;
    const w = Math.max(b.width * 3, whole.w / 40, 500), h = w * svg.clientHeight / Math.max(1, svg.clientWidth);
    const x = b.x + b.width / 2 + m.e, y = b.y + b.height / 2 + m.f;
    if (w < whole.w || h < whole.h) { box = { x: x - w / 2, y: y - h / 2, w, h }; show(); }
  };
  svg.addEventListener("wheel", e => { e.preventDefault(); zoom(Math.exp(e.deltaY * (e.ctrlKey ? .01 : .0015)), ...at(e)); }, { passive: false });
  let from = null, moved = 0;
  svg.addEventListener("pointerdown", e => { from = [e.clientX, e.clientY]; moved = 0; });
  svg.addEventListener("pointermove", e => {
    if (!from || !(e.buttons & 1)) { from = null; return; }
    const k = scale(), dx = e.clientX - from[0], dy = e.clientY - from[1];
    moved += Math.abs(dx) + Math.abs(dy);
    box.x -= dx * k; box.y -= dy * k; from = [e.clientX, e.clientY];
    show();
  });
  svg.addEventListener("click", e => {
    const g = e.target.closest("g.node, g.cluster");
    if (g && moved < 5 && stepOf(g)) choose(stepOf(g), false);
  });
  svg.addEventListener("dblclick", fit);
  mini.addEventListener("click", e => {
    const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(mini.getScreenCTM().inverse());
    box.x = p.x - box.w / 2; box.y = p.y - box.h / 2; show();
  });
  show();
} else {
  $("drawing").querySelectorAll("#fold, #in, #out, #fit").forEach(b => b.hidden = true);
}

const link = n => { const a = make("a", { href: "#step" + n, textContent: n + ". " + steps[n - 1].operators }); a.addEventListener("click", e => { e.preventDefault(); choose(n, true); }); return a; };
function choose(n, center) {
  if (n < 1 || n > steps.length) return;
  if (chosen) { rows[chosen - 1].classList.remove("chosen"); const c = clusters.get(chosen); if (c) c.classList.remove("chosen"); }
  chosen = n;
  rows[n - 1].classList.add("chosen"); rows[n - 1].hidden = false;
  const cluster = clusters.get(n);
  if (cluster) { cluster.classList.add("chosen"); if (center && svg) reveal(cluster); }
  document.querySelectorAll("[data-step]").forEach(e => e.classList.toggle("chosen", +e.dataset.step === n));
  history.replaceState(null, "", "#step" + n);
  const s = steps[n - 1], b = s.bound, list = make("dl"), add = (name, ...what) => list.append(make("dt", { textContent: name }), make("dd", {}, ...what));
  add("operators", s.operators);
  if (s.nodes && s.nodes.length) add("nodes", s.nodes.join(", "));
  add("reads", b ? bytes(b.bytes_read) + " = " + s.bytes_read : s.bytes_read);
  add("writes", b ? bytes(b.bytes_written) + " = " + s.bytes_written : s.bytes_written);
  if (b && b.arithmetic !== undefined) add("arithmetic", count(b.arithmetic) + " FLOPs");
  else if (s.flops !== "0") add("products", b ? count(b.flops) + " FLOPs" : s.flops + " FLOPs");
  if (b && b.microseconds !== undefined) add("time", time(b.microseconds) + " on " + b.threads + (b.threads === 1 ? " thread" : " threads"));
  if (b && b.limited_by) add("limit", time(b.limit_microseconds) + ", by " + b.limited_by + (b.limit_microseconds > 0 ? ": " + (b.microseconds / b.limit_microseconds).toFixed(1) + " times that" : ""));
  if (b && b.bytes_from) add("bytes from", Object.entries(b.bytes_from).filter(([, x]) => x >= 1).map(([name, x]) => name + " or beyond: " + bytes(x)).join("; "));
  if (s.phases > 1) add("phases", String(s.phases));
  if (s.parts > 1) add("parts", s.parts + " side by side");
  if (s.boundary) add("ends here", s.boundary);
  if (s.region_steps > 1) add("tiles", "may run tile by tile in steps " + s.region_first + " to " + (s.region_first + s.region_steps - 1) + (s.region_end ? "; ends there: " + s.region_end : ""));
  for (const [name, set] of [["reads from", around.get(n).before], ["read by", around.get(n).after]]) {
    if (set.size) add(name, ...[...set].sort((x, y) => x - y).flatMap(k => [link(k), make("br")]));
  }
  $("detail").replaceChildren(make("h2", { textContent: s.step + ". " + s.kind }), list);
  if (data.loops && data.loops[n - 1]) $("detail").append(make("h2", { textContent: "loops" }), make("pre", { textContent: data.loops[n - 1], tabIndex: 0 }));
}

let hits = [], hit = -1;
function find() {
  const word = $("search").value.trim().toLowerCase();
  hits = word ? steps.filter((s, i) => words[i].includes(word)).map(s => s.step) : [];
  hit = -1;
  rows.forEach((r, i) => r.hidden = word !== "" && !hits.includes(i + 1));
  document.querySelectorAll("tr.module").forEach(r => r.hidden = word !== "");
  clusters.forEach((c, n) => c.classList.toggle("hit", hits.includes(n)));
  $("found").textContent = word ? hits.length + (hits.length === 1 ? " step" : " steps") : "";
}
const next = by => { if (hits.length) { hit = (hit + by + hits.length) % hits.length; choose(hits[hit], true); } else choose(Math.min(Math.max(chosen + by, 1), steps.length), true); };
$("search").addEventListener("input", find);
$("search").addEventListener("keydown", e => { if (e.key === "Enter") next(e.shiftKey ? -1 : 1); if (e.key === "Escape") { $("search").value = ""; find(); $("search").blur(); } });
const fold = () => { const on = $("view").classList.toggle("folded"); $("fold").setAttribute("aria-pressed", on); };
const theme = () => { const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; root.dataset.theme = dark ? "light" : "dark"; };
$("fold").addEventListener("click", fold);
$("theme").addEventListener("click", theme);
if (svg) { $("in").addEventListener("click", () => zoom(.7)); $("out").addEventListener("click", () => zoom(1 / .7)); $("fit").addEventListener("click", fit); }
document.addEventListener("keydown", e => {
  if (e.target.tagName === "INPUT" || e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = { "/": () => { e.preventDefault(); $("search").focus(); }, n: () => next(1), p: () => next(-1), t: theme };
  const inPicture = svg && { f: fold, "+": () => zoom(.7), "-": () => zoom(1 / .7), "0": fit };
  const arrows = svg && e.target === svg && { ArrowLeft: () => move(-.1, 0), ArrowRight: () => move(.1, 0), ArrowUp: () => move(0, -.1), ArrowDown: () => move(0, .1) };
  const act = keys[e.key] || (inPicture || {})[e.key] || (arrows || {})[e.key];
  if (act) { if (e.key.startsWith("Arrow")) e.preventDefault(); act(); }
});
if (data.pipelines && data.pipelines.length) {
  $("tiles").hidden = false;
  $("tiles").append(make("ul", {}, ...data.pipelines.map(p => make("li", { textContent: p.tiled ? "steps " + p.first_step + " to " + (p.first_step + p.steps - 1) + " run tile by tile: " + p.tiles + " tiles of " + p.rows + " rows; " + bytes(p.kept_bytes) + " in windows of " + bytes(p.window_bytes) + "; " + p.reason : "step " + p.first_step + " runs whole: " + p.reason }))));
}
)js";

}  // namespace tenon::cli
