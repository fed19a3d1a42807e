"""A filter of system calls for commands in the sandbox: none of them can make a set-ID file.

A file with the set-user-ID or set-group-ID bit runs with the rights of its owner, no matter who starts it, and it stays in the
workspace when the sandbox is gone. So every system call that could set one of these bits is refused. The two whose
arguments a filter cannot read are answered as a kernel answers that does not have them, and programs fall back to others.
"""

from __future__ import annotations

import errno
import platform
from collections.abc import Mapping
from struct import pack
from typing import NamedTuple

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Instructions of the classic Berkeley packet filter, as ``linux/bpf_common.h`` has them."""
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
"""Where a filter finds the number of the call, the machine it is made for, and its arguments of eight bytes each."""
_SET_ID = 0o6000
_MAKES_A_FILE = 0o100 | 0o20000000
"""``O_CREAT`` and ``O_TMPFILE``: without one of them, what is passed as a mode means nothing."""
_OTHER_CALLS = 0x40000000
"""From here on, the numbers on x86-64 are those of another set of calls (x32)."""
_UNREADABLE = (437, 425)
"""``openat2`` and ``io_uring_setup``, which have these numbers everywhere."""


class _Call(NamedTuple):
    """A system call that takes a mode."""

    number: int
    mode: int
    """Which of its arguments the mode is."""
    flags: int | None = None
    """Which of its arguments says whether there is a mode at all."""


_GENERIC = (
    _Call(52, 1),  # fchmod
    _Call(53, 2),  # fchmodat
    _Call(452, 2),  # fchmodat2
    _Call(34, 2),  # mkdirat
    _Call(33, 2),  # mknodat
    _Call(56, 3, flags=2),  # openat
)
_X86_64 = (
    _Call(90, 1),  # chmod
    _Call(91, 1),  # fchmod
    _Call(268, 2),  # fchmodat
    _Call(452, 2),  # fchmodat2
    _Call(83, 1),  # mkdir
    _Call(258, 2),  # mkdirat
    _Call(133, 1),  # mknod
    _Call(259, 2),  # mknodat
    _Call(85, 1),  # creat
    _Call(2, 2, flags=1),  # open
    _Call(257, 3, flags=2),  # openat
)
_MACHINES: Mapping[str, tuple[int, tuple[_Call, ...]]] = {
    "x86_64": (0xC000003E, _X86_64),
    "aarch64": (0xC00000B7, _GENERIC),
    "riscv64": (0xC00000F3, _GENERIC),
    "loongarch64": (0xC0000102, _GENERIC),
}


def no_set_id_filter(machine: str | None = None) -> bytes | None:
    """The filter for a kind of machine, by default this one; ``None`` if its system calls are not known."""
    known = _MACHINES.get(platform.machine() if machine is None else machine)
    if known is None:
        return None
    identity, calls = known
    missing, refused = _FAIL | errno.ENOSYS, _FAIL | errno.EPERM
    # A jump says how many instructions to pass over: if the comparison holds, and if it does not.
    program = [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, identity), (_RETURN, 0, 0, missing)]
    program += [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _OTHER_CALLS), (_RETURN, 0, 0, missing)]
    for call in calls:
        block = [
            (_LOAD, 0, 0, _ARGUMENTS + 8 * call.mode),
            (_ANY_BIT, 0, 1, _SET_ID),
            (_RETURN, 0, 0, refused),
            (_RETURN, 0, 0, _ALLOW),
        ]
        if call.flags is not None:
            block[:0] = [(_LOAD, 0, 0, _ARGUMENTS + 8 * call.flags), (_ANY_BIT, 0, 3, _MAKES_A_FILE)]
        program += [(_EQUAL, 0, len(block), call.number), *block]
    for number in _UNREADABLE:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, missing)]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(pack("<HBBI", *instruction) for instruction in program)
