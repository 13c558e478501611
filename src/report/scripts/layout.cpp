#include "report/scripts/scripts.h"

namespace tenon::report {

const std::string_view kExplainLayout = R"js(
// A layered drawing of boxes with sizes: `items` in an order in which edges, pairs of positions, mostly point down.
// Gives each item x and y, and each edge a path that crosses no box: inside of a layer edges run between boxes, and what
// spans many layers runs in a lane at the side. Items that are `light` pull no
// others aside. Returns the size of all of it and the paths.
function layered(items, edges) {
  const GAP = 18, LANE = 9, MOST_BENDS = 10, WIDEST = 2600;
  const n = items.length;
  const down = edges.map(([a, b]) => a < b ? [a, b, false] : [b, a, true]);
  const after = items.map(() => []), before = items.map(() => []);
  down.forEach(([a, b]) => { after[a].push(b); before[b].push(a); });
  const rank = new Array(n).fill(0);
  for (let i = 0; i < n; ++i) for (const b of after[i]) rank[b] = Math.max(rank[b], rank[i] + 1);
  for (let i = n - 1; i >= 0; --i) if (!before[i].length && after[i].length) rank[i] = Math.min(...after[i].map(b => rank[b])) - 1;

  // Layers; one that is too wide becomes several.
  const byRank = new Map();
  items.forEach((_, i) => { if (!byRank.has(rank[i])) byRank.set(rank[i], []); byRank.get(rank[i]).push(i); });
  const layers = [];
  for (const r of [...byRank.keys()].sort((a, b) => a - b)) {
    let width = 0, layer = [];
    for (const i of byRank.get(r)) {
      if (layer.length && width + items[i].w > WIDEST) { layers.push(layer); layer = []; width = 0; }
      layer.push(i);
      width += items[i].w + GAP;
    }
    layers.push(layer);
  }
  const layerOf = new Array(n);
  layers.forEach((layer, l) => layer.forEach(i => { layerOf[i] = l; }));

  // Cells of layers: items, and bends of edges that span several.
  const cells = layers.map((layer, l) => layer.map(i => ({ w: items[i].w, item: i, layer: l, up: [], dn: [], weight: items[i].light ? .05 : 1 })));
  const cellOf = new Array(n);
  cells.forEach(layer => layer.forEach(c => { cellOf[c.item] = c; }));
  const routes = down.map(([a, b, turned]) => {
    const span = layerOf[b] - layerOf[a], route = { a, b, turned, cells: [cellOf[a]], lane: -1 };
    if (span > MOST_BENDS + 1) { route.lane = 0; return route; }
    for (let l = layerOf[a] + 1; l < layerOf[b]; ++l) {
      const bend = { w: 8, item: -1, layer: l, up: [], dn: [], weight: .01 };
      cells[l].push(bend);
      route.cells.push(bend);
    }
    route.cells.push(cellOf[b]);
    for (let i = 0; i + 1 < route.cells.length; ++i) { route.cells[i].dn.push(route.cells[i + 1]); route.cells[i + 1].up.push(route.cells[i]); }
    return route;
  });

  // Order in layers: where neighbours are, from the top down and from the bottom up.
  const number = layer => layer.forEach((c, i) => { c.at = i; });
  cells.forEach(number);
  const sort = (layer, side) => {
    layer.forEach(c => { const near = c[side].map(x => x.at).sort((p, q) => p - q); const m = near.length >> 1; c.key = near.length ? (near.length % 2 ? near[m] : (near[m - 1] + near[m]) / 2) : c.at; });
    layer.sort((p, q) => p.key - q.key || p.at - q.at);
    number(layer);
  };
  for (let sweep = 0; sweep < 4; ++sweep) {
    for (let l = 1; l < cells.length; ++l) sort(cells[l], "up");
    for (let l = cells.length - 2; l >= 0; --l) sort(cells[l], "dn");
  }
  for (let l = 1; l < cells.length; ++l) sort(cells[l], "up");

  // Places in layers: as near to the middle of neighbours as the order and the widths let them be. Cells that want to
  // overlap form a block that stands at the mean of what they want.
  for (const layer of cells) { let x = 0; for (const c of layer) { c.off = x + c.w / 2; c.x = c.off; x += c.w + GAP; } }
  const settle = (layer, side) => {
    const blocks = [];
    for (const c of layer) {
      // A box stands over boxes: what only passes by, such as the skip of a residual, does not pull it aside, nor does
      // a weight that it reads.
      const boxes = c.item >= 0 ? c[side].filter(o => o.item >= 0) : [], heavy = boxes.filter(o => !items[o.item].light);
      const near = heavy.length ? heavy : boxes.length ? boxes : c[side], want = near.length ? near.reduce((s, o) => s + o.x, 0) / near.length : c.x;
      let block = { sum: (want - c.off) * c.weight, weight: c.weight, cells: [c] };
      while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight > block.sum / block.weight) {
        const last = blocks.pop();
        last.sum += block.sum; last.weight += block.weight; last.cells.push(...block.cells);
        block = last;
      }
      blocks.push(block);
    }
    for (const b of blocks) for (const c of b.cells) c.x = b.sum / b.weight + c.off;
  };
  for (let sweep = 0; sweep < 5; ++sweep) {
    for (let l = 1; l < cells.length; ++l) settle(cells[l], "up");
    for (let l = cells.length - 2; l >= 0; --l) settle(cells[l], "dn");
  }
  // An edge that passes several layers is straight where there is room for it.
  for (const route of routes) {
    const bends = route.cells.slice(1, -1);
    if (bends.length < 2) continue;
    const fits = x => bends.every(c => {
      const layer = cells[c.layer], before = layer[c.at - 1], behind = layer[c.at + 1];
      return (!before || x - before.x >= (c.w + before.w) / 2 + 4) && (!behind || behind.x - x >= (c.w + behind.w) / 2 + 4);
    });
    const places = bends.map(c => c.x), sorted = [...places].sort((p, q) => p - q);
    const x = [sorted[sorted.length >> 1], Math.max(...places), Math.min(...places)].find(fits);
    if (x !== undefined) bends.forEach(c => { c.x = x; });
  }
  let left = Infinity, right = 0;
  cells.forEach(layer => layer.forEach(c => { left = Math.min(left, c.x - c.w / 2); }));
  cells.forEach(layer => layer.forEach(c => { c.x -= left; right = Math.max(right, c.x + c.w / 2); }));

  // Lanes for what spans many layers: each is free again behind the end of its edge.
  const free = [];
  for (const route of routes.filter(r => r.lane >= 0).sort((p, q) => layerOf[p.a] - layerOf[q.a])) {
    let lane = free.findIndex(end => end < layerOf[route.a]);
    if (lane < 0) lane = free.length;
    free[lane] = layerOf[route.b];
    route.lane = lane;
  }
  let y = 0;
  const top = [], bottom = [];
  const crossing = layers.map(() => 0);
  routes.forEach(r => { if (r.lane >= 0) { ++crossing[layerOf[r.a]]; ++crossing[layerOf[r.b] - 1]; } });
  layers.forEach((layer, l) => {
    top[l] = y;
    const height = layer.reduce((most, i) => Math.max(most, items[i].h), 0);
    bottom[l] = y + height;
    y = bottom[l] + 26 + 3 * Math.min(crossing[l], 8);
  });
  items.forEach((item, i) => { item.x = cellOf[i].x - item.w / 2; item.y = top[layerOf[i]]; });

  // Where edges leave and enter: side by side, in the order of where they go.
  const ends = (side, far) => {
    const of = items.map(() => []);
    routes.forEach(r => of[r[side]].push(r));
    of.forEach((list, i) => {
      const towards = r => r.lane >= 0 ? right + LANE * (r.lane + 1) : far(r).x;
      list.sort((p, q) => towards(p) - towards(q));
      const apart = Math.min(16, (items[i].w - 16) / Math.max(1, list.length - 1));
      list.forEach((r, k) => { r[side + "x"] = cellOf[i].x + (k - (list.length - 1) / 2) * apart; });
    });
  };
  ends("a", r => r.cells[1]);
  ends("b", r => r.cells[r.cells.length - 2]);
  const f = x => Math.round(x * 10) / 10;
  const bend = (x, y0, to, y1) => Math.abs(x - to) < .5 ? "L" + f(to) + " " + f(y1) : "C" + f(x) + " " + f((y0 + y1) / 2) + " " + f(to) + " " + f((y0 + y1) / 2) + " " + f(to) + " " + f(y1);
  const paths = routes.map(r => {
    const a = items[r.a], b = items[r.b], from = layerOf[r.a], to = layerOf[r.b];
    // A line without length would leave an arrowhead there without a direction.
    let d = "M" + f(r.ax) + " " + f(a.y + a.h) + (bottom[from] - a.y - a.h > .05 ? "L" + f(r.ax) + " " + f(bottom[from]) : "");
    if (r.lane >= 0) {
      const x = right + LANE * (r.lane + 1), out = bottom[from] + 6 + 3 * (r.lane % 5), back = top[to] - 8 - 3 * (r.lane % 5);
      d += "L" + f(r.ax) + " " + f(out) + "L" + f(x) + " " + f(out) + "L" + f(x) + " " + f(back) + "L" + f(r.bx) + " " + f(back) + "L" + f(r.bx) + " " + f(top[to]);
    } else {
      let x = r.ax;
      for (let i = 1; i < r.cells.length; ++i) {
        const l = from + i, next = i + 1 < r.cells.length ? r.cells[i].x : r.bx;
        d += bend(x, bottom[l - 1], next, top[l]);
        if (i + 1 < r.cells.length) d += "L" + f(next) + " " + f(bottom[l]);
        x = next;
      }
    }
    return { d, a: r.turned ? r.b : r.a, b: r.turned ? r.a : r.b, turned: r.turned };
  });
  return { w: right + LANE * (free.length ? free.length + 1 : 0), h: bottom.length ? bottom[bottom.length - 1] : 0, paths };
}
)js";

}  // namespace tenon::report
