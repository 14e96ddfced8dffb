"""What is set on a signature, and what becomes of it."""

from __future__ import annotations

from marie_celery.authoring.canvas_options import Options, read_options


def test_each_option_goes_where_it_belongs() -> None:
    options = read_options(
        {"priority": 7, "key": "k", "queue": "side", "link": "a", "link_error": ["b"], "task_id": "x", "expires": None}
    )
    assert options == Options(
        job={"priority": 7}, run={"key": "k"}, route={"queue": "side"}, link=("a",), link_error=("b",)
    )


def test_what_the_whole_canvas_says_is_split_between_run_and_jobs() -> None:
    of_run, options = read_options({"priority": 7, "key": "k", "retry_limit": 1, "link": "a"}).split()
    assert of_run == {"priority": 7, "key": "k"}
    assert options == Options(job={"retry_limit": 1}, link=("a",))


def test_a_member_may_say_otherwise() -> None:
    outer = read_options({"retry_limit": 1, "queue": "a", "link": "c"})
    assert outer.over(read_options({"retry_limit": 2})) == Options(job={"retry_limit": 2}, route={"queue": "a"})


def test_what_means_nothing_here_is_a_problem_with_what_to_do() -> None:
    options = read_options({"countdown": 1, "expires": 5, "colour": "red", "stamped_headers": ["mark"], "mark": "x"})
    assert options.problems == (
        "the option 'colour' means nothing here; take it away",
        "'countdown' cannot be kept: jobs start when a slot is free; a schedule starts runs later",
        'write hard_sla=… and on_hard_sla="expire" in place of expires',
    )
