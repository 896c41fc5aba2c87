from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

def Setup(  # noqa: N802
    args: Sequence[str],
    test_one_input: Callable[[bytes], None],
    *,
    internal_libfuzzer: bool = ...,
) -> Sequence[str]: ...
def Fuzz() -> None: ...  # noqa: N802
def instrument_imports(
    include: Sequence[str] | None = ...,
    exclude: Sequence[str] | None = ...,
    enable_loader_override: bool = ...,
) -> AbstractContextManager[None]: ...

class FuzzedDataProvider:
    def __init__(self, data: bytes) -> None: ...
    def ConsumeIntInRange(self, least: int, most: int) -> int: ...  # noqa: N802
    def ConsumeBytes(self, count: int) -> bytes: ...  # noqa: N802
    def ConsumeBool(self) -> bool: ...  # noqa: N802
    def ConsumeFloat(self) -> float: ...  # noqa: N802
    def remaining_bytes(self) -> int: ...
