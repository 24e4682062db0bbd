"""The samples of a recording that can be walked: with registers, a copy of the stack, and files."""

from collections.abc import Iterator
from dataclasses import dataclass

from arch import ALL, Arch, by_name
from emu.errors import MemoryFault, UnwindlabError, UsageError
from emu.export.address_spaces import AddressSpaces, TooManyError
from emu.export.files import MappedCode
from emu.export.perf_layout import PROT_EXEC, SampleType
from emu.export.perf_records import Comm, FinishedRound, Mmap, Other, PerfSample, Task
from emu.export.read_perf import PerfFile
from emu.export.registers import thread_of, unpack_perf
from emu.export.stored_memory import StoredMemory
from emu.image import load_image
from emu.sample import Sample


@dataclass(frozen=True, slots=True)
class StackSample:
    """One sample with what is needed to walk it."""

    offset: int
    """Of its record in the file."""
    pid: int
    tid: int
    time: int
    sample: Sample
    code: tuple[MappedCode, ...]
    """What the process had mapped as code at that time."""
    callers: tuple[int, ...]
    """Addresses of the chain that was recorded with it, markers included."""


def machine_of(file: PerfFile) -> Arch:
    """The machine of a recording, by its feature or by a file that it names.

    Raises:
        UsageError: neither tells of one that is known here.
    """
    arch = by_name(file.machine)
    if arch is not None and arch.byte_order == file.byte_order:
        return arch
    for _, record in file.records():
        if isinstance(record, Mmap) and record.protection & PROT_EXEC and record.path[:1] == b"/":
            try:
                image = load_image(record.path.decode("utf-8", "surrogateescape"))
            except UnwindlabError:
                continue
            if image.arch is not None and image.arch.byte_order == file.byte_order:
                return image.arch
    known = ", ".join(each.name for each in ALL)
    raise UsageError(f"{file.path}: recorded on {file.machine!a}: not one of {known}")


def stack_samples(file: PerfFile, arch: Arch) -> Iterator[StackSample]:
    """Samples by time, those without registers or stack left out.

    Raises:
        RecordingError: a record cannot be read.
    """
    spaces = AddressSpaces()
    for offset in _by_time(file):
        record = file.record(offset)
        match record:
            case Mmap(protection=allowed) if allowed & PROT_EXEC and 0 < record.size < 1 << 62:
                path = record.path.decode("utf-8", "surrogateescape")
                end = record.address + record.size
                try:
                    spaces.map(record.pid, MappedCode(record.address, end, record.offset, path))
                except TooManyError as error:
                    file.fail(offset, str(error))
            case Comm(exec=True):
                spaces.forget(record.pid)
            case Task(ends=False) if record.pid != record.parent:
                spaces.fork(record.parent, record.pid)
            case PerfSample() if record.registers and record.stack:
                mask = file.decoder.event_of(record.where).user_registers
                found = _sample(arch, mask, record)
                if found is not None:
                    pid = record.where.pid
                    yield StackSample(
                        offset, pid, record.where.tid, record.where.time, found, spaces.code(pid),
                        record.chain,
                    )  # fmt: skip


def _sample(arch: Arch, mask: int, record: PerfSample) -> Sample | None:
    """None: the registers that every walk needs are not among those recorded."""
    thread = thread_of(arch, record.where.tid, unpack_perf(arch, mask, record.registers))
    sp = thread.registers.get(arch.sp)
    if sp is None or not thread.pc:
        return None
    memory = StoredMemory(len(record.stack))
    try:
        memory.store(sp, record.stack)
    except MemoryFault:
        return None
    memory.seal()
    registers = {arch.fp: 0, **thread.registers}
    return Sample(arch, thread.pc, registers, memory)


def _by_time(file: PerfFile) -> list[int]:
    """Offsets of records by time: buffers of several CPUs stand in the file one by one."""
    timed = any(event.sample_type & SampleType.TIME for event in file.events)
    kept = []
    for offset, record in file.records():
        if not isinstance(record, Other | FinishedRound):
            kept.append((record.where.time if timed else 0, offset))
    return [offset for _, offset in sorted(kept)]
