#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainCharts = R"js(
const chartWidth = Math.max(340, Math.min(640, document.body.clientWidth - 70));  // narrow windows have texts as large
const power = v => v < 1 ? String(Number(v.toPrecision(1))) : count(v).replace(/\.0+(?= |$)/, "");
// Arithmetic a second over arithmetic a byte, under the roofs that were measured; both axes are logarithms.
if (limited && model.roofs) {
  const points = steps.filter(s => s.bound.microseconds > 0 && s.bound.arithmetic > 0 && s.bound.touched_bytes > 0)
    .map(s => ({ step: s.step, x: s.bound.arithmetic / s.bound.touched_bytes, y: s.bound.arithmetic / s.bound.microseconds * 1e6 }));
  const rates = model.roofs.rates[model.roofs.rates.length - 1];
  const levels = model.roofs.levels.map((l, i) => ({ name: l.name, rate: rates.bytes_per_second[i] }));
  // Roofs of arithmetic, those that are alike as one.
  const flats = [];
  for (const [name, rate] of Object.entries(rates.operations_per_second)) {
    const same = flats.find(f => Math.abs(Math.log10(f.rate / rate)) < .1);
    if (same) same.names.push(name); else flats.push({ names: [name], rate });
  }
  const roof = Math.max(...flats.map(f => f.rate));
  if (points.length) {
    const W = chartWidth, H = 400, L = 64, R = 12, T = 12, B = 44;
    const ridge = roof / levels[levels.length - 1].rate, floor = Math.min(...flats.map(f => f.rate)) / 30;
    const x0 = Math.log10(Math.min(...points.map(p => p.x), .1)) - .1, x1 = Math.log10(Math.max(...points.map(p => p.x), 1.5 * ridge)) + .1;
    const y0 = Math.log10(Math.min(...points.map(p => p.y), floor)) - .1, y1 = Math.log10(Math.max(2 * roof, ...points.map(p => p.y)));
    const X = x => L + (Math.log10(x) - x0) / (x1 - x0) * (W - L - R), Y = y => H - B - (Math.log10(y) - y0) / (y1 - y0) * (H - T - B);
    const chart = draw("svg", { class: "chart", viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "roofline of the steps" });
    chart.append(draw("clipPath", { id: "inside" }));
    chart.firstChild.append(draw("rect", { x: L, y: T, width: W - L - R, height: H - T - B }));
    for (let i = Math.ceil(x0); i <= x1; ++i) chart.append(draw("line", { class: "axis", x1: X(10 ** i), x2: X(10 ** i), y1: T, y2: H - B }), draw("text", { x: Math.min(X(10 ** i), W - 24), y: H - B + 20, "text-anchor": "middle" }, power(10 ** i)));
    for (let i = Math.ceil(y0); i <= y1; ++i) chart.append(draw("line", { class: "axis", x1: L, x2: W - R, y1: Y(10 ** i), y2: Y(10 ** i) }), draw("text", { x: L - 6, y: Y(10 ** i) + 4, "text-anchor": "end" }, power(10 ** i)));
    chart.append(draw("text", { x: (L + W) / 2, y: H - 6, "text-anchor": "middle" }, "FLOPs a byte"));
    chart.append(draw("text", { x: 14, y: H / 2, "text-anchor": "middle", transform: "rotate(-90 14 " + H / 2 + ")" }, "FLOPs a second, " + rates.threads + (rates.threads === 1 ? " thread" : " threads")));
    const clipped = draw("g", { "clip-path": "url(#inside)", "pointer-events": "none" }), lines = [], labels = [];
    const line = (cls, x1, y1, x2, y2) => { lines.push([x1, y1, x2, y2]); clipped.append(draw("path", { class: cls, d: "M" + x1 + " " + y1 + "L" + x2 + " " + y2 })); };
    // Each name lies on its own line.
    for (const l of levels) {
      line("level", X(10 ** x0), Y(10 ** x0 * l.rate), X(roof / l.rate), Y(roof));
      const from = Math.max(y0, x0 + Math.log10(l.rate));
      labels.push({ text: draw("text", { class: "rimmed" }, l.name + ", " + count(l.rate) + "B/s"), places: placesAlong([X(10 ** from / l.rate), Y(10 ** from), X(roof / l.rate), Y(roof)]) });
    }
    for (const f of flats) {
      const from = X(Math.min(10 ** x1, f.rate / levels[0].rate)), places = [];
      line("limit", from, Y(f.rate), X(10 ** x1), Y(f.rate));
      for (let x = W - R - 6; x > from + 10; x -= 16) places.push([x, Y(f.rate) - 4, "end"], [x, Y(f.rate) + 13, "end"]);
      labels.push({ text: draw("text", { class: "rimmed" }, f.names.join(", ") + ", " + count(f.rate) + "FLOP/s"), places });
    }
    chart.append(clipped);
    $("roofline").hidden = false;
    $("roofline").append(chart);
    clipped.append(...labels.map(l => l.text));
    placeNames({ left: L, right: W - R, top: T, bottom: H - B }, labels, lines, points.map(p => [X(p.x), Y(p.y)]));
    for (const p of points) {
      const c = draw("circle", { cx: X(p.x), cy: Y(p.y), r: 4, "data-step": p.step });
      c.append(draw("title", {}, p.step + ". " + nameOfStep(steps[p.step - 1]) + ": " + count(p.y) + "FLOP/s"));
      c.addEventListener("click", () => choose(p.step, true));
      clipped.before(c);
    }
    $("roofline").append(make("p", { className: "key", textContent: "roofs: " + [...flats.map(f => f.names.join(", ") + " " + count(f.rate) + "FLOP/s"), ...levels.map(l => l.name + " " + count(l.rate) + "B/s")].join("; ") }));
  }
  const won = steps.map(s => ({ s, us: s.bound.microseconds - s.bound.limit_microseconds })).filter(w => w.us > 0 && w.s.bound.limited_by).sort((a, b) => b.us - a.us).slice(0, 3);
  $("roofline").append(make("p", { textContent: "Where most could be won:" }), make("ol", {}, ...won.map(w => make("li", {}, link(w.s.step), ": " + time(w.us) + " of " + time(w.s.bound.microseconds) + ", limited by " + w.s.bound.limited_by))));
  $("roofline").hidden = false;
}

// What lies where in the arena, and when.
if (model.timeline && model.timeline.blocks.length) {
  const m = model.timeline, W = chartWidth, H = 300, L = 74, R = 12, T = 12, B = 44, n = m.moments.length;
  const top = Math.max(m.arena_bytes, 1), X = i => L + i / n * (W - L - R), Y = b => H - B - b / top * (H - T - B);
  const chart = draw("svg", { class: "chart", viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "the arena from the first step to the last" });
  const tick = 2 ** Math.ceil(Math.log2(top / 5));  // of few digits
  for (let b = 0; b <= top; b += tick) chart.append(draw("line", { class: "axis", x1: L, x2: W - R, y1: Y(b), y2: Y(b) }), draw("text", { x: L - 6, y: Y(b) + 4, "text-anchor": "end" }, bytes(b).replace(/\.0+(?= )/, "")));
  chart.append(draw("text", { x: 12, y: (T + H - B) / 2, "text-anchor": "middle", transform: "rotate(-90 12 " + (T + H - B) / 2 + ")" }, "arena"));
  for (const b of m.blocks) {
    const r = draw("rect", { class: "block " + b.use, x: X(b.first_moment), y: Y(b.offset + b.bytes), width: Math.max(1, X(b.last_moment + 1) - X(b.first_moment)), height: Math.max(.5, Y(b.offset) - Y(b.offset + b.bytes)) });
    r.append(draw("title", {}, bytes(b.bytes) + (b.use === "window" ? " between steps " : " from step ") + b.made_by + " to step " + b.last_use + ": " + b.size + " bytes"));
    r.addEventListener("click", () => choose(b.made_by, true));
    chart.append(r);
  }
  const peak = m.moments[m.peak_moment], px = X(m.peak_moment + .5);
  chart.append(draw("line", { class: "peak", x1: px, x2: px, y1: T, y2: H - B }));
  const every = Math.max(1, Math.ceil(30 * n / (W - L - R)));
  for (let i = 0; i < n; i += every) chart.append(draw("text", { x: X(i + .5), y: H - B + 20, "text-anchor": "middle" }, String(m.moments[i].steps[0])));
  chart.append(draw("text", { x: (L + W) / 2, y: H - 6, "text-anchor": "middle" }, "step"));
  const lines = ["arena " + bytes(m.arena_bytes) + " for " + bytes(m.intermediate_bytes) + " of intermediates" + (m.untiled_arena_bytes !== m.arena_bytes ? " (" + bytes(m.untiled_arena_bytes) + " if no steps ran tile by tile)" : ""),
    "outputs " + bytes(m.output_bytes) + ", weights " + bytes(m.constant_bytes) + ", code " + bytes(m.code_bytes),
    "the peak is " + bytes(peak.live_bytes) + " during step " + peak.steps.join(", ") + ": " + m.peak_size + " bytes", ...(m.arena_beyond_peak ? [m.arena_beyond_peak] : [])];
  const others = {}, here = Object.fromEntries((model.bindings || "").split(", ").map(pair => pair.split("=")));
  for (const o of m.other_sizes) if (o.arena_bytes !== null) (others[o.axis] = others[o.axis] || [[+here[o.axis], m.arena_bytes]]).push([o.size, o.arena_bytes]);
  $("memory").append(chart, make("ul", {}, ...lines.map(t => make("li", { textContent: t }))));
  // The arena over the sizes of one axis, others as they are: a curve each.
  const curves = make("div", { className: "curves" });
  for (const [axis, list] of Object.entries(others)) {
    list.sort((a, b) => a[0] - b[0]);
    const w = 240, h = 130, l = 62, r = 14, t = 22, b = 26, most = Math.max(...list.map(p => p[1]), 1), last = list[list.length - 1][0];
    const x = v => l + v / last * (w - l - r), y = v => h - b - v / most * (h - t - b);
    const curve = draw("svg", { class: "chart", viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": "the arena over " + axis + ": " + list.map(p => p[0] + ": " + bytes(p[1])).join(", ") });
    curve.append(draw("text", { x: l, y: 14 }, "arena over " + axis), draw("path", { class: "axis", fill: "none", d: "M" + l + " " + t + "V" + (h - b) + "H" + (w - r) }));
    curve.append(draw("text", { x: l - 5, y: y(most) + 4, "text-anchor": "end" }, bytes(most)), draw("text", { x: l - 5, y: h - b + 4, "text-anchor": "end" }, "0"));
    curve.append(draw("path", { class: "curve", d: "M" + list.map(p => x(p[0]) + " " + y(p[1])).join("L") }));
    let free = -Infinity;  // where a number may begin
    for (const [size, arena] of list) {
      const dot = draw("circle", { cx: x(size), cy: y(arena), r: size === +here[axis] ? 4.5 : 3 });
      dot.append(draw("title", {}, axis + "=" + size + ": " + bytes(arena)));
      curve.append(dot);
      const half = 3.6 * String(size).length;
      if (x(size) - half > free) { curve.append(draw("text", { x: x(size), y: h - 10, "text-anchor": "middle" }, String(size))); free = x(size) + half + 3; }
    }
    curves.append(curve);
  }
  $("memory").hidden = false;
  $("memory").append(curves);
}
)js";

}  // namespace tenon::report
