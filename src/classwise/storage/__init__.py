"""Files: statistics and models in one safe, versioned file each. Numbers and text, never code.

A file is a safetensors file. Its JSON header says what it holds; arrays hold the numbers; one of them, `content`, is
JSON that says how the numbers make up the value. Only classes declared with `stored` are ever built from it.
"""

from classwise.storage.container import Description, describe, shown
from classwise.storage.packing import as_bytes, load, save
from classwise.storage.registry import stored

__all__ = ["Description", "as_bytes", "describe", "load", "save", "shown", "stored"]
