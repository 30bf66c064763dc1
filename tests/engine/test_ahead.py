import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import torch

from s3c2.engine.ahead import ahead, side_by_side


def test_results_come_in_the_order_of_items():
    assert list(side_by_side(lambda i: i * i, range(20))) == [i * i for i in range(20)]


def test_items_share_the_threads_of_torch():
    before = torch.get_num_threads()
    torch.set_num_threads(6)
    try:
        assert set(side_by_side(lambda _: torch.get_num_threads(), range(9), most=3)) == {2}
        with ThreadPoolExecutor(1) as later:
            assert later.submit(torch.get_num_threads).result() == 6
        assert torch.get_num_threads() == 6
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("how", [ahead, lambda items: side_by_side(int, items)])
def test_an_error_is_raised_and_threads_end(how):
    def items():
        yield 1
        yield 2
        raise OSError("gone")

    n_threads = threading.active_count()
    with pytest.raises(OSError, match="gone"):
        list(how(items()))
    assert threading.active_count() == n_threads


def test_an_error_in_the_work_ends_the_reading():
    n_threads = threading.active_count()
    items = ahead(["1", "x", *"23456789"])
    with closing(items), pytest.raises(ValueError, match="'x'"):
        list(side_by_side(int, items))
    assert threading.active_count() == n_threads


def test_who_stops_early_leaves_no_thread():
    n_threads = threading.active_count()
    results = side_by_side(int, ahead(range(1000)))
    assert next(results) == 0
    results.close()
    assert threading.active_count() == n_threads
