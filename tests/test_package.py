"""The package as a whole."""

from __future__ import annotations

import subprocess
import sys

import s3c2


def test_all_names_are_there():
    for name in s3c2.__all__:
        assert getattr(s3c2, name).__name__ == name
    assert set(s3c2.__all__) < set(dir(s3c2))


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(s3c2, "nothing_of_that_name")


def test_importing_the_package_does_not_wait_for_torch():
    code = "import s3c2.baselines, sys; sys.exit(bool({'torch', 'sklearn'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_core_does_not_need_the_extras():
    code = (
        "import sys\n"
        "from importlib.machinery import PathFinder\n"
        "find, extras = PathFinder.find_spec, "
        "{'click', 'rich', 'matplotlib', 'pyarrow', 'PIL', 'pandas'}\n"
        "PathFinder.find_spec = lambda name, *rest: None if name in extras else find(name, *rest)\n"
        "import numpy as np\n"
        "from s3c2 import S3C2, CluNet, LabNet, Links\n"
        "X = np.random.default_rng(0).normal(size=(20, 3))\n"
        "links = Links(must=[(0, 1)], cannot=[(1, 2)], n_samples=20)\n"
        "labnet, clunet = LabNet(code=False, steps=2), CluNet(steps=2)\n"
        "model = S3C2(2, labnet=labnet, clunet=clunet, layers=(8, 4))\n"
        "model.fit(X, links=links)\n"
        "sys.exit(model.predict(X).shape != (20,) or bool(extras & sys.modules.keys()))\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
