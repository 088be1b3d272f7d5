"""Makes variants.json: what transformers computes when keys of a folder's config.json are changed.

Run: python make_variants.py (torch 2.13, transformers 5.18), after make.py. Each entry: the folder, the changed keys (null
as `"<removed>"` removes one), the `context` Model.load is told where it matters, and the log-probability of every ninth id given those before it, in float64; `error` where
transformers refuses.
"""
import json
import pathlib
import shutil
import tempfile

import torch
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
REMOVED = "<removed>"
YARN = dict(rope_type="yarn", factor=4.0, rope_theta=1e4, original_max_position_embeddings=32)
LONGROPE = dict(rope_type="longrope", rope_theta=1e4, short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 2.0, 3.0, 4.0])
LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0)
FULL, SLIDING = ["full_attention"] * 2, ["sliding_attention"] * 2
MIXED = ["sliding_attention", "full_attention"]

VARIANTS = [
    ("qwen2", dict(is_causal=False)),
    ("qwen2", dict(is_causal=True)),
    # Where the base of the rotary frequencies stands.
    ("qwen2", dict(rope_parameters=REMOVED)),
    ("qwen2", dict(rope_parameters=REMOVED, rope_theta=500.0)),
    ("qwen2", dict(rope_parameters=REMOVED, rope_scaling=dict(rope_type="default", rope_theta=500.0))),
    ("qwen2", dict(rope_parameters=REMOVED, rope_scaling=dict(rope_type="linear", factor=3.0, rope_theta=500.0))),
    ("qwen2", dict(rope_parameters=REMOVED, rope_scaling=dict(type="linear", factor=3.0), rope_theta=500.0)),
    ("qwen2", dict(rope_parameters=REMOVED, rope_scaling=dict(rope_type="linear", factor=3.0, rope_theta=500.0), rope_theta=70.0)),
    ("qwen2", dict(rope_parameters=dict(rope_type="default", rope_theta=500.0), rope_theta=70.0)),
    ("qwen2", dict(rope_parameters=dict(rope_type="default"), rope_theta=70.0)),
    ("qwen2", dict(rope_parameters=dict(rope_type="linear", factor=3.0), rope_scaling=dict(rope_type="linear", factor=9.0))),
    ("qwen2", dict(rope_parameters=dict(rope_type="linear", factor=3.0), rope_scaling=None)),
    ("qwen2", dict(rope_parameters=dict(rope_type="linear", factor=3.0), rope_scaling={}, rope_theta=500.0)),
    ("qwen2", dict(rope_parameters=dict(rope_type="linear", type="default", factor=3.0))),
    ("qwen2", dict(rope_parameters=REMOVED, rope_scaling=dict(rope_type="linear", factor=0.5))),
    ("qwen2", dict(rope_parameters=dict(full_attention=dict(rope_type="linear", factor=3.0, rope_theta=500.0)))),
    # Part of a head.
    ("qwen2", dict(partial_rotary_factor=0.5)),
    ("qwen2", dict(partial_rotary_factor=1.0)),
    ("qwen2", dict(rope_parameters=dict(rope_type="default", rope_theta=500.0, partial_rotary_factor=0.5))),
    ("qwen2", dict(rope_parameters=dict(rope_type="linear", factor=2.0, partial_rotary_factor=0.5))),
    # The context that Llama 3's rule starts from.
    ("llama", dict(rope_parameters=dict(**LLAMA3, rope_theta=1e4, original_max_position_embeddings=64))),
    ("llama", dict(rope_parameters=dict(**LLAMA3, rope_theta=1e4))),
    ("llama", dict(rope_parameters=dict(**LLAMA3, rope_theta=1e4), original_max_position_embeddings=32)),
    ("llama", dict(rope_parameters=dict(**LLAMA3, rope_theta=1e4, original_max_position_embeddings=64), original_max_position_embeddings=16)),
    ("llama", dict(rope_parameters=dict(**LLAMA3, rope_theta=1e4, original_max_position_embeddings=64), original_max_position_embeddings=64)),
    ("llama", dict(rope_parameters=dict(**LLAMA3, rope_theta=1e4, original_max_position_embeddings=64, attention_factor=2.0))),
    ("qwen2", dict(original_max_position_embeddings=16)),
    # Stretched contexts; `context` is what Model.load is told.
    ("qwen2", dict(rope_parameters=YARN)),
    ("qwen2", dict(rope_parameters=dict(YARN, truncate=False, beta_fast=16, beta_slow=2, attention_factor=1.5))),
    ("qwen2", dict(rope_parameters=dict(YARN, mscale=0.7, mscale_all_dim=1.3))),
    ("qwen2", dict(rope_parameters=dict(rope_type="yarn", factor=4.0, rope_theta=1e4))),
    ("qwen2", dict(rope_parameters=dict(YARN, low_freq_factor=1.0))),
    ("qwen2", dict(rope_parameters=dict(rope_type="dynamic", factor=4.0, rope_theta=1e4)), dict(context=90)),
    (
        "qwen2",
        dict(rope_parameters=dict(rope_type="dynamic", factor=4.0, rope_theta=1e4), max_position_embeddings=32),
        dict(context=90),
    ),
    ("qwen2", dict(rope_parameters=dict(LONGROPE, original_max_position_embeddings=128))),
    ("qwen2", dict(rope_parameters=dict(LONGROPE, original_max_position_embeddings=64)), dict(context=256)),
    ("phi3", dict(original_max_position_embeddings=128)),
    ("phi3", dict(sliding_window=20), dict(context=256)),
    ("phi3", dict(rope_parameters=REMOVED, rope_scaling=None, rope_theta=300.0)),
    # Windows.
    ("qwen2", dict(sliding_window=24, use_sliding_window=True, max_window_layers=1)),
    ("qwen2", dict(sliding_window=24, use_sliding_window=True, layer_types=["sliding_attention", "full_attention"])),
    ("qwen3", dict(sliding_window=24, use_sliding_window=True, max_window_layers=0)),
    ("mistral", dict(sliding_window=None)),
    ("mistral", dict(sliding_window=REMOVED)),
    ("mistral", dict(sliding_window=90)),
    ("mistral", dict(sliding_window=1)),
    ("mistral", dict(use_sliding_window=False)),
    ("mistral", dict(layer_types=FULL)),
    ("mistral", dict(layer_types=MIXED)),
    ("mixtral", dict(sliding_window=20)),
    ("mixtral", dict(sliding_window=20, layer_types=FULL)),
    ("mixtral", dict(sliding_window=20, layer_types=SLIDING)),
    ("phi3", dict(sliding_window=20, layer_types=FULL), dict(context=256)),
    ("phi3", dict(sliding_window=20, layer_types=SLIDING), dict(context=256)),
    ("qwen2", dict(sliding_window=None, use_sliding_window=True, max_window_layers=0)),
    ("qwen3_moe", dict(sliding_window=4, use_sliding_window=True)),
    ("qwen3_moe", dict(sliding_window=4, use_sliding_window=True, max_window_layers=2)),
    ("qwen3_moe", dict(sliding_window=4, use_sliding_window=True, layer_types=SLIDING)),
    ("qwen3_moe", dict(sliding_window=4, use_sliding_window=True, layer_types=FULL)),
    ("qwen3_moe", dict(sliding_window=4, use_sliding_window=False)),
    # Gemma's options.
    ("gemma2", dict(sliding_window=None)),
    ("gemma3", dict(layer_types=REMOVED, _sliding_window_pattern=2)),
    ("gemma2", dict(layer_types=REMOVED)),
    ("gemma2", dict(attn_logit_softcapping=None)),
    ("gemma2", dict(attn_logit_softcapping=REMOVED, final_logit_softcapping=REMOVED)),
    ("gemma2", dict(final_logit_softcapping=None, sliding_window=REMOVED)),
    ("gemma2", dict(query_pre_attn_scalar=REMOVED)),
    ("gemma2", dict(hidden_activation="gelu")),
    ("gemma2", dict(tie_word_embeddings=REMOVED)),
    ("gemma3", dict(layer_types=REMOVED)),
    ("gemma3", dict(layer_types=REMOVED, sliding_window_pattern=2)),
    ("gemma3", dict(rope_parameters=REMOVED)),
    ("gemma3", dict(rope_parameters=REMOVED, rope_theta=500.0, rope_local_base_freq=70.0)),
    ("gemma3", dict(rope_parameters=REMOVED, rope_scaling=dict(rope_type="linear", factor=3.0))),
    # Read over, though other architectures have them.
    ("gemma3", dict(rope_parameters=REMOVED, rope_scaling=dict(type="linear", factor=3.0))),
    ("gemma3", dict(rope_parameters=dict(full_attention=dict(YARN, truncate=False, beta_fast=16, beta_slow=2, rope_theta=500.0)))),
    ("gemma3", dict(rope_parameters=dict(rope_type="linear", factor=3.0))),
    ("gemma3", dict(rope_parameters=dict(rope_type="default", rope_theta=500.0))),
    ("gemma3", dict(final_logit_softcapping=3.0)),
    ("gemma3", dict(attn_logit_softcapping=3.0)),
    ("gemma3", dict(use_bidirectional_attention=True)),
    # Layers without rotary positions.
    ("smollm3", dict(no_rope_layers=REMOVED, no_rope_layer_interval=2)),
    ("smollm3", dict(no_rope_layers=[0, 0])),
    ("smollm3", dict(layer_types=SLIDING, sliding_window=4)),
    ("smollm3", dict(layer_types=REMOVED, sliding_window=4, use_sliding_window=True)),
    ("smollm3", dict(layer_types=REMOVED, sliding_window=4)),
    ("smollm3", dict(no_rope_layers=REMOVED)),
    ("smollm3", dict(rope_parameters=REMOVED)),
    # Other keys that are read, or ignored.
    ("qwen2", dict(head_dim=8)),
    ("qwen2", dict(head_dim=None)),
    ("qwen2", dict(sliding_window=4, use_sliding_window=True, max_window_layers=0)),
    ("qwen2", dict(sliding_window=4, use_sliding_window=False)),
    ("qwen2", dict(attention_bias=False)),
    ("qwen2", dict(model_type="llama")),
    ("qwen2", dict(model_type=REMOVED)),
    ("qwen2", dict(architectures=["Qwen2Model"])),
    ("qwen2", dict(architectures=REMOVED)),
    ("qwen2", dict(hidden_act=REMOVED)),
    ("qwen2", dict(rms_norm_eps=0.5)),
    ("qwen2", dict(pretraining_tp=2)),
    ("qwen2", dict(attention_dropout=0.5)),
    ("qwen2", dict(some_unknown_key=3)),
    ("qwen2", dict(num_hidden_layers=1)),
    ("llama", dict(sliding_window=4)),
    ("llama", dict(use_sliding_window=True, sliding_window=4)),
    ("llama", dict(layer_types=["sliding_attention", "sliding_attention"], sliding_window=4)),
    ("qwen3", dict(rope_theta=300.0, rope_parameters=REMOVED)),
    ("qwen3", dict(head_dim=REMOVED)),
]


def logprobs(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager")
    ids = torch.tensor([json.loads((folder / "reference.json").read_text())["ids"]])
    found = torch.log_softmax(model(ids).logits[0, :-1], -1).gather(1, ids[0, 1:, None])[:, 0]
    return found.tolist()[8::9]


def variant(name, changes, asked={}):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / name
        shutil.copytree(HERE / name, folder)
        config = json.loads((folder / "config.json").read_text())
        config.update(changes)
        config = {key: value for key, value in config.items() if value != REMOVED}
        (folder / "config.json").write_text(json.dumps(config))
        entry = dict(folder=name, changes=changes, **asked)
        try:
            return dict(**entry, logprobs=logprobs(folder))
        except Exception as error:
            return dict(**entry, error=f"{type(error).__name__}: {error}".replace(temporary, "")[:160])


(HERE / "variants.json").write_text(
    "[\n" + ",\n".join(json.dumps(variant(*each)) for each in VARIANTS) + "\n]\n"
)
