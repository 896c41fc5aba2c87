"""The encoding of a document: by byte order mark, header, declaration, and at last by its bytes
(WHATWG Encoding, HTML 13.2.3)."""

from __future__ import annotations

import codecs
import re
from encodings import normalize_encoding
from encodings.aliases import aliases

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

# The encodings of the web (WHATWG Encoding, 4.2) by Python's names. Python knows many more, some of
# which turn text into other text or take quadratic time.
_ENCODINGS = frozenset(
    """utf-8 utf-16-le utf-16-be cp866 koi8-r koi8-u mac-roman mac-cyrillic cp874 cp932 cp949
    gb18030 big5hkscs euc_jp iso2022_jp""".split()
)
_ENCODINGS |= {f"cp{number}" for number in range(1250, 1259)}
_ENCODINGS |= {f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
# Names for which browsers take a wider encoding than the name says.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}
# Labels that Python does not know.
_LABELS = {"x-sjis": "cp932", "windows-31j": "cp932", "x-gbk": "gb18030", "x-euc-jp": "euc_jp"}
_LABELS |= {"x-user-defined": "cp1252", "unicode": "utf-16-le", "ks_c_5601-1987": "cp949"}
_LABELS |= {"windows-874": "cp874", "unicode-1-1-utf-8": "utf-8"}
_LABELS |= {"windows-949": "cp949", "x-x-big5": "big5", "iso-8859-8-i": "iso8859-8"}
_LABELS |= {"x-mac-cyrillic": "mac-cyrillic", "x-mac-roman": "mac-roman", "dos-874": "cp874"}
_LABELS |= {f"x-cp125{last}": f"cp125{last}" for last in range(9)}
_LABEL = re.compile(r"[a-z0-9_:.-]{1,64}")
_KNOWN = frozenset(
    {*aliases, *aliases.values(), *map(normalize_encoding, {*_ENCODINGS, *_LABELS.values()})}
)
"""The names that Python is asked for. It keeps each that it was ever asked for, known or not."""

_W = r"\t\n\f\r "
_NAME = rf"(?:=[^{_W}/>=]*+|[^{_W}/>=]++)"
_VALUE = (
    rf"(?:[{_W}]*+=[{_W}]*+"
    rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|(?:(?=>)|[^{_W}>]++|\Z)))?+"""
)
TAG = re.compile(
    rf"""<(?:
      !--(?:-?>|.*?(?:--!?>|\Z))
    | (?:[!?]|/(?![a-z]))[^>]*+(?:>|\Z)
    | (/?)([a-z][^{_W}/>]*+)
      ((?:
          [{_W}/]++
        | {_NAME}{_VALUE}
      )*+)(?:>|\Z)
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
"""Comments and tags in HTML's data state; of a tag its slash, name and the rest before the end."""
_MAY_DECLARE = re.compile(r"<meta[^<>]*charset", re.IGNORECASE)
_ATTRIBUTES = re.compile(
    r"""([^\s/>="']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?""", re.IGNORECASE
)
_META_CHARSET = re.compile(
    r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"'][^\s;]*))""", re.IGNORECASE
)
_HEADER_CHARSET = re.compile(r"""charset\s*+=\s*+(?:["']\s*+)?([^\s"';]++)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*encoding\s*=\s*["']([^"']+)""", re.IGNORECASE)
PRESCAN = 8_192
"""Bytes of a document in which a declaration of its encoding is looked for."""
_DETECT = 16_384


def header_charset(content_type: str) -> str:
    """The charset that a Content-Type names, as it stands there; empty for none."""
    named = _HEADER_CHARSET.search(content_type)
    return "" if named is None else named[1]


def encoding_of_xml(body: bytes) -> str:
    """Python's name of the encoding of an XML document, by byte order mark and declaration; UTF-8
    where these name none of the web's."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    declared = _XML_ENCODING.match(body[:PRESCAN])
    known = _codec(declared[1].decode("latin-1")) if declared else None
    # A declaration that is readable byte by byte is not in UTF-16, even if it declares that.
    return "utf-8" if known is None or known.startswith("utf-16") else known


def encoding_of(body: bytes, content_type: str = "") -> str:
    """Python's name of the encoding: by byte order mark, header, meta or XML declaration in the
    first 8,192 bytes, and only then by looking at the bytes."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    if (label := header_charset(content_type)) and (known := _codec(label)):
        return known
    if declared := _declared(body[:PRESCAN]):
        return declared
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        # A cut in the middle of a character is no sign of another encoding.
        if error.start < len(body) - 4:
            return _detected(body)
    return "utf-8"


def _codec(label: str) -> str | None:
    label = label.strip().lower()
    # Python forgives punctuation, which the standard does not.
    if not _LABEL.fullmatch(label):
        return None
    asked = normalize_encoding(_LABELS.get(label, label))
    if asked not in _KNOWN:
        return None
    try:
        name = codecs.lookup(asked).name
    except (LookupError, ValueError):  # of another system
        return None
    name = _WIDER.get(name, name)
    return name if name in _ENCODINGS else None


def _declared(head: bytes) -> str | None:
    if b"charset" in head.lower():
        text = head.decode("latin-1")
        tokens = TAG.finditer(text) if _MAY_DECLARE.search(text) else ()
        for token in tokens:
            # A tag that the end cuts declares nothing.
            if token[2] and token[2].lower() == "meta" and not token[1] and token[0][-1] == ">":
                name = _codec(_charset_of_meta(token[3]))
                if name is not None:
                    # A page whose meta is readable so is not in UTF-16, even if it declares that.
                    return "utf-8" if name.startswith("utf-16") else name
    xml = _XML_ENCODING.match(head)
    return _codec(xml[1].decode("latin-1")) if xml else None


def attributes_of(written: str) -> dict[str, str]:
    """The attributes of a tag as they are written there, the third part of a `TAG`; their names in
    lower case."""
    attributes: dict[str, str] = {}
    for name, *values in _ATTRIBUTES.findall(written):
        attributes.setdefault(name.lower(), "".join(values))
    return attributes


def _charset_of_meta(written: str) -> str:
    """The encoding that the attributes of a meta element declare; empty without one."""
    attributes = attributes_of(written)
    if "charset" in attributes:
        return attributes["charset"]
    if attributes.get("http-equiv", "").lower() == "content-type":
        match = _META_CHARSET.search(attributes.get("content", ""))
        if match:
            return match[1] or match[2] or match[3] or ""
    return ""


def _detected(body: bytes) -> str:
    import charset_normalizer  # a page in a thousand needs it, and no start should wait for it

    best = charset_normalizer.from_bytes(body[:_DETECT], steps=3, chunk_size=1024).best()
    return (best and _codec(best.encoding)) or "cp1252"


def decode(body: bytes, content_type: str = "") -> tuple[str, str, bool]:
    """Text, Python's name of its encoding, and whether every byte could be decoded."""
    encoding = encoding_of(body, content_type)
    try:
        return body.decode(encoding).removeprefix("\ufeff"), encoding, True
    except UnicodeDecodeError:
        text = body.decode(encoding, "replace").removeprefix("\ufeff")
        # Undefined bytes of the one-byte encodings are common and harmless.
        return text, encoding, encoding.startswith("cp125")
