"""What one update costs, as ratios inside one run: python tests/bench_update.py [--vocabulary 4096] [--sequences 32]

Each way runs in a process of its own, so that its peak of memory is its own: tokens per second of CPU time at one thread, and
the memory that the update adds to what the process held before it, interleaved, median of `--rounds`. 32 sequences of 80 to
1,400 tokens (17.7k), a fifth of them sampled ones, LoRA of rank 16 on a Qwen3-shaped model with random weights.

  padded        one padded batch with an attention mask, all logits, log-softmax over them
  micro-batches model.update: sorted by length, right-padded without a mask, the head at action tokens, in chunks
  checkpointed  the same with gradient checkpointing

With `--vocabulary 151936 --head` only the head's part is compared: naive log-softmax at 1,000 tokens against the chunks."""
import argparse, json, os, random, resource, statistics, subprocess, sys, time, warnings
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
sys.path.insert(0, str(Path(__file__).parents[1]))
import torch                                            # noqa: E402
import torch.nn.functional as F                         # noqa: E402
from peft import LoraConfig, get_peft_model             # noqa: E402
from transformers import Qwen3Config, Qwen3ForCausalLM  # noqa: E402

from model import Policy, Sample, pack, update          # noqa: E402

torch.set_num_threads(1)
warnings.filterwarnings("ignore")


def make_policy(options, checkpointing):
    torch.manual_seed(0)
    config = Qwen3Config(vocab_size=options.vocabulary, hidden_size=options.hidden, intermediate_size=3 * options.hidden,
                         head_dim=64, num_hidden_layers=options.layers, num_attention_heads=options.hidden // 64,
                         num_key_value_heads=max(1, options.hidden // 128), tie_word_embeddings=True, max_position_embeddings=4096)
    base = Qwen3ForCausalLM(config)
    model = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj",
                                                                                   "gate_proj", "up_proj", "down_proj"]))
    if checkpointing:
        base.activation_checkpointing_enable({"use_reentrant": False})
        base.enable_input_require_grads()
    return Policy(model.train(), None, False, 4096)


def make_samples(options):
    rng, out = random.Random(0), []
    lengths = [round(80 * (1400 / 80) ** (rng.random() ** 1.35)) for _ in range(options.sequences)]
    for length in lengths:
        mask = [0] + [int(rng.random() < options.sampled) for _ in range(length - 1)]
        out.append(Sample([rng.randrange(options.vocabulary) for _ in range(length)], mask, [-8.0 * m for m in mask],
                          advantage=rng.choice([-1.0, 1.0])))
    return out


class Nothing:
    """An optimizer that steps nowhere, and an accelerator of one process."""
    def zero_grad(self, set_to_none=True):
        pass

    def step(self):
        pass

    @staticmethod
    def reduce(tensor, how):
        return tensor


def padded(policy, samples):
    """The plain way."""
    ids, where, old, advantage, _ = pack(samples, "cpu")
    mask = torch.tensor([[1] * len(s.ids) + [0] * (ids.shape[1] - len(s.ids)) for s in samples])
    logp = F.log_softmax(policy.model(input_ids=ids, attention_mask=mask).logits[:, :-1].float(), -1)
    new = logp.gather(2, ids[:, 1:, None])[:, :, 0][where]
    ratio = (new - old).clamp(-20, 20).exp()
    loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.28) * advantage)
    (loss.sum() / len(loss)).backward()


def chunked(policy, samples, options):
    cfg = argparse.Namespace(clip_low=0.2, clip_high=0.28, kl_coef=0.0, explore_coef=0.0, anchor_coef=0.0, max_grad_norm=1e9,
                             minibatches=1, microbatch_tokens=options.microbatch_tokens, train_on_cut=True)
    import model                                        # without the measurement of the KL, which the plain way has not either
    real = model.accumulate
    model.accumulate = lambda *args: real(*args[:-1], False)
    update(policy, Nothing(), samples, cfg, Nothing, random.Random(0))


def heads(options, way):
    """Only the head: 1,000 hidden states against a large vocabulary."""
    torch.manual_seed(0)
    weight, hidden = torch.randn(options.vocabulary, options.hidden) * 0.02, torch.randn(1000, options.hidden, requires_grad=True)
    target = torch.randint(options.vocabulary, (1000,))
    import model
    chunk = 1000 if way == "naive" else max(1, model.HEAD_LOGITS // options.vocabulary)

    def run(part):
        leaf = hidden[part] if way == "naive" else hidden[part].detach().requires_grad_()
        F.log_softmax(F.linear(leaf, weight).float(), -1).gather(1, target[part, None]).sum().backward()
    for part in torch.arange(1000).split(chunk):
        run(part)
    return 1000


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(options):
    """One way, measured: prints a line of JSON."""
    if options.head:
        torch.randn(options.vocabulary, options.hidden)             # what both ways hold anyway
        torch.ones(64, 64, requires_grad=True).matmul(torch.ones(64, 64)).sum().backward()
        before, begin = peak(), time.process_time()
        tokens = heads(options, options.way)
    else:
        policy, samples = make_policy(options, options.way == "checkpointed"), make_samples(options)
        small = [s for s in samples if len(s.ids) == min(len(x.ids) for x in samples)]
        chunked(policy, small, options)                 # warm, so that only the batch is measured
        before, begin = peak(), time.process_time()
        padded(policy, samples) if options.way == "padded" else chunked(policy, samples, options)
        tokens = sum(len(s.ids) for s in samples)
    print(json.dumps([tokens / (time.process_time() - begin), peak() - before]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, default=32)
    parser.add_argument("--sampled", type=float, default=0.2, help="share of tokens that the policy sampled")
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--microbatch_tokens", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--head", action="store_true", help="only the head, against naive log-softmax")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        return child(options)
    ways = ["naive", "chunks"] if options.head else ["padded", "micro-batches", "checkpointed"]
    results = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way in ways:
            words = [sys.executable, __file__, *sys.argv[1:], "--way", way]
            results[way].append(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
    base = None
    for way, rounds in results.items():
        rate, memory = (statistics.median(values) for values in zip(*rounds))
        base = base or (rate, memory)
        print(f"{way:14} {rate:8,.0f} tokens/s {memory:8,.0f} MB   {rate / base[0]:.2f} x the speed, {memory / base[1]:.2f} x the memory")


if __name__ == "__main__":
    main()
