"""Compares MessageIds with the standard library's UUID (RFC 9562)."""

from uuid import RFC_4122, UUID

from penstock.aws.message_id import as_text, make_message_id


def test_they_are_random_uuids_of_version_4() -> None:
    made = [make_message_id() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {(UUID(bytes=value).version, UUID(bytes=value).variant) for value in made} == {(4, RFC_4122)}


def test_their_text_is_the_usual_one() -> None:
    for value in (bytes(16), bytes(range(16)), b"\xff" * 16, make_message_id()):
        assert as_text(value) == str(UUID(bytes=value))
