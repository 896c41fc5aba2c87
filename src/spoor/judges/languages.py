"""The languages that a wish may name: code of ISO 639-1 → name in English."""

from __future__ import annotations

from collections.abc import Mapping

from spoor.errors import InputError
from spoor.registry import nearest

LANGUAGES: Mapping[str, str] = dict(
    pair.split(" ", 1)
    for pair in (
        "af Afrikaans,am Amharic,an Aragonese,ar Arabic,as Assamese,az Azerbaijani,be Belarusian,"
        "bg Bulgarian,bn Bengali,br Breton,bs Bosnian,ca Catalan,cs Czech,cy Welsh,da Danish,"
        "de German,dz Dzongkha,el Greek,en English,eo Esperanto,es Spanish,et Estonian,eu Basque,"
        "fa Persian,fi Finnish,fo Faroese,fr French,ga Irish,gl Galician,gu Gujarati,he Hebrew,"
        "hi Hindi,hr Croatian,ht Haitian,hu Hungarian,hy Armenian,id Indonesian,is Icelandic,"
        "it Italian,ja Japanese,jv Javanese,ka Georgian,kk Kazakh,km Khmer,kn Kannada,ko Korean,"
        "ku Kurdish,ky Kyrgyz,la Latin,lb Luxembourgish,lo Lao,lt Lithuanian,lv Latvian,"
        "mg Malagasy,mi Maori,mk Macedonian,ml Malayalam,mn Mongolian,mr Marathi,ms Malay,"
        "mt Maltese,my Burmese,nb Norwegian Bokmål,ne Nepali,nl Dutch,nn Norwegian Nynorsk,"
        "no Norwegian,oc Occitan,or Odia,pa Punjabi,pl Polish,ps Pashto,pt Portuguese,qu Quechua,"
        "ro Romanian,ru Russian,rw Kinyarwanda,se Northern Sami,si Sinhala,sk Slovak,sl Slovenian,"
        "sn Shona,so Somali,sq Albanian,sr Serbian,st Sotho,sv Swedish,sw Swahili,ta Tamil,"
        "te Telugu,tg Tajik,th Thai,tl Tagalog,tn Tswana,tr Turkish,ts Tsonga,tt Tatar,ug Uyghur,"
        "uk Ukrainian,ur Urdu,vi Vietnamese,vo Volapük,wa Walloon,xh Xhosa,yi Yiddish,yo Yoruba,"
        "zh Chinese,zu Zulu"
    ).split(",")
)
_CODES = {name.casefold(): code for code, name in LANGUAGES.items()}


def language_code(given: str) -> str:
    """The code of a language that a user names by code (`de`, `pt-BR`, `zh_Hant`) or in English
    (`German`). Raises InputError for an unknown one."""
    bare = given.strip().casefold()
    code = _CODES.get(bare) or bare.replace("_", "-").partition("-")[0]
    if code not in LANGUAGES:
        offer = nearest(bare, _CODES)
        raise InputError(
            f"lang:{given} is no language{offer}; write its code or its English name, as in "
            "lang:de or lang:german"
        )
    return code
