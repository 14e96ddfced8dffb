import json

import pytest

from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.dag import dag
from marie_celery.authoring.task import task
from marie_celery.config import ExecutorSettings, Settings
from marie_celery.errors import DagError
from marie_celery.model.retry import RetryPolicy

EXECUTORS = ("extract", "ocr")


@task(executor="extract")
def split(path):
    return [path]


@task(executor="ocr")
def read(page, other=None):
    return page


@task(executor="ocr", retry_limit=7, retry_delay=3)
def patient(page=None):
    return page


def compiled(function, settings=None, **options):
    made = dag(name="tested", **options)(function)
    builder, output = made.build()
    return Compiler(builder, made.run_options, Surroundings(settings or Settings(), EXECUTORS)).compile(output)


def problems(function, **options):
    with pytest.raises(DagError) as refused:
        compiled(function, **options)
    return list(refused.value.problems)


def policy(new, number=0):
    return json.loads(new.specs[new.jobs[number].fields["spec"]])


class TestAGoodDag:
    def new(self):
        def wire():
            pages = split("a.pdf")
            first, second = read(pages[0]), read(pages[1])
            return {"read": read(first, second), "pages": pages}

        return compiled(
            wire, priority="high", soft_sla="10m", hard_sla="1h", key="scan-17", labels={"by": "me"}
        )

    def test_has_a_job_per_call_with_its_edges(self):
        fields = [job.fields for job in self.new().jobs]
        assert [job["name"] for job in fields] == ["split", "read", "read-2", "read-3"]
        assert [job["level"] for job in fields] == ["0", "1", "1", "2"]
        assert [job.get("deps", "0") for job in fields] == ["0", "1", "1", "2"]
        assert [job.get("children", "") for job in fields] == ["1-2", "3", "3", ""]
        assert [job.get("refs", "") for job in fields] == ["", "0", "0", "1-2"]

    def test_has_inputs_with_references_in_their_place(self):
        jobs = self.new().jobs
        assert jobs[0].inputs == '["a.pdf"]\n{}'
        assert jobs[2].inputs == '[{"$ref":0,"path":[1]}]\n{}'

    def test_has_the_options_of_the_run(self):
        new = self.new()
        assert new.key == new.fields["key"] == "scan-17"
        assert (new.fields["priority"], new.fields["soft_in"], new.fields["hard_in"]) == (
            "80",
            "600000",
            "3600000",
        )
        assert json.loads(new.fields["labels"]) == {"by": "me"}
        assert json.loads(new.fields["output"]) == {"read": {"$ref": 3}, "pages": {"$ref": 0}}
        assert new.fields["roots"] == "0"
        assert new.executors == ["extract", "ocr"]

    def test_gives_its_priority_to_jobs_that_have_none(self):
        def wire():
            read(1)
            read.options(priority="low")(2)

        assert [job.fields["priority"] for job in compiled(wire, priority=7).jobs] == ["7", "20"]

    def test_shares_one_policy_among_jobs(self):
        assert len(self.new().specs) == 1


class TestABadDag:
    def test_is_refused_with_all_its_problems_at_once(self):
        def wire():
            read.options(executor="moon")(1)
            read.options(priority="urgent")(2)
            read.options(name="twin")(3)
            read.options(name="twin")(4)
            read.options(name="opaque")({1, 2})
            read.options(name="late", soft_sla="soon")(5)
            read.options(name="join", join="most")(6)
            read.options(name="limit", retry_limit=-1)(7)
            read.options(name="slow", estimated_runtime="long", time_limit=-1)(8)
            first = read.options(name="first")(9)
            second = read.options(name="second")(first)
            first.after(second)

        found = problems(wire, priority="most", hard_sla="never", duplicates="maybe", key=17)
        for words in (
            "executor 'moon' is unknown; there are extract, ocr",
            "'urgent'",
            "'most' is neither",
            "two nodes are called 'twin'",
            "opaque: argument 'page' is of type set",
            "late: soft_sla",
            "hard_sla",
            "join: join rule 'most' is unknown; there are all_success",
            "limit: retry_limit",
            "slow: estimated_runtime must be seconds above 0, not 'long'",
            "slow: time_limit must be seconds above 0, not -1",
            "duplicates='maybe' is unknown",
            "key must be text, not 17",
        ):
            assert [problem for problem in found if words in problem], words
        cycle = next(problem for problem in found if "cycle" in problem)
        assert cycle in ("it has a cycle: first → second → first", "it has a cycle: second → first → second")
        assert len(found) == 14

    def test_may_be_one_that_calls_no_task(self):
        assert problems(lambda: None) == ["it calls no task"]

    def test_may_be_one_with_a_node_that_waits_for_itself(self):
        def wire():
            ref = read(1)
            ref.after(ref)

        assert problems(wire) == ["it has a cycle: read → read"]

    @pytest.mark.parametrize("use", [lambda ref: read(ref), lambda ref: read(1).after(ref)])
    def test_may_be_one_that_uses_a_reference_of_another(self, use):
        def other():
            return [read(1), read(2), read(3)]

        _, refs = dag(name="other")(other).build()
        assert problems(lambda: use(refs[2])) == ["read: the reference <read-3> belongs to another dag"]

    def test_may_be_one_that_returns_what_json_does_not_carry(self):
        def wire():
            read(1)
            return {1, 2}

        (problem,) = problems(wire)
        assert problem.startswith("what the dag returns is of type set")

    def test_may_be_one_whose_hard_sla_comes_before_the_soft_one(self):
        assert problems(lambda: read(1), soft_sla="2h", hard_sla="1h") == ["hard_sla is before soft_sla"]


class TestARetryPolicy:
    settings = Settings(
        retry=RetryPolicy(retry_limit=1, retry_delay=1, crash_limit=9),
        executors={"ocr": ExecutorSettings(retry_limit=5, retry_delay=2, retry_backoff=False)},
    )

    def test_comes_from_the_default(self):
        found = policy(compiled(lambda: split("a"), self.settings))
        assert found == self.settings.retry.model_dump()

    def test_comes_from_the_executor_before_the_default(self):
        found = policy(compiled(lambda: read(1), self.settings))
        assert (found["retry_limit"], found["retry_delay"], found["crash_limit"]) == (5, 2, 9)

    def test_comes_from_the_task_before_the_executor(self):
        found = policy(compiled(lambda: patient(), self.settings))
        assert (found["retry_limit"], found["retry_delay"], found["retry_backoff"]) == (7, 3, False)

    def test_comes_from_the_job_before_the_task(self):
        found = policy(compiled(lambda: patient.options(retry_limit=0)(), self.settings))
        assert (found["retry_limit"], found["retry_delay"]) == (0, 3)


def test_time_limits_come_from_the_job_before_the_executor():
    settings = Settings(executors={"ocr": ExecutorSettings(time_limit=60, soft_time_limit=50)})
    fields = compiled(lambda: read.options(time_limit=9)(1), settings).jobs[0].fields
    assert (fields["time_limit"], fields["soft_time_limit"]) == ("9", "50.0")
