import pytest

from marie_celery.authoring.dag import DAGS, dag
from marie_celery.authoring.task import task
from marie_celery.errors import DagError


@task(executor="ocr")
def read(page):
    return page


@dag(soft_sla="10m")
def letters(count):
    return [read(number) for number in range(count)]


def test_its_function_is_run_once_to_collect_the_nodes():
    builder, output = letters.build(3)
    assert [node.name for node in builder.nodes] == ["read", "read-2", "read-3"]
    assert [ref.node for ref in output] == builder.nodes


def test_it_is_known_by_its_name():
    assert DAGS["letters"] is letters
    assert letters.name == "letters"


def test_it_is_not_called():
    with pytest.raises(TypeError, match=r"use letters\.submit"):
        letters(3)


def test_options_change_a_copy():
    urgent = letters.options(priority="critical", key="scan-17")
    assert (urgent.run_options.priority, urgent.run_options.key) == ("critical", "scan-17")
    assert urgent.run_options.soft_sla == "10m"
    assert letters.run_options.priority is None


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="unknown option colour"):
        letters.options(colour="red")


def test_wrong_arguments_are_an_error_of_the_dag():
    with pytest.raises(DagError, match=r"letters.*count"):
        letters.build()


@pytest.mark.parametrize("use", [list, bool, lambda ref: ref[1.5]])
def test_a_result_that_is_not_there_yet_cannot_be_looked_at(use):
    @dag(name="curious")
    def curious():
        return use(read(1))

    with pytest.raises(DagError):
        curious.build()


def test_a_name_that_was_given_is_never_used_for_another_node():
    @dag(name="named")
    def named():
        read.options(name="read-2")(1)
        read(2)
        read(3)

    builder, _ = named.build()
    assert [node.name for node in builder.nodes] == ["read-2", "read", "read-3"]


def test_a_part_of_a_result_is_a_reference_too():
    @dag(name="parts")
    def parts():
        return read(1)["lines"][0]

    _, ref = parts.build()
    assert ref.path == ("lines", 0)
    assert repr(ref) == "<read['lines'][0]>"


def test_after_takes_only_what_a_task_returned():
    @dag(name="confused")
    def confused():
        read(1).after("read")

    with pytest.raises(DagError, match="after\\(\\) takes what a task returned"):
        confused.build()
