"""The sections that one mm knows (mm->sframe_mt), and every way in and out of it.

The tree is indexed by text addresses, both ends inclusive, so texts that touch collide.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from errno import EEXIST, EINVAL, ENOMEM

from arch import Arch
from emu.image import PF_X, PT_LOAD, Image
from emu.kernel.events import Crash, Event, Name, Refusal
from emu.kernel.header import Section, read_header
from emu.kernel.reader import Reader
from emu.kernel.registration import Form, Registration
from emu.kernel.user_memory import ReadLimit, Residency, UserMemory
from emu.kernel.validation import validate
from emu.kernel.vmas import Vma, Vmas
from emu.memory import Memory
from emu.sframe.container import PT_GNU_SFRAME

ADD, REMOVE = 1, 2
"""Operations of the system call of 2026."""


class Registry:
    """The registered sections of one process.

    Args:
        registration: the revision.
        arch: of the process.
        memory: its address space.
        vmas: what is mapped there.
        residency: pages that are absent; registering brings them in.
    """

    def __init__(
        self, registration: Registration, arch: Arch, memory: Memory, vmas: Vmas,
        residency: Residency | None = None,
    ) -> None:  # fmt: skip
        self.registration = registration
        self.events: list[Event] = []
        """What went wrong while sections were added and removed."""
        self.no_memory = False
        """The next allocation fails."""
        self._arch, self._memory, self._vmas = arch, memory, vmas
        self.residency = residency if residency is not None else Residency()
        self._tree: list[tuple[int, int, Section]] = []

    def __len__(self) -> int:
        return len(self._tree)

    def __iter__(self) -> Iterator[Section]:
        return (section for _, _, section in self._tree)

    @property
    def reader(self) -> Reader:
        """Who reads the sections."""
        return self.registration.reader

    def find(self, ip: int) -> Section | None:
        """mtree_load: the section of a text address."""
        index = bisect_right(self._tree, ip, key=lambda each: each[0]) - 1
        if index >= 0 and ip <= self._tree[index][1]:
            return self._tree[index][2]
        return None

    # ---- what the process calls

    def prctl(self, option: int, *arguments: int) -> int | None:
        """prctl(2) with the revision's numbers.

        Args:
            option: the operation.
            arguments: the four behind it.

        Returns:
            0 or a negative errno; None: it is no operation of the revision's.
        """
        known = self.registration
        if not known.add or option not in (known.add, known.remove):
            return None
        first, second, third, fourth = arguments
        if option == known.remove:
            if second or third or fourth:
                return -EINVAL
            return self.remove(first)
        if known.form is Form.ADDRESS:
            return -EINVAL if fourth else self.add(first, 0, second, third)
        return self.add(first, second, third, fourth)

    def stacktrace_setup(self, op: int, addr: int, size: int, text: int, text_size: int) -> int:
        """The system call of 2026; its number is not known."""
        if op == ADD:
            return self.add(addr, addr + size, text, text + text_size)
        return self.remove(addr) if op == REMOVE else -EINVAL

    # ---- what the kernel does

    def load(self, image: Image, bias: int) -> list[int]:
        """What the ELF loader does for a program or an interpreter; its errors are ignored.

        Args:
            image: the file.
            bias: runtime minus link-time address.

        Returns:
            What each registration would have returned.
        """
        found = [segment for segment in image.segments if segment.kind == PT_GNU_SFRAME]
        texts = [s for s in image.segments if s.kind == PT_LOAD and s.flags & PF_X]
        if not found or not texts:
            return []
        # The last one wins.
        start, size = found[-1].vaddr + bias, found[-1].memsz
        if self.registration.form is Form.ADDRESS:
            low = min(segment.vaddr for segment in texts) + bias
            high = max(segment.vaddr + segment.filesz for segment in texts) + bias
            return [self._answer(lambda: self._insert(start, 0, (low, high)))]
        return [
            self.add(start, start + size, text.vaddr + bias, text.vaddr + text.memsz + bias)
            for text in texts
        ]

    def add(self, start: int, end: int, text_start: int, text_end: int) -> int:
        """sframe_add_section: 0 or a negative errno; `end` is not looked at in 2024."""
        if self.registration.form is Form.ADDRESS:
            return self._answer(lambda: self._add_2024(start, text_start, text_end))
        return self._answer(lambda: self._add(start, end, text_start, text_end))

    def remove(self, start: int) -> int:
        """sframe_remove_section: 0, or -EINVAL where nothing is found."""
        if Name.REMOVAL_BY_TEXT in self.reader.flaws:
            if self.find(start) is None:
                if any(section.start == start for section in self):
                    self.events.append(Event(Name.REMOVAL_BY_TEXT, start))
                return -EINVAL
            for number, (_, _, section) in enumerate(self._tree):
                if section.start == start:
                    del self._tree[number]
                    return 0
            return -EINVAL
        kept = [each for each in self._tree if each[2].start != start]
        if len(kept) == len(self._tree):
            return -EINVAL
        self._tree = kept
        return 0

    def fail(self, section: Section) -> Event | None:
        """A look-up in it has ended in -EFAULT; the event, if the revision then removes it."""
        if not self.reader.removes:
            return None
        count = len(self._tree)
        self.remove(section.start)
        return Event(Name.SECTION_REMOVED, section.start, f"{count - len(self._tree)} ranges")

    def teardown(self) -> None:
        """The mm goes: so do its sections (sframe_free_mm)."""
        self._tree = []

    # ---- inside

    def _answer(self, work: Callable[[], None]) -> int:
        """0, or what went wrong as a negative errno; also where the kernel would have stopped."""
        try:
            work()
        except Refusal as refusal:
            return -refusal.errno
        except Crash as crash:
            self.events.append(crash.event)
            return -EINVAL
        except ReadLimit:
            self.events.append(Event(Name.READ_LIMIT))
            return -EINVAL
        return 0

    def _add_2024(self, start: int, text_start: int, text_end: int) -> None:
        area = self._vmas.find(start)
        if not text_start or not text_end:
            if area is None or area.file is None:
                raise Refusal(EINVAL, "the section is in no mapped file")
            text_start, text_end = self._text_of(area)
        else:
            if area is None:
                raise Refusal(EINVAL, "nothing is mapped at the section")
            text = self._vmas.find(text_start)
            if text is None:
                raise Crash(Name.NULL_DEREFERENCE, text_start)
            if not text.executable:
                raise Refusal(EINVAL, "the text is not executable")
            if not text.start <= text_end - 1 < text.end:
                raise Refusal(EINVAL, "the text ends in another mapping")
        self._insert(start, 0, (text_start, text_end))

    def _text_of(self, area: Vma) -> tuple[int, int]:
        """The one executable mapping of the file around a section."""
        texts = [vma for vma in self._vmas if vma.executable and vma.maps_same(area)]
        if len(texts) > 1:
            self.events.append(Event(Name.WARN, area.start, "several executable segments"))
            raise Refusal(EINVAL, "several executable segments")
        if not texts:
            raise Crash(Name.NULL_DEREFERENCE, area.start)
        return texts[0].start, texts[0].end

    def _add(self, start: int, end: int, text_start: int, text_end: int) -> None:
        if not (start and end and text_start and text_end):
            raise Refusal(EINVAL, "an address is 0")
        area = self._vmas.find(start)
        if area is None or end > area.end:
            raise Refusal(EINVAL, "the section is not in one mapping")
        text = self._vmas.find(text_start)
        if text is None or not text.executable or text_end > text.end:
            raise Refusal(EINVAL, "the text is not in one executable mapping")
        self._insert(start, end, (text_start, text_end))

    def _insert(self, start: int, end: int, text: tuple[int, int]) -> None:
        """Header, allocation and tree; before 2025 the header comes first."""
        memory = UserMemory(self._memory, self.residency)
        late = self.registration.form is Form.ADDRESS
        if not late:
            self._allocate()
        order = self._arch.byte_order
        try:
            section = read_header(self.reader, memory, order, start, end, text)
        except Refusal as refusal:
            if late and refusal.errno == EINVAL:
                self.events.append(Event(Name.WARN, start, f"bad header: {refusal.reason}"))
            raise
        if late:
            self._allocate()
        if self.registration.validates:
            validate(self.reader, section, memory, self._arch)
        low, high = text
        if low > high:
            raise Refusal(EINVAL, "the text ends before it begins")
        index = bisect_right(self._tree, high, key=lambda each: each[0])
        if index and self._tree[index - 1][1] >= low:
            raise Refusal(EEXIST, "its text overlaps another's")
        self._tree.insert(index, (low, high, section))

    def _allocate(self) -> None:
        if self.no_memory:
            self.no_memory = False
            raise Refusal(ENOMEM, "no memory")
