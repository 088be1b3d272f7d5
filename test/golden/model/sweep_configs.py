"""Compares what transformers and SeekRL compute with hostile config.json files: every architecture, edit by edit.

Run: PYTHON test/golden/model/sweep_configs.py [seed] [pairs] (torch 2.13, transformers 5.18; SeekRL is built). Each case is a
tiny model with random weights under a config.json that one edit, or a random pair of edits, has changed. Its log-probabilities
in float32 are "equal" to 1e-4, "refused" by SeekRL with a changed key's name, "refused by transformers", or they "differ" or
are "refused without a name", which fails the run. Nothing is kept; the worst cases of a kind are repeated by their seed.
"""
import collections
import contextlib
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import torch
from transformers import AutoConfig, AutoModelForCausalLM, logging

from make_config_keys import ARCHITECTURES, OWN, SHAPE

HERE = pathlib.Path(__file__).parent
REMOVED = "<removed>"
NUM_IDS = 60
logging.set_verbosity_error()

LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0)
LONG = dict(rope_type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 2.0, 3.0, 4.0])
HALF_LONG = dict(rope_type="longrope", short_factor=[1.0, 1.1], long_factor=[1.0, 2.0])
YARN = dict(rope_type="yarn", factor=4.0)
SCALINGS = [
    dict(rope_type="default"), dict(type="default"), dict(rope_type="linear", factor=3.0), dict(type="linear", factor=2),
    dict(rope_type="linear", type="yarn", factor=3.0), dict(rope_type="dynamic", factor=3.0), dict(type="dynamic", factor=2.0, alpha=4.0),
    dict(rope_type="dynamic", factor=3.0, original_max_position_embeddings=16), YARN, dict(type="yarn", factor=4.0, original_max_position_embeddings=16),
    dict(YARN, original_max_position_embeddings=32, attention_factor=1.5), dict(YARN, mscale=0.7, mscale_all_dim=1.3),
    dict(YARN, mscale=1.0, mscale_all_dim=1.0), dict(YARN, mscale=0.7), dict(YARN, beta_fast=16, beta_slow=2, truncate=False),
    dict(YARN, factor=1.0), dict(YARN, extrapolation_factor=1.0), dict(YARN, original_max_position_embeddings=1000),
    LLAMA3, dict(LLAMA3, original_max_position_embeddings=16), dict(LLAMA3, attention_factor=2.0), dict(LLAMA3, high_freq_factor=1.5),
    dict(LONG, original_max_position_embeddings=32), dict(LONG, original_max_position_embeddings=128), dict(LONG, factor=4.0),
    dict(LONG, attention_factor=1.3, original_max_position_embeddings=32), dict(LONG, short_mscale=1.1, long_mscale=1.2),
    dict(HALF_LONG, original_max_position_embeddings=32), dict(LONG, rope_type=REMOVED, type="su"), dict(LONG, rope_type=REMOVED, type="yarn"),
    dict(type="mrope", mrope_section=[1, 1, 2]), dict(rope_type="default", mrope_section=[1, 1, 2]), dict(rope_type="ntk", factor=2.0), dict(factor=2.0),
    dict(rope_type="linear"), dict(rope_type="proportional", partial_rotary_factor=0.5), {}, None,
]  # fmt: skip


def without(values):
    return {key: value for key, value in values.items() if value != REMOVED} if isinstance(values, dict) else values


def rope_edits():
    for each in map(without, SCALINGS):
        yield dict(rope_scaling=each)
        yield dict(rope_parameters=each)
        if each:
            yield dict(rope_parameters=dict(each, rope_theta=500.0))
            yield dict(rope_scaling=each, rope_theta=500, partial_rotary_factor=0.5)
            yield dict(rope_parameters=dict(full_attention=dict(each, rope_theta=500.0), sliding_attention=dict(rope_type="default", rope_theta=70.0)))
    for share in (0.25, 0.5, 0.6, 0.75, 1, 1.0, 0.0, 1.5):
        yield dict(partial_rotary_factor=share)
        yield dict(rope_parameters=dict(rope_type="default", rope_theta=500.0, partial_rotary_factor=share))
    yield from (dict(rope_theta=value) for value in (500, 500.0, 1e9, None, 0.0, -5.0, "500"))


FULL, SLIDING = ["full_attention"] * 4, ["sliding_attention"] * 4
MIXED = ["sliding_attention", "full_attention"] * 2
EDITS = [
    {}, *rope_edits(),
    *(dict(tie_word_embeddings=value) for value in (True, False, None, REMOVED)),
    *(dict(rms_norm_eps=value) for value in (0.1, 1, REMOVED, None, 0)), dict(layer_norm_eps=0.1), dict(norm_eps=0.1),
    dict(attention_bias=True), dict(mlp_bias=True), dict(qkv_bias=True), dict(qkv_bias=False), dict(attention_bias=True, mlp_bias=True), dict(lm_head_bias=True),
    *(dict(sliding_window=value) for value in (1, 4, 89, 1000, 0, -1, None, REMOVED)), dict(use_sliding_window=True),
    *(dict(use_sliding_window=True, sliding_window=4, max_window_layers=value) for value in (0, 2, 4, 9, None)), dict(use_sliding_window=True, sliding_window=None),
    *(dict(layer_types=types) for types in (FULL, SLIDING, MIXED, MIXED[:2], MIXED + FULL, ["chunked_attention"] * 4, None, [])),
    *(dict(layer_types=types, sliding_window=4, use_sliding_window=True) for types in (FULL, SLIDING, MIXED)), dict(layer_types=MIXED, sliding_window=4),
    dict(attention_chunk_size=4), dict(is_causal=False), dict(use_bidirectional_attention=True), dict(use_bidirectional_attention="all"),
    *(dict(head_dim=value) for value in (16, 10, 6, 7, REMOVED, None)), dict(head_dim=REMOVED, hidden_size=36), dict(hidden_size=24), dict(hidden_size=24, head_dim=REMOVED),
    *(dict(num_key_value_heads=value) for value in (1, 4, 3, REMOVED, None)), dict(num_attention_heads=2), dict(num_attention_heads=6), dict(num_attention_heads=1, num_key_value_heads=1),
    *(dict(query_pre_attn_scalar=value) for value in (1, 64, 2.5, REMOVED)), dict(attention_multiplier=0.5), dict(attention_scale=2.0), dict(scale_attn_weights=False),
    *(dict(attn_logit_softcapping=value) for value in (1.0, 5, None, REMOVED, 0.0)), *(dict(final_logit_softcapping=value) for value in (1.0, 5, None, REMOVED, 0.0)),
    *(dict(hidden_act=value) for value in ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "relu2", "swish", "silu", "quick_gelu", REMOVED, None)),
    *(dict(hidden_activation=value) for value in ("gelu", "gelu_pytorch_tanh", "silu", None, REMOVED)), dict(hidden_act="silu", hidden_activation=None),
    dict(vocab_size=47), dict(vocab_size=49), dict(num_hidden_layers=1, layer_types=REMOVED), dict(num_hidden_layers=2), dict(num_hidden_layers=7), dict(intermediate_size=24), dict(intermediate_size=17),
    dict(num_experts_per_tok=1), dict(num_experts_per_tok=4), dict(num_experts=2), dict(num_local_experts=2), dict(num_experts=1, num_experts_per_tok=1),
    dict(num_experts=0), *(dict(norm_topk_prob=value) for value in (True, False, None, REMOVED)), dict(decoder_sparse_step=2), dict(decoder_sparse_step=0), dict(mlp_only_layers=[1]), dict(mlp_only_layers=[0, 1, 2, 3]),
    dict(mlp_only_layers=None), dict(decoder_sparse_step=2, mlp_only_layers=[1]), dict(moe_intermediate_size=24), dict(router_jitter_noise=0.5), dict(shared_expert_intermediate_size=16), dict(n_shared_experts=1), dict(routed_scaling_factor=2.0),
    *(dict(no_rope_layers=value) for value in ([0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [1], [], None, [2, 3])), dict(no_rope_layer_interval=2), dict(no_rope_layer_interval=1), dict(no_rope_layers=None, no_rope_layer_interval=3), dict(no_rope_layer_interval=0),
    *(dict(sliding_window_pattern=value, layer_types=REMOVED) for value in (1, 3, 6, None)), dict(_sliding_window_pattern=3, layer_types=REMOVED), dict(rope_local_base_freq=70.0), dict(rope_local_base_freq=70, rope_theta=500),
    *(dict(max_position_embeddings=value) for value in (32, 90, 4096)), *(dict(original_max_position_embeddings=value) for value in (16, 32, 128, None)),
    dict(embedding_multiplier=2.0), dict(residual_multiplier=0.5), dict(logits_scaling=4.0), dict(logit_scale=0.5), dict(pretraining_tp=2), dict(hidden_dropout=0.5), dict(attention_dropout=0.5),
    dict(dtype="float16"), dict(torch_dtype="float64"), dict(use_qk_norm=True), dict(use_qk_norm=False), dict(qk_layernorm=True), dict(rope_interleaved=True), dict(alibi=True), dict(parallel_attn=True), dict(use_parallel_residual=True), dict(scale_embeddings=False), dict(clip_qkv=0.1), dict(model_type="llama"), dict(architectures=None),
]  # fmt: skip


def write_config(folder, architecture, edit):
    model_type = ARCHITECTURES[architecture]
    file = dict(architectures=[architecture], model_type=model_type, **SHAPE, **OWN.get(model_type, {}))
    (folder / "config.json").write_text(json.dumps(without({**file, **edit})))


def logprobs_of(folder, seed):
    """What transformers computes with random weights, which are left in the folder."""
    file = (folder / "config.json").read_text()
    with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
        torch.manual_seed(seed)
        forms = dict(attn_implementation="eager", experts_implementation="eager", dtype=torch.float32)
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), **forms).eval()
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.3)
        ids = torch.arange(NUM_IDS) * 7 % min(47, model.config.vocab_size)
        found = torch.log_softmax(model(ids[None], return_dict=True).logits[0, :-1], -1).gather(1, ids[1:, None])[:, 0]
        model.save_pretrained(folder)
    (folder / "config.json").write_text(file)
    return ids.tolist(), found.tolist()


def cases_of(seed, num_pairs):
    draw = random.Random(seed)
    for architecture in ARCHITECTURES:
        yield from ((architecture, edit) for edit in EDITS)
        for _ in range(num_pairs):
            first, second = draw.sample(EDITS[1:], 2)
            yield architecture, {**first, **second}


def expected_of(folder, seed, architecture, edit):
    write_config(folder, architecture, edit)
    try:
        ids, logprobs = logprobs_of(folder, seed)
        return dict(ids=ids, logprobs=logprobs)
    except Exception as error:
        return dict(refusal=f"{type(error).__name__}: {error}".split("\n")[0][:100])


def outcome_of(edit, expected, ours):
    if "refusal" in ours:
        # A key's older name, one within its value or a tensor that it asks for says the same.
        names = [*re.findall(r"[a-z]\w+", json.dumps(edit)), "rope_parameters", "rope_scaling", "contextTokens", "tensor"]
        is_named = any(name in ours["refusal"] for name in names)
        return "refused" if is_named else "refused without a name", ours["refusal"]
    gaps = [abs(a - b) for a, b in zip(ours["logprobs"], expected["logprobs"], strict=True)]
    return ("equal", "") if all(gap < 1e-4 for gap in gaps) else ("differ", f"by {max(gaps):.2g}")


def outcomes(seed, num_pairs, score):
    for architecture, edit in cases_of(seed, num_pairs):
        with tempfile.TemporaryDirectory() as folder:
            expected = expected_of(pathlib.Path(folder), seed, architecture, edit)
            if "refusal" in expected:
                outcome, detail = "refused by transformers", expected["refusal"]
            else:
                outcome, detail = outcome_of(edit, expected, score(folder, expected["ids"]))
        print(outcome, architecture, json.dumps(edit), detail, sep="\t", flush=True)
        yield outcome


def sweep(seed=0, num_pairs=60):
    command = ["node", str(HERE / "score_folders.mjs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as ours:

        def score(folder, ids):
            ours.stdin.write(json.dumps(dict(folder=folder, ids=ids)) + "\n")
            return json.loads(ours.stdout.readline())

        counts = collections.Counter(outcomes(seed, num_pairs, score))
    print(f"seed {seed}:", ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return counts["differ"] + counts["refused without a name"]


sys.exit(1 if sweep(*map(int, sys.argv[1:])) > 0 else 0)
