"""What goes wrong with files: each function gives other bytes for those of a whole file, as chance has it."""

from __future__ import annotations

import json
import random
import re
import struct
import zlib
from copy import deepcopy

Chance = random.Random
NUMBERS = [
    b"-1",
    b"0",
    b"1",
    b"255",
    b"65536",
    b"2147483648",
    b"4294967295",
    b"9223372036854775808",
    b"1e308",
    b"-1e400",
    b"NaN",
    b"Infinity",
    b"1.5",
    b"9" * 400,
    b"9" * 5000,
    b"0x10",
    b"1e-400",
    "１２".encode(),
]
BYTES = [
    b"\0",
    b'"',
    b'""',
    b"'",
    b",",
    b";",
    b"\t",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"#",
    b" ",
    b"\xff",
    b"\xfe",
    b"\x80",
    b"\x1b[31m",
    b"\x7f",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"null",
    b"true",
    "脉".encode(),
    "文".encode("gb18030"),
    "\u2028".encode(),
    "\x85".encode(),
    "𠮷".encode(),
    b"-DOCSTART-",
    b"O",
    b"B-",
    b"1-2",
    b"\x84\x31\xa4\x37",
    b"a" * 300,
    b'"' * 50,
]
DIGITS = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    -0.5,
    "",
    "x",
    "0",
    "\ud800",
    "\0",
    "\x1b[31m\n",
    "文",
    [],
    {},
    [[]],
    [0, "x"],
    {"x": 0},
    ["a"] * 3,
    [1, 2, 3],
    "a" * 5000,
    "@deep",
    "@digits",
]
SIZES = [0, 1, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]
FORMS = [
    b"(3, -2)",
    b"(6,)",
    b"()",
    b"(2147483648, 2147483648)",
    b"(3, 2, 1)",
    b"(0, 2)",
    b"(3, 0)",
    b"(" * 300 + b")" * 300,
]


def disturbed(data: bytes, chance: Chance, other: bytes) -> bytes:
    """Something that knows nothing of what is inside."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        size = len(made)
        at, many = chance.randrange(size + 1), min(1 + int(chance.expovariate(0.2)), 200)
        match chance.randrange(12):
            case 0 | 1 if at < size:
                made[at] ^= 1 << chance.randrange(8)
            case 2 if at < size:
                made[at] = chance.randrange(256)
            case 3:
                del made[at : at + many]
            case 4 | 5:
                made[at:at] = chance.choice(BYTES)
            case 6:
                made[at:at] = chance.randbytes(many)
            case 7:
                made[at:at] = made[at : at + many] * chance.choice((1, 1, 2, 9))
            case 8:
                there = chance.randrange(size + 1)
                piece = made[at : at + many]
                del made[at : at + many]
                made[there:there] = piece
            case 9 if chance.random() < 0.5:
                del made[at:]
            case 10:
                numbers = list(DIGITS.finditer(made))
                if numbers:
                    found = chance.choice(numbers)
                    made[found.start() : found.end()] = chance.choice(NUMBERS)
            case 11:
                made[at:] = other[chance.randrange(len(other) + 1) :]
    return bytes(made)


def other_value(chance: Chance):
    return deepcopy(chance.choice(VALUES))  # what is put into the last one must not be in the next


def disturbed_json(data: bytes, chance: Chance, other: bytes) -> bytes:
    """A value of another kind, a key that is missing, renamed or there twice, a list that is longer, shorter or mixed."""
    root = json.loads(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = list(_places(root, 400))
        if not places:
            break
        holder, key = chance.choice(places)
        match chance.randrange(8):
            case 0 | 1 | 2:
                holder[key] = other_value(chance)
            case 3:
                del holder[key]
            case 4 if isinstance(holder, dict):
                holder[
                    chance.choice((key + "x", key.upper(), "", "\ud800", "label", "kind", "data"))
                ] = holder.pop(key)
            case 4 | 5 if isinstance(holder, list):
                holder.insert(chance.randrange(len(holder) + 1), deepcopy(holder[key]))
            case 5:
                holder[f"@twice{key}"] = other_value(chance)
            case 6:
                there, name = chance.choice(places)
                if not _inside(there[name], holder) and not _inside(holder[key], there):
                    holder[key], there[name] = there[name], holder[key]
            case _:
                if isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
                    holder[key] = chance.choice(
                        (-1, 0, 2**31, 2**63, 1e308, holder[key] + 1, -holder[key])
                    )
                else:
                    holder[key] = other_value(chance)
    text = json.dumps(
        root, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, None, 1))
    )
    text = text.replace("@twice", "").replace('"@digits"', "7" * 6000)
    depth = chance.choice((50, 900, 30_000))
    return text.replace('"@deep"', "[" * depth + "]" * depth).encode("utf-8", "surrogatepass")


def _places(value, most: int, found: list | None = None) -> list[tuple]:
    """(holder, key) of everything inside; of a long list some are enough."""
    found = [] if found is None else found
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    for key in keys:
        if len(found) >= most:
            break
        found.append((value, key))
        _places(value[key], most, found)
    return found


def _inside(part, whole) -> bool:
    values = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return part is whole or any(_inside(part, value) for value in values)


def disturbed_jsonl(data: bytes, chance: Chance, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    lines[at] = disturbed_json(lines[at], chance, other).replace(b"\n", b"") + b"\n"
    return b"".join(lines)


def disturbed_csv(data: bytes, chance: Chance, other: bytes) -> bytes:
    marks = re.split(rb'([,\t;"\n])', data)
    for _ in range(chance.choice((1, 2, 4))):
        at = chance.randrange(len(marks))
        long = b"x" * 20_000, b"," * 200, b"," * 20_000, b'"' * 99, b"\n" * 50, marks[at] * 2
        usual = chance.choice(NUMBERS), chance.choice(BYTES)
        marks[at] = chance.choice((b"", b'"', b'""', b",", b"\n", b"\r", b"\0", *long, *usual))
    return b"".join(marks)


def disturbed_sizes(
    data: bytes, chance: Chance, other: bytes, places: tuple[int, ...], form: str
) -> bytes:
    made = bytearray(data)
    for at in chance.sample(places, min(len(places), chance.choice((1, 1, 2, 9)))):
        most = 256 ** struct.calcsize(form) - 1
        if len(made) >= abs(at):
            struct.pack_into(
                form, made, at % len(made), min(most, chance.choice((*SIZES, chance.randrange(64))))
            )
    return bytes(made)


def disturbed_idx(data: bytes, chance: Chance, other: bytes) -> bytes:
    return disturbed_sizes(data, chance, other, (0, 4, 8, 12) if len(data) > 16 else (0, 4), ">I")


def disturbed_safetensors(data: bytes, chance: Chance, other: bytes) -> bytes:
    """Its header is JSON of names, kinds, shapes and places, after its length."""
    size = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + size], data[8 + size :]
    match chance.randrange(4):
        case 0:
            return disturbed_sizes(data, chance, other, (0,), "<Q")
        case 1:
            header = json.loads(header)
            name = chance.choice([name for name in header if name != "__metadata__"])
            kind = chance.choice(
                ("F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "I16", "U64", "F8_E4M3")
            )
            header[name]["dtype"] = kind
            if chance.random() < 0.5:
                shape = header[name]["shape"]
                header[name]["shape"] = chance.choice(
                    ([], [0], shape[::-1], [2**40, 0], [*shape, 1])
                )
            return packed_tensors(json.dumps(header).encode(), body)
        case 2:  # one array whole, but of another size or kind
            from safetensors.numpy import load, save

            arrays = load(data)
            name = chance.choice(sorted(arrays))
            array = arrays.pop(name)
            change = chance.randrange(6)
            if change < 5:
                arrays[name] = (
                    array[:-1],
                    array.T.copy(),
                    array.astype("float64"),
                    array[None],
                    array * 0 - 1,
                )[change]
            return save(arrays)
    return packed_tensors(disturbed_json(header, chance, other), body)


def packed_tensors(header: bytes, body: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + body


def disturbed_parquet(data: bytes, chance: Chance, other: bytes) -> bytes:
    """What it holds stands in its footer, whose length comes just before the last four bytes."""
    if chance.random() < 0.1:
        return disturbed_sizes(data, chance, other, (-8,), "<I")
    size = int.from_bytes(data[-8:-4], "little")
    start = max(0, len(data) - 8 - size)
    if chance.random() < 0.3:
        return data[:4] + disturbed(data[4:start], chance, other[4:]) + data[start:]
    footer = disturbed(data[start:-8], chance, b"")
    return data[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def disturbed_png(data: bytes, chance: Chance, other: bytes) -> bytes:
    """Its pieces have checksums, which are made to fit."""
    pieces, at = [], 8
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        pieces.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    which = chance.randrange(len(pieces))
    kind, body = pieces[which]
    if kind == b"IHDR" and chance.random() < 0.5:
        body = disturbed_sizes(body, chance, other, (0, 4), ">I")
    elif kind == b"IDAT" and chance.random() < 0.5:
        body = zlib.compress(disturbed(zlib.decompress(body), chance, b""), 1)
    elif chance.random() < 0.2:
        kind = chance.choice(
            (
                b"IHDR",
                b"PLTE",
                b"IDAT",
                b"tRNS",
                b"iCCP",
                b"eXIf",
                b"zTXt",
                b"tEXt",
                b"acTL",
                b"gAMA",
                b"pHYs",
            )
        )
    else:
        body = disturbed(body, chance, b"")
    pieces[which : which + 1] = chance.choice(
        ([(kind, body)], [(kind, body)], [(kind, body)] * 2, [])
    )
    chunks = (
        struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in pieces
    )
    return data[:8] + b"".join(chunks)


def disturbed_jpg(data: bytes, chance: Chance, other: bytes) -> bytes:
    at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    if chance.random() < 0.4:
        return disturbed_sizes(data, chance, other, (at + 5, at + 7), ">H")
    return disturbed(data, chance, other)


def disturbed_npy(data: bytes, chance: Chance, other: bytes) -> bytes:
    start = data.index(b"{")
    end = data.index(b"\n", start)
    header = data[start:end]
    if chance.random() < 0.5:
        kind = chance.choice((b"O", b"S4", b"U1", b"c8", b"V4", b"i4", b"M8[s]", b"b1"))
        changes = (
            (b"(3, 2)", chance.choice(FORMS)),
            (b"f4", kind),
            (b"False", b"True"),
            (b"'shape'", b"'shade'"),
        )
        header = header.replace(*chance.choice(changes))
    else:
        header = disturbed(header, chance, b"")
    size = len(header) + 1 if chance.random() < 0.9 else chance.choice((0, 10, 65535))
    return data[:8] + struct.pack("<H", min(65535, size)) + header + b"\n" + data[end + 1 :]


def cut(data: bytes, chance: Chance, other: bytes) -> bytes:
    """A bomb goes off as it is, or is cut off or disturbeded in the middle."""
    at = chance.randrange(len(data))
    return chance.choice((data, data[: at + 1], data[:at] + chance.randbytes(3) + data[at:]))


KNOWING = {
    "json": disturbed_json,
    "jsonl": disturbed_jsonl,
    "csv": disturbed_csv,
    "idx": disturbed_idx,
    "npy": disturbed_npy,
    "safetensors": disturbed_safetensors,
    "parquet": disturbed_parquet,
    "png": disturbed_png,
    "jpg": disturbed_jpg,
    "bytes": cut,
}
