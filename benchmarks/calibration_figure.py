#!/usr/bin/env python3
"""Predicted against observed shares, from `desirepath infer MODEL HOLD_OUT --paper-task --json`, as SVG.

    benchmarks/calibration_figure.py OUT.svg "name=answer.json" ["other name=other.json" ...]

Ten bins each; the bar of a point is the 95 % binomial interval of its share, as if answers were independent.
"""

import json
import math
import pathlib
import sys

SIZE, LEFT, TOP = 360, 56, 24
COLOURS = ("#2b6cb0", "#c05621", "#2f855a")
MARKS = ("circle", "square", "diamond")


def place(x, y):
    return LEFT + SIZE * x, TOP + SIZE * (1 - y)


def mark(kind, x, y, colour):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if kind == "diamond" else ""
    return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"{turn}/>'


def main():
    out, series = sys.argv[1], [argument.split("=", 1) for argument in sys.argv[2:]]
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SIZE + 24} {TOP + SIZE + 56}" font-family="sans-serif" font-size="12" role="img">',
             "<title>Shares of courses taken by the probability they were given</title>",
             f'<rect width="{LEFT + SIZE + 24}" height="{TOP + SIZE + 56}" fill="#fff"/>']
    for tick in (0, 0.25, 0.5, 0.75, 1):
        (x, y), (left, top) = place(tick, tick), place(0, 1)
        lines += [f'<path d="M{x:.1f} {top}V{top + SIZE}M{left} {y:.1f}H{left + SIZE}" stroke="#e2e8f0"/>',
                  f'<text x="{x:.1f}" y="{top + SIZE + 18}" text-anchor="middle" fill="#4a5568">{tick:g}</text>',
                  f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#4a5568">{tick:g}</text>']
    (x0, y0), (x1, y1) = place(0, 0), place(1, 1)
    lines += [f'<path d="M{x0} {y0}L{x1} {y1}" stroke="#718096" stroke-dasharray="4 4"/>',
              f'<text x="{LEFT + SIZE / 2}" y="{TOP + SIZE + 42}" text-anchor="middle" fill="#1a202c">predicted probability</text>',
              f'<text x="16" y="{TOP + SIZE / 2}" text-anchor="middle" fill="#1a202c" transform="rotate(-90 16 {TOP + SIZE / 2})">share that took the course</text>']
    for number, (name, path) in enumerate(series):
        colour, kind = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        for row in json.loads(pathlib.Path(path).read_text())["paper_task"]["calibration"]:
            p, reach = row["observed"], 1.96 * math.sqrt(row["observed"] * (1 - row["observed"]) / row["answers"])
            x, y = place(row["predicted"], p)
            _, low = place(0, max(0, p - reach))
            _, high = place(0, min(1, p + reach))
            lines += [f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}" stroke-width="1.5"/>', mark(kind, x, y, colour)]
        x, y = LEFT + 16, TOP + 20 + 20 * number
        lines += [mark(kind, x, y, colour), f'<text x="{x + 12}" y="{y + 4}" fill="#1a202c">{name}</text>']
    pathlib.Path(out).write_text("\n".join(lines + ["</svg>", ""]))


if __name__ == "__main__":
    main()
