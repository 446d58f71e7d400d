"""Fixtures: a random tiny chat model, a briefly warm-started pocket model, and one sandbox for all tests."""
import json, os, random, sys, types
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import pytest
import torch

torch.set_num_threads(1)

from envs_examples import pocket
from model import Sample, Turn, load_policy
from sandbox import Limits, Sandbox


@pytest.fixture(scope="session")
def cases():
    """The public failures that concern parsing and training, by id."""
    lines = (Path(__file__).parent / "cases.jsonl").read_text().splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


@pytest.fixture(scope="session")
def tiny_dir(tmp_path_factory):
    """A chat model of the pocket model's shape with random weights."""
    rng, documents = random.Random(0), [json.loads(line) for line in pocket.CORPUS.open()]
    turns = [pocket.agent_demonstration(documents, rng) for _ in range(200)] + [
        pocket.designer_demonstration(documents, rng) for _ in range(100)]
    tokenizer = pocket._tokenizer([t.replace("\\boxed{", "") for play in turns for pair in play for t in pair])
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("tiny")
    pocket._new_model(len(tokenizer)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def tiny(tiny_dir):
    return load_policy(str(tiny_dir), lora_rank=4, lora_alpha=8, max_context=256)


@pytest.fixture(scope="session")
def pocket_dir(tmp_path_factory):
    """The pocket model after a third of its warm start: enough to write valid programs and to play level 3."""
    path = tmp_path_factory.mktemp("pocket")
    pocket.build(path, steps=220)
    torch.set_num_threads(1)
    return path


@pytest.fixture(scope="session")
def sandbox():
    with Sandbox(Limits(call_seconds=1.0, load_seconds=1.0)) as box:
        yield box


def drive(episode, sandbox, replies, policy):
    """Run one episode without a model: `replies` are what it would have said. Environment calls are real."""
    message, replies = None, iter(replies)
    try:
        while True:
            request = episode.send(message)
            if isinstance(request, Turn):
                reply = next(replies, None)
                assert reply is not None, "the episode asked for more replies than the test expects"
                ids = policy.chat._encode(reply) + [min(policy.chat.ends)]
                message = ids[:request.budget], [0.0] * min(len(ids), request.budget)
            else:
                message = sandbox.run([request])[0]
    except StopIteration as stop:
        return stop.value


def make_sample(policy, prompt, reply, role="agent", advantage=1.0, temperature=1.0, **more):
    """A one-turn sample of given text, with the policy's own log-probabilities as behaviour."""
    from model import token_logprobs
    ids, out = list(policy.chat.first(prompt)), policy.chat._encode(reply) + [min(policy.chat.ends)]
    sample = Sample(ids + out, [0] * len(ids) + [1] * len(out), [0.0] * (len(ids) + len(out)), temperature, role=role,
                    advantage=advantage, **more)
    sample.logprobs[len(ids):] = token_logprobs(policy, [sample])[0].tolist()
    return sample


class OneProcess:
    """Stands in for an Accelerator of one process."""
    @staticmethod
    def reduce(tensor, how):
        return tensor


def settings(**changes):
    """The update's settings, neutral but for `changes`."""
    base = dict(clip_low=0.2, clip_high=0.28, kl_coef=0.0, explore_coef=0.0, anchor_coef=0.0, max_grad_norm=1e9,
                minibatches=1, microbatch_tokens=4096, train_on_cut=False)
    return types.SimpleNamespace(**base | changes)


def adam(policy, rate):
    return torch.optim.AdamW(policy.trainable().values(), lr=rate)
