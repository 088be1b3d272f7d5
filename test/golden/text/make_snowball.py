#!/usr/bin/env python3
"""Writes snowball.json: words and their stems, as `stemwords` of Debian's libstemmer-tools 2.2.0 gives them."""
import json
import pathlib
import subprocess

WORDS = {
    "ar": ("arabic", "كتب مدرسين يكتبون سيارات مكتبة"),
    "da": ("danish", "husene bilerne undervisningen venlighed"),
    "de": ("german", "häuser aufeinanderfolgenden katzen möglichkeiten straßen"),
    "el": ("greek", "καλησπερα ανθρωπων τραγουδια παιχνιδια"),
    "es": ("spanish", "canciones habitaciones comiendo niñas rápidamente"),
    "fi": ("finnish", "taloissa kirjoittaminen ystävällinen"),
    "fr": ("french", "chevaux continuellement mangées majestueusement écoles"),
    "ga": ("irish", "bhfeirmeoireacht fhuinneoga dtithe"),
    "hi": ("hindi", "लड़कियाँ किताबें नदियों"),
    "hu": ("hungarian", "házakban könyveket babakocsi"),
    "hy": ("armenian", "աբխազները ակադեմիայի"),
    "id": ("indonesian", "permainan membacakan"),
    "it": ("italian", "abbandonarono città pronunciare ragazze"),
    "lt": ("lithuanian", "namuose vaikai mokytojas"),
    "ne": ("nepali", "घरहरू केटाहरूले"),
    "nl": ("dutch", "lichamelijkheden huizen opgaven"),
    "no": ("norwegian", "husene havneeffektiv vennlighet"),
    "pt": ("portuguese", "informações boiadas quilométricas meninos"),
    "ro": ("romanian", "abrupte cărțile frumoasele"),
    "ru": ("russian", "вечерами красивые писавшими городов"),
    "sr": ("serbian", "kućama школама devojkama"),
    "sv": ("swedish", "jaktkarlarne husen vänligheten"),
    "ta": ("tamil", "வீடுகள் படிக்கிறார்கள்"),
    "tr": ("turkish", "evlerimizden kitapları arabalarla"),
}

stems = {}
for code, (algorithm, words) in WORDS.items():
    told = subprocess.run(
        ["stemwords", "-l", algorithm, "-p"], input=words.replace(" ", "\n") + "\n", capture_output=True, text=True, check=True
    ).stdout
    stems[code] = dict(line.split(" -> ") for line in told.splitlines())
value = {"by": "stemwords of libstemmer-tools 2.2.0", "stems": stems}
text = json.dumps(value, ensure_ascii=False, indent=1)
pathlib.Path(__file__).with_name("snowball.json").write_text(text + "\n")
