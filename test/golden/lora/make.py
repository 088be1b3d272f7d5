"""Writes the adapters of this folder, and what Hugging Face peft computes with them on test/golden/train/qwen2.

Logits, loss and gradients are peft's on transformers' model in float64; the loss is that of make_golden.py there. Two
adapters: `attention` (rank 4, alpha 32, q_proj and v_proj, as Agentic-RAG-R1 trains) and `linear` (rank 3, every
projection, rank-stabilised). B is random too, since an adapter as peft makes it changes nothing. `fused` is one on the
fused projections of test/golden/model/phi3, with the log-probabilities of that folder's ids.
Made with peft 0.20.1.dev0 (5d602fd), transformers 5.18, torch 2.13. Run: python make.py
"""
import json
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import Phi3ForCausalLM, Qwen2ForCausalLM

HERE = Path(__file__).parent
TRAIN = HERE.parent / "train"
ADAPTERS = {
    "attention": LoraConfig(r=4, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    "linear": LoraConfig(r=3, lora_alpha=6, target_modules="all-linear", use_rslora=True, task_type="CAUSAL_LM"),
}


PHI3 = HERE.parent / "model" / "phi3"
FUSED = LoraConfig(r=3, lora_alpha=9, target_modules=["qkv_proj", "o_proj", "gate_up_proj", "down_proj"], task_type="CAUSAL_LM")


def adapted(config, seed, base=None):
    model = get_peft_model(base or Qwen2ForCausalLM.from_pretrained(TRAIN / "qwen2"), config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return model


def scores(model, sequences):
    loss, logprobs = torch.zeros((), dtype=torch.float64), []
    for sequence in sequences:
        rows = torch.tensor(sequence["rows"])
        logits = model(torch.tensor([sequence["tokens"]])).logits[0]
        each = torch.log_softmax(logits[rows], dim=-1)[torch.arange(len(rows)), torch.tensor(sequence["tokens"])[rows + 1]]
        loss = loss - (torch.tensor(sequence["weights"], dtype=torch.float64) * each).sum()
        logprobs.append(each.tolist())
    return loss, logprobs


def save(model, folder, base):
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    written = json.loads((folder / "adapter_config.json").read_text())
    written["base_model_name_or_path"] = base
    written["target_modules"] = sorted(written["target_modules"])
    (folder / "adapter_config.json").write_text(json.dumps(written, indent=2) + "\n")


def fused():
    model = adapted(FUSED, 7, Phi3ForCausalLM.from_pretrained(PHI3, dtype=torch.float32))
    save(model, HERE / "fused", "test/golden/model/phi3")
    ids = json.loads((PHI3 / "reference.json").read_text())["ids"][:60]
    logits = model.double()(torch.tensor([ids])).logits[0]
    logprobs = torch.log_softmax(logits, -1)[:-1].gather(1, torch.tensor(ids)[1:, None])[:, 0]
    (HERE / "fused" / "expected.json").write_text(json.dumps(dict(ids=ids, logprobs=logprobs.tolist())) + "\n")


def main():
    sequences = json.loads((TRAIN / "losses.json").read_text())["sequences"]
    expected = {}
    for seed, (name, config) in enumerate(ADAPTERS.items()):
        model = adapted(config, seed)
        folder = HERE / name
        save(model, folder, "test/golden/train/qwen2")
        model.double()
        loss, logprobs = scores(model, sequences)
        loss.backward()
        grads = {key.replace(".default", ""): value.grad.float().contiguous()
                 for key, value in model.named_parameters() if value.grad is not None}
        save_file(grads, folder / "gradients.safetensors")
        # What the model gives once the adapter is part of its weights.
        _, merged = scores(model.merge_and_unload(), sequences)
        expected[name] = {"loss": loss.item(), "logprobs": logprobs, "merged": merged}
    fused()
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
