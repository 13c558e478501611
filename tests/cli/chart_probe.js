// What is wrong with the charts of a page: names that lie on others or outside of their chart, and points and lines that
// reach out of the frame of their axes. Read by the tests of pages before they run a probe in a page.
function chartFaults() {
  const bad = [];
  // The corners of a text on the screen, which may be turned; and whether one side of a shape has all of another behind it.
  function corners(text) {
    const b = text.getBBox(), m = text.getScreenCTM();
    return [[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, k]) => new DOMPoint(b.x + i * b.width, b.y + k * b.height).matrixTransform(m));
  }
  function isApart(a, b) {
    return a.some((p, i) => { const q = a[(i + 1) % 4]; return b.every(c => (q.x - p.x) * (c.y - p.y) - (q.y - p.y) * (c.x - p.x) <= 1e-6); });
  }
  for (const chart of document.querySelectorAll("svg.chart")) {
    const texts = [...chart.querySelectorAll("text")].map(t => [t.textContent, corners(t)]), outer = chart.getBoundingClientRect();
    texts.forEach(([a, p], i) => {
      if (p.some(c => c.x < outer.left - 1 || c.x > outer.right + 1 || c.y < outer.top - 1 || c.y > outer.bottom + 1)) bad.push(a + " is outside of its chart");
      texts.slice(i + 1).forEach(([b, q]) => { if (!isApart(p, q) && !isApart(q, p)) bad.push(a + " on " + b); });
    });
    const axes = [...chart.querySelectorAll("line.axis")].map(l => l.getBoundingClientRect());
    if (!axes.length) continue;
    const frame = { left: Math.min(...axes.map(a => a.left)), right: Math.max(...axes.map(a => a.right)), top: Math.min(...axes.map(a => a.top)), bottom: Math.max(...axes.map(a => a.bottom)) };
    for (const mark of chart.querySelectorAll("circle, rect[data-part]")) {
      const m = mark.getBoundingClientRect(), x = (m.left + m.right) / 2, y = (m.top + m.bottom) / 2;
      if (!mark.closest("clipPath") && (x < frame.left - 2 || x > frame.right + 2 || y < frame.top - 12 || y > frame.bottom + 2)) bad.push("a mark is outside of the frame");
    }
  }
  return bad;
}
