"""The commands of ``python -m experiments``: one for each experiment, all of them, and the page.

An experiment trains those of its runs that have no row yet, and draws its picture from the rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from s3c2.datasets import NAMES as OF_S3C2
from s3c2.errors import MissingExtraError, S3C2Error

from experiments import ledger, page
from experiments.catalogue import experiments
from experiments.experiment import Experiment, rows_of
from experiments.other_data import OTHERS
from experiments.runs import DESIGNS, FULL, METHODS, QUICK, Run, Sizes, shortened
from experiments.training import tell, train

PROGRAM = "python -m experiments"
QUICK_STEPS = 300
NAMES = (*OF_S3C2, *OTHERS)


class NoRowsError(SystemExit):
    """There is nothing to draw."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command. Without one, list them."""
    made = parser()
    args = made.parse_args(argv)
    if args.name is None:
        made.print_help()
    elif args.name == "page":
        page.check(args.page) if args.check else page.write(args.page)
    elif args.name == "all":
        run_all(args)
    else:
        run(experiments()[args.name], args)


def parser() -> argparse.ArgumentParser:
    """The commands, found and fixed, with the flags of each."""
    made = argparse.ArgumentParser(PROGRAM, description="NAME --help tells more.")
    commands = made.add_subparsers(title="commands", dest="name", metavar="NAME")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name, help=text.partition("\n")[0].replace("%", "%%"), description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip

    for name, experiment in experiments().items():
        add_flags(add(name, experiment.text))
    every = add("all", "All experiments, or those of --experiments, and then the pages.")
    add_flags(every)
    every.add_argument(
        "--experiments", nargs="+", choices=tuple(experiments()), metavar="NAME",
        help="only these, one after another; --budget-seconds is for all of them together",
    )  # fmt: skip
    writes = add("page", page.__doc__ or "")
    writes.add_argument("--check", action="store_true", help="change nothing; fail if it would")
    writes.add_argument("--page", type=Path, help="another file than those in docs")
    return made


def add_flags(made: argparse.ArgumentParser) -> None:
    """The flags of an experiment."""
    made.set_defaults(refuse=made.error, began=None)
    add = made.add_argument
    add("--quick", action="store_true", help="digits and few steps: minutes on a CPU")
    add("--device", default="auto", help="auto (a GPU if there is one), cuda or cpu")
    add("--precision", default="float32", choices=("float32", "bf16"))
    add(
        "--only",
        nargs="+",
        choices=tuple(METHODS),
        metavar="METHOD",
        type=lambda given: {name.lower(): name for name in METHODS}.get(given.lower(), given),
        help=f"only these methods: {', '.join(METHODS)}",
    )
    add(
        "--dataset",
        nargs="+",
        choices=NAMES,
        metavar="NAME",
        type=str.lower,
        help=f"only these data sets: {', '.join(NAMES)}",
    )
    add("--links", nargs="+", type=number, metavar="N", help="only these numbers of links")
    add("--link-sets", type=positive, metavar="N", help="only the first N link sets")
    add("--design", choices=DESIGNS, help="only links of this design")
    add("--group", type=positive, metavar="N", help="train at most N runs together")
    add("--steps", type=positive, metavar="N",
        help="with --quick: N CluNet steps, other lengths in proportion")  # fmt: skip
    add("--ray", action="store_true", help="spread the runs of a group over a Ray cluster")
    add("--address", metavar="HOST:PORT",
        help="of the Ray cluster; without it Ray is started on this machine")  # fmt: skip
    add("--budget-seconds", type=positive, metavar="S", help="begin no group after S seconds")
    add("--plot-only", action="store_true", help="train nothing; draw the rows that exist")


def number(text: str, least: int = 0) -> int:
    """A whole number of at least this."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return int(text)


def positive(text: str) -> int:
    return number(text, 1)


def run_all(args: argparse.Namespace) -> None:
    """Run every experiment that has runs of the chosen kind, then write the pages."""
    args.began = time.perf_counter()
    found = {
        name: needed(experiment, args)
        for name, experiment in experiments().items()
        if not args.experiments or name in args.experiments
    }
    if not any(chosen(runs, args) for runs in found.values()):
        args.refuse("no experiment has such runs")
    for name in args.experiments or found:
        if found[name] and not chosen(found[name], args):
            tell(f"{name}: skipped, it has no such runs")
            continue
        try:
            run(experiments()[name], args)
        except NoRowsError:
            tell(f"{name}: skipped, it has no rows yet")
    if not ledger.elsewhere():
        page.write()


def run(experiment: Experiment, args: argparse.Namespace) -> None:
    """Train what is missing, then draw."""
    folder = ledger.results_folder(args.quick)
    path = experiment.path(folder)
    runs = needed(experiment, args)
    wanted = chosen(runs, args)
    if runs and not wanted:
        args.refuse(f"{experiment.name} has no such runs; it has {described(runs)}")
    if wanted and not args.plot_only:
        try:
            train(wanted, path, args, args.group or experiment.group)
        except (S3C2Error, MissingExtraError, ValueError) as error:
            raise SystemExit(f"{PROGRAM} {experiment.name}: {error}") from error
        except KeyboardInterrupt:
            tell("stopped; the same command goes on from here")
            raise SystemExit(130) from None
    rows = rows_of(runs, path)
    some = bool(rows) or not runs
    for name, others in experiment.beside.items():
        rows += rows_of(shown(others, args), folder / f"{name}.csv")
    if not (some and experiment.write(rows, folder)):
        raise NoRowsError(
            f"{PROGRAM} {experiment.name}: {path} has no rows of these runs, so nothing was drawn. "
            "Run it without --plot-only, or with the --steps that the rows were made with."
        )
    where = f"; the runs are in {path}" if runs else ""
    tell(f"written: {folder / experiment.name}.csv and .png{where}")


def needed(experiment: Experiment, args: argparse.Namespace) -> list[Run]:
    """All runs of an experiment, shortened if it is to be quick."""
    if args.steps and not args.quick:
        args.refuse("--steps needs --quick: shortened runs are not for the committed results")
    if args.address and not args.ray:
        args.refuse("--address is that of a Ray cluster: add --ray")
    return shown(experiment.runs, args)


def shown(runs: Callable[[Sizes], list[Run]], args: argparse.Namespace) -> list[Run]:
    """These runs, in full or quick."""
    if args.quick:
        return [shortened(run, args.steps or QUICK_STEPS) for run in runs(QUICK)]
    return runs(FULL)


def chosen(runs: Sequence[Run], args: argparse.Namespace) -> list[Run]:
    """The runs that --only, --dataset, --links, --link-sets and --design leave."""
    return [
        run
        for run in runs
        if (not args.only or run.method in args.only)
        and (not args.dataset or run.dataset in args.dataset)
        and (not args.links or run.n_links in args.links)
        and (not args.link_sets or run.link_seed < args.link_sets)
        and (not args.design or run.design == args.design)
    ]


def described(runs: Sequence[Run]) -> str:
    """The methods, data sets and numbers of links of some runs."""
    methods = ", ".join(dict.fromkeys(run.method for run in runs))
    datasets = ", ".join(dict.fromkeys(run.dataset for run in runs))
    budgets = ", ".join(dict.fromkeys(str(run.n_links) for run in runs))
    return f"{methods} on {datasets} with {budgets} links"
