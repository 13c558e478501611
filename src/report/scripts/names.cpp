#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kPlaceNames = R"js(
// Names in a chart, each at one of its `places` ([x, y, anchor]): those with the fewest choose first, and each the place
// that covers least, no other name and few of `lines` ([x1, y1, x2, y2]) and `points`. `side` is the anchor that a name
// had rather. One that has no place in `frame` is left out. Texts are in the page already, as they are measured.
function placeNames(frame, labels, lines, points) {
  const cuts = (b, [x1, y1, x2, y2]) => {
    let t0 = 0, t1 = 1;
    for (const [p, q] of [[x1 - x2, x1 - b.x], [x2 - x1, b.x + b.width - x1], [y1 - y2, y1 - b.y], [y2 - y1, b.y + b.height - y1]]) {
      if (p === 0 && q < 0) return false;
      if (p < 0) t0 = Math.max(t0, q / p);
      if (p > 0) t1 = Math.min(t1, q / p);
    }
    return t0 <= t1;
  };
  const taken = [];
  for (const l of [...labels].sort((a, b) => a.places.length - b.places.length)) {
    const own = l.text.getBBox();
    let best = null;
    for (const [x, y, anchor] of l.places) {
      const b = { x: (anchor === "end" ? x - own.width : x) - 2, y: y - own.height * .8 - 1, width: own.width + 4, height: own.height + 2 };
      const meets = o => b.x < o.x + o.width && o.x < b.x + b.width && b.y < o.y + o.height && o.y < b.y + b.height;
      const outside = b.x < frame.left || b.x + b.width > frame.right || b.y < frame.top || b.y + b.height > frame.bottom;
      const cost = 1000 * (outside + taken.filter(meets).length) + 4 * lines.filter(o => cuts(b, o)).length
        + (l.side && anchor !== l.side ? 5 : 0) + 3 * points.filter(([px, py]) => meets({ x: px - 4, y: py - 4, width: 8, height: 8 })).length;
      if (!best || cost < best.cost) best = { cost, x, y, anchor, b };
    }
    if (!best || best.cost >= 1000) { l.text.remove(); continue; }
    l.text.setAttribute("x", best.x); l.text.setAttribute("y", best.y); l.text.setAttribute("text-anchor", best.anchor);
    taken.push(best.b);
  }
}
)js";

}  // namespace tenon::report
