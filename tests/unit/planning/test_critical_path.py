import pytest

from marie_celery.planning.critical_path import remaining_paths

DIAMOND = {"split": ["read", "tables"], "read": ["merge"], "tables": ["merge"], "merge": []}


def paths(graph, **seconds):
    return remaining_paths(graph, seconds.get)


def test_a_path_is_the_own_runtime_and_the_longest_way_behind_it():
    assert paths(DIAMOND, split=1.0, read=5.0, tables=20.0, merge=2.0) == {
        "merge": 2.0,
        "read": 7.0,
        "tables": 22.0,
        "split": 23.0,
    }


def test_unknown_runtimes_count_as_nothing():
    assert paths(DIAMOND, split=1.0, merge=2.0)["split"] == 3.0


def test_a_path_of_which_nothing_is_known_is_unknown():
    assert paths(DIAMOND, split=1.0) == {"merge": None, "read": None, "tables": None, "split": 1.0}


def test_a_runtime_of_zero_is_known():
    assert paths({"only": []}, only=0.0) == {"only": 0.0}
    assert paths({"a": ["b"], "b": []}, b=0.0) == {"a": 0.0, "b": 0.0}


def test_children_need_no_entry_of_their_own():
    assert paths({"a": ["b"]}, a=1.0, b=2.0) == {"a": 3.0, "b": 2.0}


@pytest.mark.parametrize("length", [1, 5_000])
def test_long_chains_need_no_deep_stack(length):
    chain = {n: [n + 1] for n in range(length)}
    assert remaining_paths(chain, lambda _: 1.0)[0] == length + 1
