"""Links that do something: log out, edit, delete, put into a basket. Told by the shape of the URL.

They are left alone unless they are asked for. Links that only show what is known in another order
(sorted, filtered, a calendar's month) are no actions: they are tried, and the guard against traps
(`spoor.link_filter.traps`) holds them back sooner than others if they bring nothing new.

A shape is a parameter with its value, a script named by a verb and a thing (`rate_post.php?id=7`),
or the last segment of a path that is written in lower case and is no file of a document, three
levels below its host at most: an article may well be called `Edit`, a page `delete.html`, and a
method of a documented class `logout`. Beside the number of a thing a word says more: `/delete/7`,
`/order/7/cancel`, `/vote?id=7`; so it does behind the name of a basket (`/cart/add?id=7`), and as
the last part of a command (`task=article.delete`, `route=account/logout`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote

from spoor.web.urls import host, with_query

PROOF = "prove a form"
"""The rule of links that carry a proof against forged requests. What the scripts of a page load may
carry one too."""

_COMMAND = "(action|act|a|ac|do|mode|op|cmd|command|task|func|function|method|_method|event)"
_PART = "[a-z]+[._-]"
_ROUTE = "(r|route|q|page|url)=[a-z0-9_/-]*"

PARAMETERS: Mapping[str, str] = {
    "edit": r"(action|do|mode|op|cmd|task)=(edit|submit|create|new|add|newtopic|newpage|move|rename"
    r"|upload|protect|unprotect|rollback|revert|restore|purge|markpatrolled|editsection|raw_edit)"
    r"|veaction=edit(source)?|redlink=1|preload=.*",
    "delete": rf"{_COMMAND}=(trash|untrash|hide|unpublish|({_PART}){{0,3}}"
    r"(del|(delete(?!d$)|remove(?!d$)|destroy)[a-z_]*))|{_ROUTE}/(delete|remove|destroy)"
    r"|(del|delete|remove)(_?(item|id|comment|post|entry))?=.*",
    "log in or out": r"(action|do|mode|op|cmd|task)=(log_?in|log_?out|sign_?in|sign_?out|register"
    r"|lost_?pw|lost_?password|forgot_?(pw|password)|send_?password|profile)"
    rf"|{_COMMAND}=({_PART}){{0,3}}(log|sign)_?(out|off)|{_ROUTE}/(log|sign)-?(out|off)"
    r"|(my|wp|user|do|auth)?_?log_?(out|off)(=.*)?",
    "basket": r"(add|remove|update)[-_]to[-_](cart|basket|wishlist|compare)(=.*)?|add[-_]item=.*"
    r"|remove_item=.*|undo_item=.*|(action|do|cmd)=(add_?to_?cart|buy_?now|add_?product|checkout)"
    r"|add_to_wishlist=.*|buy=.*|(empty|clear)[-_](cart|basket)(=.*)?|wc-ajax=.*",
    "vote or report": r"(action|do|mode|op|cmd|task)=(vote|like|unlike|upvote|downvote|rate|report"
    r"|flag|follow|unfollow|watch|unwatch|subscribe|unsubscribe|bookmark|favou?rite|share|thank)"
    r"|(vote|like|upvote|cancel|approve)=.*|unsub(scribe)?(=.*)?",
    "reply": r"replytocom=.*|(action|mode|do)=(reply|quote|post|compose|newthread|newreply|new_?pm"
    r"|(e_?mail|send)_?(user|member|message|pm))",
    "mark as read": r"(action|do|mode|op)=mark_?(as_?|all_?|forums?_?)?read"
    r"|mark=(topics|forums|posts|all|read)|mark_?read(=.*)?",
    PROOF: r"(csrf|xsrf)[a-z_-]*=.+|authenticity_token=.+|sess?key=.+|[a-z_-]*nonce=.+"
    r"|(form|post|my_post|security|sec|edit|logout)_?(key|hash|tok|token)=.+",
}
"""Rule → a regular expression that one whole parameter (`name=value`, lower-case) fits. The last: a
site gives such a proof only to what changes something, so that no other site can have a visitor do
it."""

SEGMENTS: Mapping[str, str] = {
    "edit": "edit bearbeiten modifier editar modifica modificar redigera rediger edytuj bewerken "
    "upravit szerkesztes muokkaa duzenle править редактировать 編集 编辑 編輯 편집",
    "delete": "delete destroy loeschen löschen supprimer eliminar borrar elimina excluir apagar "
    "verwijderen usun usuń slett smazat poista удалить 削除 删除 刪除 삭제",
    "log in or out": "logout log-out log_out signout sign-out sign_out logoff log-off login log-in "
    "log_in signin sign-in sign_in abmelden anmelden ausloggen einloggen deconnexion déconnexion "
    "connexion se-connecter cerrar-sesion iniciar-sesion esci accedi disconnetti sair entrar "
    "uitloggen inloggen afmelden logga-ut logga-in logg-ut logg-inn log-ud log-ind wyloguj zaloguj "
    "odhlasit prihlasit kijelentkezes bejelentkezes kirjaudu-ulos kirjaudu cikis giris çıkış выход "
    "войти вход ログアウト ログイン 登出 登录 退出 로그아웃 로그인",
    "basket": "add-to-cart add_to_cart addtocart add-to-basket addtobasket add-to-wishlist "
    "in-den-warenkorb zum-warenkorb ajouter-au-panier anadir-al-carrito aggiungi-al-carrello "
    "adicionar-ao-carrinho in-winkelwagen dodaj-do-koszyka lagg-i-varukorg checkout カートに入れる "
    "加入购物车 장바구니",
    "vote or report": "upvote downvote unvote unfollow unsubscribe abbestellen desabonner "
    "cancelar-suscripcion",
}
"""Rule → last segments of paths, in several languages."""

_PARAMETER = {rule: re.compile(shapes) for rule, shapes in PARAMETERS.items()}
_OF_ANY_RULE = re.compile("|".join(PARAMETERS.values()))
_SEGMENT = {word: rule for rule, words in SEGMENTS.items() for word in words.split()}
_DEEP = 3
"""Segments before the last from which on a path says too little."""
_SCRIPT = re.compile(r"\.(php|asp|aspx|jsp|jspx|do|action|cgi|pl|cfm)$")
_POST = "(thread|topic|post|reply|comment|message|msg|pm|poll)"
_VERB = {
    rule: re.compile(shape)
    for rule, shape in {
        "edit": rf"(edit|move|merge|split|close|lock|stick|moderate)_?{_POST}s?",
        "delete": rf"(delete|remove)_?{_POST}s?",
        "log in or out": r"(user|mod|admin)_?cp|lost_?(pw|password)|forgot_?password",
        "vote or report": rf"(rate|report|send|recommend|subscribe)_?{_POST}",
        "reply": rf"(new|add|quick)_?{_POST}|post_?(reply|comment|message)",
    }.items()
}
"""Rule → names of scripts with a query, made of a verb and a thing: `ratethread.php?tid=7`."""
_SPECIAL = re.compile(
    r"(?:^|[/=])(?:special|spezial|spécial|especial|speciale|speciaal|служебная|特別|特殊|특수):"
    r"(userlog(?:in|out)|createaccount|(?:whatlinkshere|recentchangeslinked|movepage|delete|"
    r"emailuser|userrights|thanks|editpage|upload|preferences|watchlist|undelete)(?:/|$))"
)
"""Pages of a wiki that do something: `Special:UserLogout`."""
_ID = r"(?:[0-9]++|[0-9a-f]{8,}+(?:-[0-9a-f]{4,}+)*+|(?=[a-z_]*+[0-9])[0-9a-z_=]{12,}+)"
_DELETES = "delete|remove|destroy|trash"
_ASKS = (
    "cancel|approve|reject|decline|ban|unban|like|unlike|upvote|downvote|vote|follow|unfollow"
    "|favorite|favourite|subscribe|unsubscribe|flag|hide|fave"
)
_OF_ONE = "unpublish|publish|close|reopen|lock|unlock|block|unblock|accept|confirm"
_TO_BASKET = "add-to-cart|add_to_cart|addtocart|add-to-basket|addtobasket|ajouter-au-panier"
_BASKET = (
    "cart|basket|warenkorb|panier|carrito|cesta|carrello|carrinho|winkelwagen|koszyk|varukorg"
    "|wishlist|wish-list|favorites|favourites|bookmark|bookmarks|compare|product_compare"
)
_CHANGES = (
    "add|remove|delete|clear|empty|change|update|hinzufuegen|hinzufügen|ajouter|agregar|anadir"
    "|añadir|aggiungi|adicionar|toevoegen|dodaj"
)
_WORDS = frozenset(
    "|".join((_DELETES, _ASKS, _OF_ONE, _TO_BASKET, _BASKET, "del|abbestellen")).split("|")
)
"""Of which one stands in every URL that fits what follows."""
_BESIDE = re.compile(
    "/(?:"
    # `/delete/7`, `/unsubscribe/KEY`
    rf"(?:(?P<delete>{_DELETES})|(?P<basket>{_TO_BASKET})|(?P<vote>{_ASKS}))/{_ID}(?=[/?]|$)"
    r"|(?P<vote2>unsubscribe|abbestellen)/[^/?]++/?$"
    # `/order/7/cancel`
    rf"|{_ID}/(?:(?P<delete2>{_DELETES})|(?P<vote3>{_ASKS}|{_OF_ONE}))/?(?:$|\?)"
    # `/vote?id=7`, `/addToCart.do?item=7`
    rf"|(?:(?P<delete3>del|{_DELETES})|(?P<basket2>{_TO_BASKET})|(?P<vote4>{_ASKS}))"
    r"(?:\.[a-z]{2,4})?\?(?:[^?]*[&;])?(?:[a-z_]*id|item|post|p|t|u)/"
    # `/cart/add?id=7`, `/index.php?route=checkout/cart/add&product=7`, `/cart?add=7`
    rf"|(?P<basket3>{_BASKET})(?:/index)?(?:/(?:clear|empty|(?:{_CHANGES})[/?&].)"
    rf"|\?(?:[^?]*[&;])?(?:{_CHANGES})/)"
    ")"
)
"""What a word does beside the number of a thing, or behind the name of a basket: in a path and
query in lower case in which `/` stands for `=`, too. Beside a year a number may be a day."""
_OF_GROUP = {"delete": "delete", "basket": "basket", "vote": "vote or report"}
_DATED = re.compile(r"/(?:19|20)[0-9]{2}/")
_VIEW = re.compile(
    r"(sort|sort_?by|order|order_?by|dir|direction|filter|filters|facet|facets|refine|refinement|fq"
    r"|view|display|limit|per_?page|page_?size|layout|month|year|week|day|date|ical|calendar"
    r"|tribe-bar-date|color|colour|size|brand|price|min_?price|max_?price|rating|tags?|scope)(\[.*)?"
    r"|(f|filter|facet|refine|attr|pf|pa|s)[\[_].*|c|o"
    r"|[a-z]{1,20}([_-][a-z]{1,20})?[_-](facets?|filters?|sort|order|order_?by|sort_?by)(\[.*)?"
)
"""Names of parameters that sort, filter or page through time."""


def action(url: str) -> str:
    """What following a canonical URL does, as one of the rules; empty for most, which show a
    page."""
    return _matched(url)[0]


def shape(url: str) -> str:
    """The host with the parameter or segment by which `action` told a URL; empty for most."""
    rule, part = _matched(url)
    return f"{host(url)} {part}" if rule else ""


@lru_cache(maxsize=16_384)
def _matched(url: str) -> tuple[str, str]:
    """A rule, and what fits it."""
    path, _, query = url.partition("://")[2].partition("?")
    if query:
        for part in re.split("[&;]", query.lower()):
            bare = part.lstrip("@:_")  # of programs that mark the names of their own so
            if _OF_ANY_RULE.fullmatch(bare):  # few are
                return next(rule for rule, its in _PARAMETER.items() if its.fullmatch(bare)), part
    plain = unquote(path + "?" + query) if "%" in url else path + "?" + query
    if ":" in plain and (special := _SPECIAL.search(plain.partition("/")[2].lower())):
        rule = "log in or out" if "log" in special[1] or "account" in special[1] else "edit"
        return rule, special[1]
    lower = plain[plain.find("/") :].rstrip("?").lower().replace("=", "/")
    words = lower.replace("?", "/").replace(".", "/").split("/")
    beside = None if _WORDS.isdisjoint(words) else _BESIDE.search(lower)
    if beside is not None and not _DATED.search(lower):
        group = beside.lastgroup or ""
        return _OF_GROUP[group.rstrip("0123456789")], beside[group]
    last = plain.partition("?")[0].rstrip("/").rpartition("/")
    if not last[1]:
        return "", ""
    segment = last[2]
    if last[0].count("/") >= _DEEP:
        return "", ""
    if script := _SCRIPT.search(segment.lower()):
        segment = segment[: script.start()].lower().removeprefix("wp-")
        if query:
            for rule, shape_of in _VERB.items():
                if shape_of.fullmatch(segment):
                    return rule, segment
    if last[0].lower().endswith(("/account", "/auth", "/user", "/users")):
        segment = segment.lower()  # as programs of one maker have it: `/Account/LogOff`
    return (_SEGMENT[segment], segment) if segment in _SEGMENT else ("", "")


@lru_cache(maxsize=16_384)
def is_view(url: str) -> bool:
    """Whether the parameters of a URL sort, filter or page through time."""
    return any(map(is_view_by, with_query(url).partition("?")[2].split("&")))


def is_view_by(part: str) -> bool:
    """The same of one parameter, `name=value`."""
    name = unquote(part.partition("=")[0]).lower()
    return _VIEW.fullmatch(name) is not None


def verb(url: str) -> str:
    """The last segment of a URL's path where it is a word of SEGMENTS, deep below its host: what
    that does is told by a sample of such pages only."""
    path = url.partition("://")[2].partition("?")[0].rstrip("/")
    segment = path.rpartition("/")[2]
    segment = unquote(segment) if "%" in segment else segment
    return segment if segment in _SEGMENT else ""
