"""Pages that a server sends in place of a document: proofs that one is a person, blocks, limits of
rate, walls of consent, log-ins, shells that need JavaScript, and "not found" with status 200.

They are told by their status, headers and words. The patterns are few, and each asks for a page
with hardly any other words, since a document may speak of all of this: what such a page says of
itself stands in its title, or is all that it says. A page that is longer than `LONGEST` is a
document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spoor.types import Page

LONGEST = 1500
"""Characters of text from which on a page is a document."""
_SHORT = 600
"""Characters of a page that holds one statement and what is around it."""
_SHELL = 250
"""Characters of a page whose text comes by scripts: a name, a few links of its frame."""
_LOOKED_AT = 1 << 16
"""Bytes of a body in which marks are looked for."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a reply is no document."""

    name: str
    """`challenge`, `blocked`, `rate`, `consent`, `login`, `javascript` or `missing`."""
    reason: str
    """What it is, and what a person could do."""
    kind: str = "gated"
    """Of the failure: `refused` where the host wants to be asked less, `absent` where the document
    is not there, `gated` where a person gets further."""
    again: bool = False
    """Whether it may be another page later."""


CHALLENGE = Refusal(
    "challenge",
    "a challenge page: the site wants proof of a person; say who asks (--contact, --sign-key), ask "
    "its operator, or give the cookies of your browser (--cookies)",
    "refused",
)
BLOCKED = Refusal(
    "blocked",
    "a page that says that access is denied; ask its operator, or give what lets you in "
    "(--cookies, --netrc, --proxy)",
    "refused",
)
RATE = Refusal(
    "rate",
    "a page that says that too much was asked; ask less (--delay)",
    "refused",
    again=True,
)
CONSENT = Refusal(
    "consent", "a wall of consent; agree to it in a browser and give its cookies (--cookies)"
)
LOGIN = Refusal(
    "login", "a log-in page; give the cookies of your browser (--cookies) or a password (--netrc)"
)
JAVASCRIPT = Refusal("javascript", "a page without words until its scripts have run (--render)")
MISSING = Refusal("missing", "it says that it is not there, with status 200", "absent")

_HEADERS = {"cf-mitigated": "challenge", "x-amzn-waf-action": "", "x-datadome": "protected"}
"""Headers of services that stand before a site, and how their values begin."""

_MARKS = re.compile(
    rb"_cf_chl_opt|/cdn-cgi/challenge-platform/|captcha-delivery\.com|px-captcha|_Incapsula_Resource"
    rb"|awsWafCookieDomainList|within\.website/x/cmd/anubis|sucuri_cloudproxy|ddos-guard/js-challenge"
    rb"|hcaptcha\.com/1/api\.js|recaptcha/(?:api|enterprise)\.js",
    re.IGNORECASE,
)
"""What the pages of such services load. Documents load some of it too, for a form below them."""


def _any(*patterns: str) -> re.Pattern[str]:
    """Over words in lower case: a search that minds no case takes three times as long."""
    return re.compile("|".join(patterns))


_CHALLENGE = _any(
    r"verif\w*\b.{0,20}\byou(?:'re| are) (?:a )?human|just a moment|checking your browser",
    r"(?:confirm|prove|verify) (?:that )?you(?:'re| are) (?:not a (?:ro)?bot|(?:a )?human)",
    r"are you a robot|unusual traffic from|complete the (?:captcha|security check)",
    r"making sure you(?:'re| are) not a bot|needs to review the security of your connection",
    r"dass sie (?:ein mensch|kein roboter) sind|ungewöhnlichen datenverkehr",
    r"que vous (?:êtes (?:un )?humain|n'êtes pas un robot)|que (?:eres|es) (?:un )?humano",
    r"que no (?:eres|es) un robot|di non essere un robot|que você (?:é humano|não é um robô)",
    r"dat (?:u|je) (?:een mens|geen robot) bent|że nie jesteś robotem|что вы не робот",
    r"人机验证|请完成安全验证|确认您是真人|ロボットではないこと|로봇이 아닙니다",
)
_BLOCKED = _any(
    r"access (?:to this page )?(?:has been |is )?(?:denied|blocked)|403 forbidden",
    r"you (?:have been|are|were) blocked",
    r"your (?:request|ip(?: address)?|access) (?:has been|was|is) (?:blocked|denied|banned)",
    r"zugriff (?:wurde )?(?:verweigert|gesperrt)|accès (?:refusé|interdit|bloqué)|acceso denegado",
    r"accesso negato|acesso negado|toegang geweigerd|dostęp zabroniony",
    r"доступ (?:запрещ[её]н|закрыт)",
    r"拒绝访问|访问被拒绝|アクセスが拒否|접근이 (?:거부|차단)",
)
_RATE = _any(
    r"too many requests|rate limit(?: has been)? exceeded|you(?:'ve| have) (?:reached|exceeded) "
    r"(?:the|your) (?:rate|request) limit",
    r"zu viele anfragen|trop de requêtes|demasiadas (?:solicitudes|peticiones)|troppe richieste",
    r"(?:muitas|demasiadas) (?:solicitações|requisições)|te veel verzoeken|zbyt wiele żądań",
    r"слишком много запросов|(?:请求|访问)过于频繁|リクエストが多すぎ|요청이 너무 많",
)
_CONSENT = _any(
    r"before you continue to|we (?:value|care about|respect) your privacy",
    r"accept (?:all )?cookies to",
    r"bevor sie fortfahren|ihre privatsphäre|avant d'accéder|avant de continuer",
    r"antes de continuar|prima di continuare|uw privacy|twoja prywatność",
)
_AGREE = _any(
    r"\b(?:accept|agree|consent|reject|zustimm|akzeptier|aceptar|accett|aceitar|akkoord|zgadzam)"
)
_LOGIN = _any(
    r"\b(?:log|sign)[ -]?(?:in|on)\b|\banmeld(?:en|ung)\b|\beinloggen\b|\bconnexion\b|se connecter",
    r"iniciar sesión|inicio de sesión|\baccedi\b|\binloggen\b|zaloguj|\bвойти\b|авторизаци",
    r"\bfazer login\b|登录|登入|ログイン|로그인",
)
_MISSING = _any(
    r"^(?:error )?404\b|^not found\b|^(?:the )?(?:page|document|file|article|resource|site)"
    r"(?: you\b.{0,40})? (?:(?:is |was )?not|could(?:n't| not)(?: be)?|can(?:'t|not)(?: be)?)"
    r" found\b",
    r"^(?:sorry,? )?(?:this|the|that) page (?:does not|doesn't|no longer) exists?|^page not found",
    r"seite (?:wurde )?nicht gefunden|page (?:non trouvée|introuvable)|página no encontrada",
    r"pagina non trovata|página não encontrada|pagina niet gevonden|nie znaleziono strony",
    r"страница не найдена|页面(?:不存在|未找到)|找不到(?:该)?页面|ページが見つかりません",
    r"페이지를 찾을 수 없",
)
_NEEDS_SCRIPTS = _any(
    r"(?:enable|activate|turn on|requires?|needs?|without|use) (?:your )?(?:browser's )?javascript",
    r"javascript (?:is|must be|has to be|to be|support)? ?(?:disabled|enabled|required|turned|off)",
    r"javascript.{0,40}(?:aktivier|activ|abilita|habilit|inschakel|włącz|включ)",
    r"(?:aktivier|activ|abilita|habilit|schakel|włącz|включ).{0,40}javascript",
    r"启用 ?javascript|javascript ?を有効|javascript.{0,10}(?:활성화|사용)",
)
_FEW_LINKS = 10
"""Of a log-in page that says so in its text alone."""
_PASSWORD = re.compile(rb"<input\b[^>]{0,150}\btype\s*=\s*[\"']?password\b", re.IGNORECASE)
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_PARTS = re.compile(r"\s[|–—·:»-]\s")
"""Between the title of a page and the name of its site."""


def refusal(page: Page, headers: Mapping[str, str], body: bytes) -> Refusal | None:
    """Why an HTML page that came with status 200 is none; None for a document. Costs 2 µs for a
    page with more than `LONGEST` characters, some 30 µs for others."""
    if len(page.text) > LONGEST:
        return None
    if _by_service(headers):
        return CHALLENGE
    head, text = body[:_LOOKED_AT], page.text.lower()
    parts = (*_PARTS.split(page.title[:_SHORT]), *page.headings[:1])
    titles = [one.strip().lower() for one in parts if one.strip()]
    return _by_words(page, titles, text, head) or _by_shape(page, titles, text, head)


def refusal_of_error(status: int, headers: Mapping[str, str], body: bytes) -> Refusal | None:
    """Of a reply with an error: what more is known of it than its status. A server that is busy
    says when to come again, which holds."""
    if status in (401, 403, 405, 429, 503) and (
        _by_service(headers) or ("retry-after" not in headers and _MARKS.search(body[:_LOOKED_AT]))
    ):
        return CHALLENGE
    return None


def _by_service(headers: Mapping[str, str]) -> bool:
    return any(
        name in headers and headers[name].lower().startswith(value)
        for name, value in _HEADERS.items()
    )


def _by_words(page: Page, titles: list[str], text: str, head: bytes) -> Refusal | None:
    """By what the page says: in its title where it says more, anywhere where it says little."""
    said = "\n".join([*titles, text]) if len(text) <= _SHORT else "\n".join(titles)
    if _CHALLENGE.search(said) and (len(page.links) <= 10 or _MARKS.search(head)):
        return CHALLENGE
    if len(page.links) <= 30:
        for pattern, found in ((_BLOCKED, BLOCKED), (_RATE, RATE)):
            if any(_is_statement(pattern, one) for one in titles):
                return found
            if len(text) <= _SHELL and pattern.search(text):
                return found
    if any(len(one) <= 80 and _MISSING.search(one) for one in titles):
        return MISSING
    return None


def _by_shape(page: Page, titles: list[str], text: str, head: bytes) -> Refusal | None:
    """By what the page is made of."""
    links = len(page.links)
    if len(text) <= _SHORT and _PASSWORD.search(head):
        # A list without entries may have a log-in box beside its menu.
        named = [*titles, *([text] if len(text) <= _SHELL and links <= _FEW_LINKS else [])]
        return LOGIN if _LOGIN.search("\n".join(named)) else None
    if links <= 30 and ("cookie" in text or "privac" in text) and _AGREE.search(text):
        return CONSENT if _CONSENT.search("\n".join([*titles, text[:300]])) else None
    if len(text) > _SHELL or links > 3:
        return None
    if _MARKS.search(head):
        return CHALLENGE
    if _SCRIPT.search(head):
        hidden = _TAG.sub(" ", _without_scripts(head))
        if _NEEDS_SCRIPTS.search(hidden) or _NEEDS_SCRIPTS.search(text):
            return JAVASCRIPT
    return None


def _without_scripts(head: bytes) -> str:
    """What the first `noscript` elements hold."""
    parts = head.lower().split(b"<noscript", 4)[1:]
    held = (part.partition(b">")[2].partition(b"</noscript")[0][:2_000] for part in parts)
    return b" ".join(held).decode("utf-8", "replace")


def _is_statement(pattern: re.Pattern[str], title: str) -> bool:
    """Whether a title is such a statement, and not one about it."""
    found = pattern.search(title)
    return found is not None and len(title) <= len(found[0]) + 25
