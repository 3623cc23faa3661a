from typing import Any

__version__: str
neural: bool

def __getattr__(name: str) -> Any: ...
