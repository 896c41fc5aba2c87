"""Topics, read from a TOML file or from words, and the judge of each."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor import registry
from spoor.errors import InputError
from spoor.files import read_toml
from spoor.judges.combined import AnyOf
from spoor.judges.facts import SearchTime, TextPattern, UrlAmong, UrlPattern
from spoor.judges.keywords import Keywords
from spoor.judges.named import named as named_function
from spoor.judges.relevance import Relevance
from spoor.judges.wish import MOST, Wish
from spoor.judges.wish import parse as parse_wish
from spoor.protocols import Judge
from spoor.registry import nearest
from spoor.setting import too_many
from spoor.types import Page, Topic
from spoor.web.text import STOP_WORDS, Vectors, tokens
from spoor.web.urls import canonical

# Judges that few topics name are imported where they are made.
if TYPE_CHECKING:
    from spoor.judges.answers import Ask
    from spoor.judges.semantic import Encoder

SUFFIXES = (".toml", ".topic")
"""Endings of the names of topic files; other values of `--topic` are words."""


@dataclass(frozen=True, slots=True)
class TopicFile:
    """A topic, and how relevance is judged."""

    topic: Topic
    method: str = "keywords"
    """One of METHODS, or the name of another package's judge."""
    threshold: float | None = None
    """None: the default of the method."""
    stemmed: bool = True
    language: str = "english"
    example_urls: tuple[str, ...] = ()
    """Canonical URLs of example pages; they count as relevant themselves."""
    fields: Mapping[str, float] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()
    """Regular expressions: a page counts as relevant if its title or text matches one."""
    url_patterns: tuple[str, ...] = ()
    """Regular expressions: a page counts as relevant if its URL matches one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings of its method only: `model`, `encoder`, `ask` and others."""
    path: Path | None = None
    """Path of the file; None for words."""
    second: Mapping[str, Any] = field(default_factory=dict)
    """The table [judge]: a second opinion on pages near the threshold (`SECOND`)."""
    negative_texts: tuple[str, ...] = ()
    """Texts of pages that are not wanted, for the method `words`."""
    wish: Wish | None = None
    """The words of `--topic`, or `wish` of a topic file, parsed; None where there are none."""

    def beside(self, name: str) -> Path:
        """The path of a file that the topic file names, relative to its folder."""
        return (self.path.parent if self.path else Path()) / name

    @property
    def files(self) -> list[Path]:
        """All files that the judge needs, except the topic file itself."""
        from spoor.judges.semantic import NEEDED

        settings = {**self.settings, **self.second}
        named = [self.beside(settings[key]) for key in _FILES if key in settings]
        return [
            file
            for path in named
            for file in ([path / name for name in NEEDED] if path.is_dir() else [path])
            if file.is_file()
        ]


METHODS: dict[str, tuple[str, ...]] = {
    "words": ("beta", "list_pages"),
    "keywords": ("stemmed", "fields"),
    "tfidf": (),
    "bm25": (),
    "patterns": (),
    "classifier": ("model", "sha256"),
    "vectors": ("vectors",),
    "encoder": ("encoder",),
    "llm": ("ask", "prompt", "budget", "characters", "fallback"),
}
"""Method → the keys of [relevant] that only this method has."""
_FILES = ("model", "vectors", "encoder")
_FALLBACKS = ("keywords", "tfidf", "bm25")
_KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "description": (str,),
    "keywords": (list,),
    "example_urls": (list,),
    "example_texts": (list,),
    "negative_texts": (list,),
    "patterns": (list,),
    "url_patterns": (list,),
    "categories": (dict,),
    "wish": (str,),
    "relevant": (dict,),
    "judge": (dict,),
    "made": (dict,),
}
_RELEVANT: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "beta": (int, float),
    "list_pages": (bool,),
    "threshold": (int, float),
    "stemmed": (bool,),
    "language": (str,),
    "fields": (dict,),
    "model": (str,),
    "sha256": (str,),
    "vectors": (str,),
    "encoder": (str,),
    "ask": (str,),
    "prompt": (str,),
    "budget": (int, float),
    "characters": (int,),
    "fallback": (str,),
}


MOST_COMPARED = 5_000
"""Items of one list of a topic; a keyword takes some 20 µs of every page."""

SECOND: dict[str, tuple[type, ...]] = {
    "ask": (str,),
    "encoder": (str,),
    "prompt": (str,),
    "threshold": (int, float),
    "asks": (int,),
    "seconds": (int, float),
    "cost": (int, float),
    "share": (int, float),
    "characters": (int,),
}
"""Keys of [judge], a second opinion: `ask` or `encoder`, and its limits."""


def read_topic(path: Path | str) -> TopicFile:
    """Read a topic file. Raises InputError with the file and the key, and the nearest known key."""
    path = Path(path)
    try:
        data = read_toml(path)
    except OSError as error:
        raise InputError(f"cannot read topic file {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not a TOML file: {error}") from error
    _check(data, _KEYS, str(path))
    relevant = data.get("relevant", {})
    method = relevant.get("method", _usual_method(data, relevant))
    if not isinstance(method, str):
        raise InputError(f"{path}: [relevant] 'method' must be a string, not {method!r}")
    if method not in METHODS and method in registry.outside("judges"):
        settings = {key: value for key, value in relevant.items() if key != "method"}
        registry.check("judges", method, settings)
        relevant = {}
    else:
        _check(relevant, _RELEVANT, f"{path}: [relevant]")
        _check_method(method, relevant, path)
        settings = {key: relevant[key] for key in METHODS[method] if key in relevant}
    for key in (
        "keywords",
        "example_urls",
        "example_texts",
        "negative_texts",
        "patterns",
        "url_patterns",
    ):
        items = data.get(key, [])
        if not all(isinstance(item, str) for item in items):
            raise InputError(f"{path}: {key!r} must be a list of strings")
        if len(items) > MOST_COMPARED:
            raise InputError(too_many(f"{path}: {key!r}", len(items), MOST_COMPARED))
    if len(name := data.get("name", "")) > MOST:
        raise InputError(f"{path}: 'name' has {len(name):,} characters; write at most {MOST:,}")
    threshold = relevant.get("threshold")
    if threshold is not None and not 0.0 < threshold <= 1.0:
        raise InputError(f"{path}: 'threshold' lies in (0, 1], as scores do, not {threshold!r}")
    for name, weight in relevant.get("fields", {}).items():
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not weight >= 0:
            raise InputError(f"{path}: field {name!r} has a weight from 0 on, not {weight!r}")
    _check(second := data.get("judge", {}), SECOND, f"{path}: [judge]")
    if second and ("ask" in second) == ("encoder" in second):
        raise InputError(f"{path}: [judge] needs 'ask' or 'encoder', and one of them only")
    wish = _wish(data, path)
    words = Topic() if wish is None else wish.topic
    topic = Topic(
        data.get("name", words.name),
        data.get("description", ""),
        tuple(data.get("keywords", words.keywords)),
        tuple(data.get("example_texts", [])),
        {str(name): str(text) for name, text in data.get("categories", {}).items()},
    )
    patterns, urls = tuple(data.get("patterns", [])), tuple(data.get("url_patterns", []))
    if not (topic.text.strip() or topic.examples or patterns or urls):
        raise InputError(f"{path}: says nothing of the topic; give 'name' or 'keywords'")
    try:
        examples = tuple(canonical(url) for url in data.get("example_urls", []))
    except ValueError as error:
        raise InputError(f"{path}: 'example_urls': {error}") from error
    return TopicFile(
        topic,
        method,
        threshold,
        relevant.get("stemmed", True),
        relevant.get("language", "english"),
        examples,
        relevant.get("fields", {}),
        patterns,
        urls,
        settings,
        path,
        second,
        tuple(data.get("negative_texts", ())),
        wish,
    )


def _wish(data: Mapping[str, Any], path: Path) -> Wish | None:
    """The wish of a topic file: what a user typed, as for `--topic`."""
    if "wish" not in data:
        return None
    if "keywords" in data:
        raise InputError(f"{path}: 'wish' says it all, also any of several; leave 'keywords' out")
    try:
        return parse_wish(data["wish"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _usual_method(data: Mapping[str, Any], relevant: Mapping[str, Any]) -> str:
    """The default method of a topic file."""
    for key, method in (("model", "classifier"), ("vectors", "vectors"), ("ask", "llm")):
        if key in relevant:
            return method
    if "encoder" in relevant:
        return "encoder"
    if data.get("wish"):
        return "words"
    if data.get("example_texts"):
        return "tfidf"
    patterns = data.get("patterns") or data.get("url_patterns")
    return "patterns" if patterns and not data.get("keywords") else "keywords"


def _check_method(method: str, relevant: Mapping[str, Any], path: Path) -> None:
    if method not in METHODS:
        names = [*METHODS, *registry.outside("judges")]
        offer, have = nearest(str(method), names), ", ".join(names)
        raise InputError(f"{path}: unknown method {method!r}{offer}; there are: {have}")
    for key in relevant:
        owners = [name for name, keys in METHODS.items() if key in keys]
        if owners and method not in owners:
            raise InputError(
                f"{path}: [relevant] {key!r} goes with method {owners[0]!r}, not {method!r}"
            )
    needs = {"classifier": "model", "vectors": "vectors", "encoder": "encoder", "llm": "ask"}
    if method in needs and needs[method] not in relevant:
        raise InputError(f"{path}: method {method!r} needs {needs[method]!r} under [relevant]")
    fallback = relevant.get("fallback", "keywords")
    if fallback not in _FALLBACKS:
        have = ", ".join(_FALLBACKS)
        raise InputError(f"{path}: 'fallback' is one of {have}, not {fallback!r}")


def _check(data: Mapping[str, Any], known: Mapping[str, tuple[type, ...]], where: str) -> None:
    for key, value in data.items():
        if key not in known:
            have = ", ".join(known)
            raise InputError(
                f"{where}: unknown key {key!r}{nearest(key, known)}; there are: {have}"
            )
        kinds = known[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InputError(f"{where}: {key!r} must be {_KINDS[kinds[0]]}, not {value!r}")


_KINDS = {
    str: "a string",
    list: "a list of strings",
    dict: "a table",
    int: "a number",
    bool: "true or false",
}


def topic_of(value: str) -> TopicFile:
    """The topic of `--topic`: a topic file if the value ends with one of `SUFFIXES`, else a wish in
    words (`spoor.judges.wish`). Raises InputError for a wish that is not understood."""
    return read_topic(value) if value.endswith(SUFFIXES) else topic_of_phrase(value)


def topic_of_phrase(phrase: str) -> TopicFile:
    """The topic of a wish in words. Raises InputError for one that is not understood."""
    wish = parse_wish(phrase)
    return TopicFile(wish.topic, "words", wish=wish)


def judge_of_topic(source: TopicFile) -> Judge:
    """The judge of a topic. Raises InputError if a file that it names is missing, damaged, or not
    the file with which the topic was made.

    Words as typed are judged by evidence and feedback (`spoor.judges.relevance`); a file without
    them by its method.
    """
    time = SearchTime()
    judges: list[Judge] = [TextPattern(pattern, time) for pattern in source.patterns]
    judges += [UrlPattern(pattern, time) for pattern in source.url_patterns]
    if source.example_urls and source.method != "words":
        judges.append(UrlAmong(source.example_urls))
    if source.method != "patterns":
        judges.insert(0, _judge_by_method(source))
    if not judges:
        raise InputError(f"{source.path}: method 'patterns' needs 'patterns' or 'url_patterns'")
    judge = judges[0] if len(judges) == 1 else AnyOf(judges)
    return with_second_opinion(judge, source) if source.second else judge


NO_PREFERENCE = (
    "--prefer moves the cut of a topic in words, and {} is none; leave it out, or set 'threshold' "
    "in a topic file"
)


def preferring(source: TopicFile, beta: float | None) -> TopicFile:
    """The same topic with another `beta`, unless that is None. Raises InputError for one that is
    not in words, which has a threshold instead."""
    if beta is None:
        return source
    if source.method != "words":
        raise InputError(NO_PREFERENCE.format(f"{source.path} (method {source.method!r})"))
    return replace(source, settings={**source.settings, "beta": beta})


def taking_lists(source: TopicFile) -> TopicFile:
    """The same topic, whose judge takes list pages as well (`spoor.web.list_pages`): those of other
    methods than `words` do in any case."""
    if source.method != "words":
        return source
    return replace(source, settings={**source.settings, "list_pages": True})


def with_second_opinion(judge: Judge, source: TopicFile) -> Judge:
    """A judge that has second opinions on the pages near its threshold, as [judge] of a topic says.
    Raises InputError for a function or encoder that is not there, and for limits out of range."""
    from spoor.judges.answers import Answer
    from spoor.judges.second_opinion import Limits, SecondOpinion

    options = dict(source.second)
    name = options.pop("ask", "") or options["encoder"]
    threshold = options.pop("threshold", 0.5)
    prompt = options.pop("prompt", "") or _question(source)
    if options.pop("encoder", ""):
        from spoor.judges.semantic import Semantic

        semantic = Semantic(_texts(source), _encoder_at(source, name))

        def likeness(text: str, prompt: str) -> Answer:
            return Answer(semantic.judge(Page("", text=text)).score, 0.0)

        ask: Ask = likeness
    else:
        ask = named_function(name)
    limits = Limits(**options)
    return SecondOpinion(
        judge,
        ask,
        prompt=prompt,
        name=name,
        threshold=float(threshold),
        limits=limits,
        list_pages=source.method != "words" or source.settings.get("list_pages", False),
    )


def _question(source: TopicFile) -> str:
    if source.wish is not None:
        return f"Is this one of the following? {str(source.wish).replace('*', '')}"
    return f"Is this page about the following? {source.topic.text}"


def _judge_by_method(source: TopicFile) -> Judge:
    if source.method in METHODS:
        return _JUDGES[source.method](source)
    text = source.topic.text
    judge: Judge = registry.build("judges", source.method, text, settings=source.settings)
    return judge


def judge_by_keywords(source: TopicFile) -> Judge:
    """The judge of a topic's words alone, whatever its method."""
    return _keyword_judge(_plain(source, "keywords"))


def _plain(source: TopicFile, method: str) -> TopicFile:
    return replace(source, method=method, threshold=None, patterns=(), url_patterns=())


def _keyword_judge(source: TopicFile) -> Judge:
    topic = source.topic
    settings: dict[str, Any] = {**_threshold(source), "stemmed": source.stemmed}
    settings["language"] = source.language
    if source.fields:
        settings["fields"] = source.fields
    if topic.keywords:
        # Any of the keywords is enough: each is a judge of its own.
        judges = [Keywords([keyword], **settings) for keyword in topic.keywords]
        return AnyOf(judges, topic.keywords if len(judges) > 1 else ())
    words = [word for word in tokens(topic.name) if word not in STOP_WORDS] or tokens(topic.text)
    return Keywords(list(dict.fromkeys(words)), **settings)


def _classifier(source: TopicFile) -> Judge:
    from spoor.judges.classifier import Classifier, TextModel

    path = source.beside(source.settings["model"])
    digest = source.settings.get("sha256")
    model = TextModel.read(path)
    if digest is not None and hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        raise InputError(
            f"{path} is not the model that {source.path} was made with (its digest differs); make "
            "the topic anew, or put the file back"
        )
    return Classifier(model, **_threshold(source))


def _encoder(source: TopicFile) -> Judge:
    from spoor.judges.semantic import Semantic

    encoder = _encoder_at(source, source.settings["encoder"])
    return Semantic(_texts(source), encoder, **_threshold(source))


def _encoder_at(source: TopicFile, name: str) -> Encoder:
    from spoor.judges.semantic import encoder_of

    folder = source.beside(name)
    return encoder_of(str(folder) if os.path.isdir(folder) else name)  # whatever its name is


def _llm(source: TopicFile) -> Judge:
    from spoor.judges.llm import Llm

    options = source.settings
    fallback = options.get("fallback", "keywords")
    return Llm(
        named_function(options["ask"]),
        _JUDGES[fallback](_plain(source, fallback)),
        prompt=options.get("prompt") or f"Is this page about the following? {source.topic.text}",
        name=options["ask"],
        instead=fallback,
        budget=float(options.get("budget", math.inf)),
        characters=options.get("characters", 8000),
        **_threshold(source),
    )


def _tf_idf(source: TopicFile) -> Judge:
    from spoor.judges.similarity import TfIdf

    return TfIdf(_texts(source), language=source.language, **_threshold(source))


def _bm25(source: TopicFile) -> Judge:
    from spoor.judges.similarity import Bm25

    return Bm25(source.topic.text, language=source.language, **_threshold(source))


def _vectors(source: TopicFile) -> Judge:
    from spoor.judges.similarity import VectorCosine

    vectors = Vectors.read(source.beside(source.settings["vectors"]))
    return VectorCosine(" ".join(_texts(source)), vectors, **_threshold(source))


def _texts(source: TopicFile) -> list[str]:
    """The texts with which pages are compared."""
    topic = source.topic
    return [*topic.examples, *([topic.text] if topic.text.strip() else [])]


def _threshold(source: TopicFile) -> dict[str, Any]:
    return {} if source.threshold is None else {"threshold": float(source.threshold)}


def _words(source: TopicFile) -> Judge:
    """Words and examples together; a threshold of their own they find."""
    topic = source.topic
    wish = source.wish
    if wish is None and topic.text.strip():
        wish = parse_wish(", ".join(topic.keywords) or topic.name or topic.description)
    texts = (*topic.examples, *source.negative_texts)
    pages = [Page(f"{_EXAMPLE}{at}", text=text) for at, text in enumerate(texts)]
    positive, negative = pages[: len(topic.examples)], pages[len(topic.examples) :]
    beta = float(source.settings.get("beta", 1.0))
    judge = Relevance(
        wish, positive=positive, negative=negative, wanted=source.example_urls, beta=beta
    )
    judge.takes_lists = source.settings.get("list_pages", False)
    return judge


_EXAMPLE = "http://file.invalid/example-"
"""No host has this name."""

_JUDGES: dict[str, Callable[[TopicFile], Judge]] = {
    "words": _words,
    "keywords": _keyword_judge,
    "tfidf": _tf_idf,
    "bm25": _bm25,
    "classifier": _classifier,
    "vectors": _vectors,
    "encoder": _encoder,
    "llm": _llm,
}
