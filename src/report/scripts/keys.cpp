#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainKeys = R"js(
// Search, buttons and keys; what lazy tensors ran; and the first drawing.
let hits = [], hit = -1;
function find() {
  const word = $("search").value.trim().toLowerCase();
  needRows(steps.length);
  hits = word ? steps.filter((s, i) => words[i].includes(word)).map(s => s.step) : [];
  hit = -1;
  const found = new Set(hits);
  rows.forEach((r, i) => { r.hidden = word !== "" && !found.has(i + 1); });
  document.querySelectorAll("tr.module").forEach(r => { r.hidden = word !== ""; });
  marks.hits = found;
  if (model.graph) mark();
  $("found").textContent = word ? many(hits.length, "step") : "";
}
const next = by => { if (hits.length) { hit = (hit + by + hits.length) % hits.length; choose(hits[hit], true); } else choose(Math.min(Math.max(chosen + by, 1), steps.length), true); };
$("search").addEventListener("input", find);
$("search").addEventListener("keydown", e => { if (e.key === "Enter") next(e.shiftKey ? -1 : 1); if (e.key === "Escape") { $("search").value = ""; find(); $("search").blur(); } });
const theme = () => { const top = document.documentElement, dark = top.dataset.theme ? top.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; top.dataset.theme = dark ? "light" : "dark"; };
const foldModules = () => foldAll("module"), foldSteps = () => foldAll("step");
$("theme").addEventListener("click", theme);
if (model.graph) {
  drawFirst(); begin(); said();
  $("fold").hidden = !items.some(i => i.kind === "module");
  $("operators").hidden = items.filter(i => i.kind === "operator").length > 4000;
  $("fold").addEventListener("click", foldModules);
  $("operators").addEventListener("click", foldSteps);
  $("in").addEventListener("click", () => zoom(.7)); $("out").addEventListener("click", () => zoom(1 / .7)); $("fit").addEventListener("click", fit);
  svg.setAttribute("aria-label", "the graph of " + model.model + ": " + many(steps.length, "step") + "; the table below has the same");
} else {
  $("view").hidden = true;
  $("drawing").querySelectorAll("#fold, #operators, #in, #out, #fit").forEach(b => { b.hidden = true; });
}
document.addEventListener("keydown", e => {
  if (e.target.tagName === "INPUT" || e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = { "/": () => { e.preventDefault(); $("search").focus(); }, n: () => next(1), p: () => next(-1), t: theme };
  const inPicture = model.graph && { f: foldModules, o: foldSteps, "+": () => zoom(.7), "-": () => zoom(1 / .7), "0": fit };
  const arrows = model.graph && e.target === svg && { ArrowLeft: () => move(-.1, 0), ArrowRight: () => move(.1, 0), ArrowUp: () => move(0, -.1), ArrowDown: () => move(0, .1) };
  const act = keys[e.key] || (inPicture || {})[e.key] || (arrows || {})[e.key];
  if (act) { if (e.key.startsWith("Arrow")) e.preventDefault(); act(); }
});
addEventListener("beforeprint", () => needRows(steps.length));
if (model.tiles && model.tiles.length) {
  $("tiles").hidden = false;
  $("tiles").append(make("ul", {}, ...model.tiles.map(line => make("li", { textContent: line }))));
}

// What lazy tensors ran, and why: a row for each realization; a click shows its program.
if (data.realizations) {
  const labels = ["", "asked for by", "place", "operations", "kernels", "program", "time", "why it was compiled"];
  const table = make("table", {}, make("tr", {}, ...labels.map(h => make("th", { textContent: h, scope: "col" }))));
  data.realizations.forEach((r, i) => {
    const found = r.compiled ? "compiled in " + time(1e3 * r.compile_ms) : r.laid_out ? "weights laid out" : "found";
    const cells = [i + 1, r.reason, r.place || "-", r.operations, r.kernels, r.program === null ? found + ", gone" : found, time(1e3 * r.milliseconds), r.why || (r.compiled ? "the first of its structure here" : "")];
    const row = make("tr", { className: r.program === null ? "" : "step" + (r.program === shown ? " chosen" : "") }, ...cells.map((c, k) => make("td", { textContent: String(c), className: [0, 3, 4, 6].includes(k) ? "n" : "" })));
    if (r.program !== null) {
      row.tabIndex = 0;
      const go = () => { if (r.program !== shown) { location.hash = "#p" + (r.program + 1); location.reload(); } };
      row.addEventListener("click", go);
      row.addEventListener("keydown", e => { if (e.key === "Enter") go(); });
    }
    table.append(row);
  });
  $("realizations").append(table);
  $("realizations").hidden = false;
}
moreRows();
if (asked[2]) choose(+asked[2], true);
)js";

}  // namespace tenon::report
