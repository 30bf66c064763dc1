"""What the figures share: tables from rows, names, colours and panels.

Every picture and every summary is made only from the rows of a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.ledger import COLUMNS, SCORES, Rows
from experiments.other_data import OTHERS
from experiments.runs import DEFAULT, DESIGNS, K_MEANS

DPI = 130
IDEC_ALONE = "IDEC without links"
DEFAULT_ALONE = "S3C2 default without links"
Drawing = tuple[pd.DataFrame, Figure]  # a picture with its numbers
TITLES = {
    "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "letters": "Letters",
    "reuters": "Reuters", "digits": "Digits",
    **{name: title for name, (title, _) in OTHERS.items()},
}  # fmt: skip
# Okabe and Ito's colours, which colour-blind readers can tell apart. The markers differ, too.
STYLES = {
    DEFAULT: ("black", "*"),
    "S3C2": ("#0072B2", "o"),
    "S3C2, semi-supervised LabNet": ("#D55E00", "X"),
    "S3C2 as published": ("#0072B2", "o"),
    "S3C2 as published, semi-supervised LabNet": ("#D55E00", "X"),
    "d-graph": ("#E69F00", "s"),
    "DCPR": ("#009E73", "^"),
    "IDEC": ("#CC79A7", "D"),
    "NNclustering": ("#56B4E9", "v"),
    DEFAULT_ALONE: ("0.2", ""),
    IDEC_ALONE: ("#CC79A7", ""),
    K_MEANS: ("0.5", ""),
}
THIN: dict[str, Any] = {"linewidth": 0.8, "markersize": 3, "band": 0.0}
LINES = {K_MEANS: ":", IDEC_ALONE: "--", DEFAULT_ALONE: "-."}  # without links: a level line
# Measures of LabNet, in figures 4 and 6
INDICATORS = {
    "accuracy": ("LabNet's accuracy", "#0072B2", "v"),
    "balanced_accuracy": ("balanced accuracy", "#56B4E9", "s"),
    "ml_rate": ("ML rate", "#D55E00", "^"),
    "cl_rate": ("CL rate", "#009E73", "D"),
}
NUMBERS = (
    "threshold", "n_links", "link_seed", "flipped", "labnet_steps", "steps", "seconds_per_run",
    "group_size", *SCORES,
)  # fmt: skip


def table(rows: Rows) -> pd.DataFrame:
    """Rows of a ledger as a table, with numbers as numbers and a ``name`` to show."""
    # As objects: pandas would look at every text to make a type of its own for it.
    frame = pd.DataFrame({name: [row.get(name) for row in rows] for name in COLUMNS}, dtype=object)
    for column in NUMBERS:
        frame[column] = pd.to_numeric(frame[column])
    semi = frame["semi_supervised"] == "True"
    frame["name"] = frame["method"].where(~semi, frame["method"] + ", semi-supervised LabNet")
    for method, alone in ((DEFAULT, DEFAULT_ALONE), ("IDEC", IDEC_ALONE)):
        frame.loc[(frame["method"] == method) & (frame["n_links"] == 0), "name"] = alone
    return frame


def summary(frame: pd.DataFrame, by: Sequence[str], scores: Sequence[str]) -> pd.DataFrame:
    """Mean and spread (standard deviation) of the scores over link sets, and the number n of runs.

    A run that diverged has no scores and does not count.
    """
    grouped = frame.groupby(list(by))
    parts = [grouped[scores[0]].count().rename("n")]
    for score in scores:
        parts += [grouped[score].mean().rename(score), grouped[score].std().rename(f"{score}_std")]
    return pd.concat(parts, axis=1).reset_index().round(5)


def save(drawing: Drawing, folder: Path, name: str) -> None:
    """Write the picture, and its numbers beside it."""
    table, figure = drawing
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    # No matplotlib version inside: the same rows give the same bytes.
    figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})


def grid_of_axes(lines: int, columns: int, sharey: Any = True) -> tuple[Figure, np.ndarray]:
    """A figure of lines × columns axes: (figure, axes (lines, columns))."""
    size = (0.8 + 3.6 * columns, 0.8 + 2.6 * lines)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(lines, columns, sharey=sharey, sharex=True, squeeze=False)


def panels(datasets: Iterable[str]) -> tuple[Figure, dict[str, Axes]]:
    """A panel for each data set, two in a line, with a common y axis."""
    names = known(datasets)
    columns = min(2, max(1, len(names)))
    figure, grid = grid_of_axes(max(1, -(-len(names) // columns)), columns)
    for axes in grid.flat[len(names) :]:
        axes.set_axis_off()
    return figure, dict(zip(names, grid.flat))


def panels_of(data: pd.DataFrame) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """A panel for each design of the links and data set; a line for each design if both are there.

    Parameters
    ----------
    data : with columns design and dataset
    """
    designs, names = designs_of(data), known(data["dataset"])
    if len(designs) == 1:
        figure, axes_of = panels(names)
        return figure, {(designs[0], name): axes for name, axes in axes_of.items()}
    figure, grid = grid_of_axes(len(designs), max(1, len(names)))
    return figure, {
        (design, name): axes
        for design, line in zip(designs, grid)
        for name, axes in zip(names, line)
    }


def of_links(design: str, axes_of: Iterable[tuple[str, str]]) -> str:
    """Names the links of a panel in a picture of both designs; nothing in one of uniform links."""
    return f", {design} links" if len({one for one, _ in axes_of}) > 1 else ""


def part_of(data: pd.DataFrame, design: str, dataset: str) -> pd.DataFrame:
    """The lines of one panel."""
    return data[(data["design"] == design) & (data["dataset"] == dataset)]


def designs_of(data: pd.DataFrame) -> list[str]:
    """The designs that are there, uniform links first."""
    return [design for design in DESIGNS if design in set(data["design"])] or ["uniform"]


def known(datasets: Iterable[str]) -> list[str]:
    """The data sets in the paper's order."""
    return [name for name in TITLES if name in set(datasets)]


def links_axis(axes: Axes, budgets: Iterable[int]) -> None:
    """A logarithmic axis with a tick at every budget."""
    ticks = sorted(set(budgets) - {0})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [short(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def short(n: float) -> str:
    return f"{n / 1000:g}k" if n >= 1000 else f"{n:g}"


def curve(
    axes: Axes,
    data: pd.DataFrame,
    score: str,
    colour: Any,
    marker: str,
    *,
    band: float = 0.13,
    least: float = 0.0,
    **style: Any,
) -> None:
    """A score and its spread against the number of links. No score is below ``least``."""
    data = data.sort_values("n_links")
    x, y = data["n_links"].to_numpy(float), data[score].to_numpy(float)
    spread = np.nan_to_num(data[f"{score}_std"].to_numpy(float))
    style = {"linewidth": 1.6, "markersize": 4.5, **style}
    axes.plot(x, y, color=colour, marker=marker, **style)
    low = np.maximum(y - spread, least)
    axes.fill_between(x, low, y + spread, color=colour, alpha=band, linewidth=0)


def legend(
    figure: Figure, entries: dict[str, tuple[Any, str, str]], thin: Sequence[str] = ()
) -> None:
    """One legend for all panels, below them: label → colour, marker, line."""
    handles = []
    for label, (colour, marker, line) in entries.items():
        width, size = (THIN["linewidth"], THIN["markersize"]) if label in thin else (1.5, 5)
        look = {"color": colour, "marker": marker, "linestyle": line}
        handles.append(Line2D([], [], label=label, linewidth=width, markersize=size, **look))
    inches = 0.6 + 0.085 * max(map(len, entries), default=1)
    columns = max(1, min(len(handles), int(figure.get_figwidth() / inches)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def beside_default(rows: Rows) -> pd.DataFrame:
    """As ``table``, with the paper's S3C2 named so: the default is S3C2, too."""
    frame = table(rows)
    published = frame["method"] == "S3C2"
    frame.loc[published, "name"] = "S3C2 as published" + frame["name"].str.removeprefix("S3C2")
    return frame


def draw_methods(
    rows: Rows, read: Callable[[Rows], pd.DataFrame] = table, thin: Sequence[str] = ()
) -> Drawing:
    """NMI of every method against the number of links, a panel for each data set.

    Those named in ``thin`` have thin lines. What has no links is in the panels of both designs.
    """
    data = summary(read(rows), ("design", "dataset", "name", "n_links"), ("nmi", "ari", "acc"))
    linked, without = data[data["n_links"] > 0], data[data["n_links"] == 0]
    figure, axes_of = panels_of(linked)
    for (design, dataset), axes in axes_of.items():
        here = [part_of(linked, design, dataset), without[without["dataset"] == dataset]]
        method_curves(axes, pd.concat(here), "nmi", thin)
        finish(axes, dataset, data["n_links"], f"NMI{of_links(design, axes_of)}")
    method_legend(figure, data["name"], thin)
    return data, figure


def method_curves(axes: Axes, data: pd.DataFrame, score: str, thin: Sequence[str] = ()) -> None:
    for method, line in LINES.items():  # below the others
        level = data[data["name"] == method][score]
        if len(level):
            width = THIN["linewidth"] if method in thin else 1.5
            colour, _ = STYLES[method]
            axes.axhline(float(level.iloc[0]), color=colour, linestyle=line, linewidth=width)
    for method, (colour, marker) in STYLES.items():
        if method not in LINES:
            style = THIN if method in thin else {}
            curve(axes, data[data["name"] == method], score, colour, marker, **style)


def method_legend(figure: Figure, names: Iterable[str], thin: Sequence[str] = ()) -> None:
    shown = [method for method in STYLES if method in set(names)]
    # What is thin comes last.
    shown.sort(key=lambda method: method in thin)
    legend(
        figure, {method: (*STYLES[method], LINES.get(method, "-")) for method in shown}, thin
    )  # fmt: skip


def finish(axes: Axes, title: str, budgets: Iterable[int], y: str) -> None:
    """Title, ticks and labels of a panel."""
    links_axis(axes, budgets)
    axes.set_title(TITLES.get(title, title), fontsize=10)
    place = axes.get_subplotspec()
    if place.is_last_row():
        axes.set_xlabel("links")
    if place.is_first_col():
        axes.set_ylabel(y)
