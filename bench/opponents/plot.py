"""Ratios as bars, in SVG."""

import math
from html import escape

LEFT, WIDTH, ROW, TOP = 190, 560, 18, 46
GOOD, POOR, INK, LINE = "#2a7f62", "#c0563b", "#222", "#bbb"


def bars(title, rows, note=""):
    """rows: (name, ratio, text beside it). Bars go from 1 to the right where Tenon is faster, to the left else, on a
    scale of powers of two."""
    most = max([1.0] + [abs(math.log2(ratio)) for _, ratio, _ in rows])
    half = WIDTH / 2
    height = TOP + ROW * len(rows) + 30
    x0 = LEFT + half

    def x_of(power):
        return x0 + half * 0.8 * power / most

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 10} {height}" '
           f'font-family="sans-serif" font-size="11" fill="{INK}">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="8" y="18" font-size="14">{escape(title)}</text>']
    for power in range(-math.floor(most), math.floor(most) + 1):
        x = x_of(power)
        label = f"{2**power}" if power >= 0 else f"1/{2**-power}"
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 26}" stroke="{LINE}" '
                   f'stroke-width="{1.5 if power == 0 else 0.5}"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle">{label}</text>')
    for number, (name, ratio, text) in enumerate(rows):
        y, x = TOP + ROW * number, x_of(math.log2(ratio))
        left, right = min(x, x0), max(x, x0)
        out.append(f'<text x="{LEFT - 6}" y="{y + 12}" text-anchor="end">{escape(name)}</text>')
        out.append(f'<rect x="{left:.1f}" y="{y + 3}" width="{max(0.5, right - left):.1f}" height="{ROW - 6}" '
                   f'fill="{GOOD if ratio >= 1 else POOR}"/>')
        place, anchor = (right + 4, "start") if ratio >= 1 else (left - 4, "end")
        out.append(f'<text x="{place:.1f}" y="{y + 12}" text-anchor="{anchor}">{ratio:.2f} {escape(text)}</text>')
    out.append(f'<text x="8" y="{height - 8}" fill="#555">{escape(note)}</text></svg>')
    return "\n".join(out) + "\n"
