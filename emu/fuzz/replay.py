"""Stored builds are judged again: from their bytes, or made anew by the same tools."""

from dataclasses import dataclass, replace

from emu.errors import UnwindlabError
from emu.fuzz.judge import judge_object
from emu.fuzz.making import Workshop
from emu.fuzz.store import Store, Stored
from emu.fuzz.symptom import Symptom
from emu.fuzz.tools import ToolError


@dataclass(frozen=True, slots=True)
class Replayed:
    """One build, then and now."""

    stored: Stored
    before: tuple[Symptom, ...]
    """What an object alone can show of the stored symptoms; not whose fault they are."""
    now: tuple[Symptom, ...]
    rebuilt: str = ""
    """``same`` or ``other`` bytes, if it was made anew."""

    @property
    def same(self) -> bool:
        """The verdict has not changed."""
        return self.before == self.now


def replay(store: Store, number: int, rebuild: bool) -> Replayed:
    """Judge a build again.

    Raises:
        UsageError: there is none of that number, or it had no object.
        ToolError: it cannot be made anew: its tools are gone, or refuse the source.
        UnwindlabError: the object cannot be judged.
    """
    stored = store.build(number)
    if not stored.object:
        raise UnwindlabError(f"{store.path}: build {number}: {stored.status}: {stored.detail}")
    data, rebuilt = stored.object, ""
    if rebuild:
        source, _, _, _ = store.source(stored.source)
        try:
            with Workshop() as shop:
                data = shop.make(source, stored.point).object
        except ToolError as error:
            raise ToolError(f"{store.path}: build {number}: {error}") from error
        rebuilt = "same" if data == stored.object else "other"
    now = tuple(judge_object(data).symptoms)
    before = tuple(
        replace(each, whose="") for each in stored.symptoms
        if each.by == "sweep" and each.oracle != "assemblers"
    )  # fmt: skip
    return Replayed(stored, before, now, rebuilt)
