#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainGroups = R"js(
// What the picture has in it: boxes in boxes. The root holds modules, which hold modules and steps, which hold
// operators. `open` boxes show what is inside of them.
const items = [];
const newItem = (kind, label, parent) => {
  const item = { id: items.length, kind, label, note: "", parent, inside: [], open: false, order: 0, step: 0, edges: new Map(), ports: new Map(), laid: null };
  items.push(item);
  return item;
};
const root = newItem("root", "", null);
root.open = true;
const stepItem = [];

// Blocks of steps where no names tell of modules: cut where few values cross.
function blocksOf() {
  const n = steps.length, size = Math.max(6, Math.round(Math.sqrt(n))), crossing = new Array(n + 1).fill(0);
  steps.forEach(s => {
    const last = Math.max(s.step, ...around.get(s.step).after);
    for (let i = s.step; i < Math.min(last, s.step + 4 * size); ++i) ++crossing[i];
  });
  const blocks = [];
  let first = 1;
  for (let i = 1; i <= n; ++i) {
    const long = i - first + 1;
    if (i === n || (long >= size && crossing[i] <= 1) || (long >= 1.5 * size && crossing[i] <= 2) || long >= 2 * size) {
      const name = { key: "steps " + first + " to " + i, label: "steps " + first + " to " + i };
      for (let k = first; k <= i; ++k) blocks.push([name]);
      first = i + 1;
    }
  }
  return blocks;
}

function fillItems() {
  const named = modules.some(path => path.length);
  const paths = named || steps.length <= 60 ? modules : blocksOf();
  const byKey = new Map();
  steps.forEach((s, i) => {
    let holder = root;
    for (const { key, label } of paths[i]) {
      if (!byKey.has(key)) byKey.set(key, newItem("module", label, holder));
      holder = byKey.get(key);
    }
    const item = newItem("step", s.step + ". " + s.operators, holder);
    item.step = s.step;
    stepItem[s.step] = item;
  });
  // A module with one thing in it is that thing.
  for (const item of items) if (item.parent) item.parent.inside.push(item);
  for (const item of [...items].reverse()) if (item.kind === "module" && item.inside.length === 1) {
    const only = item.inside[0], at = item.parent.inside.indexOf(item);
    item.parent.inside[at] = only;
    only.parent = item.parent;
    if (only.kind === "step" && !only.note) only.note = item.label;
    item.kind = "gone";
  }
  const graph = model.graph || { nodes: [], edges: [] };
  const holdersOf = item => { const list = []; for (let i = item; i; i = i.parent) list.push(i); return list.reverse(); };
  // Inputs and outputs stand where what reads or makes them is; of many at one place there is one box.
  const own = graph.nodes.map(node => node.step && node.kind === "operator" ? newItem("operator", node.label, stepItem[node.step]) : null);
  own.forEach((item, i) => { if (item) { item.note = graph.nodes[i].shape; item.parent.inside.push(item); } });
  const touched = graph.nodes.map(() => []);
  graph.edges.forEach(([a, b]) => { if (own[b]) touched[a].push(own[b]); if (own[a]) touched[b].push(own[a]); });
  // What a caller gives and gets stands outside of modules, or, of many, outside of steps, so that it is seen while these
  // are closed: what depends on an axis, and what is one number; of few, all. Others are weights, and what they become.
  const countOf = (kind, test) => graph.nodes.filter(node => node.kind === kind && test(node)).length;
  const isFew = { input: countOf("input", () => true) <= 4, output: countOf("output", () => true) <= 4 };
  const isOfCaller = node => node.kind in isFew && (isFew[node.kind] || !/^\w+\[.+\]$/.test(node.shape) || node.shape.slice(node.shape.indexOf("[") + 1, -1).split(", ").some(axis => !/^(.*=)?\d+$/.test(axis)));
  const isOutermost = { input: countOf("input", isOfCaller) <= 10, output: countOf("output", isOfCaller) <= 10 };
  const isRead = graph.nodes.map(() => false);
  graph.edges.forEach(([a, b]) => { isRead[a] = isRead[b] = true; });
  const places = new Map();
  graph.nodes.forEach((node, i) => {
    if (own[i] || !isRead[i]) return;
    if (!touched[i].length && node.kind === "constant") return;
    let common = touched[i].length ? holdersOf(touched[i][0].parent) : [root];  // an output may be an input as it is
    for (const other of touched[i]) { const path = holdersOf(other.parent); common = common.filter((h, k) => path[k] === h); }
    if (isOfCaller(node)) common = isOutermost[node.kind] ? [root] : common.filter(h => h.kind !== "step");
    const holder = common[common.length - 1];
    if (node.kind === "constant" && holder.kind !== "step") return;  // said of the steps that read it
    const key = node.kind + holder.id;
    if (!places.has(key)) places.set(key, { holder, kind: node.kind, nodes: [] });
    places.get(key).nodes.push(i);
  });
  for (const { holder, kind, nodes } of places.values()) {
    const most = holder === root ? 10 : 5;
    const together = nodes.length > most ? newItem(kind, nodes.length + " " + kind + "s", holder) : null;
    if (together) { together.note = nodes.slice(0, 40).map(i => graph.nodes[i].label).join(", "); holder.inside.push(together); }
    for (const i of nodes) {
      if (together) { own[i] = together; continue; }
      own[i] = newItem(kind, kind === "constant" ? graph.nodes[i].shape : graph.nodes[i].label, holder);
      own[i].note = kind === "constant" ? "" : graph.nodes[i].shape;
      holder.inside.push(own[i]);
    }
  }
  // The order of things: that of steps, of a module its first one's, so that a step of training runs down through the
  // modules before it leads up again; inputs before, outputs behind all.
  own.forEach((item, i) => { if (item) item.order = item.kind === "operator" ? i : item.kind === "output" ? 1e9 + i : i - 1e9; });
  const order = item => {
    for (const i of item.inside) order(i);
    const within = item.inside.filter(i => Math.abs(i.order) < 5e8);
    if (item.kind === "step") item.order = item.step;
    else if (within.length && item.kind === "module") item.order = Math.min(...within.map(i => i.order));
    item.inside.sort((p, q) => p.order - q.order);
  };
  order(root);
  // Each edge belongs to the innermost box that holds both its ends. What comes into a box from outside is a port of it.
  for (const [a, b] of graph.edges) {
    if (!own[a] || !own[b]) continue;
    const from = holdersOf(own[a]), to = holdersOf(own[b]);
    let k = 0;
    while (k < from.length && k < to.length && from[k] === to[k]) ++k;
    if (k === from.length || k === to.length) continue;
    const holder = from[k - 1], key = from[k].id + " " + to[k].id;
    holder.edges.set(key, { a: from[k], b: to[k], shape: (holder.edges.get(key) || { shape: graph.nodes[a].shape }).shape });
    const name = graph.nodes[a].step ? "from " + graph.nodes[a].step : "from " + own[a].label;
    for (let d = k; d + 1 < to.length; ++d) {
      if (!to[d].ports.has(name)) to[d].ports.set(name, { step: graph.nodes[a].step || 0, into: new Set() });
      to[d].ports.get(name).into.add(to[d + 1]);
    }
  }
  // A module says how much is in it.
  const sum = item => {
    item.steps = item.kind === "step" ? 1 : 0;
    item.time = item.kind === "step" ? timeOf(steps[item.step - 1]) : 0;
    for (const i of item.inside) { sum(i); item.steps += i.steps; item.time += i.time; }
  };
  sum(root);
  for (const item of items) {
    if (item.kind === "module") item.note = many(item.steps, "step") + (timed ? ", " + time(item.time) : "");
    if (item.kind === "step" && timed) item.note = time(item.time) + (item.note ? ", " + item.note : "");
    if (item.kind === "step" && !item.note) item.note = steps[item.step - 1].kind;
  }
}
fillItems();
const isVisible = item => { for (let i = item.parent; i; i = i.parent) if (!i.open) return false; return true; };
const countVisible = item => item.open ? item.inside.reduce((n, i) => n + countVisible(i), 0) : 1;
// At first: so many modules are open, the outer and the first ones first, that there is something to see and not too much.
{
  const MOST = 90;
  let seen = countVisible(root), level = [root];
  while (level.length) {
    const next = level.flatMap(i => i.inside.filter(k => k.kind === "module"));
    for (const item of next) {
      if (seen + item.inside.length - 1 > MOST) break;
      item.open = true;
      seen += item.inside.length - 1;
    }
    level = next.filter(i => i.open);
  }
  const operators = items.filter(i => i.kind === "operator").length;
  if (operators <= 40) stepItem.forEach(i => { i.open = i.inside.length > 1; });
}
)js";

}  // namespace tenon::report
