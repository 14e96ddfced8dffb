from pathlib import Path

import pytest
import yaml
from celery import Celery

from marie_celery.config import ExecutorSettings, Settings, load_settings
from marie_celery.errors import ConfigError
from marie_celery.model.retry import RetryPolicy

SHIPPED = Path(__file__).parents[2] / "config" / "marie.yml"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "marie.yml"
    path.write_text("")
    return path


def load(file, conf=None, **environ):
    return load_settings(conf, environ=environ, file=file)


def refusal(file, conf=None, **environ):
    with pytest.raises(ConfigError) as refused:
        load(file, conf, **environ)
    return str(refused.value)


class TestTheShippedFile:
    content = yaml.safe_load(SHIPPED.read_text())

    def test_has_every_setting_and_no_other(self):
        assert set(self.content) == set(Settings.model_fields)
        assert set(self.content["retry"]) == set(RetryPolicy.model_fields)

    def test_says_the_defaults(self):
        assert self.content == Settings().model_dump(mode="json")
        assert load(SHIPPED) == Settings()

    def test_explains_every_key_on_the_line_above(self):
        lines = SHIPPED.read_text().splitlines()
        for number, line in enumerate(lines):
            if line and not line.lstrip().startswith("#"):
                assert lines[number - 1].lstrip().startswith("# "), line

    def test_shows_an_example_of_an_executor_that_is_accepted(self):
        text = SHIPPED.read_text()
        example = yaml.safe_load(text[text.index("# executors:") :].replace("\n# ", "\n").removeprefix("# "))
        settings = Settings(**example)
        assert settings.queue_of("ocr") == "ocr"
        assert set(example["executors"]["ocr"]) == set(ExecutorSettings.model_fields)


class TestPrecedence:
    def test_without_any_source_there_are_the_defaults(self, tmp_path):
        assert load(tmp_path / "missing.yml") == Settings()

    def test_the_file_wins_over_the_defaults(self, file):
        file.write_text("namespace: from-file")
        assert load(file).namespace == "from-file"

    def test_app_conf_wins_over_the_file(self, file):
        file.write_text("namespace: from-file\nmax_events: 7")
        settings = load(file, {"marie_namespace": "from-conf"})
        assert (settings.namespace, settings.max_events) == ("from-conf", 7)

    def test_the_environment_wins_over_app_conf(self, file):
        file.write_text("namespace: from-file")
        settings = load(file, {"marie_namespace": "from-conf"}, MARIE_NAMESPACE="from-environment")
        assert settings.namespace == "from-environment"

    def test_the_environment_can_name_the_file(self, file):
        file.write_text("namespace: elsewhere")
        assert load_settings(environ={"MARIE_CONFIG": str(file)}).namespace == "elsewhere"

    def test_values_of_the_environment_become_what_the_setting_is(self, file):
        settings = load(
            file,
            MARIE_DISTRIBUTED_SCHEDULER="false",
            MARIE_LEASE_TTL_SECONDS="2.5",
            MARIE_DEFAULT_PRIORITY="high",
            MARIE_EXECUTORS='{"ocr": {"queue": "gpu"}}',
        )
        assert settings.distributed_scheduler is False
        assert settings.lease_ttl_seconds == 2.5
        assert settings.default_priority == 80
        assert settings.queue_of("ocr") == "gpu"


class TestACeleryApp:
    def test_gives_what_its_conf_says(self, file):
        app = Celery("plain", set_as_current=False)
        app.conf.marie_namespace = "documents"
        assert load(file, app.conf).namespace == "documents"

    def test_gives_what_its_config_object_says(self, file):
        app = Celery("object", set_as_current=False)
        app.config_from_object({"broker_url": "redis://", "marie_namespace": "documents"})
        assert load(file, app.conf).namespace == "documents"

    def test_may_use_a_name_space_as_django_does(self, file):
        app = Celery("spaced", set_as_current=False)
        app.config_from_object(
            {"CELERY_BROKER_URL": "redis://", "CELERY_MARIE_NAMESPACE": "documents"}, namespace="CELERY"
        )
        app.conf.marie_max_events = 7
        settings = load(file, app.conf)
        assert (settings.namespace, settings.max_events) == ("documents", 7)

    def test_is_told_of_a_wrong_key_in_a_name_space_too(self, file):
        app = Celery("wrong", set_as_current=False)
        app.config_from_object(
            {"CELERY_BROKER_URL": "redis://", "CELERY_MARIE_NAMESPCE": "x"}, namespace="CELERY"
        )
        assert refusal(file, app.conf) == "unknown setting 'namespce' (did you mean 'namespace'?)"

    def test_may_hold_keys_of_others_that_contain_our_name(self, file):
        assert load(file, {"rosemarie_hello": 1}) == Settings()


class TestBadInput:
    def test_an_unknown_setting_is_one_line_with_the_nearest_name(self, file):
        file.write_text("lease_ttl_second: 3")
        assert refusal(file) == "unknown setting 'lease_ttl_second' (did you mean 'lease_ttl_seconds'?)"

    def test_all_problems_are_told_at_once(self, file):
        message = refusal(file, {"marie_max_events": 0, "marie_namespace": "a b", "marie_colour": "red"})
        assert "max_events" in message
        assert "namespace" in message
        assert "unknown setting 'colour'" in message

    def test_a_dispatch_lease_longer_than_the_run_lease_names_both(self, file):
        message = refusal(file, {"marie_lease_ttl_seconds": 90})
        assert message == "lease_ttl_seconds (90.0) must not exceed run_ttl_seconds (60.0)"

    def test_a_priority_that_nobody_knows_is_named(self, file):
        assert "'urgent'" in refusal(file, MARIE_DEFAULT_PRIORITY="urgent")

    def test_text_that_is_not_yaml_names_the_file(self, file):
        file.write_text("namespace: [")
        assert f"{file} is not valid YAML" in refusal(file)

    def test_a_file_must_hold_a_mapping(self, file):
        file.write_text("- namespace")
        assert refusal(file) == f"{file} must hold a mapping of settings"

    def test_a_file_named_in_the_environment_must_exist(self, tmp_path):
        missing = tmp_path / "nowhere.yml"
        with pytest.raises(ConfigError, match=r"MARIE_CONFIG names '.*nowhere.yml', which is not a file"):
            load_settings(environ={"MARIE_CONFIG": str(missing)})

    def test_broken_json_in_the_environment_names_the_variable(self, file):
        assert refusal(file, MARIE_EXECUTORS="{ocr").startswith("MARIE_EXECUTORS is not valid JSON")

    def test_an_unknown_field_of_an_executor_says_where_it_stands(self, file):
        assert "executors.ocr.colour" in refusal(file, {"marie_executors": {"ocr": {"colour": "red"}}})


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Settings().namespace = "other"


def test_three_heartbeats_fit_into_the_shorter_lease():
    assert Settings(lease_ttl_seconds=6).heartbeat_seconds == 2


def test_a_retry_policy_is_resolved_field_by_field():
    settings = Settings(
        retry=RetryPolicy(retry_limit=1, retry_delay=1, retry_max_delay=50),
        executors={"ocr": ExecutorSettings(retry_limit=5, retry_delay=10)},
    )
    policy = settings.retry_policy("ocr", {"retry_delay": 0, "retry_limit": None})
    assert (policy.retry_limit, policy.retry_delay, policy.retry_max_delay) == (5, 0, 50)
    assert settings.retry_policy("other", {}) == settings.retry
