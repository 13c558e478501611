"""Results as Markdown, as a page with plots, and the documentation's page with a section for each machine."""

import re
from html import escape

from . import figures, machine, plot
from .names import OURS, TITLES

HEAD = """# Performance

`./dev bench peers --write` writes this page: a section for each machine; the others, and the causes at the end, stay as
they are. Everyone has the same weights, inputs, processors and number of threads, in f32 unless a row says int8, and gives the same results, which
is checked before any time is taken. Every side is a process of its own; rounds take turns, and times are medians of
rounds. A ratio is how many times as fast as that opponent Tenon is. `bench/opponents/workloads.py` has the workloads.

- *Steady state*: calls at one size. *First call*: reading and compiling the model, and one call. *Stream*: 200 random
  sizes once each, compiles included; where a side had to stop, so many of them. *Memory*: the most that the process held.
- ONNX Runtime and OpenVINO read the files of `tenon export`; rows `.usual` are the same networks in the operators that
  other exporters write (LayerNormalization, Gelu, LSTM), for Tenon as well. PyTorch and JAX run networks written for
  them, with the same weights.
- Opponents are called from Python, Tenon from C++. The row `call`, one addition of 64 numbers, shows what a call costs.
- Means leave out the rows `call`, int8 and training.
"""


def title(name):
    return TITLES.get(name, name)


def opponents(rows):
    order = list(TITLES)
    names = {name for row in rows for name, side in row["sides"].items() if figures.is_there(side)}
    return sorted(names - {OURS}, key=order.index)


def table(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(line) + " |" for line in lines]


def cells(row, names, figure, text):
    """Ours, theirs with ratios, and the ratio against the best of them."""
    against, best = figures.ratios(row, figure), figures.fastest(row, figure)
    line = [text(row["sides"].get(OURS, {}))]
    for name in names:
        shown = text(row["sides"].get(name, {}))
        line.append(f"{shown} ({against[name]:.2f})" if name in against else shown)
    return [*line, f"{best[1]:.2f}" if best else ""]


def steady_text(side):
    return f"{figures.seconds_text(figures.median(side))} ±{50 * figures.spread(side):.0f}%" if figures.is_there(side) else "–"


def stream_text(side):
    if not figures.rate(side):
        return "–"
    return f"{figures.rate(side):.1f}/s" + (f", {side['stream']['done']}" if side["stream"]["done"] < 200 else "")


TABLES = {  # figure: its heading, and how a side shows it
    "steady": ("Steady state", steady_text),
    "first": ("First call", lambda side: figures.seconds_text(side["first"]) if side.get("first") else "–"),
    "stream": ("Stream of sizes", stream_text),
    "memory": ("Memory", lambda side: figures.bytes_text(side["memory"]) if side.get("memory") else "–"),
}


def means_line(rows, names, figure):
    found = figures.means(figures.in_mean(rows), figure)
    line = ["**geometric mean**", ""]
    line += [f"**{found[name][0]:.2f}** of {found[name][1]}" if name in found else "" for name in names]
    return [*line, f"**{found['fastest'][0]:.2f}**" if "fastest" in found else ""]


def tables(rows):
    """(heading, lines of a table) for each number of threads and figure."""
    for threads, some in figures.by_threads(rows).items():
        names = opponents(some)
        for figure, (heading, text) in TABLES.items():
            chosen = [row for row in some if figures.ratios(row, figure)]
            if chosen:
                lines = [[row["name"], *cells(row, names, figure, text)] for row in chosen]
                last = "best of them" if figure == "memory" else "fastest"
                head = ["", title(OURS), *map(title, names), last]
                words = f"{heading}, {threads} thread{'' if threads == 1 else 's'}"
                yield words, table(head, [*lines, means_line(chosen, names, figure)])


def missing(rows):
    """Sides that should have been there, and those that were never meant to."""
    found = {}
    for row in rows:
        for name, side in row["sides"].items():
            if "missing" in side or "left_out" in side:
                reason = side.get("missing") or side["left_out"]
                found.setdefault((title(name), reason), set()).add(row["name"])
    return [f"- {name}, {', '.join(sorted(names))}: {reason}" for (name, reason), names in sorted(found.items())]


def differences(rows):
    """What rounding to 8 bits changed at most, relative to the largest element."""
    found = {}
    for row in rows:
        for name, side in row["sides"].items():
            if row["group"] == "int8" and figures.is_there(side):
                found.setdefault(row["name"], {})[title(name)] = side["difference"]
    return [f"- {name}: " + ", ".join(f"{side} {off:.2f}" for side, off in each.items()) for name, each in found.items()]


def section(results):
    """One machine in Markdown."""
    held = results["machine"]
    versions = ", ".join(f"{title(name)} {version}" for name, version in results["versions"].items() if name != OURS)
    lines = [f"## {machine.key(held)}", "", f"{results['date']}. {machine.text(held)}. {versions}.",
             f"{results['rounds']} rounds."]  # fmt: skip
    for heading, body in tables(results["rows"]):
        lines += ["", f"### {heading}", "", *body]
    coarse = differences(results["rows"])
    lines += ["", "### How far 8 bits are from f32", "", *coarse] if coarse else []
    left = missing(results["rows"])
    return "\n".join(lines + (["", "### Left out", "", *left] if left else [])) + "\n"


def with_section(page, results):
    """The documentation's page with this machine's section new; the others, and the causes at its end, as they were."""
    name = machine.key(results["machine"])
    begin, end = f"<!-- machine {name} -->\n", "<!-- /machine -->\n"
    kept = re.findall(r"<!-- machine (.*?) -->\n(.*?)<!-- /machine -->\n", page, re.DOTALL)
    sections = dict(kept)
    sections[name] = section(results)
    text = HEAD + "\n" + "\n".join(f"<!-- machine {key} -->\n{body}{end}" for key, body in sections.items())
    assert begin in text
    causes = re.search(r"<!-- causes -->\n.*<!-- /causes -->\n", page, re.DOTALL)
    return text + ("\n" + causes[0] if causes else "")


def with_picture(readme, results):
    """README.md with the picture between its marks, and what it comes to."""
    threads, rows = list(figures.by_threads(results["rows"]).items())[-1]
    mean, count = figures.means(figures.in_mean(rows)).get("fastest", (None, 0))
    words = f"Against the fastest opponent of each of {count} workloads, {threads} threads, geometric mean: {mean:.2f}"
    part = f"![{words}](docs/images/peers.svg)\n\n{words} ([docs/performance.md](docs/performance.md)).\n" if count else ""
    return re.sub(r"(<!-- peers -->\n).*?(<!-- /peers -->)", lambda found: found[1] + part + found[2], readme, flags=re.DOTALL)


def picture(results):
    """Against the fastest opponent, steady state, with the most threads that were measured."""
    threads, rows = list(figures.by_threads(results["rows"]).items())[-1]
    best = [(row["name"], figures.fastest(row)) for row in rows]
    shown = [(name, each[1], title(each[0])) for name, each in best if each]
    words = f"Tenon against the fastest opponent of each workload, {threads} threads"
    return plot.bars(words, shown, f"{machine.key(results['machine'])}; {results['date']}; right: Tenon is faster")


def html(results):
    """One page that needs nothing else."""
    held = results["machine"]
    parts = [f"<p>{escape(results['date'])}. {escape(machine.text(held))}</p>"]
    versions = (f"{title(name)} {version}" for name, version in results["versions"].items() if name != OURS)
    parts.append(f"<p>{escape(', '.join(versions))}. {results['rounds']} rounds.</p>")
    for threads, rows in figures.by_threads(results["rows"]).items():
        for figure, (heading, _) in TABLES.items():
            best = [(row["name"], figures.fastest(row, figure)) for row in rows]
            shown = [(name, each[1], title(each[0])) for name, each in best if each]
            if shown:
                parts.append(plot.bars(f"{heading}, {threads} threads, against the best opponent", shown))
    for heading, (head, _, *body) in tables(results["rows"]):
        parts.append(f"<h2>{escape(heading)}</h2>\n<table>{html_row(head, 'th')}{''.join(map(html_row, body))}</table>")
    left = "".join(f"<li>{escape(each[2:])}</li>" for each in missing(results["rows"]))
    return PAGE.replace("BODY", "\n".join(parts) + (f"\n<h2>Left out</h2><ul>{left}</ul>" if left else ""))


def html_row(line, kind="td"):
    words = [escape(each.strip().replace("**", "")) for each in line.strip("|").split("|")]
    return "<tr>" + "".join(f"<{kind}>{each}</{kind}>" for each in words) + "</tr>\n"


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Tenon and its peers</title>
<style>body{font:14px sans-serif;max-width:80em;margin:2em auto;color:#222}table{border-collapse:collapse}
td,th{padding:2px 10px;border-bottom:1px solid #ddd;text-align:right}td:first-child{text-align:left}svg{max-width:50em;display:block}
</style><h1>Tenon and its peers</h1>
BODY
</html>
"""
