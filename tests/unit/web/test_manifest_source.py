"""Tests how Penstock reads the file penstock.yaml, and that each error names its line and its path
(docs/guides/penstock_file.md)."""

import pytest

from penstock_web.local_error import LocalError
from penstock_web.manifest.source import read_text

BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "the file has more than 200,000 values, including aliases"),
        ("a: &a [*a]", "values are nested more than 50 levels deep, or contain themselves"),
        ("queues: " + "[" * 5_000, "values are nested more than 50 levels deep, or contain themselves"),
        ("queues: {q: {attributes: " + "[" * 60 + "]" * 60 + "}}", "values are nested more than 50 levels deep"),
    ],
    ids=["aliases", "recursive", "deep", "levels"],
)
def test_a_hostile_file_is_refused_in_a_line(text: str, reason: str) -> None:
    with pytest.raises(LocalError) as error:
        read_text(text, "penstock.yaml")
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_aliases_are_allowed() -> None:
    manifest = read_text("queues: {a: &a {attributes: {DelaySeconds: 1}}, b: *a}", "penstock.yaml").manifest
    assert manifest.queues["a"] == manifest.queues["b"]


def test_all_mistakes_are_named() -> None:
    text = "quues: {}\nqueues:\n  a: {atributes: {}}\n  b: {attributes: {DelaySeconds: -1}}\ntopics: [x]\n"
    with pytest.raises(LocalError) as error:
        read_text(text, "f").refuse()
    assert [line.partition(" ")[0] for line in str(error.value).splitlines()] == ["f:1:", "f:3:", "f:5:", "f:4:"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("queues: {'a b': {}, 'c d': {}, ok: {nope: 1}}", ["'nope'", "(queues.a b)", "(queues.c d)"]),
        ("queues: {'a b': {nope: 1, wrong: null}}", ["'nope'", "'wrong'", "(queues.a b)"]),
        ("queues: {'a b': [x]}\ntopics: {'c d': 1}\nschedules: {'e f': 2}", [
            "expected `object`, got `array`", "(queues.a b)", "expected `object`, got `int`", "(topics.c d)",
            "expected `object`, got `int`", "(schedules.e f)",
        ]),
        ("queues: {a: {tags: [x], nope: 1, attributes: {DelaySeconds: -1}}}", ["expected", "'nope'", "DelaySec"]),
        ("topics:\n t:\n  subscriptions:\n  - {quue: a, x: 1}\n  - {}\n  - {queue: b, y: 2}", [
            "f:4: 'quue'", "f:4: 'x'", "f:5: a subscription must have", "f:6: 'y'",
        ]),
        ("users: {u: {policy: [read], polices: [read]}}", ["'policy'", "'polices'"]),
        ("queues: {w: {archive: 1, mappings: [{function: f, filter: {a: 1}, batch: 1}], dead_letters: {max: 1}}}", [
            "'archive' is not allowed here. Allowed: attributes, dead_letters", "Did you mean 'filters'?",
            "Did you mean 'batch_size'?", "Allowed: max_receives, queue (",
        ]),
        (("topics:\n t:\n  subscriptions:\n  - {queue: a, raw: maybe}\n  - {url: notaurl}\n  - {queue: a, raw: 1}\n"
          "  - {queue: good, filter: {k: [{suffixx: a}]}}"), [
            "f:4: expected `bool`", "f:6: expected `bool`", "f:5: Penstock cannot use this url", "f:7: ",
        ]),
        (("queues: {a.fifo: {dead_letters: {queue: b, max_receives: 1}}, b: {dead_letters: {queue: 'arn:a.fifo', "
          "max_receives: 1}}}"), ["(queues.a.fifo.dead_letters.queue)", "(queues.b.dead_letters.queue)"]),
        (("users: {u: {policies: [read, writ, {Statement: [{Effect: Denny, Action: 'sqs:Send*', Resource: '*'}]}, "
          "{Statement: [{Effect: Deny, Action: 'sqs:SendMessageBatch', Resource: '*'}]}, {Statement: [{Effect: Allow, "
          "Action: 'sqs:Fly', Resource: '*'}]}]}}"), [
            "(users.u.policies.1)", "not 'Denny' (users.u.policies.2", "(users.u.policies.3", "(users.u.policies.4",
        ]),
        ("queues:\n a: {attributes: {VisibilityTimeout: abc, DelaySeconds: 100000, MaximumMessageSize: 5, Nope: 1}}", [
            "(queues.a.attributes.VisibilityTimeout)", "(queues.a.attributes.DelaySeconds)",
            "(queues.a.attributes.MaximumMessageSize)", "(queues.a.attributes.Nope)",
        ]),
        ("queues: {a: {attributes: {KmsMasterKeyId: k, SqsManagedSseEnabled: true, DelaySeconds: -1}}}", [
            "(queues.a.attributes.DelaySeconds)", "You can use one type of server-side encryption",
        ]),
        ("topics: {t: {attributes: {Nope: 1, FifoThroughputScope: Topic, TracingConfig: x}}}", [
            "(topics.t.attributes.Nope)", "(topics.t.attributes.FifoThr", "(topics.t.attributes.TracingConfig)",
        ]),
        ("queues: {a: {tags: {'': x, k: " + "v" * 257 + "}}}", ["(queues.a.tags.)", "(queues.a.tags.k)"]),
        ("queues: {a: {events: [{pattern: 'a..b', filter: {a: 1}}]}}", ["events.0.pattern)", "events.0.filter.a)"]),
        ("queues: {a: {mappings: [{function: a b, batch_size: 20, filters: [{a: 1}, {}, {b: 1}], tags: {'': x}}]}}", [
            "Maximum batch window", "mappings.0.filters.0", "mappings.0.filters.2", "mappings.0.tags.",
            "mappings.0.function)",
        ]),
        (("schedules:\n s:\n  {every: 1y, timezone: Mars, jitter_secs: -1, start_at: x, nope: 1, target: {queue: b c, "
          "message: m, headers: 1, x: 1}}"), [
            "(schedules.s.target.headers)", "(schedules.s.target.x)", "expected `int` >= 0 (schedules.s.jitter_secs)",
            "'nope' is not allowed here", "(schedules.s.every)", "(schedules.s.timezone)", "(schedules.s.start_at)",
            "(schedules.s.target.queue)",
        ]),
        ("schedules: {s: {every: 5, jitter_secs: 0}, t: {every: 1h, cron: '* * * * *', target: {}}}", [
            "(schedules.s.every)", "target: required (schedules.s)", "exactly one of cron, every",
            "(schedules.t.target)",
        ]),
        (("schedules: {s: {every: 1h, start_at: '2030-01-02T00:00:00Z', end_at: '2030-01-01T00:00:00Z', "
          "target: {topic: a.b, message: 1}}}"), ["end_at: must be later"]),
        (("topics: {t: {subscriptions: [{url: notaurl}, {url: 'https://e.com', filter: {a: 1}}, {queue: a.fifo, "
          "filter: {b: 1}}, {url: 'https://'}]}, u.fifo: {subscriptions: [{url: 'https://e.com'}]}}"), [
            "(topics.t.subscriptions.0.url)", "(topics.t.subscriptions.1.filter.a)", "(topics.t.subscriptions.2.queue)",
            "(topics.t.subscriptions.2.filter.b)", "(topics.t.subscriptions.3.url)",
            "(topics.u.fifo.subscriptions.0.url)",
        ]),
    ],
)  # fmt: skip
def test_each_part_of_an_entry_is_checked(text: str, said: list[str]) -> None:
    with pytest.raises(LocalError) as error:
        read_text(text, "f").refuse()
    lines = str(error.value).splitlines()
    assert len(lines) == len(said), lines
    for line, part in zip(lines, said, strict=True):
        assert part in line, lines
