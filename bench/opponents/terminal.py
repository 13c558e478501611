"""Results as lines of a terminal."""

from . import figures, page
from .names import OURS


def aligned(head, lines):
    widths = [max(map(len, column)) for column in zip(head, *lines)]
    for line in (head, *lines):
        yield "  ".join(each.ljust(width) if at == 0 else each.rjust(width)
                        for at, (each, width) in enumerate(zip(line, widths)))  # fmt: skip


def text(rows):
    out = []
    for heading, lines in page.tables(rows):
        cells = [[each.strip().replace("**", "") for each in line.strip("|").split("|")] for line in lines]
        out += ["", heading, *aligned(cells[0], cells[2:])]
    left = page.missing(rows)
    return "\n".join(out + (["", "left out:", *left] if left else []))


def line(row):
    """One row as soon as it is there."""
    ours, best = row["sides"].get(OURS, {}), figures.fastest(row)
    if "missing" in ours:
        return f"{row['name']:<22} {row['threads']:>2}t  Tenon: {ours['missing']}"
    against = f"{best[1]:.2f} x {page.title(best[0])}" if best else "nobody to compare with"
    stream = figures.fastest(row, "stream")
    more = f", stream {stream[1]:.2f} x {page.title(stream[0])}" if stream else ""
    return f"{row['name']:<22} {row['threads']:>2}t  {page.steady_text(ours):>14}  {against}{more}"
