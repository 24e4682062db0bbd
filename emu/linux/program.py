"""Which file a command line means: the program, its interpreters, and its argv (fs/exec.c).

A path is looked up below the root directory first, as the guest would; what is not there is
a file of the host, which the guest knows by its name alone.
"""

from dataclasses import dataclass

from emu.errors import ImageError, UnwindlabError, UsageError
from emu.image import MAGIC, Image, load_image, parse_image, read_file
from emu.linux.calls import CallError, Errno
from emu.linux.credentials import OWNER
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.vfs.host import HostRoot
from emu.linux.vfs.nodes import Node, Regular
from emu.linux.vfs.walk import SEARCH, allows

_SCRIPT = b"#!"
_SCRIPT_LINE = 256
"""Bytes of the first line that count (BINPRM_BUF_SIZE)."""
_MOST_SCRIPTS = 5
"""Interpreters that are scripts themselves: one more is ELOOP."""
_DEBUG_FILES = b"/usr/lib/debug/.build-id/"


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A file in memory, where the guest has none of that path."""

    path: bytes
    image: Image
    number: int = 0

    content = None
    """Nothing changes it."""
    in_memory = False
    device = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.image.data)

    def read(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from an offset on."""
        return self.image.data[offset : offset + size]

    def data(self) -> bytes:
        """All of its bytes."""
        return self.image.data


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be run."""

    image: Image
    path: bytes
    """The guest's path of the image."""
    name: bytes
    """What execve(2) was given (AT_EXECFN): of a script its own path."""
    arguments: tuple[bytes, ...]
    """argv from its first string to where the command line's arguments follow."""
    interpreter: Image | None = None
    """Of PT_INTERP."""
    root: HostRoot | None = None

    @property
    def images(self) -> list[Image]:
        """All that is loaded before the first instruction."""
        return [self.image] if self.interpreter is None else [self.image, self.interpreter]

    def debug_file(self, build_id: bytes) -> Image | None:
        """The separate debug file of a build id below the root (gdb, Separate Debug Files)."""
        if self.root is None or len(build_id) < 2:
            return None
        name = build_id.hex().encode()
        path = _DEBUG_FILES + name[:2] + b"/" + name[2:] + b".debug"
        try:
            image = _read(_files(self.root), path)
        except (CallError, UnwindlabError):
            return None
        return image if image.build_id == build_id else None


def alone(image: Image) -> Program:
    """A program of the host that needs nothing else.

    Raises:
        UsageError: it asks for a program interpreter.
    """
    if image.interp is not None:
        raise UsageError(f"{image.path}: dynamic (interpreter {image.interp!a}): needs --root")
    name = b"/" + image.name.encode("utf-8", "surrogateescape")
    return Program(image, name, name, (name,))


def find_program(path: str, root: str | None) -> Program:
    """What `path` means.

    Args:
        path: a path of the guest or the host.
        root: the host's directory that the guest sees as /; None: it sees none.

    Raises:
        UnwindlabError: it cannot be read or run; the message names the file.
    """
    if root is None:
        return alone(load_image(path))
    host = HostRoot(root)
    files = _files(host)
    guest = path.encode("utf-8", "surrogateescape")
    try:
        node = files.lookup(guest) if guest else None
    except CallError:
        node = None
    if node is None:
        data = read_file(path)
        guest = name = b"/" + guest.rpartition(b"/")[2]
    else:
        data = _executable(node, path)
        guest, name = node.path, guest
    arguments: tuple[bytes, ...] = (name,)
    for _ in range(_MOST_SCRIPTS):
        if not data.startswith(_SCRIPT):
            break
        arguments = (*_script(data, path), *arguments)
        node = _lookup(files, arguments[0], path)
        data, guest = _executable(node, path), node.path
    if not data.startswith(MAGIC):
        raise ImageError(f"{path}: neither an ELF file nor a script with an interpreter")
    image = parse_image(path if len(arguments) == 1 else _shown(guest), data)
    interpreter = None
    if image.interp is not None:
        wanted = image.interp.encode("utf-8", "surrogateescape")
        interpreter = parse_image(_shown(wanted), _executable(_lookup(files, wanted, path), path))
        if interpreter.arch is not image.arch:
            raise ImageError(f"{path}: its interpreter {image.interp!a} is for another machine")
    return Program(image, guest, name, arguments, interpreter, host)


def _files(root: HostRoot) -> FileSystem:
    return FileSystem(root, OWNER, lambda: 0)


def _read(files: FileSystem, path: bytes) -> Image:
    node = files.lookup(path)
    if not isinstance(node, Regular):
        raise CallError(Errno.EACCES)
    return parse_image(_shown(path), node.data())


def _lookup(files: FileSystem, name: bytes, path: str) -> Node:
    try:
        return files.lookup(name)
    except CallError as error:
        raise UsageError(f"{path}: interpreter {name!a}: not below --root ({error})") from error


def _executable(node: Node, path: str) -> bytes:
    """Its bytes, if execve(2) would take it."""
    if not isinstance(node, Regular) or not allows(node, OWNER, SEARCH):
        raise ImageError(f"{path}: {_shown(node.path)} below --root is no executable file")
    try:
        return node.data()
    except CallError as error:
        raise ImageError(f"{path}: {_shown(node.path)} cannot be read: {error}") from error


def _script(data: bytes, path: str) -> tuple[bytes, ...]:
    """The interpreter of a script, and the rest of its line as one argument (load_script)."""
    line = data[len(_SCRIPT) : _SCRIPT_LINE].partition(b"\n")[0].replace(b"\t", b" ").strip(b" ")
    name, _, rest = line.partition(b" ")
    if not name:
        raise ImageError(f"{path}: a script without an interpreter")
    return (name, rest.strip(b" ")) if rest.strip(b" ") else (name,)


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
