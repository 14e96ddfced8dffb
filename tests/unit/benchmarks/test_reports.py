import pytest

from benchmarks.histogram import histogram, percentile
from benchmarks.report import Report


class TestPercentiles:
    @pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (0.999, 100), (1.0, 100), (0.0, 1)])
    def test_are_values_that_were_measured(self, share, value):
        assert percentile(range(100, 0, -1), share) == value

    def test_of_one_value_are_that_value(self):
        assert percentile([7.0], 0.5) == percentile([7.0], 0.999) == 7.0


class TestHistograms:
    def test_count_every_value_and_leave_no_bucket_out(self):
        lines = histogram([1.0] * 10 + [4.0] * 5)
        assert [line.split()[:3] for line in lines] == [
            ["1.00", "ms", "10"],
            ["1.41", "ms", "0"],
            ["2.00", "ms", "0"],
            ["2.83", "ms", "0"],
            ["4.00", "ms", "5"],
        ]
        assert lines[0].count("█") == 2 * lines[-1].count("█")

    def test_a_single_value_among_many_is_still_seen(self):
        assert histogram([1.0] * 1000 + [2.0])[-1].count("█") == 1

    def test_of_nothing_are_empty(self):
        assert histogram([]) == []


class TestReports:
    def test_a_missed_bar_is_told_and_gives_a_bad_exit_code(self, capsys):
        report = Report()
        report.line("fast", "1 ms", "≤ 2 ms", kept=True)
        report.line("slow", "3 ms", "≤ 2 ms", kept=False)
        report.line("shown", "4 ms", "as it is")
        assert report.end("anything", write=False) == 1
        assert capsys.readouterr().out.splitlines()[-1] == "missed: slow"
        assert [line.split("|")[3].strip() for line in report.markdown().splitlines()[2:]] == [
            "≤ 2 ms  ok",
            "≤ 2 ms  missed",
            "as it is",
        ]

    def test_without_a_missed_bar_the_exit_code_is_good(self):
        report = Report()
        report.line("fast", "1 ms", "≤ 2 ms")
        assert report.end("anything", write=False) == 0
