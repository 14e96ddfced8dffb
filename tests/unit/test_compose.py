import json
import re
import shlex
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from marie_celery.cli import marie

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SCHEMA = json.loads((Path(__file__).parent / "compose_schema.json").read_text())
SERVICES = COMPOSE["services"]
DOCKERFILE = (ROOT / "config/Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = {name: shlex.split(service["command"]) for name, service in SERVICES.items() if name != "redis"}


def test_the_file_fits_the_compose_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(COMPOSE)


def test_the_schema_refuses_a_key_that_compose_does_not_know():
    broken = {"services": {"redis": {"image": "redis", "comand": "redis-server"}}}
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        jsonschema.Draft202012Validator(SCHEMA).validate(broken)


def test_there_is_redis_a_scheduler_a_worker_per_executor_and_flower():
    assert set(SERVICES) == {"redis", "scheduler", "extract", "ocr", "classify", "flower"}


@pytest.mark.parametrize("name", OURS)
def test_every_command_is_one_that_the_command_line_has(name):
    program, _, app, verb, *rest = OURS[name]
    assert (program, app) == ("celery", "workers")
    if verb == "marie":
        verb, *options = rest
        command = marie.commands[verb]
        known = {text for parameter in command.params for text in parameter.opts}
        assert {option for option in options if option.startswith("-")} <= known
    else:
        assert verb == "flower"


@pytest.mark.parametrize("executor", ["extract", "ocr", "classify"])
def test_each_worker_serves_the_executor_it_is_named_after(executor):
    assert OURS[executor][-2:] == ["--executor", executor]


def test_everything_waits_until_redis_is_healthy():
    assert "healthcheck" in SERVICES["redis"]
    for name in OURS:
        assert SERVICES[name]["depends_on"]["redis"]["condition"] == "service_healthy"


def test_what_a_service_depends_on_is_there():
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)


def test_the_files_that_are_built_from_or_mounted_are_there():
    for service in SERVICES.values():
        if "build" in service:
            assert (ROOT / service["build"]["dockerfile"]).is_file()
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (ROOT / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"]


def test_redis_keeps_a_log_and_evicts_nothing():
    lines = (ROOT / "config/redis.conf").read_text().splitlines()
    assert {"appendonly yes", "maxmemory-policy noeviction"} <= set(lines)


def test_the_image_has_all_that_it_is_built_from():
    for line in re.findall("^COPY (.*)", DOCKERFILE, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists()
    copied = re.findall(r"\S+", " ".join(re.findall("^COPY (.*) ", DOCKERFILE, re.MULTILINE)))
    assert {"pyproject.toml", PROJECT["readme"], *PROJECT["license-files"], "marie_celery", "workers"} <= set(copied)


def test_the_image_has_flower_and_what_the_example_needs():
    (extras,) = re.findall(r"pip install .*\.\[(.*)\]", DOCKERFILE)
    assert set(extras.split(",")) == {"flower", "example"}
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_image_has_a_python_that_will_do():
    (version,) = re.findall(r"^FROM python:3\.(\d+)", DOCKERFILE, re.MULTILINE)
    assert int(version) >= int(PROJECT["requires-python"].rpartition(".")[2])


def test_the_image_has_the_files_that_commands_name():
    for words in OURS.values():
        for word in words:
            if word.startswith("--conf="):
                path = word.removeprefix("--conf=")
                assert (ROOT / path).is_file()
                assert f"COPY {path.partition('/')[0]} " in DOCKERFILE


def test_flower_knows_all_of_its_settings():
    from flower.options import options

    names = {"address", "port", "max_tasks"}
    settings = {}
    exec((ROOT / "config/flowerconfig.py").read_text(), settings)
    assert {name for name in settings if not name.startswith("__")} == names
    assert names <= set(options)
    (published,) = SERVICES["flower"]["ports"]
    assert published.endswith(f":{settings['port']}")
    assert published.startswith("127.0.0.1:"), "Flower has no password"


def test_workers_read_the_files_that_other_workers_name():
    assert {tuple(SERVICES[name]["volumes"]) for name in ("extract", "ocr", "classify")} == {("post:/post",)}
