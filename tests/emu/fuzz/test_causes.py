"""Which buckets a known fault covers, and which it must not hide."""

from pathlib import Path

import pytest

from emu.errors import UsageError
from emu.fuzz.causes import cause_of, read_causes
from emu.fuzz.store import Bucket

ENTRY = """
[[fault]]
name = "test"
buckets = ['m clang: cfi wrong cfa by sp high after (add|ldp)( sp)?']
producers = ['clang 14\\..*']
fault = "by construction"
proof = "none"
"""
KEY = "m clang: cfi wrong cfa by sp high after add sp"


@pytest.mark.parametrize(
    ("key", "names", "covered"),
    [
        (KEY, ("as 2.40", "clang 14.0.6"), True),
        (KEY, ("as 2.40", "clang 14.0.6", "clang 14.0.7"), True),
        (KEY, ("clang 14.0.6", "clang 23.1.4"), False),  # another version has it, too
        (KEY, ("clang 14.0.6 given",), True),  # a tool of the user's has the faults of its release
        (KEY, ("clang 24.0 given",), False),
        (KEY, ("as 2.40",), False),
        (KEY + " ra", ("clang 14.0.6",), False),  # another bucket
        ("another " + KEY, ("clang 14.0.6",), False),
    ],
)
def test_matching(key: str, names: tuple[str, ...], covered: bool, tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(ENTRY)
    causes = [each for each in read_causes(str(tmp_path / "known.toml")) if each.name == "test"]
    assert (cause_of(Bucket(key, 1, names, 1), causes) is not None) == covered


def test_several_causes_share_a_bucket(tmp_path: Path) -> None:
    """Two versions have it for two reasons; a third one has none that is known."""
    text = ENTRY + ENTRY.replace("14", "23").replace('"test"', '"other"')
    (tmp_path / "known.toml").write_text(text)
    causes = read_causes(str(tmp_path / "known.toml"))
    both = Bucket(KEY, 1, ("clang 14.0.6", "clang 23.1.4"), 1)
    cause = cause_of(both, causes)
    assert cause is not None
    assert cause.name == "test"
    assert cause_of(Bucket(KEY, 1, (*both.names, "clang 24.1"), 1), causes) is None


def test_packaged_entries_have_proofs() -> None:
    causes = read_causes(None)
    assert len({each.name for each in causes}) == len(causes)
    for cause in causes:
        assert len(cause.proof.strip().splitlines()) >= 3, cause.name
        # A pattern that matches anything hides what is new.
        assert not any(pattern.fullmatch("m f: cfi x y after z") for pattern in cause.buckets)


@pytest.mark.parametrize("text", ["[[fault]]\nname = 3\n", "[[fault]", '[[fault]]\nname = "x"\n'])
def test_malformed(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(UsageError, match=r"bad\.toml: no list of faults"):
        read_causes(str(tmp_path / "bad.toml"))
    with pytest.raises(UsageError, match="cannot be read"):
        read_causes(str(tmp_path / "absent.toml"))
