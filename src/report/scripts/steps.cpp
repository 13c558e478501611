#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainSteps = R"js(
// The table of steps, in groups by module where names tell of modules. Long tables are made a piece at a time.
let chosen = 0;
const rows = [], wordsOf = s => [s.number || s.step, s.operators, ...(s.nodes || []), ...(s.bodies || []).flatMap(b => b.steps.map(wordsOf))].join(" "), words = steps.map(s => wordsOf(s).toLowerCase());
const heads = ["step", "operators", "reads", "writes", "FLOPs"];
if (timed) heads.push("time");
if (limited) heads.push("of its limit", "limited by");
heads.push("why it ends there");
$("steps").append(make("thead", {}, make("tr", {}, ...heads.map(h => make("th", { textContent: h, scope: "col" })))));
const body = make("tbody"), groups = modules.map(path => path.length ? path[Math.min(1, path.length - 1)].key : "");
const grouped = new Set(groups).size > 1 && 2 * new Set(groups).size < steps.length;
$("steps").append(body);
let head = null;
function addRow(s, i) {
  if (grouped && (i === 0 || groups[i] !== groups[i - 1])) {
    const name = groups[i] || "no module", button = make("button", { textContent: "\u25be " + name });
    button.setAttribute("aria-expanded", "true");
    const inside = [];
    head = make("tr", { className: "module" }, make("td", { colSpan: heads.length }, button));
    head.inside = inside;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", open);
      button.textContent = (open ? "\u25be " : "\u25b8 ") + name + (open ? "" : " (" + many(inside.length, "step") + ")");
      inside.forEach(r => { r.hidden = !open; });
    });
    body.append(head);
  }
  const b = s.bound, cell = (text, n) => make("td", { textContent: text, className: n ? "n" : "" });
  const name = make("td", { title: s.operators }, cutWords(s.operators, 16));
  if (s.nodes && s.nodes.length) name.append(make("div", { className: "key" }, ...breakable(s.nodes.slice(0, 3).join(", ") + (s.nodes.length > 3 ? " and " + (s.nodes.length - 3) + " more" : ""))));
  const row = make("tr", { className: "step", id: "row" + s.step, tabIndex: 0 }, cell(s.step, true), name,
    cell(b ? bytes(b.bytes_read) : s.bytes_read, b), cell(b ? bytes(b.bytes_written) : s.bytes_written, b),
    cell(b ? count(b.arithmetic !== undefined ? b.arithmetic : b.flops) : s.flops, b));
  if (timed) {
    const td = make("td", { className: "figure" }), bar = make("span", { className: "bar" });
    bar.style.width = 6 * b.microseconds / longest + "em";
    td.append(bar, time(b.microseconds));
    row.append(td);
  }
  if (limited) row.append(cell(b.limit_microseconds > 0 ? (b.microseconds / b.limit_microseconds).toFixed(1) + " times" : "-", true), cell(b.limited_by));
  row.append(make("td", {}, ...breakable(s.boundary)));
  [...row.children].forEach((td, i) => { td.dataset.head = heads[i]; });  // where rows are blocks
  row.addEventListener("click", () => choose(s.step, true));
  row.addEventListener("keydown", e => { if (e.key === "Enter") choose(s.step, true); });
  if (head) head.inside.push(row);
  rows.push(row);
  body.append(row);
}
function cutWords(text, most) {
  const all = text.split(" ");
  return all.length <= most ? text : all.slice(0, most).join(" ") + " \u2026 " + (all.length - most) + " more";
}
const needRows = n => { for (let i = rows.length; i < Math.min(n, steps.length); ++i) addRow(steps[i], i); };
const moreRows = () => { needRows(rows.length + 200); if (rows.length < steps.length) setTimeout(moreRows); };
needRows(60);

// By its nodes, where the model names them.
const nameOfStep = s => s.nodes && s.nodes.length ? s.nodes.slice(0, 2).join(", ") + (s.nodes.length > 2 ? " and " + (s.nodes.length - 2) + " more" : "") + " (" + s.operators + ")" : s.operators;
const link = n => { const a = make("a", { href: address(n) }, ...breakable(n + ". " + nameOfStep(steps[n - 1]))); a.addEventListener("click", e => { e.preventDefault(); choose(n, true); }); return a; };
// Assembly with the loop that computes most: marked by a bar at its lines, and shown first.
function assemblyOf(code) {
  const lines = code.text.replace(/\n$/, "").split("\n"), hot = code.hot || [0, -1];
  const part = (from, to, mark) => (mark ? "\u2503 " : "  ") + lines.slice(from, to).join(mark ? "\n\u2503 " : "\n  ") + "\n";
  const pre = make("pre", { tabIndex: 0, className: "assembly" });
  if (hot[1] < hot[0]) { pre.append(part(0, lines.length, false)); return [pre]; }
  const marked = make("mark", { textContent: part(hot[0], hot[1] + 1, true) });
  if (hot[0] > 0) pre.append(part(0, hot[0], false));
  pre.append(marked);
  if (hot[1] + 1 < lines.length) pre.append(part(hot[1] + 1, lines.length, false));
  const away = () => { pre.scrollTop = marked.offsetTop - pre.offsetTop - 20; };
  setTimeout(away);
  return [make("p", { className: "key", textContent: "\u2503 marks the loop that computes most: " + many(hot[1] - hot[0] + 1, "line") }), pre];
}
// What a loop or a branch runs.
function insideOf(body) {
  return make("ol", { className: "inside" }, ...body.steps.map(s => make("li", {}, s.number + ". " + s.kind + " " + s.operators,
    make("div", { className: "key", textContent: [s.nodes && "from " + s.nodes.slice(0, 4).join(", ") + (s.nodes.length > 4 ? " and " + (s.nodes.length - 4) + " more" : ""), "reads " + s.bytes_read + " bytes, writes " + s.bytes_written, s.boundary && "ends here: " + s.boundary].filter(Boolean).join("; ") }),
    ...(s.bodies || []).map(b => make("div", {}, "in " + b.name, insideOf(b))))));
}
const folded = new Map([["loops", true], ["assembly", false]]);
function foldable(name, ...inside) {
  const details = make("details", { open: folded.has(name) ? folded.get(name) : true }, make("summary", { textContent: name }), ...inside);
  details.addEventListener("toggle", () => folded.set(name, details.open));
  return details;
}
function choose(n, center) {
  if (n < 1 || n > steps.length) return;
  needRows(n);
  if (chosen) rows[chosen - 1].classList.remove("chosen");
  chosen = n;
  rows[n - 1].classList.add("chosen"); rows[n - 1].hidden = false;
  if (center && model.graph) reveal(n);
  if (model.graph) mark();
  document.querySelectorAll("[data-step]").forEach(e => e.classList.toggle("chosen", +e.dataset.step === n));
  history.replaceState(null, "", address(n));
  const s = steps[n - 1], b = s.bound, list = make("dl"), add = (name, ...what) => list.append(make("dt", { textContent: name }), make("dd", {}, ...what.flatMap(each => typeof each === "string" ? breakable(each) : [each])));
  add("operators", s.operators);
  if (modules[n - 1].length) add("module", modules[n - 1][modules[n - 1].length - 1].key);
  if (s.nodes && s.nodes.length <= 6 && s.nodes.length) add("nodes", s.nodes.join(", "));
  else if (s.nodes && s.nodes.length) add("nodes", make("details", {}, make("summary", { className: "plain" }, ...breakable(s.nodes.slice(0, 3).join(", ") + " and " + (s.nodes.length - 3) + " more")), ...breakable(s.nodes.slice(3).join(", "))));
  add("reads", b ? bytes(b.bytes_read) + " = " + s.bytes_read : s.bytes_read);
  add("writes", b ? bytes(b.bytes_written) + " = " + s.bytes_written : s.bytes_written);
  if (b && b.arithmetic !== undefined) add("arithmetic", count(b.arithmetic) + " FLOPs");
  else if (s.flops !== "0") add("products", b ? count(b.flops) + " FLOPs" : s.flops + " FLOPs");
  if (b && b.microseconds !== undefined) add("time", time(b.microseconds) + " on " + many(b.threads, "thread"));
  if (b && b.limited_by) add("limit", time(b.limit_microseconds) + ", by " + b.limited_by + (b.limit_microseconds > 0 ? ": " + (b.microseconds / b.limit_microseconds).toFixed(1) + " times that" : ""));
  if (b && b.microseconds > 0 && b.arithmetic > 0 && b.touched_bytes > 0) add("roofline", (b.arithmetic / b.touched_bytes).toFixed(2) + " FLOPs a byte, " + count(b.arithmetic / b.microseconds * 1e6) + "FLOP/s");
  if (b && b.bytes_from) add("bytes from", Object.entries(b.bytes_from).filter(([, x]) => x >= 1).map(([name, x]) => name + " or beyond: " + bytes(x)).join("; "));
  if (s.phases > 1) add("phases", String(s.phases));
  if (s.parts > 1) add("parts", s.parts + " side by side");
  if (s.boundary) add("ends here", s.boundary);
  if (s.region_steps > 1) add("tiles", "may run tile by tile in steps " + s.region_first + " to " + (s.region_first + s.region_steps - 1) + (s.region_end ? "; ends there: " + s.region_end : ""));
  for (const [name, set] of [["reads from", around.get(n).before], ["read by", around.get(n).after]]) {
    if (set.size) add(name, ...[...set].sort((x, y) => x - y).flatMap(k => [link(k), make("br")]));
  }
  $("detail").replaceChildren(make("h2", { textContent: s.step + ". " + s.kind }), list);
  (s.bodies || []).forEach(b => $("detail").append(foldable("in " + b.name, insideOf(b))));
  const code = model.assembly && model.assembly[n - 1], loops = model.loops && model.loops[n - 1];
  if (loops) $("detail").append(foldable("loops", make("pre", { textContent: loops, tabIndex: 0 })));
  if (code) $("detail").append(foldable("assembly", ...assemblyOf(code)));
}
)js";

}  // namespace tenon::report
