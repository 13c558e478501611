"""What notebooks show: tables and pictures instead of text."""

import html

from tenon import _tenon

_STYLE = (
    "<style>.tenon{border-collapse:collapse;font:12px sans-serif}.tenon td,.tenon th{padding:2px 8px;text-align:left;"
    "border-bottom:1px solid #ddd}.tenon td.n{text-align:right;font-variant-numeric:tabular-nums}</style>"
)
_COLORS = {"kernel": "#4878a8", "copy": "#b0b0b0", "library": "#b07aa1", "control": "#e0a030"}


def _table(head, rows):
    cells = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return f'{_STYLE}<table class="tenon"><tr>{cells}</tr>{body}</table>'


class Explanation:
    """The steps of a compiled program. Prints as text; notebooks show a table, and `svg()` is a picture."""

    def __init__(self, executable, graph=None):
        self.executable = executable
        self._graph = graph

    def page(self, *inputs, title="graph"):
        """A page of it, `page().save(path)`; with arrays for the inputs it is run, and the page has times.

        It needs the graph: what was given to `explain`, or `torch.export`ed.
        """
        if self._graph is None:
            raise _tenon.Error(
                "a page needs the graph, and this is an executable: explain the graph, or `tenon explain MODEL --html PAGE`"
            )
        return _tenon.explain_realizations(0).with_graph(self._graph, "graph", title, list(inputs))

    @property
    def steps(self):
        """A dict for each step: kind, label, boundary, bytes_read, bytes_written, flops."""
        return self.executable.steps

    def __str__(self):
        return self.executable.explain_text()

    __repr__ = __str__

    def svg(self):
        """The steps from top to bottom, a box each, coloured by kind."""
        steps = self.steps
        width, height, gap = 560, 30, 12
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{len(steps) * (height + gap) + 8}" '
            'font-family="sans-serif" font-size="12">'
        ]
        for i, step in enumerate(steps):
            y = 4 + i * (height + gap)
            label = step["label"] if len(step["label"]) < 78 else step["label"][:75] + "..."
            parts.append(
                f'<rect x="4" y="{y}" width="{width - 8}" height="{height}" rx="5" fill="{_COLORS[step["kind"]]}" '
                f'fill-opacity="0.18" stroke="{_COLORS[step["kind"]]}"/>'
                f'<text x="14" y="{y + 19}">{i + 1}. {html.escape(label)}'
                f'<title>{html.escape(step["boundary"])}</title></text>'
            )
            if i:
                parts.append(f'<path d="M{width / 2} {y - gap} v{gap}" stroke="#888"/>')
        return "".join(parts) + "</svg>"

    def _repr_html_(self):
        rows = [
            (i + 1, s["kind"], s["label"], s["bytes_read"], s["bytes_written"], s["flops"], s["boundary"])
            for i, s in enumerate(self.steps)
        ]
        return _table(["", "kind", "operators", "bytes read", "bytes written", "flops", "ends because"], rows)


def tensor_html(tensor):
    """A small tensor as a table, a large one as text."""
    array = tensor.to_array()
    head = f"<code>{html.escape(str(tensor.type))}</code>"
    if len(array.shape) != 2 or array.size > 400 or array.size == 0:
        return f"{head}<pre>{html.escape(repr(array))}</pre>"
    rows = array.numpy().tolist()
    body = "".join(
        "<tr>" + "".join(f'<td class="n">{v:.6g}</td>' if isinstance(v, float) else f'<td class="n">{v}</td>' for v in r) + "</tr>"
        for r in rows
    )
    return f'{_STYLE}{head}<table class="tenon">{body}</table>'
