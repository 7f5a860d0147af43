"""The page: everything in one file that opens without a network."""

from html import escape
from pathlib import Path

from . import plots, tables, views

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.6rem } h2 { font-size: 1.3rem; margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem } h3 { font-size: 1.05rem }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums } .wide { overflow-x: auto }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap }
th:first-child, td:first-child, td.text { text-align: left } th { border-bottom: 1px solid #888 } tr.last td { font-weight: 600; border-top: 1px solid #888 }
svg { max-width: 100%; height: auto } .note { color: #555 }
"""


def table_html(table):
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.heads)
    lines = []
    for at, row in enumerate(table.rows):
        kind = ' class="last"' if at >= len(table.rows) - table.last else ""
        cells = "".join(f"<td>{escape(cell)}</td>" if tables.looks_numeric(cell) else f'<td class="text">{escape(cell)}</td>' for cell in row)
        lines.append(f"<tr{kind}>{cells}</tr>")
    return (f"<h3>{escape(table.title)}</h3><p class=note>{escape(table.note)}</p>"
            f'<div class="wide"><table><tr>{head}</tr>\n{chr(10).join(lines)}</table></div>')


def about(document):
    machine = document["machine"]
    contenders = "".join(
        f"<li><b>{escape(name)}</b> {escape(one['library'] or 'what the program is linked with')} {escape(one.get('RUNG_OPTIONS', ''))}</li>"
        for name, one in document["contenders"].items())
    text = (f"<p>{machine['processors']} processors, {escape(machine['system'])}, {escape(machine['kind'])}. {document['rounds']} rounds, "
            f"{document['scale']:g} of the work; {escape(views.of(document).note(document))}</p><ul>{contenders}</ul>")
    described = views.of(document).described
    if described:
        text += "<ul>" + "".join(f"<li><b>{escape(name)}</b> ({escape(how)}): {escape(what)}</li>" for name, (what, how) in described.items()) + "</ul>"
    if document["skipped"]:
        text += "<p>Left out: " + "; ".join(f"{escape(name)}: {escape(why)}" for name, why in document["skipped"].items()) + ".</p>"
    return text


def write(path, documents):
    """`documents`: pairs of what was measured and its summary."""
    parts = []
    for number, (document, summary) in enumerate(documents):
        view = views.of(document)
        parts.append(f"<h2>{view.title}</h2>{about(document)}")
        parts += [f"<h3>{escape(title)}</h3>{picture}"
                  for title, picture in plots.render(view.pictures(document, summary), document, summary, f"p{number}-")]
        parts += [table_html(table) for table in view.tables(document, summary)]
    Path(path).write_text('<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                          f"<title>rung bench</title><style>{STYLE}</style>\n<h1>rung bench</h1>\n" + "\n".join(parts) + "\n</html>\n")
