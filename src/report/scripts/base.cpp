#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainBase = R"js("use strict";
const $ = id => document.getElementById(id);
// Of several programs, the one that the address names: #p2, or #p2step3.
const programs = data.programs || [data];
const asked = /^#(?:p(\d+))?(?:step(\d+))?$/.exec(location.hash) || [];
const shown = Math.min(Math.max(Number(asked[1] || 1), 1), programs.length) - 1;
const model = programs[shown], steps = model.steps;
const address = n => "#" + (programs.length > 1 ? "p" + (shown + 1) : "") + (n ? "step" + n : "");
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
const time = us => us < .01 ? Number((1e3 * us).toPrecision(2)) + " ns" : us < 1 ? Math.round(1e3 * us) + " ns" : us >= 1e6 ? (us / 1e6).toFixed(2) + " s" : us >= 1e3 ? (us / 1e3).toFixed(2) + " ms" : us.toFixed(1) + " us";
// A name or a path, which may go on in the next line behind each of its parts.
const breakable = text => text.split(/(?<=\w[\/.])(?=\w)/).flatMap((part, i) => i ? [make("wbr"), part] : [part]);
const many = (n, what) => n + " " + what + (n === 1 ? "" : "s");
const timed = steps.some(s => s.bound && s.bound.microseconds !== undefined);
const limited = steps.some(s => s.bound && s.bound.limited_by);
const timeOf = s => (s.bound && s.bound.microseconds) || 0;
const longest = steps.reduce((most, s) => Math.max(most, timeOf(s)), 1e-9);

// The modules that a name lies in, outermost first. "layer4.1.conv2 (conv2d)": layer4, layer4.1, layer4.1.conv2.
// "/layer4/layer4.1/conv2/Conv": layer4, layer4.1, conv2. "train.py:12": none.
function modulesOf(name) {
  const own = name.replace(/ \(.*$/, "").replace(/(^| at )\S*:\d+$/, "").replace(/^\//, "");
  if (!own) return [];
  const slashes = own.split("/");
  if (slashes.length > 1) return slashes.slice(0, -1).map((label, i) => ({ label, key: slashes.slice(0, i + 1).join("/") }));
  const dots = own.split(".");
  return dots.map((_, i) => dots.slice(0, i + 1).join(".")).map(key => ({ label: key, key }));
}
// Those of a step: as deep as most of its names agree.
function moduleOfStep(step) {
  const paths = (step.nodes || []).map(modulesOf), found = [];
  for (let depth = 0; ; ++depth) {
    const votes = new Map();
    for (const path of paths) if (path.length > depth && (depth === 0 || path[depth - 1].key === found[depth - 1].key)) {
      const vote = votes.get(path[depth].key) || { module: path[depth], count: 0 };
      ++vote.count;
      votes.set(path[depth].key, vote);
    }
    const most = [...votes.values()].sort((a, b) => b.count - a.count)[0];
    if (!most || 2 * most.count <= paths.length) return found;
    found.push(most.module);
  }
}
const modules = steps.map(moduleOfStep);

// What reads what, step by step.
const around = new Map(steps.map(s => [s.step, { before: new Set(), after: new Set() }]));
if (model.graph) for (const [from, to] of model.graph.edges) {
  const a = model.graph.nodes[from].step || 0, b = model.graph.nodes[to].step || 0;
  if (a && b && a !== b) { around.get(a).after.add(b); around.get(b).before.add(a); }
}
)js";

}  // namespace tenon::report
