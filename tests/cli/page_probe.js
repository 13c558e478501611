// What a page has, found by using it: run in the page by the tests of pages. Gives an object.
(async () => {
  const found = {}, frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const all = selector => [...document.querySelectorAll(selector)];
  const key = k => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
  const said = id => document.getElementById(id).textContent;
  const visible = () => all("#picture g[data-item]").length;
  needRows(steps.length);
  const rows = all("tr.step").filter(r => r.id);
  found.rows = rows.length;
  found.memory = !document.getElementById("memory").hidden;
  found.threads = [...new Set(all("#run rect.stretch").map(r => +r.dataset.step))];
  found.run = said("run");
  found.sizes = said("sizes");
  // A click on a row, and keys.
  rows[0].click();
  found.chosen = all("tr.step.chosen").filter(r => r.id).length;
  found.marked = all("#picture .chosen").length;
  found.detail = said("detail");
  found.hot = all("#detail mark").map(m => m.textContent);
  key("n");
  found.next = location.hash;
  // A click on the picture.
  const box = all("#picture g.step[data-of]")[0];
  box.querySelector("rect.box").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  found.clicked = said("detail").startsWith(box.dataset.of + ". ");
  // Search.
  const search = document.getElementById("search");
  const look = word => { search.value = word; search.dispatchEvent(new Event("input")); return rows.filter(r => !r.hidden).map(r => r.id); };
  found.shown = look(model.steps[steps.length > 1 ? 1 : 0].operators);
  found.said = said("found");
  found.hits = all("#picture .hit").length;
  found.none = look("no such thing").length;
  found.all = look("").length;
  // Arrowheads that are not at the box that reads, and edges that do not begin at the one that is read.
  function misled() {
    const bad = [], touches = (p, b) => p.x > b.x - 2 && p.x < b.x + b.w + 2 && (Math.abs(p.y - b.y) < 2 || Math.abs(p.y - b.y - b.h) < 2);
    for (const path of all("#picture path.edge")) {
      const at = path.parentNode.transform.baseVal.consolidate().matrix, ends = [0, path.getTotalLength()].map(l => path.getPointAtLength(l).matrixTransform(at));
      if (path.hasAttribute("marker-start")) ends.reverse();
      const { a, b } = path.dataset, name = (a ? items[a].label : "a pill") + " to " + items[b].label;
      if (path.hasAttribute("marker-start") === path.hasAttribute("marker-end") || !touches(ends[1], places.get(items[b]))) bad.push(name + " does not point there");
      if (a && !touches(ends[0], places.get(items[a]))) bad.push(name + " does not begin there");
    }
    return bad;
  }
  found.misled = misled();
  found.turned = all("#picture path.turned").length;
  found.ports = Object.fromEntries(items.filter(i => i.kind === "input" || i.kind === "output").map(i => [i.label, isVisible(i)]));
  // Folding, of modules and of steps.
  const modules = items.filter(i => i.kind === "module");
  found.modules = modules.map(i => i.label);
  if (modules.length) {
    if (!modules.some(i => i.open)) foldAll("module");
    const open = visible();
    document.getElementById("fold").click();
    found.folds = visible() < open;
    found.misled.push(...misled());
    found.turned = Math.max(found.turned, all("#picture path.turned").length);
    document.getElementById("fold").click();
    found.unfolds = visible() > 0 && modules.every(i => i.open);
    choose(steps.length, true);
    found.revealed = isVisible(stepItem[steps.length]) && all("#picture .chosen").length === 1;
  }
  if (stepItem.some(i => i.open)) foldAll("step");
  const closed = visible();
  if (!document.getElementById("operators").hidden) {
    document.getElementById("operators").click();
    found.operators = visible() > closed;
    await frame();
    found.inside = overlaps();
    document.getElementById("operators").click();
  }
  // Zoom.
  const view = document.getElementById("picture"), width = () => view.viewBox.baseVal.width;
  document.getElementById("fit").click();
  const wholeWidth = width();
  document.getElementById("in").click();
  found.zoomed = width() < wholeWidth;
  key("0");
  found.fitted = width() === wholeWidth;
  // Theme.
  const ground = () => getComputedStyle(document.body).backgroundColor, before = ground();
  document.getElementById("theme").click();
  found.themes = ground() !== before;
  document.getElementById("theme").click();
  // Boxes that lie on one another, and labels that lie on one another or reach out of their boxes.
  function overlaps() {
    const bad = [], box = e => e.getBBox(), eps = .5;
    const meets = (a, b) => a.x < b.x + b.width - eps && b.x < a.x + a.width - eps && a.y < b.y + b.height - eps && b.y < a.y + a.height - eps;
    for (const g of all("#picture g[data-item]")) {
      const inside = [...g.children].filter(c => c.tagName === "g" && (c.dataset.item || c.classList.contains("port"))).map(c => box(c.querySelector(":scope > rect.box")));
      inside.forEach((a, i) => inside.slice(i + 1).forEach(b => { if (meets(a, b)) bad.push("two boxes in " + g.dataset.item); }));
      const own = g.querySelector(":scope > rect.box");
      const texts = [...g.querySelectorAll(":scope > text")].map(t => [t.textContent, box(t)]);
      texts.forEach(([t, a], i) => {
        if (own && a.width && (a.x < box(own).x - eps || a.x + a.width > box(own).x + box(own).width + eps)) bad.push(t + " is wider than its box");
        texts.slice(i + 1).forEach(([u, b]) => { if (a.width && b.width && meets(a, b)) bad.push(t + " on " + u); });
      });
    }
    return [...bad, ...chartFaults()];
  }
  await frame();
  found.overlaps = overlaps();
  // The small map stands beside the picture, and rows of the table are as wide as the page at most.
  const map = document.getElementById("mini").getBoundingClientRect(), picture = document.getElementById("picture").getBoundingClientRect();
  found.covered = map.width > 0 && map.left < picture.right - 1;
  found.table = document.getElementById("steps").scrollWidth > document.getElementById("steps").parentNode.clientWidth;
  found.wide = document.documentElement.scrollWidth > innerWidth + 1;
  return found;
})()
