"""The teacher's vectors of the training texts (all-MiniLM-L6-v2, 384 dimensions, mean-pooled, unit norm).

    python tools/distill/teach.py MODEL texts.tsv teacher.npy    # MODEL is the folder of the model in its package

The longest texts go first, in batches of about the same number of tokens; bfloat16 halves the time and changes cosines by less than 0.005.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LONGEST = 96  # tokens that the teacher sees of a text
BATCH = 6_144  # tokens
THREADS = int(os.environ.get("THREADS", "2"))


def main() -> int:
    """Writes one float16 row per line of the texts, in their order; 2 when called wrongly."""
    if len(sys.argv) != 4:
        sys.stderr.write(__doc__ or "")
        return 2
    with open(sys.argv[2], encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t", 1)[1] for line in file]
    np.save(sys.argv[3], embed(sys.argv[1], texts))
    return 0


def embed(folder: str, texts: list[str]) -> np.ndarray:
    """The teacher's unit vectors (texts x 384, float16)."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    parts = [tokenizer(texts[at : at + 2_000], truncation=True, max_length=LONGEST)["input_ids"] for at in range(0, len(texts), 2_000)]
    return run(folder, [row for part in parts for row in part])


def embed_tokens(folder: str, tokens: list[str]) -> np.ndarray:
    """The teacher's unit vector of each token by itself (tokens x 384, float16); a word outside its vocabulary is taken in pieces."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    known = tokenizer.get_vocab()
    first, last = known["[CLS]"], known["[SEP]"]
    return run(folder, [[first, known[token], last] if token in known else tokenizer(token)["input_ids"] for token in tokens])


def run(folder: str, rows: list[list[int]]) -> np.ndarray:
    """The teacher's unit vectors of token numbers (rows x 384, float16)."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != WEIGHTS:
            raise SystemExit("the teacher's weights are not the ones that the table was made from")
    torch.set_num_threads(THREADS)
    model = AutoModel.from_pretrained(folder).eval()
    order = sorted(range(len(rows)), key=lambda at: -len(rows[at]))
    out = np.zeros((len(rows), 384), np.float16)
    began = time.time()
    at = 0
    batches = 0
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        while at < len(order):
            longest = len(rows[order[at]])
            batch = order[at : at + max(1, BATCH // longest)]
            tokens = torch.zeros((len(batch), longest), dtype=torch.long)
            mask = torch.zeros((len(batch), longest))
            for line, index in enumerate(batch):
                tokens[line, : len(rows[index])] = torch.tensor(rows[index])
                mask[line, : len(rows[index])] = 1
            hidden = model(input_ids=tokens, attention_mask=mask).last_hidden_state.float()
            pooled = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
            out[batch] = torch.nn.functional.normalize(pooled, dim=1).half().numpy()
            at += len(batch)
            batches += 1
            if batches % 200 == 0:
                print(f"{at} of {len(rows)} texts, {time.time() - began:.0f} s", flush=True)
    return out


if __name__ == "__main__":
    sys.exit(main())
