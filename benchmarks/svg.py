"""Line charts as SVG, drawn with nothing but text: axes with round numbers, one colour a curve, a legend.

They are read on light and on dark pages: the ground is white and stays so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

Point = tuple[float, float]
WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 80, 56
COLOURS = (
    "#0b6e99",
    "#c4421a",
    "#2e7d32",
    "#7b3fa0",
    "#b58900",
    "#444444",
    "#00897b",
    "#ad1457",
    "#5d4037",
    "#1a237e",
)
TICKS = 5


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from data to pixels. Logarithmic axes show powers of ten; zero stands at the smallest one."""

    label: str
    low: float
    high: float
    logarithmic: bool = False

    def part(self, value: float) -> float:
        """0 at the lower end, 1 at the upper."""
        low, high, value = (log10(v) for v in (self.low, self.high, max(value, self.low))) if self.logarithmic else (
            self.low, self.high, value
        )  # fmt: skip
        return (value - low) / (high - low) if high > low else 0.0

    def ticks(self) -> list[float]:
        if self.logarithmic:
            return [10.0**n for n in range(round(log10(self.low)), round(log10(self.high)) + 1)]
        step = round_step((self.high - self.low) / TICKS)
        return [n * step for n in range(ceil(self.low / step), floor(self.high / step) + 1)]


def round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, not below `rough`."""
    if rough <= 0:
        return 1.0
    power = 10.0 ** floor(log10(rough))
    return float(next(power * step for step in (1, 2, 5, 10) if power * step >= rough * 0.999))


def axis_of(label: str, values: Sequence[float], logarithmic: bool) -> Axis:
    """From zero, or the power of ten below the smallest positive value, to a round number above the largest."""
    most = max(values, default=1.0)
    if logarithmic:
        least = min((value for value in values if value > 0), default=1.0)
        low, high = 10.0 ** floor(log10(least)), 10.0 ** ceil(log10(max(most, least)))
        return Axis(label, low, high if high > low else low * 10, True)
    step = round_step(max(most, 1e-9) / TICKS)
    return Axis(label, 0.0, step * max(1, ceil(most / step)))


def chart(
    title: str, x_label: str, y_label: str, curves: Mapping[str, Sequence[Point]], logarithmic_x: bool = False
) -> str:
    """The picture. Raises ValueError without a point."""
    points = [point for curve in curves.values() for point in curve]
    if not points:
        raise ValueError("nothing to draw")
    x = axis_of(x_label, [point[0] for point in points], logarithmic_x)
    y = axis_of(y_label, [point[1] for point in points], logarithmic=False)
    parts = [head(title), *x_marks(x), *y_marks(y)]
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts += [line(x, y, sorted(curve), colour), legend(number, name, colour, max(map(len, curves)))]
    return "\n".join([*parts, "</svg>\n"])


def head(title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n'
        f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>'
    )


def across(axis: Axis, value: float) -> float:
    return LEFT + axis.part(value) * (WIDTH - LEFT - RIGHT)


def up(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.part(value) * (HEIGHT - TOP - BOTTOM)


def x_marks(axis: Axis) -> list[str]:
    bottom = HEIGHT - BOTTOM
    marks = [
        f'<text x="{across(axis, tick):.1f}" y="{bottom + 18}" text-anchor="middle">{shown(tick)}</text>'
        for tick in axis.ticks()
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    return [*marks, f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{escape(axis.label)}</text>']


def y_marks(axis: Axis) -> list[str]:
    marks = []
    for tick in axis.ticks():
        at = up(axis, tick)
        marks.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        marks.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{shown(tick)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 18 {middle})"'
    return [*marks, f'<text x="18" y="{middle}" text-anchor="middle" {turned}>{escape(axis.label)}</text>']


def line(x: Axis, y: Axis, curve: Sequence[Point], colour: str) -> str:
    """A curve; with few points they are marked."""
    places = [(across(x, point[0]), up(y, point[1])) for point in curve]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places) * (
        len(places) < 40
    )
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'


def legend(number: int, name: str, colour: str, longest: int) -> str:
    """`longest`: characters of the longest name; four columns when they are short, else fewer."""
    columns = min(4, 660 // (7 * longest + 20) or 1)
    x, y = LEFT + (number % columns) * (660 // columns), 38 + (number // columns) * 14
    box = f'<rect x="{x}" y="{y - 8}" width="10" height="8" fill="{colour}"/>'
    return f'{box}<text x="{x + 14}" y="{y}">{escape(name)}</text>'


def shown(value: float) -> str:
    """A number of a scale: 20k, 5M, 0.25."""
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{sign}"
    return f"{value:.6g}"
