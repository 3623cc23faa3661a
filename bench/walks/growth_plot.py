"""growth.csv as growth.svg: seconds of a solve and of ten matrix–vector products by number of edges, both axes logarithmic.

    target/release/toprank-bench pagerank growth > bench/walks/growth.csv && python bench/walks/growth_plot.py
"""

import csv
import math
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEFT, TOP, WIDTH, HEIGHT = 70, 40, 480, 320
SERIES = [("solve, certain to 1e-8", "solve_ns_per_edge", 1, "#1f77b4"), ("ten products", "product_ns_per_edge", 10, "#d62728")]


def main():
    with open(HERE / "growth.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    lines = {name: [(math.log10(float(row["edges"])), math.log10(float(row["edges"]) * float(row[key]) * times / 1e9))
                    for row in rows] for name, key, times, _ in SERIES}
    points = [point for line in lines.values() for point in line]
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = math.floor(min(y for _, y in points)), math.ceil(max(y for _, y in points))
    place = lambda x, y: (LEFT + (x - low_x) / (high_x - low_x) * WIDTH,  # noqa: E731
                          TOP + HEIGHT - (y - low_y) / (high_y - low_y) * HEIGHT)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{TOP + HEIGHT + 60}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="14">PageRank by number of edges, ten a node (seconds)</text>',
           f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 45}" text-anchor="middle">edges</text>']
    for x in range(round(low_x), round(high_x) + 1):
        at, bottom = place(x, low_y)
        out.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{bottom}" stroke="#ddd"/>'
                   f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">1e{x}</text>')
    for y in range(low_y, high_y + 1):
        at = place(low_x, y)[1]
        out.append(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{LEFT + WIDTH}" y2="{at:.1f}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">1e{y}</text>')
    for number, (name, _, _, colour) in enumerate(SERIES):
        line = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in lines[name])
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{LEFT + 12}" y="{TOP + 18 + 16 * number}" fill="{colour}">{name}</text>')
        out += ['<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*place(x, y), colour) for x, y in lines[name]]
    (HERE / "growth.svg").write_text("\n".join([*out, "</svg>", ""]))


if __name__ == "__main__":
    main()
