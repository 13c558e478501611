#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainPicture = R"js(
// The picture: boxes laid out, drawn, moved and folded.
const PAD = 12, HEAD = 24, BACK = 4, FONT = "12px system-ui, sans-serif", BOLD = "600 12px system-ui, sans-serif", SMALL = "10.5px system-ui, sans-serif";
const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();
function widthOf(text, font) {
  const key = font + text;
  if (!widths.has(key)) { pen.font = font; widths.set(key, pen.measureText(text).width); }
  return widths.get(key);
}
const cut = (text, most) => text.length <= most ? text : text.slice(0, most - 1) + "\u2026";
const isFolding = item => item.kind === "module" || (item.kind === "step" && item.inside.length > 0);
const isLeaf = item => item.kind === "input" || item.kind === "output" || item.kind === "constant";
const titleOf = item => isFolding(item) ? (item.open ? "\u25be " : "\u25b8 ") + cut(item.label, 40) : cut(item.label, 36);

// What is inside of a box, so that edges point down where that can be: the first that reads of none behind it. Of those
// that read from each other, as modules do in a step of training, the one whose first step comes first.
function inOrder(item) {
  const inside = item.inside, at = new Map(inside.map((child, i) => [child, i])), waits = inside.map(() => 0), readers = inside.map(() => []);
  for (const { a, b } of item.edges.values()) if (at.has(a) && at.has(b) && a !== b) { ++waits[at.get(b)]; readers[at.get(a)].push(at.get(b)); }
  const ordered = [], done = inside.map(() => false), ready = [];  // the last of `ready` is the first in order
  for (let i = inside.length - 1; i >= 0; --i) if (!waits[i]) ready.push(i);
  for (let first = 0; ordered.length < inside.length;) {
    while (done[first]) ++first;
    const next = ready.length ? ready.pop() : first;
    if (done[next]) continue;
    done[next] = true;
    ordered.push(inside[next]);
    for (const reader of readers[next]) if (--waits[reader] === 0 && !done[reader]) {
      let k = ready.length;
      while (k > 0 && ready[k - 1] < reader) --k;
      ready.splice(k, 0, reader);
    }
  }
  return ordered;
}
// Sizes of all that is inside, and places in it: kept until something in it is folded.
function lay(item) {
  if (item.laid) return item.laid;
  const head = widthOf(titleOf(item), item.open ? BOLD : FONT), note = widthOf(cut(item.note, 40), SMALL);
  if (!item.open || !item.inside.length) {
    const low = item.kind === "operator" || isLeaf(item);
    item.laid = { w: Math.max(54, Math.ceil(Math.max(head, note)) + 22), h: (item.note ? (low ? 36 : 42) : 24) + (item.kind === "module" ? BACK : 0) };
    return item.laid;
  }
  const inside = inOrder(item), at = new Map(inside.map((child, i) => [child, i]));
  const edges = [], shapes = [];
  // What comes from outside: a pill for each source, some of many.
  const ports = [...item.ports].filter(([, p]) => [...p.into].some(child => at.has(child)));
  const pills = ports.slice(0, 6).map(([label, p]) => ({ kind: "port", label, step: p.step, into: [...p.into].filter(child => at.has(child)) }));
  const list = [...pills.map(p => ({ item: p, w: Math.ceil(widthOf(p.label, SMALL)) + 14, h: 18, light: true })), ...inside.map(child => ({ item: child, w: lay(child).w, h: lay(child).h, light: isLeaf(child) }))];
  pills.forEach((p, i) => p.into.forEach(child => { edges.push([i, pills.length + at.get(child)]); shapes.push({ a: null, b: child, shape: "" }); }));
  for (const edge of item.edges.values()) if (at.has(edge.a) && at.has(edge.b)) { edges.push([pills.length + at.get(edge.a), pills.length + at.get(edge.b)]); shapes.push(edge); }
  const found = layered(list, edges);
  const top = item === root ? PAD : HEAD + PAD;
  const w = Math.max(found.w + 2 * PAD, item === root ? 0 : Math.ceil(head) + 40 + Math.ceil(note));
  item.laid = { w, h: found.h + top + PAD, top, left: (w - found.w) / 2, list, paths: found.paths.map((p, i) => ({ ...p, of: shapes[i] })) };
  return item.laid;
}

// At known sizes, what runs tile by tile; else what may.
const isTiled = s => model.pipelines ? model.pipelines.some(p => p.tiled && p.first_step <= s.step && s.step < p.first_step + p.steps) : s.region_steps > 1;
const escaped = text => text.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
// A path leads from the upper box to the lower one. An edge is turned where the upper box reads what the lower one makes.
const edgeTitle = p => { const lines = [p.of.shape, p.turned && "leads up: the upper box reads what the lower one makes"].filter(Boolean); return lines.length ? "<title>" + escaped(lines.join("\n")) + "</title>" : ""; };
const places = new Map();  // where each visible box is
function drawItem(item, x, y, to) {
  const l = lay(item), f = v => Math.round(v * 10) / 10;
  places.set(item, { x, y, w: l.w, h: l.h });
  const open = item.open && item.inside.length > 0, isStack = item.kind === "module" && !open, h = l.h - (isStack ? BACK : 0), round = item.kind === "input" || item.kind === "output" ? l.h / 2 : 6;
  const share = item.time && (item.kind === "step" || isStack) ? item.time / (item.kind === "step" ? longest : Math.max(root.time, 1e-9)) : 0;
  const s = item.step && item.kind === "step" ? steps[item.step - 1] : null;
  to.push('<g class="', item.kind, open ? " open" : "", s && isTiled(s) ? " tiled" : "", '" data-item="', item.id, '"', s ? ' data-of="' + item.step + '"' : "", ">");
  if (item !== root) {
    if (isStack) to.push('<rect class="back" x="', f(x + BACK), '" y="', f(y + BACK), '" width="', f(l.w), '" height="', f(h), '" rx="6"/>');
    to.push('<rect class="box" x="', f(x), '" y="', f(y), '" width="', f(l.w), '" height="', f(h), '" rx="', f(round), '"/>');
    if (share > 0) to.push('<rect class="share" x="', f(x + 3), '" y="', f(y + h - 5), '" width="', f(Math.max(1, share * (l.w - 6))), '" height="3"/>');
    const middle = x + l.w / 2;
    if (open) {
      to.push('<text class="head" x="', f(x + 10), '" y="', f(y + 17), '">', escaped(titleOf(item)), "</text>");
      if (item.note) to.push('<text class="small" text-anchor="end" x="', f(x + l.w - 10), '" y="', f(y + 17), '">', escaped(cut(item.note, 40)), "</text>");
    } else {
      to.push('<text text-anchor="middle" x="', f(middle), '" y="', f(y + 16), '">', escaped(titleOf(item)), "</text>");
      if (item.note) to.push('<text class="small" text-anchor="middle" x="', f(middle), '" y="', f(y + 30), '">', escaped(cut(item.note, 40)), "</text>");
    }
    to.push("<title>", escaped(item.label + (item.note ? "\n" + item.note : "") + (s && s.boundary ? "\nends here: " + s.boundary : "")), "</title>");
  }
  if (open) {
    const left = x + l.left, top = y + l.top;
    to.push('<g transform="translate(', f(left), " ", f(top), ')">');
    for (const p of l.paths) to.push('<path class="edge', p.turned ? " turned" : "", '" d="', p.d, '" data-a="', p.of.a ? p.of.a.id : "", '" data-b="', p.of.b.id, p.turned ? '" marker-start' : '" marker-end', '="url(#arrow)">', edgeTitle(p), "</path>");
    to.push("</g>");
    for (const cell of l.list) {
      if (cell.item.kind !== "port") { drawItem(cell.item, left + cell.x, top + cell.y, to); continue; }
      to.push('<g class="port"', cell.item.step ? ' data-go="' + cell.item.step + '"' : "", '><rect class="box" x="', f(left + cell.x), '" y="', f(top + cell.y), '" width="', f(cell.w), '" height="18" rx="9"/><text class="small" text-anchor="middle" x="', f(left + cell.x + cell.w / 2), '" y="', f(top + cell.y + 13), '">', escaped(cell.item.label), "</text></g>");
    }
  }
  to.push("</g>");
}

const svg = $("picture"), mini = $("mini"), frame = draw("rect"), outline = draw("path");
mini.append(outline, frame);
const ARROW = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>';
let whole = { x: 0, y: 0, w: 1, h: 1 }, box = null;
const marks = { hits: new Set() };
function drawAll() {
  places.clear();
  const parts = [ARROW];
  drawItem(root, 0, 0, parts);
  svg.innerHTML = parts.join("");
  const l = lay(root);
  whole = { x: 0, y: 0, w: l.w, h: l.h };
  mini.setAttribute("viewBox", "0 0 " + whole.w + " " + whole.h);
  let d = "";
  for (const [item, p] of places) if (item !== root && item.kind !== "operator" && !item.open) d += "M" + p.x.toFixed(0) + " " + p.y.toFixed(0) + "h" + p.w.toFixed(0) + "v" + p.h.toFixed(0) + "h-" + p.w.toFixed(0) + "z";
  outline.setAttribute("d", d);
  // The small map has a column of its own, so that it covers nothing.
  $("view").classList.toggle("mapped", whole.w > $("view").clientWidth || whole.h > $("view").clientHeight);
  if (box) { box.h = box.w * ratio(); show(); }
  mark();
}
const boxOf = item => svg.querySelector('g[data-item="' + item.id + '"]');
const visibleOf = item => { let found = item; for (let i = item; i; i = i.parent) if (i.parent && !i.parent.open) found = i.parent; return found; };
// What is chosen, what was found, what is next to the chosen: after each drawing.
function mark() {
  svg.querySelectorAll(".chosen, .near, .hit").forEach(e => e.classList.remove("chosen", "near", "hit"));
  for (const n of marks.hits) { const g = boxOf(visibleOf(stepItem[n])); if (g) g.classList.add("hit"); }
  if (!chosen) return;
  const item = visibleOf(stepItem[chosen]), g = boxOf(item);
  if (g) g.classList.add("chosen");
  svg.querySelectorAll('path[data-a="' + item.id + '"], path[data-b="' + item.id + '"]').forEach(p => p.classList.add("near"));
}
function show() {
  svg.setAttribute("viewBox", [box.x, box.y, box.w, box.h].join(" "));
  for (const [k, v] of Object.entries({ x: box.x, y: box.y, width: box.w, height: box.h })) frame.setAttribute(k, v);
  svg.classList.toggle("far", box.w / Math.max(1, svg.clientWidth) > 4);
}
const ratio = () => Math.max(1, svg.clientHeight) / Math.max(1, svg.clientWidth);
function fit() {
  const w = Math.max(whole.w, whole.h / ratio(), 320), h = w * ratio();
  box = { x: whole.w / 2 - w / 2, y: h > whole.h ? -(h - whole.h) / 2 : 0, w, h };
  show();
}
// At first: all of it where it can be read then, else from the uppermost box on.
function begin() {
  fit();
  const readable = svg.clientWidth * 1.25;
  if (box.w <= readable) return;
  const [, first] = [...places].filter(([item]) => item !== root && (!item.open && item.kind !== "operator" && item.kind !== "constant" || item.parent === root))
    .sort(([, p], [, q]) => p.y - q.y)[0] || [];
  const x = first ? first.x + first.w / 2 : whole.w / 2;
  const w = Math.min(box.w, svg.clientWidth), h = w * ratio();
  const left = Math.min(Math.max(x - w / 2, 0), Math.max(0, whole.w - w));
  box = { x: whole.w < w ? whole.w / 2 - w / 2 : left, y: !first || first.y + first.h < h ? 0 : first.y - h / 4, w, h };
  show();
}
// Before: modules are folded again, the innermost first, until the picture is at most twice as wide as the view.
function drawFirst() {
  const depth = item => item.parent ? 1 + depth(item.parent) : 0;
  for (drawAll(); whole.w > 2 * Math.max(svg.clientWidth, 700); drawAll()) {
    const open = items.filter(i => i.kind === "module" && i.open);
    if (!open.length) return;
    const deepest = Math.max(...open.map(depth));
    for (const item of open) if (depth(item) === deepest) { item.open = false; for (let i = item; i; i = i.parent) i.laid = null; }
  }
}
const zoom = (by, x = box.x + box.w / 2, y = box.y + box.h / 2) => {
  const most = 2 * Math.max(whole.w, whole.h / ratio(), 320);
  by = Math.min(Math.max(by, 60 / box.w), most / box.w);
  box = { x: x - (x - box.x) * by, y: y - (y - box.y) * by, w: box.w * by, h: box.h * by };
  show();
};
const move = (dx, dy) => { box.x += dx * box.w; box.y += dy * box.h; show(); };
// After a change of what is folded: laid out anew, with what was folded where it was on the screen.
function refold(changed, by) {
  const before = by && places.get(by);
  for (const item of changed) for (let i = item; i; i = i.parent) i.laid = null;
  drawAll();
  const after = by && places.get(by);
  if (before && after && box) { box.x += after.x + Math.min(after.w, 200) / 2 - before.x - Math.min(before.w, 200) / 2; box.y += after.y - before.y; show(); }
}
const toggle = item => { item.open = !item.open; refold([item], item); };
const opened = kind => items.some(i => i.kind === kind && i.open && isFolding(i));
function foldAll(kind) {
  const open = !opened(kind), changed = items.filter(i => i.kind === kind && isFolding(i) && i.open !== open);
  changed.forEach(i => { i.open = open; });
  refold(changed, null);
  said();
  begin();
}
function said() {
  $("fold").setAttribute("aria-pressed", !opened("module"));
  $("operators").setAttribute("aria-pressed", opened("step"));
}
function reveal(step) {
  const item = stepItem[step], closed = [];
  for (let i = item.parent; i; i = i.parent) if (!i.open) { i.open = true; closed.push(i); }
  if (closed.length) { refold(closed, null); said(); }
  const p = places.get(item);
  const w = Math.min(box.w, Math.max(svg.clientWidth, p.w * 1.2)), h = w * ratio();
  box = { x: p.x + p.w / 2 - w / 2, y: p.y + Math.min(p.h, h * .8) / 2 - h / 2, w, h };
  show();
}
const pointAt = (e, of) => { const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(of.getScreenCTM().inverse()); return [p.x, p.y]; };
const itemAt = e => { const g = e.target.closest("g[data-item]"); return g ? items[g.dataset.item] : null; };
let from = null, moved = 0;
svg.addEventListener("wheel", e => { e.preventDefault(); zoom(Math.exp(e.deltaY * (e.ctrlKey ? .01 : .0015)), ...pointAt(e, svg)); }, { passive: false });
svg.addEventListener("pointerdown", e => { from = [e.clientX, e.clientY]; moved = 0; });
svg.addEventListener("pointermove", e => {
  if (!from || !(e.buttons & 1)) { from = null; return; }
  const k = box.w / Math.max(1, svg.clientWidth), dx = e.clientX - from[0], dy = e.clientY - from[1];
  moved += Math.abs(dx) + Math.abs(dy);
  box.x -= dx * k; box.y -= dy * k; from = [e.clientX, e.clientY];
  show();
});
svg.addEventListener("click", e => {
  if (moved >= 5) return;
  const port = e.target.closest("g.port[data-go]");
  if (port) { choose(+port.dataset.go, true); return; }
  const item = itemAt(e);
  if (!item || item === root) return;
  const [, y] = pointAt(e, svg), p = places.get(item);
  const head = p && (!item.open || y < p.y + HEAD);
  if (item.kind === "module" && head) toggle(item);
  else { const of = item.kind === "step" ? item : item.kind === "operator" ? item.parent : null; if (of && of.step) choose(of.step, false); }
});
svg.addEventListener("dblclick", e => { const item = itemAt(e), of = item && item.kind === "operator" ? item.parent : item; if (of && of.kind === "step" && isFolding(of)) { toggle(of); said(); } });
mini.addEventListener("click", e => { const [x, y] = pointAt(e, mini); box.x = x - box.w / 2; box.y = y - box.h / 2; show(); });
addEventListener("resize", () => { box.h = box.w * ratio(); show(); });
)js";

}  // namespace tenon::report
