"""Where sentences begin and end: by the marks that close them, and by line ends."""

import re

SENTENCE = re.compile(r".+?(?:[.!?]+(?=\s|$)|[。！？；]|\n|$)", re.DOTALL)


def sentences_of(text: str) -> list[tuple[int, int]]:
    """From where to where each stands, without the spaces around it."""
    spans = []
    for match in SENTENCE.finditer(text):
        inner = match[0].strip()
        if inner:
            start = match.start() + match[0].index(inner)
            spans.append((start, start + len(inner)))
    return spans or [(0, len(text))]
