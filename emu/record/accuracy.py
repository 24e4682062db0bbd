"""What chains are worth: those that the policy found, beside the truth at the same moment."""

from collections import Counter
from enum import StrEnum

from emu.record.plan import Addresses, Recording


class Accuracy(StrEnum):
    """A chain beside the true one."""

    RIGHT = "right"
    TRUNCATED = "truncated"
    """It ends too early, and is right as far as it goes."""
    BEYOND = "beyond"
    """It is right, and goes on where the stack has ended."""
    WRONG = "wrong"


def accuracy(found: Addresses, truth: Addresses) -> Accuracy:
    """Compare two chains; both begin with the interrupted address."""
    if found == truth:
        return Accuracy.RIGHT
    if found == truth[: len(found)]:
        return Accuracy.TRUNCATED
    return Accuracy.BEYOND if found[: len(truth)] == truth else Accuracy.WRONG


def judge(recording: Recording) -> Counter[Accuracy]:
    """Of all moments at which something was sampled."""
    return Counter(accuracy(each.found, each.truth) for each in recording.moments.values())
