#!/usr/bin/env python3
"""One instruction for each mnemonic and form of operands in a disassembly.

    objdump -d -w FILE... | python tests/support/first_of_each.py > tests/data/flow/NAME.txt

A line is: address, bytes as objdump prints them, text. Vector instructions beyond SSE are
kept once for each ten, data (directives, prefixes that no compiler writes) not at all.
"""

import re
import sys
from collections.abc import Iterable, Iterator

_LINE = re.compile(r"\s+([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*\S)")
_DATA = re.compile(r"^(\.|rex|[c-gs]s |udb)|\(bad\)")
_PREFIXES = ("bnd", "data16", "lock", "notrack", "rep", "repz", "repnz", "rex.W")


def first_of_each(lines: Iterable[str]) -> Iterator[str]:
    """The lines to keep."""
    seen: dict[tuple[str, ...], int] = {}
    vectors = 0
    for line in lines:
        match = _LINE.match(line)
        if match is None or _DATA.search(match[3]):
            continue
        text = re.sub(r"\s+", " ", re.sub(r"<.*?>|//.*|\s{2,}#.*", "", match[3])).strip()
        words = text.split(" ")
        while len(words) > 1 and words[0] in _PREFIXES:
            words[:2] = [" ".join(words[:2])]
        # Registers and numbers make no form, but what an indirect jump goes to does.
        operands = "".join(sorted(set("".join(words[1:])) & set("*([{")))
        key = (words[0], operands, str("%r14" in text))
        if key in seen:
            continue
        seen[key] = 1
        if words[0].startswith(("v", "{")) and len(match[2].replace(" ", "")) > 8:
            vectors += 1
            if vectors % 10:
                continue
        yield f"{match[1]} {match[2].replace(' ', '')} {text}"


if __name__ == "__main__":
    print("\n".join(first_of_each(sys.stdin)))
