"""The arithmetic and the printing of the comparison with peers; the measuring itself needs the peers."""

from xml.etree import ElementTree

import pytest

from benchmarks.compare import charts
from benchmarks.page import PAGE, replace_between
from benchmarks.peers.bars import BARS, judge
from benchmarks.peers.chart import bar_chart
from benchmarks.peers.figures import Results, Spread, number
from benchmarks.peers.systems import SYSTEMS
from benchmarks.peers.tables import bars_table, choices_table, figures_table, ratios_table, report, table
from benchmarks.peers.workloads import CHAIN, CHORD, FLOOD, LAYERED, WORKLOADS, expected


@pytest.fixture
def results():
    """Ours takes 1, 2 and 4 s for the layers, Celery 40, 120 and 200 s."""
    made = Results(machine={"processors": "2"})
    for ours, theirs in ((1.0, 40.0), (2.0, 120.0), (4.0, 200.0)):
        made.add("marie", {"layered": ours, "chain": 0.1})
        made.add("celery", {"layered": theirs, "chain": 1.0})
    return made


class TestWorkloads:
    def test_know_how_many_jobs_they_are(self):
        assert [one.jobs for one in (FLOOD, CHAIN, CHORD, LAYERED)] == [2_000, 200, 1_001, 1_010]

    def test_a_chain_is_told_in_milliseconds_per_hop_and_the_others_in_jobs_a_second(self):
        assert CHAIN.figure(0.5) == 2.5
        assert LAYERED.figure(2.0) == 505

    def test_the_answers_depend_on_every_job(self):
        assert expected("flood", (3,)) == expected("chord", (3,)) == 1 + 2 + 3
        assert expected("chain", (7,)) == 7
        assert expected("layered", (2, 3)) == (6 + 1) + (6 + 2) + (6 + 3)

    @pytest.mark.parametrize("name", WORKLOADS)
    def test_the_warm_up_is_the_same_in_small(self, name):
        workload = WORKLOADS[name]
        assert len(workload.warm_up) == len(workload.sizes)
        assert all(small < large for small, large in zip(workload.warm_up, workload.sizes, strict=True))


class TestFigures:
    def test_a_spread_shows_the_median_and_both_ends(self):
        assert str(Spread.of([3.0, 1.0, 250.0])) == "3.00 (1.00–250)"

    @pytest.mark.parametrize(
        ("value", "text"), [(0.2, "0.20"), (9.99, "9.99"), (12.34, "12.3"), (1234.5, "1 234"), (1e6, "1 000 000")]
    )
    def test_numbers_have_the_digits_that_count(self, value, text):
        assert number(value) == text

    def test_a_ratio_is_taken_within_each_round(self, results):
        # The ratio of the medians would be 60 too, but its ends would not be 40 and 60.
        assert results.speed("layered", "marie", "celery") == Spread(50.0, 40.0, 60.0)

    def test_a_system_with_fewer_rounds_is_compared_in_the_rounds_that_it_has(self, results):
        results.add("dask", {"layered": 3.0})
        assert results.speed("layered", "marie", "dask") == Spread(3.0, 3.0, 3.0)

    def test_what_was_not_measured_has_no_figure(self, results):
        assert results.speed("layered", "marie", "rq") is None
        assert results.figures(FLOOD, "marie") is None

    def test_a_system_that_failed_once_is_not_shown(self, results):
        results.skip("celery", "no answer")
        assert results.figures(LAYERED, "celery") is None
        assert results.skipped == {"celery": "no answer"}

    def test_they_come_back_from_a_file_as_they_were(self, results):
        results.skip("rq", "there is no rq")
        assert Results.from_json(results.to_json()) == results


class TestBars:
    def test_are_met_or_not_by_the_median_of_the_rounds(self, results):
        words = {verdict.bar.text: (verdict.reached, verdict.word) for verdict in judge(results)}
        assert words["layered, against Celery's canvas"] == ("50.0 ×", "met")
        assert words["hop of the chain, against Celery"] == ("10.0 ×", "not met")
        assert words["layered, against Dask"] == ("–", "not measured")

    def test_name_systems_and_workloads_that_exist(self):
        for bar in BARS:
            assert {bar.ours, bar.theirs} <= SYSTEMS.keys()
            assert bar.workload in WORKLOADS


class TestTables:
    def test_are_lined_up(self):
        assert table(["a", "bb"], [["long", "c"]]).splitlines() == [
            "| a    | bb |",
            "|------|----|",
            "| long | c  |",
        ]

    def test_show_each_measured_system_and_leave_a_dash_for_what_it_did_not_run(self, results):
        rows = figures_table(results).splitlines()[2:]
        assert [row.split("|")[1].strip() for row in rows] == ["marie_celery", "Celery"]
        assert rows[0].split("|")[2].strip() == "–"
        assert rows[0].split("|")[3].strip() == "0.50 (0.50–0.50)"

    def test_do_not_compare_us_with_ourselves(self, results):
        (row,) = ratios_table(results).splitlines()[2:]
        assert row.startswith("| Celery")
        assert "50.0 (40.0–60.0)" in row

    def test_tell_each_bar_and_each_choice(self, results):
        assert len(bars_table(results).splitlines()) == 2 + len(BARS)
        assert len(choices_table().splitlines()) == 2 + len(SYSTEMS)

    def test_a_report_says_what_is_missing_and_why(self, results):
        results.skip("bullmq", "there is no node and npm on the PATH")
        assert report(results).endswith("Not shown: BullMQ flows (there is no node and npm on the PATH).")


class TestCharts:
    def test_the_longest_bar_is_the_largest_value_and_the_others_are_in_proportion(self):
        drawn = ElementTree.fromstring(bar_chart("jobs < a second", [("we", 400.0, True), ("they", 100.0, False)]))
        first, second = [float(bar.attrib["width"]) for bar in drawn.iter() if bar.tag.endswith("rect")]
        assert first == 4 * second
        assert "jobs < a second" in "".join(drawn.itertext())

    def test_are_drawn_for_the_workloads_that_were_measured(self, results):
        drawn = charts(results)
        assert set(drawn) == {"performance-chain.svg", "performance-layered.svg"}
        assert ">2 000<" in drawn["performance-chain.svg"]  # 0.5 ms per hop


class TestThePage:
    def test_says_how_each_system_is_run(self):
        text = PAGE.read_text()
        assert replace_between(text, "choices", choices_table()) == text

    @pytest.mark.parametrize("part", ["compare", "latency", "growth", "floor", "costs"])
    def test_has_a_place_for_each_benchmark(self, part):
        assert "text" in replace_between(PAGE.read_text(), part, "text")

    def test_what_is_between_the_marks_is_replaced_and_the_rest_stays(self):
        text = "before\n<!-- compare -->\nold\n<!-- /compare -->\nafter"
        assert replace_between(text, "compare", "new\n") == (
            "before\n<!-- compare -->\n\nnew\n\n<!-- /compare -->\nafter"
        )

    def test_writing_twice_is_writing_once(self):
        once = replace_between("<!-- a --><!-- /a -->", "a", "text")
        assert replace_between(once, "a", "text") == once

    @pytest.mark.parametrize("text", ["", "<!-- a -->", "<!-- /a --><!-- a -->", "<!-- a --><!-- a --><!-- /a -->"])
    def test_a_page_without_the_marks_is_refused(self, text):
        with pytest.raises(ValueError, match="needs the marks"):
            replace_between(text, "a", "text")
