"""What people write around a wish ("find me pages about kilns"), in eleven languages, and how it is
left off."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Connectives:
    """The words that join the parts of a wish in a sentence of one language, in lower case."""

    any_of: frozenset[str] = frozenset()
    all_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()


NOTHING = Connectives()
"""Of a wish that is no sentence: a lower-case `or` is a word as any other (French for gold)."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    before: re.Pattern[str]
    after: re.Pattern[str]
    words: Connectives


def _sentence(
    before: str, after: str = "", any_of: str = "", all_of: str = "", none_of: str = ""
) -> _Sentence:
    def words(text: str) -> frozenset[str]:
        return frozenset(text.split())

    return _Sentence(
        re.compile(rf"(?:{before})", re.IGNORECASE),
        re.compile(rf"(?:{after})$", re.IGNORECASE),
        Connectives(words(any_of), words(all_of), words(none_of)),
    )


def _european(ask: str, every: str, things: str, about: str, **connectives: str) -> _Sentence:
    """`ask` alone, `things about`, or both; each a list of alternatives."""
    topic = rf"(?:(?:{every})\s+)*(?:{things})\s+(?:{about})"
    return _sentence(rf"(?:(?:{ask})\s+)?{topic}\s+|(?:{ask})\s+(?:{every}\s+)*", **connectives)


_SENTENCES = (
    _european(
        r"(?:please\s+)?(?:(?:find|get|show|give|fetch|bring)\s+(?:me|us)|search\s+for|look\s+for|"
        r"(?:i'm|i\s+am|we\s+are)\s+(?:looking|searching)\s+for|i\s+(?:want|need))|"
        r"(?:find|get|show|give|fetch|collect|list)(?=\s+(?:all\s+|every\s+|the\s+)*"
        r"(?:pages?|articles?|documents?)\s+(?:about|on)\b)",
        r"all|every|any|some|the|web",
        r"(?:web\s?)?pages?|(?:web\s?)?sites?|articles?|documents?|docs|texts?|posts?|news|papers?|"
        r"information|info|everything|anything|something",
        r"(?:that\s+are\s+|which\s+are\s+)?(?:about|on|regarding|concerning|related\s+to)",
        any_of="or",
        all_of="and",
        none_of="not without except",
    ),
    _european(
        r"(?:bitte\s+)?(?:finde?|such|suche|zeige?|gib)\s+(?:mir|uns)|ich\s+(?:suche|will|möchte)",
        "alle|alles|die|einige",
        "(?:web)?seiten|artikel|texte|dokumente|beiträge|alles|informationen|infos",
        r"über|zu|zum\s+thema",
        any_of="oder",
        all_of="und",
        none_of="nicht ohne außer",
    ),
    _european(
        r"(?:trouve|cherche|montre|donne)[ -]moi|je\s+(?:cherche|veux)",
        "toutes|tous|les|des",
        "pages|articles|textes|documents|tout|informations|infos",
        r"sur|à\s+propos\s+de|au\s+sujet\s+de|concernant",
        any_of="ou",
        all_of="et",
        none_of="sans pas sauf",
    ),
    _european(
        "búscame|buscame|encuéntrame|muéstrame|dame|quiero|busco",
        "todas|todos|las|los",
        "páginas|paginas|artículos|textos|documentos|todo|información",
        r"sobre|acerca\s+de",
        any_of="o u",
        all_of="y e",
        none_of="sin no excepto",
    ),
    _european(
        "trovami|cercami|mostrami|dammi|cerco|voglio",
        "tutte|tutti|le|gli|i",
        "pagine|articoli|testi|documenti|tutto|informazioni",
        r"su|sul|sulla|sui|sulle|riguardo\s+a",
        any_of="o oppure",
        all_of="e ed",
        none_of="senza non tranne",
    ),
    _european(
        r"encontre(?:-me)?|mostre-me|procuro|quero",
        "todas|todos|as|os",
        "páginas|artigos|textos|documentos|tudo|informações",
        r"sobre|acerca\s+de",
        any_of="ou",
        all_of="e",
        none_of="sem não exceto",
    ),
    _european(
        r"(?:zoek|vind|geef|toon)\s+(?:mij|me|ons)|ik\s+(?:zoek|wil)",
        "alle|de",
        "(?:web)?pagina['’]s|artikelen|teksten|documenten|alles|informatie",
        "over",
        any_of="of",
        all_of="en",
        none_of="niet zonder behalve",
    ),
    _european(
        r"znajdź\s+mi|pokaż\s+mi|szukam|chcę",
        "wszystkie",
        "strony|stron|artykuły|teksty|dokumenty|wszystko|informacje",
        r"o|na\s+temat",
        any_of="lub albo",
        all_of="i oraz",
        none_of="nie bez oprócz",
    ),
    _european(
        r"(?:найди|покажи|дай)\s+(?:мне|нам)|я\s+(?:ищу|хочу)|ищу",
        "все|всё",
        "страницы|статьи|тексты|документы|все|всё|информацию|информация|сайты",
        "о|об|обо|про|на\\s+тему",
        any_of="или",
        all_of="и",
        none_of="не без кроме",
    ),
    # Questions. What follows is no list: their `or` and `not` are words as any other.
    _sentence(
        r"how\s+(?:do|can|could|should|would)\s+(?:i|you|we|one)\s+|how\s+to\s+|"
        r"where\s+(?:do|can)\s+(?:i|you|we)\s+(?:find|get|see)\s+|"
        r"(?:what\s+is|what['’]s)\s+the\s+(?:best|easiest|fastest|right|recommended)\s+way\s+"
        r"(?:to|of)\s+|(?:is\s+there\s+(?:a|any)\s+way|is\s+it\s+possible)\s+(?:to|of)\s+|"
        r"(?:can|could|should|may|must)\s+(?:i|you|we|one)\s+|"
        r"what\s+happens\s+(?:if|when)\s+|why\s+(?:do|does|did|is|are|can)\s+|"
        r"(?:what|where|who)(?:\s+is|\s+are|['’]s)\s+"
    ),
    _sentence(
        r"wie\s+(?:kann|soll|muss|könnte)\s+(?:ich|man|wir)\s+|(?:was|wo|wer)\s+(?:ist|sind)\s+|"
        r"(?:kann|soll|muss|darf)\s+(?:ich|man)\s+|wo\s+finde\s+ich\s+|warum\s+(?:ist|sind)\s+"
    ),
    _sentence(
        r"comment\s+(?:puis-je|peut-on|faire\s+pour)\s+|qu['’]est[ -]ce\s+qu(?:e\s+|['’])|"
        r"comment\s+(?=\w+(?:er|ir|re)\s+(?:l['’]|(?:les?|la|une?|des?|du|mon|ma|mes|son)\s))|"
        r"pourquoi\s+"
    ),
    _sentence(
        r"¿?(?:cómo\s+(?:puedo|se\s+puede)|dónde\s+encuentro|qué\s+(?:es|son)|cómo|por\s+qué)\s+"
    ),
    _sentence(r"как\s+(?:можно|мне)?\s*|(?:почему|что\s+такое)\s+"),
    _sentence(
        r"(?:如何|怎么|怎样|怎麼|怎樣|怎么样)(?:才能|可以)?|(?:什么|什麼)是|(?:为什么|為什麼)",
        r"(?:的方法|是什么|是什麼)?",
    ),
    _sentence(
        "",
        r"(?:を?する|を行う)?(?:(?:ため)?に?は(?:どう(?:すれば|したら)(?:よい|いい)(?:です)?か)?|"
        r"(?:ための)?方法(?:は|を教えて(?:ください|下さい)?)?)|(?:を?し)?たい|とは(?:何(?:です)?か)?",
    ),
    _sentence(
        "", r"(?:를|을)?\s*(?:하는\s+)?방법(?:은|을)?|하려면(?:\s+어떻게.*)?|(?:이?란)\s*무엇.*"
    ),
    _sentence(
        r"(?:请|請)?(?:帮我|幫我)?(?:查找|搜索|寻找|找)?(?:所有|一些)?(?:关于|關於|有关|有關)",
        r"(?:的(?:网页|网站|页面|文章|资料|信息|文档|内容|網頁|網站|頁面|資料|內容))?",
    ),
    _sentence(
        "",
        r"(?:について|に関する|に関して)(?:の)?(?:(?:ウェブ)?ページ|記事|情報|文書|資料|サイト)?"
        r"(?:を)?(?:探して|検索して|見つけて|探す)?(?:ください)?",
    ),
    _sentence(
        "",
        r"에\s*(?:대한|관한|대해|관해)(?:\s*(?:페이지|글|문서|기사|정보|자료))?(?:를|을)?"
        r"(?:\s*찾아\s*줘)?",
    ),
)


def reduced(text: str) -> tuple[str, Connectives]:
    """A wish without the sentence around it, and the words that join its parts in that language.
    What is no such sentence comes back as it is, without `.`, `!` or `?` at its end."""
    text = text.strip()
    bare = text.rstrip(" .!?。？！") or text
    for sentence in _SENTENCES:
        before, after = sentence.before.match(bare), sentence.after.search(bare)
        begin = before.end() if before else 0
        end = after.start() if after else len(bare)
        if begin == 0 and end == len(bare):
            continue
        if (rest := bare[begin:end].strip(" :")) and any(map(str.isalnum, rest)):
            return rest, sentence.words
    return bare, NOTHING
