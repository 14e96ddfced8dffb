"""Results as Redis keeps them."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.config import Settings
from marie_celery.errors import ConfigError, PayloadError
from marie_celery.payloads import Payloads
from tests.unit.payloads.test_stores import Memory

ATTEMPT = "0123456789abc-000003.2"
LARGE = json.dumps(["page"] * 1000)


def flip(data: bytes) -> bytes:
    """Its own inverse, and no text afterwards."""
    return bytes(255 - each for each in data)


FLIPPED = {"encrypt": f"{__name__}:flip", "decrypt": f"{__name__}:flip"}


def payloads(store: Memory | None = None, **settings: Any) -> Payloads:
    return Payloads(Settings(**settings), store)


def test_a_small_result_stays_as_it_is() -> None:
    assert payloads().seal('{"a":1}', ATTEMPT) == '{"a":1}'


def test_without_a_store_a_large_result_is_refused() -> None:
    words = r"the result of read has 8000 bytes, max_result_bytes is 100; .* or set payload_store"
    with pytest.raises(PayloadError, match=words):
        payloads(max_result_bytes=100).seal(LARGE, ATTEMPT, "the result of read")


def test_a_large_result_goes_to_the_store_and_comes_back() -> None:
    store = Memory()
    sealing = payloads(store, max_result_bytes=100)
    kept = sealing.seal(LARGE, ATTEMPT)
    assert json.loads(kept) == {"$payload": {"how": "", "run": "0123456789abc", "name": "000003.2"}}
    assert store.kept == {("0123456789abc", "000003.2"): LARGE.encode()}
    assert sealing.loads(kept) == json.loads(LARGE)


def test_what_compression_makes_small_enough_stays_in_redis() -> None:
    sealing = payloads(max_result_bytes=500, compress_above=100)
    kept = sealing.seal(LARGE, ATTEMPT)
    sealed = json.loads(kept)["$payload"]
    assert sealed["how"] == "zlib"
    assert zlib.decompress(base64.b64decode(sealed["data"])).decode() == LARGE
    assert sealing.loads(kept) == json.loads(LARGE)
    assert sealing.seal("[1]", ATTEMPT) == "[1]"


def test_encrypted_results_are_encrypted_however_small_and_wherever_they_are() -> None:
    store = Memory()
    sealing = payloads(store, max_result_bytes=200, compress_above=100, **FLIPPED)
    small, large = sealing.seal('"secret"', ATTEMPT), sealing.seal(json.dumps(list(range(500))), ATTEMPT)
    assert "secret" not in small
    assert json.loads(large)["$payload"]["how"] == "zlib+codec"
    (data,) = store.kept.values()
    assert zlib.decompress(flip(data)).startswith(b"[0")
    assert sealing.loads(small) == "secret"
    assert sealing.loads(large) == list(range(500))


def test_sealed_results_are_opened_inside_of_others() -> None:
    """As in the list of a map, which is put together from the texts of its items."""
    sealing = payloads(Memory(), max_result_bytes=100)
    kept = f'[{sealing.seal(LARGE, ATTEMPT)},1,{{"of":{sealing.seal(LARGE, ATTEMPT)}}}]'
    assert sealing.loads(kept) == [json.loads(LARGE), 1, {"of": json.loads(LARGE)}]


def test_results_in_one_list_are_sealed_each_by_itself() -> None:
    store = Memory()
    sealing = payloads(store, max_result_bytes=1000)
    assert sealing.seal_list(["1", "null"], ATTEMPT, "") == "[1,null]"
    kept = sealing.seal_list(["1", LARGE], ATTEMPT, "")
    assert kept.startswith('[1,{"$payload"')
    assert list(store.kept) == [("0123456789abc", "000003.2.1")]
    assert sealing.loads(kept) == [1, json.loads(LARGE)]


def test_many_that_are_too_much_together_are_refused_without_a_store() -> None:
    with pytest.raises(PayloadError, match="the result of read has 8000 bytes"):
        payloads(max_result_bytes=20_000).seal_list([LARGE] * 3, ATTEMPT, "the result of read")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["$payload", "how", "value", "name", "data", "x"]), inner, max_size=2),
    max_leaves=8,
)


@given(values, st.sampled_from([{}, {"compress_above": 0}, FLIPPED, {"max_result_bytes": 1}]))
def test_every_value_comes_back_as_it_was(value: Any, settings: dict[str, Any]) -> None:
    sealing = payloads(Memory(), **settings)
    kept = sealing.seal(json.dumps(value), ATTEMPT)
    assert sealing.loads(kept) == value
    assert payloads(None, **settings).loads(sealing.portable(kept)) == value


def test_what_is_lost_is_told_by_its_name() -> None:
    store = Memory()
    sealing = payloads(store, max_result_bytes=100)
    kept = sealing.seal(LARGE, ATTEMPT)
    store.forget("0123456789abc")
    with pytest.raises(PayloadError, match=f"the result of {ATTEMPT} is not in the payload store any more"):
        sealing.loads(kept)
    assert sealing.portable(kept) == kept


def test_a_process_without_the_settings_of_the_workers_is_told_what_to_set() -> None:
    kept = payloads(Memory(), max_result_bytes=100).seal(LARGE, ATTEMPT)
    with pytest.raises(PayloadError, match="set payload_store as for the workers"):
        payloads().loads(kept)
    with pytest.raises(PayloadError, match="set encrypt and decrypt here"):
        payloads().loads(payloads(**FLIPPED).seal("1", ATTEMPT))


def test_one_function_without_the_other_is_refused() -> None:
    with pytest.raises(ValueError, match="encrypt and decrypt must be set together"):
        Settings(encrypt="a:b")


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigError, match="is no function"):
        payloads(encrypt=f"{__name__}:ATTEMPT", decrypt=f"{__name__}:flip")
