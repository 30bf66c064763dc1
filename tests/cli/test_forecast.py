"""The command line says beforehand how long a fit will take."""

import numpy as np
import pytest

from s3c2 import S3C2, CluNet, LabNet, Links, labnet_training, surface
from s3c2.cli import forecast

from .conftest import fit_command


@pytest.fixture
def few_are_many(monkeypatch):
    """The autoencoder is trained on few rows, too."""
    monkeypatch.setattr(labnet_training, "CODE_ROWS", 100)


def test_steps_are_those_that_a_fit_takes(blobs, blob_links, few_are_many):
    stages = {"labnet": LabNet(epochs=3, batch_links=30), "clunet": CluNet(steps=7)}
    published = {"labnet__epochs": 3, "labnet__batch_links": 30, "clunet__steps": 7}
    for model in (S3C2(3, **stages), S3C2.as_published(3, **published)):
        taken = dict.fromkeys(forecast.NAMES, 0)

        def count(step, taken=taken):
            taken[step.stage] += 1

        model.set_params(callbacks=count, verbose=0).fit(blobs[0], links=blob_links)
        assert forecast.n_steps(model, blob_links, len(blobs[0])) == taken
    assert sum(taken.values()) == 3 * 3 + 7  # the paper has no other stages


@pytest.mark.parametrize(
    ("n", "steps"), [(4999, 0), (5000, 50 * 20), (60_000, 21 * 235), (10**6, 4692)]
)
def test_the_autoencoder_has_at_most_50_epochs_and_about_5000_steps(blob_links, n, steps):
    assert forecast.n_steps(S3C2(3), blob_links, n)["autoencoder"] == steps
    model = S3C2(3, labnet=LabNet(code=False))
    assert forecast.n_steps(model, blob_links, n)["autoencoder"] == 0


def test_the_forecast_grows_with_steps_and_networks(blobs, blob_links, few_are_many, monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr(forecast.time, "perf_counter", lambda: next(clock))  # a second a step

    def seconds(**changes):
        model = S3C2(3, labnet=LabNet(steps=500), clunet=CluNet(steps=200), layers=(8, 4))
        return forecast.forecast(model.set_params(**changes), blobs[0], blob_links)[0]

    usual = {"autoencoder": 50, "labnet": 500, "clunet start": 200, "clunet": 200}
    assert seconds() == usual
    assert seconds(clunet__steps=2000) == usual | {"clunet start": 400, "clunet": 2000}
    assert seconds(clunet__n_restarts=3) == usual | {"clunet start": 600, "clunet": 600}
    assert seconds(labnet__code=False, clunet__start="random") == {"labnet": 500, "clunet": 200}


@pytest.mark.parametrize(("shape", "steps"), [((64,), 5000), ((8, 8), 2500)])
def test_the_forecast_knows_the_network_that_will_be_chosen(shape, steps, monkeypatch):
    monkeypatch.setattr(surface, "VERY_MANY_ROWS", 60)
    monkeypatch.setattr(surface, "MANY_ROWS", 50)
    seen = {}
    own = forecast.n_steps
    monkeypatch.setattr(forecast, "n_steps", lambda *given: seen.update(own(*given)) or own(*given))
    X = np.random.default_rng(0).uniform(size=(60, *shape))
    links = Links.from_labels(np.arange(60) % 2, 20, random_state=0)
    forecast.forecast(S3C2(2), X, links)
    assert seen["labnet"] == seen["clunet"] == steps


def test_where_neighbours_are_kept_no_autoencoder_is_foretold(
    blobs, blob_links, few_are_many, monkeypatch, tmp_path
):
    monkeypatch.setattr(labnet_training, "CODE_LAYERS", (8, 4))
    model = S3C2(3, labnet=LabNet(steps=2, cache=tmp_path), clunet=CluNet(steps=2), layers=(8, 4))
    first = forecast.forecast(model.set_params(verbose=0), blobs[0], blob_links)[0]
    assert list(tmp_path.iterdir()) == []  # a trial leaves nothing
    model.fit(blobs[0], links=blob_links)
    again = forecast.forecast(model, blobs[0], blob_links)[0]
    assert first.keys() - again.keys() == {"autoencoder"}


def test_short_fits_are_not_worth_a_word():
    assert forecast.in_words({"labnet": 20.0, "clunet": 39.0}, False, True) is None
    words = forecast.in_words({"labnet": 1000.0, "clunet": 8000.0}, True, True)
    assert words.startswith("This will take about 2.5 hours (LabNet 17 minutes, CluNet 2.2 hours).")
    assert "--points 50" in words
    assert "a GPU" in words
    assert "--no-autoencoder" not in words
    all_stages = dict.fromkeys(forecast.NAMES, 100.0)
    words = forecast.in_words(all_stages, False, True)
    assert "(autoencoder 2 minutes, LabNet 2 minutes, CluNet's start 2 minutes, CluNet 2" in words
    assert "--no-autoencoder" in words
    assert "--points" not in forecast.in_words({"labnet": 1000.0}, False, True)
    assert "GPU" not in forecast.in_words({"labnet": 1000.0}, True, False)


@pytest.mark.parametrize("quiet", [False, True])
def test_it_is_said_before_the_training(folder, monkeypatch, quiet):
    monkeypatch.setattr(forecast, "WORTH_SAYING", 0.0)
    y = np.repeat([0, 1], 20)
    np.save(
        folder / "images.npy", np.random.default_rng(0).uniform(size=(40, 8, 8)) + y[:, None, None]
    )
    Links.from_labels(y, 30, random_state=0).write(folder / "l.csv")
    command = fit_command("images.npy", "l.csv", k=2, id_column=None)
    result = folder.run(*command, "--network", "convolutional", *(["--quiet"] if quiet else []))
    assert result.exit_code == 0, result.output
    assert ("This will take about" in result.stderr) == (not quiet)
    if not quiet:
        assert result.stderr.index("This will take") < result.stderr.index("Written:")


def test_points_reach_the_model(folder):
    assert folder.run(*fit_command(), "--points", 9, "--no-report").exit_code == 0
    assert S3C2.load(folder / "out/model").clunet.batch_points == 9
