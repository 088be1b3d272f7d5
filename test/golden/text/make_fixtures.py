"""Makes the files of this folder. The ids and texts are those of the reference programs:
tokenizers 0.23.2, sentencepiece 0.2.2, jinja2 3.1.6 (set up as transformers 5.18.0 sets it up).

    python make_fixtures.py
"""

import io
import json
import random
from pathlib import Path

import jinja2
import sentencepiece
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent

PEOPLE = ["Ada Brand", "Bo Cedar", "Ceyda Öz", "Dara Élan", "Enzo Fürst", "Fay Gómez"]
PLACES = ["Harbour Town", "Île-Verte", "Kämpen", "Ошин", "東山", "New Wells"]
PATTERNS = [
    "{p} was born in {c} in {y}.",
    "Who founded the library of {c}? {p} did, with {n} others.",
    "<search> {p}, {c} </search>\n<information>\nDoc 1: {p} wrote {n} books.\n</information>",
    "It's {n}% of {y}; that's what {p} said: \"we'll see\".",
    "{c} and {c} are {n}.5 km apart...\t{p} walked.",
]

TEXTS = [
    "",
    " ",
    "   ",
    "\n\n\n",
    "a",
    " a",
    "a ",
    "Hello, world!",
    "Who founded the library of Kämpen?",
    "It's what we'll see; THEY'RE here, I'M not.",
    "12345 3.14 1,000,000 ½ ² ٣",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|><|im_start|> <|im_end |> <|im_en",
    "text<search> one, two </search>",
    "Ada Brand was born in 東山 in 1901.",
    "Ошин — город",
    "naïve cafe\u0301 caf\u00e9 \u1e9b\u0323",
    "ﬁ １２３ ﾊﾝｶｸ ㌔ …",
    "emoji 😀 👩‍👩‍👧 🇫🇷 e\u0301",
    "tabs\t\tand\r\nlines\rand\u2028separators\u0085",
    "zero\u200bwidth\u200djoiner \ufeffbom \u00adsoft",
    "nul\u0000 and \u0001 and \u007f",
    "x" * 300,
    "ab " * 100,
    "▁ the sign ▁▁ itself ▁a",
    "<0x41> <0xE6> <s> </s> <unk> [UNK] [CLS]",
    "!!!???...,,,;;;:::---___***",
    "camelCaseAndPascalCase snake_case kebab-case",
    "日本語のテキスト、中文文本。한국어 텍스트",
    "العربية עברית हिन्दी ไทย",
    "<L> a <L>b<R>  c <R>",
    "New York, New Yorker, xNew York New York",
    "\ud7ff\ue000\uffff\U0010ffff",
    "end with newline\n",
    "  leading and trailing  ",
]


def corpus() -> list[str]:
    rng = random.Random(7)
    lines = []
    for _ in range(1500):
        fill = {"p": rng.choice(PEOPLE), "c": rng.choice(PLACES), "y": rng.randint(1800, 2020), "n": rng.randint(1, 99)}
        lines.append(rng.choice(PATTERNS).format(**fill))
    return lines


def write(name: str, value: object) -> None:
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=None) + "\n", encoding="utf8")


def byte_level(lines: list[str]) -> Tokenizer:
    """The parts of Qwen2.5 and Llama 3: NFC, the cutting expression, byte-level BPE."""
    tokenizer = Tokenizer(models.BPE())
    cut = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(cut), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet))
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<search>", normalized=False), AddedToken("</search>", normalized=False)])
    return tokenizer


def word_piece(lines: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=300, special_tokens=specials))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=None, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def word_level(lines: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True)])
    tokenizer.train_from_iterator(lines, trainers.WordLevelTrainer(vocab_size=200, special_tokens=["<unk>", "</s>"]))
    tokenizer.add_tokens([AddedToken("<L>", lstrip=True), AddedToken("<R>", rstrip=True)])
    tokenizer.add_tokens([AddedToken("New York", single_word=True)])
    return tokenizer


def unigram(lines: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    specials = ["<unk>", "</s>"]
    trainer = trainers.UnigramTrainer(vocab_size=250, special_tokens=specials, unk_token="<unk>")
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def byte_fallback(lines: list[str]) -> Tokenizer:
    """The parts of a converted Llama 2 tokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(parts)
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    words = [word for line in lines for word in line.split()]
    tokenizer.train_from_iterator(words, trainers.BpeTrainer(vocab_size=500, special_tokens=specials))
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = [token for token in content["added_tokens"] if not token["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(content))


def sentence_piece(name: str, lines: list[str], **options: object) -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, hard_vocab_limit=False, minloglevel=2, num_threads=1, **options
    )
    (HERE / name).write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def sentence_pieces(lines: list[str]) -> dict[str, sentencepiece.SentencePieceProcessor]:
    rules = HERE / "rules.tsv"
    pairs = {"ﬁ": "fi", "½": "1⁄2", "…": "...", "\t": " ", "\u3000": " ", "é": "e", "e\u0301": "e", "１": "1", "\u200b": ""}
    hexes = lambda text: " ".join(f"{ord(char):04X}" for char in text)
    rules.write_text("".join(f"{hexes(key)}\t{hexes(value)}\n" for key, value in pairs.items()))
    made = {
        "bpe.model": sentence_piece(
            "bpe.model", lines, model_type="bpe", vocab_size=420, byte_fallback=True, character_coverage=0.99,
            normalization_rule_name="identity", remove_extra_whitespaces=False, allow_whitespace_only_pieces=True,
            user_defined_symbols=["<search>", "</search>"],
        ),
        "unigram.model": sentence_piece(
            "unigram.model", lines, model_type="unigram", vocab_size=250, normalization_rule_tsv=str(rules),
            control_symbols=["<sep>"], user_defined_symbols=["New York"],
        ),
    }
    rules.unlink()
    return made


TEMPLATES = {
    "plain": "{% for message in messages %}\n[{{ message.role }}] {{ message['content'] | trim }}\n{% endfor %}\n"
    "{% if add_generation_prompt %}\n[assistant] {% endif %}",
    "strict": "{{ bos_token }}\n{%- for m in messages %}\n    {%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}\n"
    "        {{- raise_exception('roles must alternate, got ' ~ m.role ~ ' at ' ~ loop.index0) }}\n    {%- endif %}\n"
    "    {{- '<' + m.role + '>' + m.content + eos_token }}\n{%- endfor %}",
    "tools": "{%- if tools %}\n{{- tools | tojson(indent=2) }}\n{%- for tool in tools %}\n{{ tool.function.name }}: "
    "{% for name, spec in tool.function.parameters.properties | items %}{{ name }}={{ spec.type }}"
    "{{ ', ' if not loop.last }}{% endfor %}\n{%- endfor %}\n{%- else %}none{%- endif %}\n"
    "{%- for m in messages if m.tool_calls is defined %}|{{ m.tool_calls | tojson }}|{% endfor %}",
    "namespace": "{%- set ns = namespace(found=false, system='') -%}\n{%- for m in messages -%}\n"
    "{%- if m.role == 'system' -%}{%- set ns.system = m.content -%}{%- continue -%}{%- endif -%}\n"
    "{%- if loop.index > 3 -%}{%- set ns.found = true -%}{%- break -%}{%- endif -%}\n"
    "{{ loop.index }}:{{ m.content }};{%- endfor -%}\n{{ ns.system }}/{{ ns.found }}",
    "python": "{{ none }} {{ true }} {{ [1, 'a', none] }} {{ {'k': 1.5} }} {{ missing }}|{{ missing | trim }}|"
    "{{ 'x' in missing }}|{{ 1 == '1' }}|{{ none == missing }}|{{ [1] == [1] }}|{{ 'a' ~ 1 ~ none }}|"
    "{{ '\n\n a \n'.strip('\n') }}|{{ 'xxaxx'.lstrip('x') }}|{{ messages[0].content[:2] }}|{{ messages[-1].role }}|"
    "{{ '<b>' | safe + '<i>' }}|{{ missing | list | length }}|{{ 'abc' is iterable }}|{{ 7 // 2 }}|{{ 'a,b'.split(',') }}",
    "macro": "{%- macro turn(role, text='(none)') -%}<{{ role }}>{{ text }}</{{ role }}>{%- endmacro -%}\n"
    "{%- for m in messages -%}{{ turn(m.role, m.content) }}{{ turn(role=m.role) }}{%- endfor -%}",
    "builtin_names": "{{ 'x'.constructor }}|{{ messages[0].constructor }}|{{ messages.constructor }}",
    "attribute_of_undefined": "{{ messages[0].missing.deeper }}",
    "text_plus_number": "{{ 'a' + 1 }}",
    "generator": "{{ messages | map(attribute='role') | tojson }}",
    "loop_over_none": "{% for tool in tools %}{{ tool }}{% endfor %}",
    "loop_over_undefined": "{% for tool in missing %}{{ tool }}{% endfor %}ok",
}

TOOL = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Finds <passages> & \"quotes\" é",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "k": {"type": "integer"}}},
    },
}

CALL = {"type": "function", "function": {"name": "search", "arguments": {"query": "Kämpen", "k": 3}}}

CONVERSATIONS = {
    "user": [{"role": "user", "content": "  Hi\n"}],
    "turns": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b\n"},
        {"role": "user", "content": "日本 <|im_end|>"},
        {"role": "assistant", "content": ""},
    ],
    "system": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q"}],
    "call": [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "1812"},
    ],
}

VARIABLES = {"bos_token": "<s>", "eos_token": "</s>"}


def environment() -> ImmutableSandboxedEnvironment:
    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def rendering(env, template: str, messages: list, tools: list | None, add_generation_prompt: bool) -> dict:
    call = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": add_generation_prompt}
    try:
        return {"output": env.from_string(template).render(**call, **VARIABLES)}
    except (jinja2.exceptions.TemplateError, TypeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def chat() -> dict:
    env = environment()
    results = []
    for name, template in TEMPLATES.items():
        for case, messages in CONVERSATIONS.items():
            for tools in (None, [TOOL]):
                for prompt in (False, True):
                    result = rendering(env, template, messages, tools, prompt)
                    key = {"template": name, "case": case, "tools": tools is not None, "addGenerationPrompt": prompt}
                    results.append({**key, **result})
    return {
        "templates": TEMPLATES,
        "conversations": CONVERSATIONS,
        "tool": TOOL,
        "variables": VARIABLES,
        "results": results,
    }


def encoded(tokenizer: Tokenizer) -> dict:
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    decoded = [tokenizer.decode(row, skip_special_tokens=False) for row in ids]
    return {"ids": ids, "decoded": decoded, "withSpecials": tokenizer.encode("Hello, world!").ids}


def main() -> None:
    lines = corpus()
    builders = [byte_level, word_piece, word_level, unigram, byte_fallback]
    made = {f"{build.__name__.replace('_', '-')}/tokenizer.json": build(lines) for build in builders}
    expected = {}
    for name, tokenizer in made.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        tokenizer.save(str(HERE / name), pretty=False)
        expected[name] = encoded(tokenizer)
    for name, processor in sentence_pieces(lines).items():
        ids = [processor.encode(text) for text in TEXTS]
        expected[name] = {"ids": ids, "decoded": [processor.decode(row) for row in ids]}
    write("expected.json", {"texts": TEXTS, "tokenizers": expected})
    names = {"bos_token": None, "eos_token": "<|im_end|>", "pad_token": {"content": "<|endoftext|>"}}
    write("byte-level/tokenizer_config.json", names)
    ids = [made["byte-level/tokenizer.json"].token_to_id(token) for token in ("<|im_end|>", "<|endoftext|>")]
    write("byte-level/generation_config.json", {"eos_token_id": ids})
    write("chat.json", chat())


main()
