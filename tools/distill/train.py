"""The student: one vector per token, so that the mean of a text's vectors lies where the teacher's vector of the text does.

    python tools/distill/train.py MODEL OUT rows.npz [--epochs 6 ...]     # OUT holds texts.tsv, pairs.tsv and teacher.npy

Three losses are added up: one minus the cosine to the teacher's vector (projected on its first 128 principal
directions), the divergence of the similarities within a batch from the teacher's, and the contrast of our own
paraphrases, of questions and the turns that answer them, and of the halves of a line of the glossary, each against the
rest of their batch.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import concepts
import numpy as np
import teach
import torch
from student import Vocabulary, can_occur, parts
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST = 94  # tokens of a text in training
ADDED = 2_500  # words that get a row of their own beside BERT's
SEEN = 20  # times, of a word that does
TEMPERATURE = 0.05


def main() -> int:
    """Trains and saves the rows."""
    asked = arguments()
    torch.set_num_threads(teach.THREADS)
    corpus = Corpus(asked.model, asked.out, asked.added)
    rows = train(corpus, asked)
    np.savez(asked.rows, tokens=np.array(corpus.vocabulary.tokens), rows=rows, mean=corpus.mean(rows))
    return 0


def arguments() -> argparse.Namespace:
    """What to train, and how."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "out", "rows"):
        ask.add_argument(name)
    for name, usual in (("epochs", 6), ("batch", 512), ("dims", 128), ("added", ADDED), ("seed", 0)):
        ask.add_argument(f"--{name}", type=int, default=usual)
    for name, usual in (("rate", 3e-3), ("relation", 1.0), ("contrast", 0.2), ("talk", 0.1), ("terms", 0.2), ("drop", 0.0), ("sif", 1e-3), ("lower", 0.3)):
        ask.add_argument(f"--{name}", type=float, default=usual)
    return ask.parse_args()


class Corpus:
    """The texts as token numbers, the teacher's vectors of them, and the pairs.

    vocabulary: the rows; texts, lowered: token numbers of each text as it stands and in lower case; taught: the
    teacher's vectors; start: the teacher's vectors of each row by itself; often: how often each row occurs.
    """

    def __init__(self, model: str, out: str, added: int) -> None:
        with open(os.path.join(out, "texts.tsv"), encoding="utf-8") as file:
            texts = [line.rstrip("\n").split("\t", 1)[1] for line in file]
        with open(os.path.join(model, "vocab.txt"), encoding="utf-8") as file:
            bert = [token for token in file.read().split("\n") if can_occur(token)]
        self.vocabulary = Vocabulary(bert)
        self.vocabulary = Vocabulary([*bert, *self.words(texts, added)])
        taught = np.load(os.path.join(out, "teacher.npy")).astype(np.float32)
        ids = [self.vocabulary.ids(text)[:LONGEST] for text in texts]
        keep = [at for at, found in enumerate(ids) if found]
        self.texts = Bags([ids[at] for at in keep])
        self.lowered = Bags([self.vocabulary.ids(texts[at].lower())[:LONGEST] or ids[at] for at in keep])
        self.taught = taught[keep]
        self.often = np.bincount(self.texts.flat.numpy(), minlength=len(self.vocabulary.tokens)).astype(np.float64)
        self.start = alone(model, self.vocabulary.tokens, os.path.join(out, "alone.npz"))
        self.groups = [[self.vocabulary.ids(text) for text in concepts.kept_in(group)] for group in concepts.met()]
        self.terms = [[self.vocabulary.ids(term) for term in line] for line in concepts.glossary()]
        with open(os.path.join(out, "pairs.tsv"), encoding="utf-8") as file:
            pairs = [[self.vocabulary.ids(text)[:LONGEST] for text in line.rstrip("\n").split("\t")] for line in file]
        self.talk = [pair for pair in pairs if all(pair)]

    def words(self, texts: list[str], added: int) -> list[str]:
        """The words that BERT's vocabulary has only in pieces: all of the glossary's, and the most frequent of the texts."""
        named = Counter(word for line in concepts.glossary() for term in line for word in {*parts(term), *parts(term.lower())})
        often = Counter(word for text in texts for word in {*parts(text), *parts(text.lower())})
        plain = [
            word
            for word, times in [*named.items(), *often.most_common()]
            if (times >= SEEN or word in named) and word.isascii() and word[0].isalpha() and len(word) > 2
        ]
        return [word for word in dict.fromkeys(plain) if word not in self.vocabulary.number][:added]

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """The mean of the texts' unit vectors."""
        with torch.inference_mode():
            vectors = functional.normalize(functional.embedding_bag(self.texts.flat, torch.tensor(rows), self.texts.starts, mode="mean"), dim=1)
        return vectors.mean(0).numpy()


class Bags:
    """Lists of token numbers end to end, to be taken out by the batch."""

    def __init__(self, lists: list[list[int]]) -> None:
        self.sizes = np.array([len(found) for found in lists])
        self.flat = torch.tensor(np.concatenate([np.array(found, np.int64) for found in lists]))
        self.ends = np.cumsum(self.sizes)
        self.starts = torch.tensor(self.ends - self.sizes)

    def take(self, which: np.ndarray, drop: float) -> tuple[torch.Tensor, torch.Tensor]:
        """(tokens, where each text begins) of the texts, some tokens dropped but never all of a text."""
        sizes = self.sizes[which]
        begins = np.cumsum(sizes) - sizes
        tokens = self.flat[torch.tensor(np.repeat(self.ends[which] - sizes - begins, sizes) + np.arange(sizes.sum()))]
        if not drop:
            return tokens, torch.tensor(begins)
        kept = np.random.rand(len(tokens)) >= drop  # noqa: NPY002 - seeded in `train`
        kept[begins] |= np.add.reduceat(kept, begins) == 0
        counts = np.add.reduceat(kept.astype(np.int64), begins)
        return tokens[torch.tensor(kept)], torch.tensor(np.cumsum(counts) - counts)


def alone(model: str, tokens: list[str], cache: str) -> np.ndarray:
    """The teacher's unit vector of each token by itself, kept in a file."""
    if os.path.exists(cache):
        kept = np.load(cache)
        known = dict(zip(kept["tokens"].tolist(), kept["vectors"]))
        if all(token in known for token in tokens):
            return np.stack([known[token] for token in tokens]).astype(np.float32)
    vectors = teach.embed_tokens(model, tokens)
    np.savez(cache, tokens=np.array(tokens), vectors=vectors)
    return vectors.astype(np.float32)


def train(corpus: Corpus, asked: argparse.Namespace) -> np.ndarray:
    """The trained rows (tokens x dims, float32)."""
    torch.manual_seed(asked.seed)
    np.random.seed(asked.seed)  # noqa: NPY002
    chance = random.Random(asked.seed)
    taught = torch.tensor(corpus.taught)
    directions = torch.tensor(principal(corpus.taught, asked.dims))
    wanted = functional.normalize(taught @ directions, dim=1)
    share = (corpus.often + 0.5) / (corpus.often.sum() + 0.5 * len(corpus.often))
    weight = torch.tensor(asked.sif / (asked.sif + share), dtype=torch.float32)[:, None]
    bag = torch.nn.EmbeddingBag(len(share), asked.dims, mode="mean", sparse=True)
    bag.weight.data = torch.tensor(corpus.start) @ directions * weight
    steps = asked.epochs * (len(taught) // asked.batch)
    learner = torch.optim.SparseAdam(list(bag.parameters()), lr=asked.rate)  # touches the rows of the batch alone
    done = 0
    began = time.time()
    for epoch in range(asked.epochs):
        sums = np.zeros(5)
        for which in batches(len(taught), asked.batch):
            for group in learner.param_groups:
                group["lr"] = asked.rate * (1 - done / steps) + 1e-5
            source = corpus.lowered if chance.random() < asked.lower else corpus.texts
            ours = functional.normalize(bag(*source.take(which, asked.drop)), dim=1)
            losses = [(1 - (ours * wanted[which]).sum(1)).mean(), asked.relation * relation(ours, taught[which])]
            if asked.contrast:
                losses.append(asked.contrast * contrast(bag, [chance.sample(group, 2) for group in corpus.groups], asked.drop, ours))
            if asked.talk:
                losses.append(asked.talk * contrast(bag, chance.sample(corpus.talk, 192), asked.drop, ours))
            if asked.terms:
                losses.append(asked.terms * contrast(bag, [halves(line, chance) for line in corpus.terms], 0.0, ours))
            loss = torch.stack(losses).sum()
            learner.zero_grad()
            loss.backward()
            learner.step()
            sums[: len(losses)] += [one.item() for one in losses]
            done += 1
        print(f"epoch {epoch} losses {np.round(sums * asked.epochs / steps, 4).tolist()} {time.time() - began:.0f} s", flush=True)
    return bag.weight.data.numpy().copy()


def halves(terms: list[list[int]], chance: random.Random) -> list[list[int]]:
    """The terms of a line of the glossary in two lots."""
    order = chance.sample(terms, len(terms))
    middle = len(order) // 2
    return [[token for term in lot for token in term] for lot in (order[:middle], order[middle:])]


def batches(size: int, batch: int) -> Iterator[np.ndarray]:
    """All numbers below size once in random order, in batches."""
    order = np.random.permutation(size)  # noqa: NPY002
    for at in range(0, size - batch + 1, batch):
        yield order[at : at + batch]


def principal(vectors: np.ndarray, dims: int) -> np.ndarray:
    """The directions (384 x dims) in which the vectors are longest; they are not centred, which keeps cosines best."""
    _, directions = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    return np.ascontiguousarray(directions[:, ::-1][:, :dims])


def relation(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """How far the similarities between the texts of a batch are from the teacher's (Kullback-Leibler divergence)."""
    same = torch.eye(len(ours), dtype=torch.bool)
    mine = (ours @ ours.T / TEMPERATURE).masked_fill(same, -1e4)
    right = (theirs @ theirs.T / TEMPERATURE).masked_fill(same, -1e4)
    return functional.kl_div(torch.log_softmax(mine, 1), torch.softmax(right, 1), reduction="batchmean")


def contrast(bag: Callable[..., torch.Tensor], pairs: list[list[list[int]]], drop: float, others: torch.Tensor) -> torch.Tensor:
    """The cross entropy of finding the second of each pair by the first among all seconds and the other texts, and the first by the second."""
    sides = []
    for side in range(2):
        bags = Bags([pair[side] for pair in pairs])
        sides.append(functional.normalize(bag(*bags.take(np.arange(len(pairs)), drop)), dim=1))
    right = torch.arange(len(pairs))
    both = [functional.cross_entropy(one @ torch.cat([two, others]).T / TEMPERATURE, right) for one, two in (sides, sides[::-1])]
    return (both[0] + both[1]) / 2


if __name__ == "__main__":
    sys.exit(main())
