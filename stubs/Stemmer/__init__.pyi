class Stemmer:
    def __init__(self, algorithm: str, maxCacheSize: int = 10_000) -> None: ...  # noqa: N803
    def stemWord(self, word: str) -> str: ...  # noqa: N802
    def stemWords(self, words: list[str]) -> list[str]: ...  # noqa: N802

def algorithms(aslist: bool = False) -> list[str]: ...
