# The compiled module, which only this package's files call: they say the types of what users call.
from typing import Any

def __getattr__(name: str) -> Any: ...
