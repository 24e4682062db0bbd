"""The `convert` command: a section in another version of the format, every loss by name.

What is written is a raw section, made for the address of the old one. Putting it into an ELF
file is another matter: it seldom has the size of the old one.
"""

import json
from dataclasses import dataclass

from emu.errors import ImageError, SFrameError, UnwindlabError, UsageError
from emu.image import MAGIC, parse_image, read_file
from emu.report.output import refuse_inputs, write_file, write_report
from emu.report.text import text_of
from emu.sframe.container import SECTION_NAME, decode_contained, find_section
from emu.sframe.convert import Conversion
from emu.sframe.convert import convert as convert_section
from emu.sframe.decode import Decoded, decode
from emu.sframe.encode import Refusal
from emu.sframe.layout import AUX_LEN_AT, magic_order
from emu.symbols import FunctionNames


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is converted."""

    path: str
    decoded: Decoded
    address: int | None
    """Of the section; None in a relocatable file."""
    aux: bool
    names: FunctionNames | None
    """None: a raw section."""

    def function(self, loss: Refusal) -> str | None:
        """Name of the function that lost something."""
        if self.names is None:
            return None
        fde = self.decoded.fdes[loss.entry]
        return self.names.place(fde.start, fde.section).function


def convert(
    path: str,
    output: str | None,
    version: int,
    format: str,
    whole: bool = False,
    errata: bool = True,
) -> int:
    """Convert the section of a file and print what was lost.

    Args:
        path: an ELF file or a raw section.
        output: file for the raw section; None: only the report is made.
        version: SFrame version to convert to.
        format: of the report on stdout, ``text`` or ``json``.
        whole: leave out whole functions instead of single rows.
        errata: whether V2 uses its errata (see `emu.sframe.express.Target`).

    Returns:
        The exit status: 0, whatever was lost.

    Raises:
        UnwindlabError: nothing can be decoded, or the output cannot be written.
    """
    refuse_inputs(output, path)
    subject = _read(path)
    if subject.address is None and output is not None:
        reason = "the starts in a relocatable file are relocations, which a raw section has not"
        raise UsageError(f"{path}: {SECTION_NAME}: {reason}")
    conversion = convert_section(
        subject.decoded,
        version,
        address=subject.address,
        aux=subject.aux,
        whole=whole,
        errata=errata,
    )
    if output is not None:
        write_file(output, conversion.data)
    report = _json if format == "json" else _text
    write_report(report(subject, conversion, output), None)
    return 0


def _read(path: str) -> _Subject:
    data = read_file(path)
    try:
        if data[: len(MAGIC)] != MAGIC:
            if magic_order(data) is None:
                raise ImageError(f"{path}: offset 0x0: neither ELF nor SFrame")
            decoded = decode(data)
            return _Subject(path, decoded, 0, data[AUX_LEN_AT] > 0, None)
        image = parse_image(path, data)
        contained = find_section(image)
        if contained is None:
            raise ImageError(f"{path}: offset 0x28: no section {SECTION_NAME}")
        if not contained.data:
            raise ImageError(f"{path}: {SECTION_NAME} is empty")
        decoded = decode_contained(image, contained)
    except SFrameError as error:
        raise UnwindlabError(f"{path}: {SECTION_NAME}: {error}") from error
    address = None if image.kind == "rel" else contained.address
    aux = contained.data[AUX_LEN_AT] > 0
    return _Subject(path, decoded, address, aux, FunctionNames(image))


def _json(subject: _Subject, conversion: Conversion, output: str | None) -> str:
    header, form = subject.decoded.header, conversion.encoding.encoded.form
    report = {
        "from": header.version.number,
        "to": form.version,
        "abi": header.abi_name,
        "address": None if subject.address is None else hex(subject.address),
        "output": output,
        "size": len(conversion.data),
        "faults": len(subject.decoded.faults),
        "functions": header.num_fdes,
        "fdes": len(form.functions),
        "rows": sum(len(function.rows) for function in form.functions),
        "refused": conversion.reasons(),
        "header_losses": list(conversion.header_losses),
        "refusals": [
            {
                "function": subject.function(loss),
                "start": hex(subject.decoded.fdes[loss.entry].start),
                "row": loss.row,
                "end": loss.end,
                "reason": loss.misfit.reason,
                "text": loss.misfit.text,
            }
            for loss in conversion.losses
        ],
    }
    return json.dumps(report, indent=1) + "\n"


def _text(subject: _Subject, conversion: Conversion, output: str | None) -> str:
    decoded, form = subject.decoded, conversion.encoding.encoded.form
    header = decoded.header
    rows = sum(len(function.rows) for function in form.functions)
    lines = [
        f"{subject.path}: {header.abi_name}, SFrame V{header.version.number} -> V{form.version}",
        f"  before  {header.num_fdes} FDEs, {header.num_fres} rows, {len(decoded.faults)} faults",
        f"  after   {len(form.functions)} FDEs, {rows} rows, {len(conversion.data)} bytes",
    ]
    if output is not None:
        lines.append(f"  {output}: raw section for address {subject.address or 0:#x}")
    reasons = conversion.reasons()
    lines.append(f"{sum(reasons.values())} losses")
    lines += [f"  {count:>6}  {reason}" for reason, count in sorted(reasons.items())]
    lines += [f"  header: {loss}" for loss in conversion.header_losses]
    lines += [_line(subject, loss) for loss in conversion.losses]
    return text_of(lines)


def _line(subject: _Subject, loss: Refusal) -> str:
    name = subject.function(loss)
    where = f"  {subject.decoded.fdes[loss.entry].start:#x}"
    if name is not None:
        where += f" <{name}>"
    if loss.row is not None:
        where += f" +{loss.row:#x}"
    if loss.row is not None and loss.end is not None:
        where += f"..+{loss.end:#x}"
    whole = "" if loss.end is not None else ", the whole function"
    return f"{where}: {loss.misfit.reason}: {loss.misfit.text}{whole}"
