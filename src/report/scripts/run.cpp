#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainRun = R"js(
// Threads from left to right through one run. What is empty is waiting, or the caller between steps.
if (model.run && model.run.threads.length) {
  const run = model.run, W = Math.max(340, Math.min(1400, document.body.clientWidth - 70)), ticks = W < 700 ? 2 : 5, L = 84, R = 12, row = 26, T = 6, H = T + row * run.threads.length + 40;
  const X = t => L + t / Math.max(run.span, 1e-3) * (W - L - R);
  const chart = draw("svg", { class: "chart", viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "threads and steps of one run" });
  for (let i = 0; i <= ticks; ++i) {
    const t = run.span * i / ticks;
    chart.append(draw("line", { class: "axis", x1: X(t), x2: X(t), y1: T, y2: H - 34 }),
      draw("text", { x: X(t), y: H - 18, "text-anchor": i === 0 ? "start" : i === ticks ? "end" : "middle" }, time(t)));
  }
  run.threads.forEach((lane, i) => {
    const y = T + i * row;
    chart.append(draw("text", { x: L - 8, y: y + 16, "text-anchor": "end" }, "thread " + lane.thread));
    let last = null;
    for (const [step, begin, end] of lane.events) {
      const x = X(begin), width = X(end) - x;
      if (last && width < .5 && x - last.end < .5) {  // too small to be seen: a part of the one before
        last.end = x + width;
        last.rect.setAttribute("width", Math.max(.5, last.end - last.x));
        continue;
      }
      const rect = draw("rect", { class: "stretch" + (step % 2 ? " odd" : ""), x, y, width: Math.max(.5, width), height: row - 6, "data-step": step });
      const of = steps[step - 1];
      rect.append(draw("title", {}, step + ". " + (of ? nameOfStep(of) : "") + ": " + time(end - begin)));
      rect.addEventListener("click", () => choose(step, true));
      chart.append(rect);
      if (width > 24) chart.append(draw("text", { class: "on", x: x + width / 2, y: y + 14, "text-anchor": "middle" }, String(step)));
      last = { rect, x, end: x + width };
    }
  });
  const lines = run.threads.map(l => "thread " + l.thread + ": " + time(l.busy) + " at steps, " + time(Math.max(0, run.span - l.busy)) + " waiting or between steps");
  if (run.left_out) lines.push(run.left_out + " later events are not shown; `tenon run --trace` writes all");
  $("run").append(chart, make("ul", {}, ...lines.map(t => make("li", { textContent: t }))));
  $("run").hidden = false;
}

// The sizes that this process prepared, as a server would see its own by size_counts().
if (model.stats && model.stats.sizes.length) {
  const table = make("table", {}, make("tr", {}, ...["sizes", "hits", "prepared", "to prepare", "kept"].map((t, i) => make("th", { textContent: t, className: i ? "n" : "" }))));
  for (const s of model.stats.sizes) {
    const cells = [Object.entries(s.bindings).map(([k, v]) => k + "=" + v).join(", "), s.hits, s.specializations, time(s.specialize_us), s.bytes ? bytes(s.bytes) : "-"];
    table.append(make("tr", {}, ...cells.map((t, i) => make("td", { textContent: String(t), className: i ? "n" : "" }))));
  }
  $("sizes").append(table);
  $("sizes").hidden = false;
}
)js";

}  // namespace tenon::report
