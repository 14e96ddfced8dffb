"""`marie simulate`, as people and programs call it."""

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from marie_celery.cli import main
from marie_celery.cli.simulation import PLANNERS, simulate
from marie_celery.simulation import SCENARIOS, generate, to_records, to_text

MARIE = type(main)("marie", commands={"simulate": simulate})
SMALL = ("--jobs", "200", "--scenario", "bursty")

PLANNER_MODULE = """
from marie_celery.planning import HRRNExecutionPlanner

class Newest:
    def plan(self, jobs, slots, active_dags):
        return sorted(jobs, key=lambda job: job.job_id, reverse=True)

class Raises:
    def plan(self, jobs, slots, active_dags):
        raise KeyError("oh\\nno")

class Invents(Newest):
    def plan(self, jobs, slots, active_dags):
        return ["job 66"]

class NotANumber(Newest):
    def rank(self, job, now_ms):
        return float("nan"), None

class AlwaysOver(Newest):
    def rank(self, job, now_ms):
        return 1, now_ms

class OddRank(Newest):
    def rank(self, job, now_ms):
        return "first"

class Demanding(Newest):
    def __init__(self, colour):
        pass

class Ours(HRRNExecutionPlanner):
    pass
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with planners to import, and nothing left of them afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "strangers.py").write_text(PLANNER_MODULE)
    (tmp_path / "broken.py").write_text("class Planner(:")
    yield tmp_path
    sys.modules.pop("strangers", None)


def call(*arguments, **more):
    return CliRunner().invoke(MARIE, ["simulate", *map(str, arguments)], **more)


def figures(*arguments, **more):
    done = call(*arguments, "--json", **more)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refusal(*arguments, **more):
    """The one line of the error."""
    done = call(*arguments, **more)
    assert done.exit_code in (1, 2), done.output
    assert isinstance(done.exception, SystemExit)
    *before, line = done.stderr.strip().splitlines()
    assert not before or before[0].startswith("Usage:")
    assert line.startswith("Error: ")
    return line


def test_a_table_shows_every_planner_side_by_side_and_a_pipe_sees_no_progress():
    done = call(*SMALL)
    assert done.exit_code == 0
    assert done.stderr == ""
    rows = re.findall(r"^│ (\w+)", done.stdout, re.MULTILINE)
    assert tuple(rows) == PLANNERS
    assert done.stdout.startswith("bursty: ")
    assert all(len(line) <= 120 for line in done.stdout.splitlines())


def test_without_a_scenario_there_are_all_of_them():
    names = [each["workload"] for each in figures("--jobs", "50", "-p", "fifo")]
    assert names == list(SCENARIOS)


def test_programs_get_every_figure():
    (found,) = figures(*SMALL, "-p", "fifo", "-p", "slack")
    assert [result["planner"] for result in found["results"]] == ["fifo", "slack"]
    assert found["hard_slas"] > 0
    assert set(found["results"][0]) == {
        "planner", "hard_missed", "soft_missed", "weighted_tardiness", "mean_wait", "p99_wait",
        "longest_wait", "starved", "makespan", "utilisation", "reranks",
    }  # fmt: skip


def test_the_same_seed_gives_the_same_figures_and_another_one_others():
    assert figures(*SMALL, "--seed", 3) == figures(*SMALL, "--seed", 3) != figures(*SMALL, "--seed", 4)


@pytest.mark.parametrize(
    "change",
    [
        ("--load", 3),
        ("--arrivals", "poisson"),
        ("--shape", "fan=1", "--shape", "chain=3"),
        ("--sla", "1:2s:3s:high", "--sla", "2:-:-"),
        ("--runtime-tail", 1.2),
        ("--slots", "ocr=3"),
        ("--priority-mode", "user_first"),
        ("--level-mode", "critical_path"),
        ("--starvation-timeout", "12s"),
        ("--new-dag-share", 1),
    ],
)
def test_every_option_makes_a_difference(change):
    (changed,), (plain,) = figures(*SMALL, "-p", "global", *change), figures(*SMALL, "-p", "global")
    assert changed["results"] != plain["results"]


def test_a_scenario_that_was_changed_says_so():
    (found,) = figures(*SMALL, "--load", 0.9, "--slots", "ocr=9", "--slots", "extract=2", "-p", "fifo")
    assert found["workload"] == "bursty with load 0.9, slots ocr=9 extract=2"
    (unchanged,) = figures(*SMALL, "--seed", 9, "-p", "fifo")
    assert unchanged["workload"] == "bursty"


def test_ageing_can_be_turned_off():
    busy = (*SMALL, "-p", "static", "--starvation-timeout")
    (soon,), (never,) = figures(*busy, "1s"), figures(*busy, "0")
    assert soon["results"][0]["starved"] > 0 == never["results"][0]["starved"]


def test_the_patience_of_the_slack_planner_makes_a_difference():
    patient = figures(*SMALL, "-p", "slack")
    assert figures(*SMALL, "-p", "slack", "--slack-patience", "1m") != patient
    assert figures(*SMALL, "-p", "slack", "--slack-patience", "12h") == patient


def test_the_sla_classes_are_those_that_were_given():
    (found,) = figures(*SMALL, "--sla", "1:-:30s", "-p", "fifo")
    assert (found["hard_slas"], found["soft_slas"]) == (found["runs"], 0)


def test_a_saved_workload_gives_the_same_figures_again(tmp_path):
    saved = tmp_path / "day.jsonl"
    (made,) = figures(*SMALL, "--save", saved)
    (replayed,) = figures(saved)
    assert replayed == made | {"workload": str(saved)}


WORKLOAD = generate(replace(SCENARIOS["steady"], jobs=60), 1)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (to_text(WORKLOAD), {}),
        (json.dumps({"slots": dict(WORKLOAD.slots), "runs": to_records(WORKLOAD)}), {}),
        (json.dumps(to_records(WORKLOAD), indent=1), WORKLOAD.slots),
        ("\n".join(json.dumps(record) for record in to_records(WORKLOAD)), WORKLOAD.slots),
        ("\ufeff" + to_text(WORKLOAD).replace("\n", "\r\n"), {}),
    ],
    ids=["lines", "document", "list", "lines without slots", "from Windows"],
)
def test_a_recorded_workload_may_be_lines_or_a_document(text, slots):
    given = [part for name, number in slots.items() for part in ("--slots", f"{name}={number}")]
    (found,) = figures("-", *given, "-p", "fifo", input=text.encode())
    assert (found["workload"], found["jobs"]) == ("standard input", WORKLOAD.job_count)


def test_slots_on_the_command_line_win_over_those_of_the_file(tmp_path):
    path = tmp_path / "day.jsonl"
    path.write_text(to_text(WORKLOAD))
    assert figures(path, "--slots", "ocr=1") != figures(path)


def test_a_clock_that_begins_at_nought_gives_the_same_figures(tmp_path):
    begin_ms = WORKLOAD.runs[0].arrival_ms
    records = to_records(WORKLOAD)
    for record in records:
        for name in ("arrival_ms", "soft_sla_ms", "hard_sla_ms"):
            if record[name] is not None:
                record[name] -= begin_ms
    path = tmp_path / "day.json"
    path.write_text(json.dumps({"slots": dict(WORKLOAD.slots), "runs": records}))
    moved = figures(path)
    path.write_text(to_text(WORKLOAD))
    assert moved == figures(path)


def test_pages_and_pictures_are_written_on_request(tmp_path):
    page, picture = tmp_path / "a.html", tmp_path / "a.png"
    done = call(*SMALL, "--html", page, "--png", picture)
    assert done.stderr == f"wrote {page}\nwrote {picture}\n"
    assert page.read_text().count("<svg") == 9
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_name_from_outside_is_text_and_not_markup(here):
    path = here / "[red]<b>&.jsonl"
    path.write_text(to_text(WORKLOAD))
    done = call(path.name, "--html", "a.html", "-p", "fifo")
    assert "[red]<b>&.jsonl: " in done.stdout
    assert "<b>" not in (here / "a.html").read_text()
    assert "[red]&lt;b&gt;&amp;.jsonl" in (here / "a.html").read_text()


@pytest.mark.parametrize(
    "name", ["priority, estimated_runtime", "strangers:Newest", "strangers.Newest", "strangers:Ours"]
)
def test_a_planner_may_be_a_row_of_keys_or_a_class_in_this_folder(here, name):
    (found,) = figures(*SMALL, "-p", name, "-p", "fifo")
    composed, fifo = found["results"]
    assert composed["planner"] == name
    assert composed["mean_wait"] != fifo["mean_wait"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quickest", "there is no planner 'quickest'"),
        ("level, colour", "there is no sort key 'colour'"),
        ("nowhere:Planner", "'nowhere:Planner' cannot be imported"),
        ("broken:Planner", "the planner 'broken:Planner' failed: SyntaxError"),
        ("strangers:Demanding", "the planner 'strangers:Demanding' failed: TypeError"),
        ("strangers:Raises", "the planner 'strangers:Raises' failed: KeyError: 'oh\\nno'"),
        ("strangers:Invents", "the planner chose 'job 66', which is none of the jobs"),
        ("strangers:NotANumber", "gave job 00000000-00000 the rank NaN"),
        ("strangers:AlwaysOver", "gave job 00000000-00000 a rank that has ended already"),
        ("strangers:OddRank", "the planner 'strangers:OddRank' failed: ValueError"),
    ],
)
def test_a_planner_that_does_not_work_is_one_line(here, name, message):
    assert message in refusal(*SMALL, "-p", name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--jobs", 0), "0 is not in the range"),
        (("--load", 0), "load must be between 0.01 and 100, not 0.0"),
        (("--load", "nan"), "load must be between"),
        (("--runtime-tail", -1), "runtime_tail must be between"),
        (("--slots", "ocr"), "slots 'ocr' are not like 'ocr=16'"),
        (("--slots", "ocr=0"), "slots 'ocr=0' are not like"),
        (("--slots", "gpu=1"), "generated runs have no executor 'gpu', only extract, ocr, classify"),
        (("--shape", "chain"), "'chain' is not like 'chain=2'"),
        (("--shape", "ring=1"), "generated runs have no shape 'ring', only single,"),
        (("--shape", "chain=-1"), "the weight '-1' is no number from 0 up"),
        (("--shape", "chain=0"), "the weights of shapes must be numbers from 0 up, and not all 0"),
        (("--sla", "1:2s"), "the SLA class '1:2s' is not like"),
        (("--sla", "x:2s:3s"), "the weight 'x' is no number"),
        (("--sla", "1:soon:3s"), "soft SLA 'soon' is no duration"),
        (("--sla", "1:4s:3s"), "has its hard SLA before the soft one"),
        (("--sla", "1:4s:5s:urgent"), "priority 'urgent' is neither"),
        (("--scenario", "calm"), "'calm' is not one of"),
        (("--starvation-timeout", "soon"), "starvation timeout 'soon' is no duration"),
        (("--new-dag-share", 2), "2.0 is not in the range"),
        (("--save", "/tmp/never.jsonl"), "--save writes one workload"),
        (("--html", "/no/such/folder/a.html"), "there is no folder '/no/such/folder'"),
        (("--html", "/tmp"), "is a directory"),
        (("no-such-file.json",), "'no-such-file.json' does not exist"),
        (("--recorded",), "name the Celery app"),
        (("--recorded", "--load", "2"), "--load makes a workload, and this one is recorded"),
    ],
)
def test_bad_options_are_one_line(arguments, message):
    assert message in refusal(*arguments)


RUN = {"arrival_ms": 0, "jobs": [{"task": "t", "executor": "ocr", "runtime_ms": 1}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no runs in 'standard input'"),
        ("{", "line 1 of 'standard input' is no JSON"),
        ("[" * 100_000, "line 1 of 'standard input' is no JSON"),
        (b"\xff\xfe", "cannot read '-': 'utf-8' codec"),
        ('{"slots": {"ocr": 1}}\nnonsense', "line 2 of 'standard input' is no JSON"),
        ('{"slots": {"ocr": "many"}}', "the slots of 'standard input': ocr: Input should be a valid integer"),
        ('{"slots": 3, "runs": []}', "the slots of 'standard input': Input should be a valid dictionary"),
        ('{"runs": 3}', "the runs of 'standard input' are no list"),
        (json.dumps([RUN]), "'standard input' does not say how many slots each executor has"),
        ('{"slots": {"ocr": 1}}\n17', "run 1 of 'standard input': Input should be a valid dictionary"),
    ],
)
def test_a_file_that_is_no_workload_is_one_line(text, message):
    assert message in refusal("-", input=text)


def test_a_file_and_the_cluster_cannot_both_be_replayed():
    assert "not from both" in refusal("-", "--recorded", input="")
    assert "--seed makes a workload" in refusal("-", "--seed", "3", input="")


def test_without_pillow_a_picture_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert refusal("--png", tmp_path / "a.png") == "Error: --png needs Pillow: pip install pillow"


def test_a_file_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    target = tmp_path / ("x" * 300)
    assert "File name too long" in refusal(*SMALL, "-p", "fifo", "--html", target)


def test_a_terminal_sees_progress():
    ours, theirs = pty.openpty()
    command = "from marie_celery.cli.simulation import simulate; simulate()"
    arguments = [sys.executable, "-c", command, "--jobs", "2000", "-s", "steady", "-p", "fifo"]
    terminal = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=theirs, env=terminal) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # how Linux says that the other end is closed
            pass
        table = process.stdout.read()
        assert process.wait() == 0
    os.close(ours)
    assert b"steady: fifo" in seen
    assert b"steady: " in table
    assert b"steady: fifo" not in table
