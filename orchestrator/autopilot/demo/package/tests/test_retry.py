import pytest

from shopkit.retry import Breaker, GaveUp, Policy, call, jittered, may_pass, retry_after


class Flaky:
    """Fails some times, then returns how often it was called."""

    def __init__(self, failures, error=ConnectionError):
        self.failures = failures
        self.error = error
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error("no line")
        return self.calls


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (Policy(), [0.5, 1.0, 2.0]),
        (Policy(tries=1), []),
        (Policy(tries=3, first_delay=10, factor=3, longest=25), [10, 25]),
        (Policy(tries=2, first_delay=40), [30]),
    ],
)
def test_delays(policy, delays):
    assert list(policy.delays()) == delays
    assert policy.longest_wait() == sum(delays)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 599])
def test_may_pass(status):
    assert may_pass(status)


@pytest.mark.parametrize("status", [200, 400, 404, 499, 501, 600])
def test_will_not_pass(status):
    assert not may_pass(status)


@pytest.mark.parametrize(
    ("header", "wait"),
    [(None, None), ("7", 7.0), (" 30 ", 30.0), ("500", 120.0), ("0", 0.0), ("-1", None), ("soon", None)],
)
def test_retry_after(header, wait):
    assert retry_after(header) == wait


def test_retry_after_with_another_ceiling():
    assert retry_after("500", ceiling=300) == 300


@pytest.mark.parametrize(("chance", "expected"), [(0, 5.0), (0.5, 10.0), (1, 15.0), (0.25, 7.5)])
def test_jittered(chance, expected):
    assert jittered(10, chance) == expected


def test_jittered_less():
    assert jittered(10, 1, spread=0.1) == pytest.approx(11)


@pytest.mark.parametrize("chance", [-0.1, 1.1])
def test_chances_outside(chance):
    with pytest.raises(ValueError, match="between 0 and 1"):
        jittered(10, chance)


@pytest.mark.parametrize(("failures", "waits"), [(0, []), (1, [0.5]), (3, [0.5, 1.0, 2.0])])
def test_call_waits_between_tries(failures, waits):
    waited = []
    assert call(Flaky(failures), Policy(), waited.append) == failures + 1
    assert waited == waits


def test_call_gives_up():
    waited = []
    with pytest.raises(GaveUp, match="4 times") as caught:
        call(Flaky(4), Policy(), waited.append)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert len(waited) == 3


def test_other_errors_are_not_tried_again():
    flaky = Flaky(1, KeyError)
    with pytest.raises(KeyError):
        call(flaky, Policy(), lambda _: None)
    assert flaky.calls == 1


def test_breaker_opens_after_failures_in_a_row():
    breaker = Breaker(limit=2)
    breaker.failed(100)
    assert breaker.allows(100)
    breaker.failed(101)
    assert not breaker.allows(102)


@pytest.mark.parametrize(("now", "allowed"), [(101, False), (159, False), (160, True), (161, True)])
def test_breaker_rests(now, allowed):
    breaker = Breaker(limit=1)
    breaker.failed(100)
    assert breaker.allows(now) is allowed


def test_success_closes_the_breaker():
    breaker = Breaker(limit=2)
    breaker.failed(100)
    breaker.failed(101)
    breaker.succeeded()
    assert breaker.allows(102)
    breaker.failed(103)
    assert breaker.allows(104)
