"""Writes the training fixtures of this folder: tiny models, batches, and what an independent program makes of them.

Models and logits: Hugging Face transformers, in float64. Losses, advantages and KL: the formulas written out in numpy
(numbers) and in torch float64 autograd (gradients), sharing nothing with SeekRL. Run: python make_golden.py
"""
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

HERE = Path(__file__).parent
SHAPE = dict(vocab_size=37, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-6, rope_theta=10000.0)
rng = np.random.default_rng(7)


def f32(values):
    return np.asarray(values, dtype=np.float32).astype(np.float64)


def make_models():
    yield "qwen2", Qwen2ForCausalLM(Qwen2Config(**SHAPE, tie_word_embeddings=True))
    yield "qwen3", Qwen3ForCausalLM(Qwen3Config(**SHAPE, head_dim=6, tie_word_embeddings=False))
    yield "llama", LlamaForCausalLM(LlamaConfig(**SHAPE, tie_word_embeddings=False))


def make_sequences():
    sequences = []
    for length, rows in [(11, [2, 3, 4, 7, 8, 9]), (7, [1, 2, 5]), (14, [0, 3, 4, 5, 6, 11, 12])]:
        count = len(rows)
        sequences.append({
            "tokens": rng.integers(0, SHAPE["vocab_size"], length).tolist(),
            "rows": rows,
            "weights": f32(rng.uniform(0.01, 0.1, count)).tolist(),
            "advantages": f32(rng.normal(size=count)).tolist(),
            "oldLogprobs": f32(rng.uniform(-4.6, -2.6, count)).tolist(),
            "referenceLogprobs": f32(rng.uniform(-5.2, -2.2, count)).tolist(),
            "returns": f32(rng.normal(size=count)).tolist(),
            "oldValues": f32(rng.normal(size=count)).tolist(),
        })
    return sequences


LOSSES = {
    "likelihood": {"objective": "likelihood"},
    "ppo": {"objective": "clipped", "clipLow": 0.2, "clipHigh": 0.2, "entropyCoef": 0.02},
    "grpo": {"objective": "clipped", "clipLow": 0.2, "clipHigh": 0.28, "kl": {"estimator": "k3", "coef": 0.1},
             "temperature": 0.7},
    "kl1": {"objective": "clipped", "kl": {"estimator": "k1", "coef": 0.3}},
    "kl2": {"objective": "clipped", "kl": {"estimator": "k2", "coef": 0.3}},
    "klabs": {"objective": "clipped", "kl": {"estimator": "abs", "coef": 0.3}},
    "dual": {"objective": "clipped", "clipDual": 1.5},
    "gspo": {"objective": "clipped-sequence", "clipLow": 0.1, "clipHigh": 0.1},
}


def hidden_states(model, sequences):
    """One forward per sequence, so that packing is checked too."""
    for sequence in sequences:
        out = model(torch.tensor([sequence["tokens"]]), output_hidden_states=True)
        yield sequence, out.logits[0], out.hidden_states[-1][0]


def policy_loss(model, sequences, options):
    """The loss of docs: sum of weight * (objective + kl - entropy bonus), token by token."""
    total = torch.zeros((), dtype=torch.float64)
    logprobs, entropies = [], []
    for sequence, logits, _ in hidden_states(model, sequences):
        rows = torch.tensor(sequence["rows"])
        logp = torch.log_softmax(logits[rows] / options.get("temperature", 1.0), dim=-1)
        targets = torch.tensor(sequence["tokens"])[rows + 1]
        token = logp[torch.arange(len(rows)), targets]
        entropy = -(logp.exp() * logp).sum(-1)
        old, reference, advantage, weight = (torch.tensor(sequence[name], dtype=torch.float64) for name in (
            "oldLogprobs", "referenceLogprobs", "advantages", "weights"))
        if options["objective"] == "likelihood":
            each = -token
        else:
            ratio = torch.exp(token - old)
            if options["objective"] == "clipped-sequence":
                ratio = torch.exp((token - old).mean()).expand(len(rows))
            low, high = 1 - options.get("clipLow", 0.2), 1 + options.get("clipHigh", 0.2)
            each = -torch.minimum(advantage * ratio, advantage * torch.clamp(ratio, low, high))
            if "clipDual" in options:
                each = torch.where(advantage < 0, torch.minimum(each, -options["clipDual"] * advantage), each)
        if "kl" in options:
            d = reference - token
            held = torch.clamp(d, -20, 20)  # verl's low_var_kl, line by line
            low_var = torch.clamp(torch.exp(held) - held - 1, -10, 10)
            kl = {"k1": -d, "k2": d * d / 2, "k3": low_var, "abs": d.abs()}[options["kl"]["estimator"]]
            each = each + options["kl"]["coef"] * kl
        each = each - options.get("entropyCoef", 0.0) * entropy
        total = total + (weight * each).sum()
        logprobs.append(token.detach().tolist())
        entropies.append(entropy.detach().tolist())
    return total, logprobs, entropies


def value_loss(model, sequences, head, bias, clip):
    total = torch.zeros((), dtype=torch.float64)
    values = []
    for sequence, _, hidden in hidden_states(model, sequences):
        value = hidden[torch.tensor(sequence["rows"])] @ head + bias
        returns, old, weight = (torch.tensor(sequence[name], dtype=torch.float64) for name in (
            "returns", "oldValues", "weights"))
        moved = old + torch.clamp(value - old, -clip, clip)
        each = 0.5 * torch.maximum((value - returns) ** 2, (moved - returns) ** 2)
        total = total + (weight * each).sum()
        values.append(value.detach().tolist())
    return total, values


def gradients(model):
    result = {name: parameter.grad.float().contiguous() for name, parameter in model.named_parameters()
              if parameter.grad is not None}
    model.zero_grad()
    return result


def write_models(sequences):
    expected = {}
    for name, model in make_models():
        torch.manual_seed(ord(name[-1]))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3 + (1.0 if parameter.dim() == 1 else 0.0))
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        model.double()
        expected[name] = {}
        grads = {}
        for loss, options in LOSSES.items():
            if name != "qwen2" and loss not in ("likelihood", "ppo"):
                continue
            value, logprobs, entropies = policy_loss(model, sequences, options)
            value.backward()
            expected[name][loss] = {"options": options, "loss": value.item(), "logprobs": logprobs,
                                    "entropies": entropies}
            grads |= {f"{loss}.{key}": value for key, value in gradients(model).items()}
        save_file(grads, folder / "gradients.safetensors")
        if name == "qwen2":
            expected["critic"] = write_critic(model, sequences, folder)
    return expected


def write_critic(model, sequences, folder):
    """A critic's state as SeekRL stores it, with a head that is not zero, and its value loss."""
    head = torch.tensor(f32(rng.normal(size=SHAPE["hidden_size"]) * 0.3)).requires_grad_()
    bias = torch.tensor(f32(0.25)).requires_grad_()
    loss, values = value_loss(model, sequences, head, bias, 0.5)
    loss.backward()
    grads = gradients(model) | {"value_head.weight": head.grad.float()[None], "value_head.bias": bias.grad.float()[None]}
    save_file(grads, folder / "value_gradients.safetensors")
    state = {"value_head.weight": head.detach().float()[None], "value_head.bias": bias.detach().float()[None]}
    shapes = {key: value for key, value in model.named_parameters()} | state
    for key, value in shapes.items():
        for moment in ("m", "v"):
            state[f"adamw.{moment}.{key}"] = torch.zeros(value.shape)
    save_file(state, folder / "critic_state.safetensors")
    return {"loss": loss.item(), "values": values}


def gae(rewards, values, gamma, lam):
    """Straight from the definition: A_t = sum over l of (gamma lam)^l delta_{t+l}."""
    count = len(rewards)
    following = np.append(values[1:], 0.0)
    delta = rewards + gamma * following - values
    return [float(sum((gamma * lam) ** (u - t) * delta[u] for u in range(t, count))) for t in range(count)]


def write_advantages():
    cases = []
    for gamma, lam, count in [(1.0, 1.0, 5), (0.99, 0.95, 9), (0.9, 0.0, 4)]:
        rewards, values = rng.normal(size=count), rng.normal(size=count)
        advantages = gae(rewards, values, gamma, lam)
        cases.append({"gamma": gamma, "lambda": lam, "rewards": rewards.tolist(), "values": values.tolist(),
                      "advantages": advantages, "returns": (np.array(advantages) + values).tolist()})
    ragged = [case["advantages"] for case in cases]
    flat = np.concatenate([np.array(one) for one in ragged])
    white = (flat - flat.mean()) / np.sqrt(flat.var(ddof=1) + 1e-8)
    scores = rng.integers(0, 3, 11).astype(float)
    groups = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    by_group = {group: scores[np.array(groups) == group] for group in set(groups)}
    grpo, centred, rloo = [], [], []
    for score, group in zip(scores, groups):
        members = by_group[group]
        alone = len(members) == 1
        grpo.append(score if alone else (score - members.mean()) / (members.std(ddof=1) + 1e-6))
        centred.append(score if alone else score - members.mean())
        rloo.append(score if alone else score - (members.sum() - score) / (len(members) - 1))
    values, returns = rng.normal(size=20), rng.normal(size=20)
    explained = 1 - (returns - values).var(ddof=1) / (returns.var(ddof=1) + 1e-5)
    text = {"gae": cases, "whitened": white.tolist(), "scores": scores.tolist(), "groups": groups, "grpo": grpo,
            "dr-grpo": centred, "rloo": rloo, "reinforce++-baseline": centred, "values": values.tolist(),
            "returns": returns.tolist(), "explainedVariance": explained}
    (HERE / "advantages.json").write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    batch = make_sequences()
    expectation = {"sequences": batch, "models": write_models(batch)}
    (HERE / "losses.json").write_text(json.dumps(expectation, indent=1) + "\n")
    write_advantages()
