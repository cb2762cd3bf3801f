"""Words in a hash table, found by their letters (linear probing, Knuth 3, 6.4), and texts that are read through it.

The table may be mapped from a file, and what that says is not believed: no lookup leaves the arrays or fails to end.
"""

import numpy as np

from wenmai.data.storage.caches import njit

UNK, BEGIN, END = 0, 1, 2


@njit(inline="always")
def white(letter):
    return letter == 32 or 9 <= letter <= 13


@njit(inline="always")
def hash_of(data, start, end):
    """FNV-1a, mixed at the end."""
    value = np.uint64(0xCBF29CE484222325)
    for at in range(start, end):
        value = (value ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
    return value ^ (value >> np.uint64(29))


@njit(inline="always")
def slot_of(data, start, end, letters, starts, slots):
    """(where the word stands in the table, its number); if it does not: the free place where it would, and -1."""
    mask = np.uint64(len(slots) - 1)
    slot = hash_of(data, start, end) & mask
    for _ in range(len(slots)):
        number = slots[slot]
        if number < 0 or number >= len(starts) - 1:
            break
        first, last = starts[number], starts[number + 1]
        same = last - first == end - start and first >= 0 and last <= len(letters)
        if same:
            for n in range(end - start):
                if letters[first + n] != data[start + n]:
                    same = False
                    break
        if same:
            return slot, number
        slot = (slot + np.uint64(1)) & mask
    return slot, np.int32(-1)


@njit(inline="always")
def plain(number):
    """What was not found, and what only we may write, is unknown."""
    return number if number > END else np.int32(UNK)


@njit(cache=True, nogil=True)
def lookup(data, start, end, letters, starts, slots):
    return plain(slot_of(data, start, end, letters, starts, slots)[1])


@njit(cache=True, nogil=True)
def put(data, start, end, letters, starts, slots, size):
    slot, number = slot_of(data, start, end, letters, starts, slots)
    if number >= 0:
        return size, number
    first = starts[size]
    for n in range(end - start):
        letters[first + n] = data[start + n]
    starts[size + 1] = first + end - start
    slots[slot] = size
    return size + 1, np.int32(size)


@njit(cache=True, nogil=True)
def put_all(data, bounds, letters, starts, slots, size, numbers):
    for n in range(len(numbers)):
        size, numbers[n] = put(data, bounds[n], bounds[n + 1], letters, starts, slots, size)
    return size


@njit(cache=True, nogil=True)
def hashed(letters, starts, size, count):
    slots = np.full(count, -1, np.int32)
    for number in range(size):
        slots[slot_of(letters, starts[number], starts[number + 1], letters, starts, slots)[0]] = (
            number
        )
    return slots


@njit(cache=True, nogil=True)
def line_end(data, at):
    while at < len(data) and data[at] != 10:
        at += 1
    return min(at + 1, len(data))


@njit(cache=True, nogil=True)
def sizes(data):
    """(words and line ends, lines); a last line without an end is one too."""
    words = lines = 0
    inside = False
    for letter in data:
        space = white(letter)
        words += not space and not inside
        inside = not space
        lines += letter == 10
    lines += len(data) > 0 and data[-1] != 10
    return words + lines, lines


@njit(cache=True, nogil=True)
def grow(data, at, letters, starts, slots, size, tokens, filled):
    """Reads on from byte `at`, until there is no more room for words; a line that was begun stays begun."""
    fresh = at == 0 or data[at - 1] == 10
    while at < len(data):
        if fresh:
            tokens[filled] = BEGIN
            filled += 1
            fresh = False
        if data[at] == 10:
            tokens[filled] = END
            filled += 1
            at += 1
            fresh = True
            continue
        if white(data[at]):
            at += 1
            continue
        end = at
        while end < len(data) and not white(data[end]):
            end += 1
        if (
            starts[size] + end - at > len(letters)
            or size + 2 > len(starts)
            or 2 * size > len(slots)
        ):
            return size, at, filled - (data[at - 1] == 10 or at == 0)
        number = slot_of(data, at, end, letters, starts, slots)[1]
        if number < 0:
            size, number = put(data, at, end, letters, starts, slots, size)
        tokens[filled] = plain(number)
        filled += 1
        at = end
    if not fresh:
        tokens[filled] = END
        filled += 1
    return size, at, filled


@njit(cache=True, nogil=True)
def numbered(data, letters, starts, slots, tokens, lines):
    at = filled = line = 0
    lines[0] = 0
    while at < len(data):
        if data[at] == 10:
            tokens[filled] = END
            filled += 1
            line += 1
            lines[line] = filled
            at += 1
        elif white(data[at]):
            at += 1
        else:
            end = at
            while end < len(data) and not white(data[end]):
                end += 1
            tokens[filled] = plain(slot_of(data, at, end, letters, starts, slots)[1])
            filled += 1
            at = end
    if line + 1 < len(lines):
        tokens[filled] = END
        lines[line + 1] = filled + 1
