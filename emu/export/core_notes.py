"""The notes of an ELF core: structs of Linux include/linux/elfcore.h, offsets in bytes.

Each is u32 sizes of name and content, u32 type, the name and the content, both padded to four.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence

from arch import Arch
from arch.export import NT_PRSTATUS
from emu.export.registers import Thread, pack, values
from emu.machine.entry_stack import Aux

NT_PRPSINFO, NT_AUXV, NT_SIGINFO, NT_FILE = 3, 6, 0x53494749, 0x46494C45
STATUS = "iiiH2xQQ4i64x"
"""struct elf_prstatus up to the registers: si_signo, si_code, si_errno, pr_cursig, pr_sigpend,
pr_sighold, pids, times."""
STATUS_SIZE = 112
_STATUS_END = "i4x"  # pr_fpvalid
_PSINFO = "bcbbxxxxQII4i16s80s"
_SIGINFO = "iii116x"
OWNER = b"CORE"
EXTRA = b"LINUX"
_RUNNING = b"R"

File = tuple[int, int, int, bytes]
"""Start, end, offset in bytes and name of a file's mapping."""


class CoreNotes:
    """Writes the notes of one process.

    Args:
        arch: its machine.
        pid: its id.
        signal: what stopped it.
    """

    def __init__(self, arch: Arch, pid: int, signal: int) -> None:
        self._arch = arch
        self._order = "<" if arch.byte_order == "little" else ">"
        self._pid = pid
        self._signal = signal

    def all(
        self, threads: Sequence[Thread], name: bytes, arguments: Sequence[bytes],
        auxiliary: Iterable[tuple[int, int]], files: Sequence[File], signed: bool,
    ) -> bytes:  # fmt: skip
        """All notes; the arguments are those of `emu.export.core.Stopped`."""
        first, *more = threads
        state, *registers = self._thread(first, signed)
        parts = [
            state,
            self._note(NT_PRPSINFO, self._psinfo(name, arguments)),
            self._note(NT_SIGINFO, self._pack(_SIGINFO, self._signal, 0, 0)),
            self._note(NT_AUXV, self._vector(auxiliary, signed)),
            self._note(NT_FILE, self._files(files)),
            *registers,
        ]
        for thread in more:
            parts += self._thread(thread, signed)
        return b"".join(parts)

    def _thread(self, thread: Thread, signed: bool) -> Iterator[bytes]:
        facts, order = self._arch.export, self._arch.byte_order
        known = values(self._arch, thread)
        for note in facts.notes:
            content = pack(note, known, order)
            if note.type == NT_PRSTATUS:
                content = self._status(thread.tid) + content + self._pack(_STATUS_END, 1)
            yield self._note(note.type, content, note.owner)
        if signed and facts.signatures is not None:
            mask = self._arch.ra_sign_mask
            yield self._note(facts.signatures.note, self._pack("QQ", mask, mask), EXTRA)

    def _status(self, tid: int) -> bytes:
        signal = self._signal
        return self._pack(STATUS, signal, 0, 0, signal, 0, 0, tid, 0, self._pid, self._pid)

    def _psinfo(self, name: bytes, arguments: Sequence[bytes]) -> bytes:
        line = b" ".join(arguments)[:79]
        owner = (0, 0, self._pid, 0, self._pid, self._pid)
        return self._pack(_PSINFO, 0, _RUNNING, 0, 0, 0, *owner, name[:15], line)

    def _vector(self, auxiliary: Iterable[tuple[int, int]], signed: bool) -> bytes:
        signatures = self._arch.export.signatures
        extra = signatures.hwcap if signed and signatures is not None else 0
        return b"".join(
            self._pack("QQ", kind, value | extra if kind == Aux.HWCAP else value)
            for kind, value in auxiliary
        )

    def _files(self, files: Sequence[File]) -> bytes:
        page = self._arch.layout.page_size
        rows = [self._pack("QQQ", start, end, offset // page) for start, end, offset, _ in files]
        names = [name + b"\0" for *_, name in files]
        return self._pack("QQ", len(files), page) + b"".join(rows) + b"".join(names)

    def _note(self, kind: int, content: bytes, owner: bytes = OWNER) -> bytes:
        name = owner + b"\0"
        head = self._pack("III", len(name), len(content), kind)
        return head + _padded(name) + _padded(content)

    def _pack(self, layout: str, *fields: object) -> bytes:
        return struct.pack(self._order + layout, *fields)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
