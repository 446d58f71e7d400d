"""Run by test_processes.py in a fresh interpreter: two gloo processes on one machine. argv: what, model directory, output."""
import random, sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import torch
from accelerate import Accelerator, debug_launcher
from conftest import settings
from test_model import Catch, mixed_samples

from model import load_policy, update


def same_update(model, out):
    """Each process brings half of the samples, in turn."""
    torch.set_num_threads(1)
    accelerator, policy = Accelerator(cpu=True), load_policy(model, lora_rank=4, lora_alpha=8)
    samples, catch = mixed_samples(policy), Catch(policy)
    metrics = update(policy, catch, samples[accelerator.process_index::2], settings(kl_coef=0.1, microbatch_tokens=64), accelerator, random)
    if accelerator.is_main_process:
        torch.save((accelerator.num_processes, catch.caught, metrics), out)


def uneven(model, out):
    """One process has two designs and nothing else; the other has sixty plays, a micro-batch each; then one has nothing."""
    torch.set_num_threads(1)
    accelerator, policy = Accelerator(cpu=True), load_policy(model, lora_rank=4, lora_alpha=8)
    samples, catch = mixed_samples(policy), Catch(policy)
    mine = samples[4:] if accelerator.process_index == 0 else samples[:4] * 15
    update(policy, catch, list(mine), settings(microbatch_tokens=1, minibatches=2), accelerator, random)
    update(policy, catch, list(mine) if accelerator.process_index else [], settings(), accelerator, random)
    if accelerator.is_main_process:
        torch.save((accelerator.num_processes, catch.caught, catch.steps), out)


if __name__ == "__main__":
    what, model, out = sys.argv[1:]
    debug_launcher({"same_update": same_update, "uneven": uneven}[what], args=(model, out), num_processes=2)
