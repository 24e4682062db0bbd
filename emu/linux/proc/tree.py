"""Where the files of /proc are (proc(5))."""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from emu.linux.credentials import OWNER, PID
from emu.linux.descriptors import Descriptors
from emu.linux.proc import memory_texts, process_texts, system_texts
from emu.linux.proc.nodes import ByDescriptor, DescriptorPointer, Generated, Pointer, link_mode
from emu.linux.proc.view import View
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.vfs.nodes import Attributes, Directory, Link, Node
from emu.linux.vfs.open_files import OpenFile

DEVICE = 0x15
"""st_dev of /proc."""
_ROOT = 0
_OWN_TEXTS: Mapping[bytes, tuple[Callable[[View], bytes], int]] = {
    b"auxv": (process_texts.auxv, 0o400), b"cmdline": (process_texts.cmdline, 0o444),
    b"environ": (process_texts.environ, 0o400), b"limits": (process_texts.limits, 0o444),
    b"maps": (memory_texts.maps, 0o444), b"mounts": (process_texts.mounts, 0o444),
    b"mountinfo": (process_texts.mountinfo, 0o444), b"stat": (process_texts.stat, 0o444),
    b"statm": (memory_texts.statm, 0o444), b"status": (process_texts.status, 0o444),
}  # fmt: skip
"""Files of the process, and their permissions."""
_TEXTS: Mapping[bytes, Callable[[View], bytes]] = {
    b"cpuinfo": system_texts.cpuinfo, b"filesystems": system_texts.filesystems,
    b"loadavg": system_texts.loadavg, b"meminfo": system_texts.meminfo,
    b"stat": system_texts.stat, b"uptime": system_texts.uptime,
    b"version": system_texts.version,
}  # fmt: skip


def mount_proc(files: FileSystem, view: View, descriptors: Descriptors) -> None:
    """Put /proc over the tree."""
    _Tree(files, view, descriptors).mount()


class _Tree:
    """Makes the inodes."""

    def __init__(self, files: FileSystem, view: View, descriptors: Descriptors) -> None:
        self._files = files
        self._view = view
        self._descriptors = descriptors
        # Looked up now: the name may lead elsewhere later.
        self._executable = view.node(view.program)

    def mount(self) -> None:
        proc = Directory(self._attributes(0o555), b"/proc")
        self._files.top.cover(b"proc", proc)
        for name, text in _TEXTS.items():
            self._text(proc, name, partial(text, self._view))
        pid = b"%d" % PID
        self._link(proc, b"self", pid)
        self._link(proc, b"thread-self", pid + b"/task/" + pid)
        self._link(proc, b"mounts", b"self/mounts")
        process = self._folder(proc, pid, owner=OWNER)
        self._process(process)
        self._process(self._folder(self._folder(process, b"task", owner=OWNER), pid, owner=OWNER))
        self._settings(self._folder(proc, b"sys"))

    # ---- /proc/PID

    def _process(self, here: Directory) -> None:
        view = self._view
        for name, (text, permissions) in _OWN_TEXTS.items():
            self._text(here, name, partial(text, view), permissions=permissions, owner=OWNER)
        comm = Generated(
            self._attributes(0o644, OWNER), here.place_of(b"comm"), lambda: view.task.name + b"\n",
            lambda data: view.task.rename(data.partition(b"\n")[0].partition(b"\0")[0]),
        )  # fmt: skip
        here.add(b"comm", comm)
        paths, top = view.paths, self._files.top
        self._pointer(here, b"cwd", lambda: paths.current.where(), lambda: paths.current)
        self._pointer(here, b"root", lambda: b"/", lambda: top)
        self._pointer(here, b"exe", self._program, lambda: self._executable)
        for name, make in ((b"fd", self._descriptor), (b"fdinfo", self._information)):
            here.add(name, ByDescriptor(
                self._attributes(0o500 if name == b"fd" else 0o555, OWNER), here.place_of(name),
                self._descriptors, make,
            ))  # fmt: skip

    def _program(self) -> bytes:
        gone = self._executable is not None and not self._executable.links
        return self._view.program + (b" (deleted)" if gone else b"")

    def _descriptor(self, number: int, file: OpenFile) -> Node:
        return DescriptorPointer(
            self._attributes(link_mode(file), OWNER), b"/proc/%d/fd/%d" % (PID, number),
            self._files.top, file.name, lambda: file.node,
        )  # fmt: skip

    def _information(self, number: int, file: OpenFile) -> Node:
        path = b"/proc/%d/fdinfo/%d" % (PID, number)
        return Generated(
            self._attributes(0o400, OWNER), path, lambda: process_texts.descriptor(file)
        )

    # ---- /proc/sys

    def _settings(self, here: Directory) -> None:
        for path, value in system_texts.settings().items():
            folder, name = self._deep(here, path)
            self._text(folder, name, partial(bytes, value + b"\n"))
        random = Random(f"uuid {self._view.seed}")
        boot = system_texts.uuid(random)
        folder, _ = self._deep(here, b"kernel/random/uuid")
        self._text(folder, b"boot_id", lambda: boot)
        self._text(folder, b"uuid", lambda: system_texts.uuid(random))

    def _deep(self, here: Directory, path: bytes) -> tuple[Directory, bytes]:
        """The folder of a path, made where it is missing, and the last name."""
        *folders, name = path.split(b"/")
        for folder in folders:
            found = here.find(folder)
            here = found if isinstance(found, Directory) else self._folder(here, folder)
        return here, name

    # ---- inodes

    def _attributes(self, permissions: int, owner: int = _ROOT) -> Attributes:
        return self._files.attributes(permissions, device=DEVICE, owner=owner)

    def _folder(self, here: Directory, name: bytes, *, owner: int = _ROOT) -> Directory:
        made = Directory(self._attributes(0o555, owner), here.place_of(name))
        here.add(name, made)
        return made

    def _text(
        self, here: Directory, name: bytes, text: Callable[[], bytes], *,
        permissions: int = 0o444, owner: int = _ROOT,
    ) -> None:  # fmt: skip
        attributes = self._attributes(permissions, owner)
        here.add(name, Generated(attributes, here.place_of(name), text))

    def _link(self, here: Directory, name: bytes, target: bytes) -> None:
        here.add(name, Link(self._attributes(0o777), here.place_of(name), target))

    def _pointer(
        self, here: Directory, name: bytes, shown: Callable[[], bytes],
        lead: Callable[[], Node | None],
    ) -> None:  # fmt: skip
        here.add(name, Pointer(
            self._attributes(0o777, OWNER), here.place_of(name), self._files.top, shown, lead
        ))  # fmt: skip
