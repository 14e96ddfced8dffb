import dataclasses
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from marie_celery.authoring.builder import building
from marie_celery.authoring.payload import ArgumentEncoder, decode_arguments, encode_result
from marie_celery.authoring.task import task
from marie_celery.authoring.types import Signature
from marie_celery.errors import PayloadError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Page(BaseModel):
    number: int
    scanned: datetime


@dataclasses.dataclass
class Box:
    width: float
    label: str = ""


class Opaque:
    pass


@task(executor="ocr")
def source():
    return None


def a_reference():
    with building("payload"):
        return source()


def travel(function, *args, results=None, **kwargs):
    """What the function would be called with in the worker."""
    signature = Signature(function, function.__name__)
    text = ArgumentEncoder(signature).encode(args, kwargs)
    assert text.isascii()
    return signature.restore_arguments(*decode_arguments(text, (results or {}).__getitem__))


def plain(value=None, *rest, **named): ...


def moment(value: datetime): ...


def box(value: Box): ...


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["$ref", "$literal", "path"]), inner)
    ),
)


@given(json_values)
def test_whatever_json_carries_comes_back_as_it_was(value):
    assert travel(plain, value) == ((value,), {})


def test_a_pydantic_model_comes_back_by_its_annotation():
    def index(page: Page): ...

    page = Page(number=3, scanned=NOON)
    assert travel(index, page) == ((page,), {})
    assert travel(index, page=page) == ((page,), {})


@pytest.mark.parametrize("value", [Box(1.5, "a"), Box(2)])
def test_a_dataclass_comes_back_by_its_annotation(value):
    assert travel(box, value) == ((value,), {})


def test_a_datetime_comes_back_by_its_annotation():
    assert travel(moment, NOON) == ((NOON,), {})


def test_a_set_and_a_tuple_come_back_by_their_annotations():
    def keep(tags: set[int], pair: tuple[int, str]): ...

    assert travel(keep, {1, 2}, (1, "a")) == (({1, 2}, (1, "a")), {})


def test_further_arguments_have_the_annotation_of_their_parameter():
    def gather(first: str, *times: datetime, end: str = "", **named: datetime): ...

    args, kwargs = travel(gather, "a", NOON, NOON, end="z", lunch=NOON)
    assert args == ("a", NOON, NOON)
    assert kwargs == {"end": "z", "lunch": NOON}


def test_references_are_replaced_by_results_however_deep_they_are():
    ref = a_reference()
    args, _ = travel(plain, {"a": [ref, {"b": ref["total"]}]}, results={0: {"total": 7}})
    assert args == ({"a": [{"total": 7}, {"b": 7}]},)


def test_references_and_values_may_stand_side_by_side_under_one_annotation():
    def collect(times: list[datetime]): ...

    args, _ = travel(collect, [a_reference(), NOON], results={0: NOON.isoformat()})
    assert args == ([NOON, NOON],)


def test_a_reference_inside_of_an_object_is_refused():
    with pytest.raises(PayloadError, match="reference inside a Box"):
        travel(box, Box(a_reference()))


def test_a_dict_that_looks_like_a_reference_is_taken_literally():
    value = {"$ref": 0, "path": ["x"], "more": {"$literal": 1}}
    assert travel(plain, value) == ((value,), {})


def test_a_dict_that_looks_like_a_reference_is_taken_literally_under_an_annotation_too():
    def times(value: dict[str, datetime]): ...

    assert travel(times, {"$ref": NOON}) == (({"$ref": NOON},), {})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(("function", "wrap"), [(plain, lambda n: [n]), (box, Box)])
def test_numbers_that_json_does_not_have_are_refused(number, function, wrap):
    with pytest.raises(PayloadError, match="argument 'value'"):
        travel(function, wrap(number))


@pytest.mark.parametrize("value", [{1, 2}, NOON, b"x", Opaque(), {1: "a"}])
def test_what_json_does_not_carry_is_refused_without_an_annotation(value):
    with pytest.raises(PayloadError, match="argument 'value'"):
        travel(plain, [value])


def test_a_value_that_does_not_fit_its_annotation_is_refused():
    with pytest.raises(PayloadError, match="argument 'value' does not fit its annotation"):
        travel(moment, "yesterday")


def test_an_annotation_that_pydantic_does_not_know_is_named():
    def strange(value: Opaque): ...

    with pytest.raises(PayloadError, match=r"strange: parameter 'value' is annotated with .*Opaque"):
        travel(strange, Opaque())


def test_arguments_that_the_function_does_not_take_are_refused():
    with pytest.raises(PayloadError, match="missing a required argument: 'value'"):
        travel(moment)


def test_a_result_comes_back_by_its_annotation():
    def make() -> list[Page]: ...

    signature = Signature(make, "make")
    pages = [Page(number=1, scanned=NOON)]
    assert signature.restore_result(json.loads(encode_result(pages, signature))) == pages


@pytest.mark.parametrize("value", [Page(number=1, scanned=NOON), Box(1)])
def test_a_model_may_be_a_result_without_an_annotation(value):
    assert isinstance(json.loads(encode_result(value, Signature(plain, "plain"))), dict)


def test_a_result_with_nan_is_refused_with_and_without_an_annotation():
    def make() -> Box: ...

    for signature in (Signature(make, "make"), Signature(plain, "plain")):
        with pytest.raises(PayloadError, match="the result"):
            encode_result(Box(float("nan")), signature)


def test_a_result_that_json_does_not_carry_is_refused():
    with pytest.raises(PayloadError, match="the result cannot be carried as JSON"):
        encode_result({1, 2}, Signature(plain, "plain"))
