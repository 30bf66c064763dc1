"""An experiment on Ray has the rows of one machine, and says where they were trained."""

from __future__ import annotations

import pytest

from experiments import command_line, ledger

pytest.importorskip("ray", reason="needs the extra ray")
# What Ray leaves behind when it stops is not ours to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),  # one Ray at a time
]

OF_A_START = ("seconds_per_run", "device")


@pytest.fixture
def rows(start, tmp_path, monkeypatch):
    def rows(name, *flags):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path / name))
        start("neighbours", *flags)
        return ledger.read(tmp_path / name / "quick" / "dense.csv")

    return rows


def test_the_rows_are_those_of_one_machine(rows, tmp_path, monkeypatch, capsys):
    alone = rows("alone")
    monkeypatch.setattr(ledger, "device_name", lambda device: "the machine that asked")
    on_ray = rows("ray", "--ray")
    assert len(on_ray) == len(alone) > 2
    for one, two in zip(alone, on_ray):
        assert {k: v for k, v in two.items() if k not in OF_A_START} == {
            k: v for k, v in one.items() if k not in OF_A_START
        }
        assert two["device"].endswith(" threads")  # the worker's own words
    assert not list((tmp_path / "ray" / "quick").glob("*unfinished*"))
    capsys.readouterr()
    rows("ray", "--ray")  # nothing is left to do: no cluster is needed
    assert f"{len(on_ray)} of {len(on_ray)} runs are done" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_one_line(rows, tmp_path):
    with pytest.raises(SystemExit, match="Ray cannot be reached at 127.0.0.1:1: "):
        rows("ray", "--ray", "--address", "127.0.0.1:1")
    assert not (tmp_path / "ray").exists()


def test_an_address_is_for_ray(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["neighbours", "--quick", "--address", "127.0.0.1:1"])
    assert "--address is that of a Ray cluster: add --ray" in capsys.readouterr().err
