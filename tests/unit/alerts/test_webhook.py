"""The webhook against a real server on this machine, and what it refuses before it reaches one."""

from __future__ import annotations

import ssl
import threading
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import trustme

from marie_celery.alerts.alert import Alert
from marie_celery.alerts.webhook import Webhook
from marie_celery.errors import ConfigError
from tests.unit.alerts.receiver import Receiver

ALERT = Alert(
    kind="sla.soft_missed",
    run="0123456789abc",
    at=1_767_268_800_000,
    dag="invoice",
    state="active",
    priority=50,
    soft_sla=1_767_268_700_000,
    labels={"team": "billing"},
)


def here(*_: object) -> list[str]:
    return ["127.0.0.1"]


def test_an_alert_is_posted_as_json() -> None:
    with Receiver() as receiver:
        Webhook(receiver.url(), allow_private=True)(ALERT)
    ((path, headers, body),) = receiver.posts
    assert path == "/hook?key=secret"
    assert headers["Content-Type"] == "application/json"
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert body == {
        "kind": "sla.soft_missed",
        "run": "0123456789abc",
        "at": 1_767_268_800_000,
        "dag": "invoice",
        "state": "active",
        "priority": 50,
        "soft_sla": 1_767_268_700_000,
        "hard_sla": None,
        "key": "",
        "labels": {"team": "billing"},
        "text": "run 0123456789abc of dag 'invoice' has missed its soft SLA",
    }


def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    looked_up: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["203.0.113.1"]

    with Receiver() as receiver:
        Webhook(receiver.url("hooks.invalid"), allow_private=True, resolver=resolver)(ALERT)
    ((_, headers, _),) = receiver.posts
    assert headers["Host"] == f"hooks.invalid:{receiver.port}"
    assert looked_up == ["hooks.invalid"], "the name was looked up once; the system does not know it at all"


def test_a_name_that_leads_into_a_private_network_is_never_connected_to() -> None:
    with Receiver() as receiver, pytest.raises(PermissionError, match="loopback"):
        Webhook(receiver.url("hooks.example"), resolver=here)(ALERT)
    assert receiver.posts == []


def test_the_next_address_is_tried_if_one_does_not_answer() -> None:
    with Receiver() as receiver:
        Webhook(receiver.url("h"), allow_private=True, resolver=lambda *_: ["127.0.0.2", "127.0.0.1"])(ALERT)
    assert len(receiver.posts) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    with Receiver(status) as receiver, pytest.raises(HTTPException, match=f"{status}, and redirects"):
        Webhook(receiver.url(), allow_private=True)(ALERT)
    assert len(receiver.posts) == 1


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_refusal_is_an_error(status: int) -> None:
    with Receiver(status) as receiver, pytest.raises(HTTPException, match=f"the answer was {status}"):
        Webhook(receiver.url(), allow_private=True)(ALERT)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_every_success_is_one(status: int) -> None:
    with Receiver(status) as receiver:
        Webhook(receiver.url(), allow_private=True)(ALERT)


def test_nobody_there_is_an_error() -> None:
    with Receiver() as receiver:
        url = receiver.url()
    with pytest.raises(OSError, match="refused"):
        Webhook(url, allow_private=True)(ALERT)


class TestASlowReceiver:
    def test_that_says_nothing_is_given_up(self) -> None:
        over = threading.Event()
        with Receiver(answer=lambda _: (over.wait(20), None)[1]) as receiver:
            with pytest.raises(TimeoutError):
                Webhook(receiver.url(), allow_private=True, silence_seconds=0.1)(ALERT)
            over.set()

    def test_that_never_stops_talking_is_given_up(self) -> None:
        over = threading.Event()

        def drip(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not over.wait(0.02):
                handler.wfile.write(b"x")

        with Receiver(answer=drip) as receiver:
            with pytest.raises(TimeoutError, match=r"no whole answer in 0\.3 s"):
                Webhook(receiver.url(), allow_private=True, silence_seconds=5, whole_seconds=0.3)(ALERT)
            over.set()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For hooks.example alone, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority")
    authority.issue_cert("hooks.example").private_key_and_cert_chain_pem.write_to_path(folder / "both.pem")
    return folder / "both.pem"


class TestTls:
    @pytest.fixture
    def receiver(self, certificate: Path) -> Receiver:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        return Receiver(context=context)

    @pytest.fixture
    def trust(self, certificate: Path) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(certificate.parent / "authority"))

    def test_the_certificate_is_checked_against_the_name_not_the_address(
        self, receiver: Receiver, trust: ssl.SSLContext
    ) -> None:
        with receiver:
            url = receiver.url("hooks.example", "https")
            Webhook(url, allow_private=True, resolver=here, context=trust)(ALERT)
        assert len(receiver.posts) == 1

    def test_the_certificate_of_another_host_is_refused(self, receiver: Receiver, trust: ssl.SSLContext) -> None:
        with receiver, pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            url = receiver.url("other.example", "https")
            Webhook(url, allow_private=True, resolver=here, context=trust)(ALERT)
        assert receiver.posts == []

    def test_a_certificate_that_nobody_vouches_for_is_refused(self, receiver: Receiver) -> None:
        with receiver, pytest.raises(ssl.SSLCertVerificationError):
            Webhook(receiver.url("hooks.example", "https"), allow_private=True, resolver=here)(ALERT)
        assert receiver.posts == []


class TestTheUrl:
    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("ftp://h/x", "must begin with http:// or https://, not 'ftp'"),
            ("file:///etc/passwd", "not 'file'"),
            ("hooks.example/x", "must begin with http"),
            ("http://", "names no host"),
            ("http:///path", "names no host"),
            ("http://h:99999/", "is no URL"),
            ("http://h:0/", "names no port"),
            ("http://h:x/", "is no URL"),
            ("http://[::1", "is no URL"),
            ("http://user:word@h/", "a user or a password"),
            ("http://h/\r\nX-Evil: 1", "a blank or a control character"),
            ("http://h/a b", "a blank"),
            ("http://h/ä", "write them as %"),
            ("http://127.0.0.1/", "which is loopback; set alert_allow_private"),
            ("http://[::1]/", "which is loopback"),
            ("http://[::ffff:10.0.0.1]/", "which is private"),
            ("http://169.254.169.254/latest", "which is link-local"),
        ],
    )
    def test_a_bad_one_is_refused_at_once(self, url: str, words: str) -> None:
        with pytest.raises(ConfigError, match=r"^alert_webhook") as error:
            Webhook(url)
        assert words in str(error.value)
        assert "word@" not in str(error.value)

    def test_is_not_shown_as_a_whole_because_paths_are_secrets(self) -> None:
        assert repr(Webhook("https://hooks.example/T0/B0/secret")) == "webhook https://hooks.example:443"
