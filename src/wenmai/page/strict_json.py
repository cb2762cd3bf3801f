"""JSON as its standard has it: NaN and infinity are no numbers there, so that a score that is none is null."""

import json
import math


def strict_json(value, indent: int | None = None) -> str:
    return json.dumps(finite(value), ensure_ascii=False, indent=indent, allow_nan=False)


def finite(value):
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
