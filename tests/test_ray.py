"""A real Ray, and a small cluster of node processes, give what one process gives."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from click.testing import CliRunner
from pyarrow import dataset, parquet
from sklearn.base import clone

import s3c2.ray
from s3c2 import S3C2, CluNet, LabNet, Links, fit_many
from s3c2.cli.commands import s3c2 as s3c2_command
from s3c2.engine.cluster import connected, spread
from s3c2.errors import ClusterError, DataError, LinksWarning, MissingExtraError
from s3c2.files.model_files import model_file
from s3c2.grids import _groups
from s3c2.labelling import folder_of_run, stream_of
from s3c2.ray import PartsOfRun, label_parts

ray = pytest.importorskip("ray", reason="needs the extra ray")

COLUMNS = [f"c{number}" for number in range(6)]
N_FILES, FILE_ROWS = 40, 2000
STORE = 80 * 2**20  # bytes that Ray's objects may take here
WITH_TOKEN = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "of the tests"}
# ``ray``, but for a machine's address among others: nodes would listen on all interfaces.
ON_LOOPBACK = """
from ray._private import services
services.get_node_ip_address = lambda address=None: "127.0.0.1"
from ray.scripts.scripts import main
main()
"""
# What Ray leaves behind when it stops is not ours to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),  # one Ray at a time
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with rows, a model, and the labels that one process gives."""
    place = tmp_path_factory.mktemp("ray")
    (place / "rows").mkdir()
    rng = np.random.default_rng(0)
    y = np.arange(FILE_ROWS) % 3
    for number in range(N_FILES):
        X = rng.normal(size=(FILE_ROWS, 6)) + 3 * np.eye(3, 6)[y]
        ids = [f"{number}-{row}" for row in range(FILE_ROWS)]
        table = pa.table({"name": ids, **dict(zip(COLUMNS, X.T))})
        parquet.write_table(table, place / "rows" / f"{number:02d}.parquet")
    links = Links.from_labels(y, 60, random_state=0)
    some = pa.table({name: table[name] for name in COLUMNS}).to_pandas()
    quick = {
        "labnet": LabNet(code=False, neighbors=0, steps=20),
        "clunet": CluNet(smoothing=0, start="random", steps=40),
    }
    S3C2(3, **quick, layers=(32, 16), random_state=0, verbose=0).fit(some, links=links).save(
        place / "model"
    )
    command(place, "predict", "model", "rows", "--id-column", "name", "-o", "alone")
    return place


def command(place, *arguments, ok=True, env=None):
    found = subprocess.run(
        [sys.executable, "-m", "s3c2.cli", *map(str, arguments)],
        cwd=place, capture_output=True, text=True, env=env,
    )  # fmt: skip
    assert not ok or found.returncode == 0, found.stderr
    return found


def labels(folder):
    return dataset.dataset(folder).to_table().to_pydict()


def test_one_ray_runs_at_a_time(request):
    """Two beside each other have ended a process. Some versions of pytest break the groups."""
    if request.config.getoption("loadgroup", False):  # xdist's word to its workers
        assert request.node.nodeid.endswith("@ray")


def test_a_cluster_that_is_not_there(place):
    given = ["predict", place / "model", place / "rows", "-o", place / "nothing"]
    found = CliRunner().invoke(
        s3c2_command, [*map(str, given), "--ray", "--address", "127.0.0.1:1"]
    )
    assert found.exit_code == 2
    assert found.stderr.startswith("Error: Ray cannot be reached at 127.0.0.1:1")
    assert found.stderr.count("\n") == 1
    assert not (place / "nothing").exists()


class Started:
    """A cluster of ``ray start``: a head without CPUs and two nodes with one each.

    Every node is a group of processes of its own, and listens on this machine alone.
    """

    def __init__(self, place):
        self.place = Path(place)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.groups = []

    def begin(self):
        port = self.address.rpartition(":")[2]
        self.start("--head", "--port", port, "--num-cpus", "0", "--temp-dir", str(self.place))
        for _ in range(2):
            self.start("--address", self.address, "--num-cpus", "1")

    def start(self, *arguments):
        said = self.place / f"node-{len(self.groups)}.log"
        env = {**WITH_TOKEN, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}  # nodes may come
        usual = ("--node-ip-address", "127.0.0.1", "--object-store-memory", str(STORE))
        with said.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-c", ON_LOOPBACK, "start", "--block", *usual, *arguments],
                env=env, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        self.groups.append(process)
        while "Ray runtime started" not in said.read_text():
            assert process.poll() is None, said.read_text()
            time.sleep(0.1)

    def kill(self, number):
        os.killpg(self.groups[number].pid, signal.SIGKILL)
        self.groups[number].wait()

    def stop(self):
        for number, process in reversed(list(enumerate(self.groups))):
            if process.returncode is None:
                self.kill(number)


@pytest.fixture(scope="module")
def cluster():
    folder = tempfile.mkdtemp(prefix="ray-")  # sockets have short names
    started = Started(folder)
    try:
        started.begin()
        yield started
    finally:
        started.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"RAY_AUTH_TOKEN": "", "RAY_AUTH_MODE": "disabled"}, "got no token. Set RAY_AUTH_MODE="),
        ({"RAY_AUTH_TOKEN": "", "RAY_AUTH_TOKEN_PATH": "/none"}, "got no token"),
        ({"RAY_AUTH_TOKEN": "of another cluster"}, "got another one"),
    ],
)
def test_a_cluster_that_asks_for_its_token(place, cluster, env, said):
    found = command(
        place, "predict", "model", "rows", "-o", "nothing", "--ray", "--address", cluster.address,
        env={**WITH_TOKEN, "RAY_gcs_server_port_wait_time_s": "1", **env}, ok=False,
    )  # fmt: skip
    assert found.returncode == 2
    assert f"Error: The Ray cluster at {cluster.address} asks for its token" in found.stderr
    assert said in found.stderr
    assert found.stderr.count("\n") == 1
    assert not (place / "nothing").exists()


def test_a_node_killed_in_the_middle_costs_no_row_and_doubles_none(place, cluster):
    process = subprocess.Popen(
        [
            sys.executable, "-m", "s3c2.cli", "predict", "model", "rows", "--id-column", "name",
            "-o", "spread", "--ray", "--address", cluster.address, "--workers", "2",
        ],
        cwd=place, stderr=subprocess.PIPE, text=True, env=WITH_TOKEN,
    )  # fmt: skip
    try:
        while len(list((place / "spread").glob("part-*"))) < 2 and process.poll() is None:
            time.sleep(0.01)
        n_made = len(list((place / "spread").glob("part-*")))
        cluster.kill(2)
        _, said = process.communicate(timeout=100)
        assert process.returncode == 0, said
        assert 2 <= n_made < N_FILES
        assert f"{N_FILES * FILE_ROWS:,} rows are in spread." in said
    finally:
        process.kill()
    for part in sorted((place / "alone").iterdir()):
        assert (place / "spread" / part.name).read_bytes() == part.read_bytes()
    assert len(list((place / "spread").iterdir())) == N_FILES + 1


@pytest.fixture(scope="module")
def local_ray():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "2")  # as a user may have it
        with connected():
            yield


def test_a_dataset_gets_the_clusters_of_one_process(place, local_ray):
    import ray.data

    rows = ray.data.read_parquet(str(place / "rows"))
    found = s3c2.ray.predict(rows, place / "model").to_pandas()
    alone = labels(place / "alone")
    expected = dict(zip(alone["id"], zip(alone["cluster"], alone["probability"])))
    assert len(found) == N_FILES * FILE_ROWS
    assert set(found.columns) == {"name", *COLUMNS, "cluster", "probability"}
    clusters = {name: expected[name][0] for name in found["name"]}
    assert found["cluster"].tolist() == [clusters[name] for name in found["name"]]
    several = np.array([expected[name][1] for name in found["name"]])
    assert (np.round(found["probability"].to_numpy(np.float64), 6) == several).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_actors_that_have_a_gpu_label_there(place, local_ray):
    """Two actors share a GPU; they give the clusters of one process on a CPU."""
    import ray.data

    class WithDevice(s3c2.ray.Predictor):
        def __call__(self, batch):
            weights = next(self.model.clunet_.network_.parameters())
            return (
                super()
                .__call__(batch)
                .append_column("on", pa.array([str(weights.device)] * len(batch)))
            )

    rows = ray.data.read_parquet(str(place / "rows"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(s3c2.ray, "Predictor", WithDevice)
        found = s3c2.ray.predict(rows, place / "model", workers=2, num_gpus=0.5).to_pandas()
    assert set(found["on"]) == {"cuda:0"}
    alone = labels(place / "alone")
    expected = dict(zip(alone["id"], alone["cluster"]))
    assert len(found) == N_FILES * FILE_ROWS
    same = [expected[name] == cluster for name, cluster in zip(found["name"], found["cluster"])]
    assert np.mean(same) > 0.9999  # a GPU rounds otherwise


def test_without_ray_the_install_line_is_named(monkeypatch, place):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 's3c2\[ray\]'"):
        s3c2.ray.predict(None, place / "model")


def grid(many_blobs):
    X, y = many_blobs
    # Settings that no other test changes in this process: workers have their own.
    base = S3C2.as_published(3, scale="standard", layers=(32, 16), verbose=0)
    base.set_params(labnet__epochs=5, clunet__steps=20)
    sets = [Links.from_labels(y, 40, random_state=seed) for seed in (0, 1)]
    return X, [
        (clone(base).set_params(random_state=seed, labnet__threshold=T), links)
        for links in sets
        for seed in (0, 1)
        for T in (0.1, 0.3)
    ]


def test_a_grid_on_ray_gives_the_models_of_this_machine(many_blobs, local_ray):
    X, configurations = grid(many_blobs)
    alone = fit_many(X, configurations)
    on_ray = fit_many(X, configurations, engine="ray")
    for one, two in zip(alone, on_ray):
        assert one.get_params(deep=False)["random_state"] == two.random_state
        assert one.threshold_ == two.threshold_
        for name, weights in one.network_.state_dict().items():
            assert (weights == two.network_.state_dict()[name]).all()
        assert (one.labels_ == two.labels_).all()


def test_what_a_worker_says_is_said_as_on_this_machine(many_blobs, local_ray):
    X, _ = many_blobs
    with pytest.raises(ValueError, match="n_samples=900") as alone:
        fit_many(X, [(S3C2(1000, verbose=0), None)])
    with pytest.raises(ValueError, match="n_samples=900") as on_ray:
        fit_many(X, [(S3C2(1000, verbose=0), None)], engine="ray")
    assert str(on_ray.value) == str(alone.value)
    ids = [f"r{row}" for row in range(len(X))]
    links = Links(must=[("r0", "r0x"), *zip(ids[:9], ids[9:18])], cannot=[("r1", "r2")])
    configurations = grid(many_blobs)[1][:1]
    said = []
    for engine in (None, "ray"):
        with pytest.warns(LinksWarning, match="1 of 11 links") as caught:
            fit_many(X, [(configurations[0][0], links)], sample_id=ids, engine=engine)
        said.append({str(one.message) for one in caught if one.category is LinksWarning})
    assert said[0] == said[1]


def test_a_worker_keeps_to_its_own_processor(local_ray):
    assert spread(lambda common, group: torch.get_num_threads(), None, [0, 1], 0) == [1, 1]


def test_a_group_that_is_lost_with_its_worker_is_done_again(tmp_path, local_ray):
    def work(common, group):
        if group == 1 and not (common / "died").exists():
            (common / "died").touch()
            os._exit(1)
        return 10 * group

    assert spread(work, tmp_path, [0, 1, 2], 0) == [0, 10, 20]
    assert (tmp_path / "died").exists()


def parts_of_run(place, data, out, skip_damaged):
    refused = (lambda error: None) if skip_damaged else None
    stream = stream_of(S3C2.load(place / "model"), data, "name", refused)
    return PartsOfRun(
        model_file(place / "model").read_bytes(), data, "name",
        folder_of_run(out, place / "model", stream), skip_damaged,
    )  # fmt: skip


def test_a_damaged_part_is_named_and_nothing_goes_on_behind(place, local_ray, tmp_path):
    """A thread that asks Ray for something while this process leaves it ends the process."""
    rows = tmp_path / "rows"
    rows.mkdir()
    for number in range(6):
        shutil.copy(place / "rows" / f"{number:02d}.parquet", rows)
    content = bytearray((rows / "02.parquet").read_bytes())
    content[1000:30_000] = bytes(29_000)
    (rows / "02.parquet").write_bytes(content)
    threads = set(threading.enumerate())
    with pytest.raises(DataError, match=r"02\.parquet: cannot be read as Parquet") as caught:
        label_parts(parts_of_run(place, rows, tmp_path / "strict", False), 0, 1)
    assert len(str(caught.value).splitlines()) == 1
    assert set(threading.enumerate()) <= threads
    left_out = []
    run = parts_of_run(place, rows, tmp_path / "all_others", True)
    assert label_parts(run, 0, 2, left_out.append) == 5 * FILE_ROWS
    assert [str(error) for error in left_out] == [str(caught.value)]
    for part in (tmp_path / "all_others").glob("part-*"):
        assert part.read_bytes() == (place / "alone" / part.name).read_bytes()
    assert len(list((tmp_path / "all_others").glob("part-*"))) == 5


def test_a_worker_with_another_version_is_refused(place, local_ray, monkeypatch):
    from s3c2.engine import cluster

    here = cluster.versions()
    assert torch.__version__.startswith(here["torch"])
    asked = {**here, "torch": "0.1"}
    said = f"A worker of the cluster has torch {here['torch']}, and the one who asked has 0.1."
    monkeypatch.setattr(cluster, "versions", lambda: asked)
    with pytest.raises(ClusterError, match=re.escape(said)):
        spread(lambda common, group: group, None, [0], 0)
    out = place / "other"
    run = parts_of_run(place, place / "rows", out, skip_damaged=True)
    with pytest.raises(ClusterError, match=re.escape(said)):  # no part is damaged for this
        label_parts(run, 0, 1, refused=lambda error: None)
    assert not list(out.glob("part-*"))


def test_a_grid_refuses_what_it_cannot_do(many_blobs):
    X, configurations = grid(many_blobs)
    with pytest.raises(ValueError, match="must be None or 'ray'. Got 'dask'"):
        fit_many(X, configurations, engine="dask")
    configurations[0][0].set_params(checkpoint="state")
    with pytest.raises(ValueError, match="models have no checkpoint"):
        fit_many(X, [configurations[0]], engine="ray")


def test_models_that_share_a_labnet_stay_together():
    links = [Links(must=[(0, 1)], n_samples=9), Links(must=[(0, 2)], n_samples=9)]
    found = _groups([links[0]] * 4 + [links[1]] * 2, [5, 5, 6, 6, 5, 5], 2)
    assert sorted([*found[0], *found[1]]) == [0, 1, 2, 3, 4, 5]
    assert all({0, 1} <= set(g) or not {0, 1} & set(g) for g in found)
    assert [len(g) for g in found] == [4, 2]
