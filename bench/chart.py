"""Small SVG bar charts: groups of bars, each group on its own scale so that 7 us and 70 us both show."""

from xml.sax.saxutils import escape

COLOURS = {"ron": "#0ea5e9", "hashing": "#7dd3fc", "nginx": "#94a3b8", "haproxy": "#cbd5e1"}
WIDTH, ROW, LABEL, VALUE = 640, 22, 110, 80


def bars(title, groups):
    height = 46 + sum(14 + ROW * len(bars_of) for _, bars_of in groups)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="12" y="22" font-size="14" font-weight="bold">{escape(title)}</text>']
    y = 40
    for name, bars_of in groups:
        longest = max(value for _, value in bars_of)
        for i, (who, value) in enumerate(bars_of):
            length = (WIDTH - LABEL - 60 - VALUE) * value / longest
            if i == 0:
                out.append(f'<text x="12" y="{y + 14}">{escape(name)}</text>')
            out.append(f'<text x="{LABEL - 14}" y="{y + 14}" fill="#475569">{escape(who)}</text>')
            out.append(f'<rect x="{LABEL + 34}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" fill="{COLOURS.get(who, COLOURS.get(name, "#64748b"))}"/>')
            out.append(f'<text x="{LABEL + 40 + length:.1f}" y="{y + 15}">{value:.1f}</text>')
            y += ROW
        y += 14
    return "\n".join(out + ["</svg>"]) + "\n"
