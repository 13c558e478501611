#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kPlaceNames = R"js(
// Names in a chart, each at one of its `places` ([x, y, anchor, degrees]): those with the fewest choose first, and each
// the place that covers least, no other name and few of `lines` ([x1, y1, x2, y2]) and `points`. One that has no place in
// `frame` is left out. Texts are in the page already, as they are measured.
function placeNames(frame, labels, lines, points) {
  const cuts = (b, [x1, y1], [x2, y2]) => {
    let t0 = 0, t1 = 1;
    for (const [p, q] of [[x1 - x2, x1 - b.left], [x2 - x1, b.right - x1], [y1 - y2, y1 - b.top], [y2 - y1, b.bottom - y1]]) {
      if (p === 0 && q < 0) return false;
      if (p < 0) t0 = Math.max(t0, q / p);
      if (p > 0) t1 = Math.min(t1, q / p);
    }
    return t0 <= t1;
  };
  // Whether two convex shapes meet: no side of either has all of the other behind it.
  const isApart = (a, b) => a.some(([x1, y1], i) => { const [x2, y2] = a[(i + 1) % a.length]; return b.every(([x, y]) => (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) <= 0); });
  const taken = [];
  for (const l of [...labels].sort((a, b) => a.places.length - b.places.length)) {
    const { width, height } = l.text.getBBox();
    let best = null;
    for (const [x, y, anchor, degrees = 0] of l.places) {
      const cos = Math.cos(degrees * Math.PI / 180), sin = Math.sin(degrees * Math.PI / 180);
      // The box around the text, as the text lies.
      const left = (anchor === "end" ? -width : anchor === "middle" ? -width / 2 : 0) - 2, top = -height * .8 - 1;
      const own = { left, top, right: left + width + 4, bottom: top + height + 2 }, into = (px, py) => [(px - x) * cos + (py - y) * sin, (py - y) * cos - (px - x) * sin];
      const corners = [[own.left, own.top], [own.right, own.top], [own.right, own.bottom], [own.left, own.bottom]].map(([u, v]) => [x + u * cos - v * sin, y + u * sin + v * cos]);
      const outside = corners.some(([u, v]) => u < frame.left || u > frame.right || v < frame.top || v > frame.bottom);
      const covers = ([u, v]) => u > own.left - 4 && u < own.right + 4 && v > own.top - 4 && v < own.bottom + 4;
      const cost = 1000 * (outside + taken.filter(o => !isApart(corners, o) && !isApart(o, corners)).length) + 4 * lines.filter(([x1, y1, x2, y2]) => cuts(own, into(x1, y1), into(x2, y2))).length
        + 3 * points.filter(p => covers(into(...p))).length;
      if (!best || cost < best.cost) best = { cost, x, y, anchor, degrees, corners };
    }
    if (!best || best.cost >= 1000) { l.text.remove(); continue; }
    for (const [name, value] of [["x", best.x], ["y", best.y], ["text-anchor", best.anchor]]) l.text.setAttribute(name, value);
    if (best.degrees) l.text.setAttribute("transform", "rotate(" + best.degrees + " " + best.x + " " + best.y + ")");
    taken.push(best.corners);
  }
}
// Places along a line that rises to the right, from [x1, y1] to [x2, y2], for a name that lies on it.
function placesAlong([x1, y1, x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, degrees = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI, places = [];
  for (let i = 1; i < 60; ++i) {
    const t = i / 60;
    places.push([x1 + (x2 - x1) * t + 6 * (y2 - y1) / length, y1 + (y2 - y1) * t - 6 * (x2 - x1) / length, "middle", degrees]);
  }
  return places;
}
)js";

}  // namespace tenon::report
