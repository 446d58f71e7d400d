"""The policy: one causal language model with LoRA weights, its chat tokens, fast rollouts, and the update.

Shapes used in all files: E environments, G plays per arm, T tokens of a sequence, B sequences of a batch, V vocabulary.

*Tokens are append-only.* A conversation is one growing list of token ids. Only new messages go through the chat template;
what was sampled is never decoded and encoded again, so the log-probabilities of sampling belong to exactly the tokens
that are trained. Templates that rewrite history (Qwen3 drops earlier thinking) therefore never see history.

*Rollouts.* An episode is a generator. It yields `Turn(new_ids, budget)` and receives what the model replied, or yields an
(environment, method, argument) call and receives its result. The engine keeps N episodes in N slots of one key/value
cache, each at its own length, from an episode's first turn to its last; a slot whose episode ends is filled at once:

    slot 0  |prompt|reply|obs|reply|obs|re..            a step feeds new text, in groups of similar length, or else one
    slot 1  |prompt|reply|  (stepping)                  token in every slot that is in the middle of a reply; nobody
    slot 2  |prompt|re..                                waits for an environment but its own episode

*Update.* Eq. 10 of README, over length-sorted micro-batches, with the head applied at action tokens only. Log-probabilities
are those of the distribution that was sampled: logits divided by the temperature, in fp32. Truncated sampling (top-p, top-k)
would make them wrong and is not offered. Left out: sharded base weights, fused kernels, and sliding-window attention.
"""
import collections, contextlib, dataclasses, functools, json, random, warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from envs_examples import pocket

transformers_logging.disable_progress_bar()
warnings.filterwarnings("ignore", ".*is_gradient_checkpointing.*", FutureWarning)      # PEFT asks by the older name
Turn = collections.namedtuple("Turn", "ids budget")     # new token ids; the most tokens the reply may have

# ---- loading and saving
@dataclasses.dataclass
class Policy:
    """The model in its two guises: with its adapter it is the policy, without (`disable_adapter`) the reference."""
    model: torch.nn.Module                              # a PeftModel
    chat: "Chat"
    pocket: str                                         # "games" or "tools" for a pocket model, else None
    max_context: int                                    # positions of the longest episode

    def __post_init__(self):
        base = self.model.get_base_model()              # body [B, T] ids -> hidden states; head: hidden states -> logits [V]
        self.body, self.head = base.get_decoder(), base.get_output_embeddings()
        self.device, self.dtype = base.device, base.dtype

    def trainable(self):
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

def load_merged(path, dtype):
    """A model, or an adapter merged into the model that it was trained on, which may be one of these too."""
    config = Path(path) / "adapter_config.json"
    if not config.exists():
        return AutoModelForCausalLM.from_pretrained(path, dtype=dtype, attn_implementation="sdpa")
    base = load_merged(json.loads(config.read_text())["base_model_name_or_path"], dtype)
    base = PeftModel.from_pretrained(base, path).merge_and_unload()
    base.name_or_path = str(Path(path).resolve())       # what an adapter trained on it will name as its base
    return base

def load_policy(name, *, lora_rank=64, lora_alpha=128, train_embeddings=False, dtype="auto", device="cpu",
                max_context=4096, gradient_checkpointing=False, thinking=True, seed=0) -> Policy:
    """`name`: one of pocket.NAMES, a hub name, a chat model's directory, or a run's adapter/. Raises ValueError."""
    path = str(pocket.cached(name)) if name in pocket.NAMES else name
    dtype = getattr(torch, {"auto": "bfloat16" if torch.device(device).type == "cuda" else "float32"}.get(dtype, dtype))
    try:
        tokenizer, base = AutoTokenizer.from_pretrained(path), load_merged(path, dtype)     # this is the reference
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"cannot load the model {name!r}: {str(error).splitlines()[0]}") from None
    window = ["sliding_attention"] if getattr(base.config, "sliding_window", None) else ["full_attention"]
    if set(getattr(base.config, "layer_types", None) or window) != {"full_attention"}:
        raise ValueError(f"the model {name!r} has layers without full attention, which the rollout engine does not know")
    config = LoraConfig(
        r=lora_rank, lora_alpha=lora_alpha, task_type="CAUSAL_LM",
        target_modules=r".*\.(self_attn\.[qkvo]_proj|mlp\.(gate|up|down)_proj)",      # neither routers nor experts
        **(dict(modules_to_save=["embed_tokens"], ensure_weight_tying=True) if train_embeddings else {}))
    torch.manual_seed(seed)                             # every process starts from the same adapter
    model = get_peft_model(base.to(device), config)
    if gradient_checkpointing:
        base.activation_checkpointing_enable({"use_reentrant": False})
    model.train()
    return Policy(model, Chat(tokenizer, base, thinking), getattr(base.config, "pocket", None),
                  min(max_context, base.config.max_position_embeddings))

# ---- chat tokens
class Chat:
    """Turns messages into token ids, one message at a time, with the model's own chat template.

    Control tokens inside a message ("<|im_end|>" in an observation) are defused: text from programs, documents and
    hints cannot forge a turn. Raises ValueError for a tokenizer whose template cannot be extended turn by turn."""
    def __init__(self, tokenizer, model, thinking=True):
        self.tokenizer, self.thinking = tokenizer, thinking     # templates without a thinking mode ignore the latter
        if not tokenizer.chat_template:
            raise ValueError("the model has no chat template; use an instruction-tuned (chat) model")
        self._control = [t.content for t in tokenizer.added_tokens_decoder.values() if t.special]
        self._end = ""
        tail = self._tail("@@next@@")
        self._end = next((c for c in self._control if tail.startswith(c)), "")
        if "@@next@@" not in tail or not self._end:
            raise ValueError("the chat template closes no turn with an end token: conversations cannot be extended by turns")
        self.first, self.then = (functools.lru_cache(maxsize=10_000)(f) for f in (self.first, self.then))
        ends = model.generation_config.eos_token_id
        self.ends = {tokenizer.convert_tokens_to_ids(self._end), tokenizer.eos_token_id,
                     *(ends if isinstance(ends, list) else [ends])} - {None}

    def defuse(self, text):
        for token in self._control:
            text = text.replace(token, token[0] + " " + token[1:])
        return text

    def _render(self, messages, tools=None):
        return self.tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True,
                                                  enable_thinking=self.thinking)

    def _encode(self, text):
        return self.tokenizer(text, add_special_tokens=False).input_ids

    def first(self, text, tools_json=None):
        """Ids of a conversation that opens with the user's `text`, up to where the assistant's reply starts."""
        tools = json.loads(self.defuse(tools_json)) if tools_json else None
        return tuple(self._encode(self._render([{"role": "user", "content": self.defuse(text)}], tools)))

    def _tail(self, text, role="user"):
        messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "@@reply@@"},
                    {"role": role, "content": self.defuse(text)}]
        return self._render(messages).partition("@@reply@@")[2].removeprefix(self._end)

    def then(self, text, role="user"):
        """Ids that follow a reply's end token: the next message and the start of the next reply."""
        return tuple(self._encode(self._tail(text, role)))

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

@dataclasses.dataclass
class Sample:
    """One conversation, as it was sampled and as it is trained. Lists of length T."""
    ids: list = dataclasses.field(default_factory=list)
    mask: list = dataclasses.field(default_factory=list)            # 1 at tokens that the policy sampled
    logprobs: list = dataclasses.field(default_factory=list)        # behaviour log-probability there, 0 elsewhere
    temperature: float = 1.0
    cut: bool = False                                               # a reply ran into its token budget
    role: str = "agent"
    advantage: float = 0.0
    weight: float = 1.0                                             # of the role in the joint loss

    def say(self, new_ids, budget, ends):
        """Part of an episode: append new ids, have the model reply, append the reply (with its end token)."""
        reply, logprobs = yield Turn(new_ids, budget)
        if reply:                                       # else the new ids did not fit the context either
            self.ids += [*new_ids, *reply]
            self.mask += [0] * len(new_ids) + [1] * len(reply)
            self.logprobs += [0.0] * len(new_ids) + logprobs
        self.cut = not reply or reply[-1] not in ends
        return reply

# ---- rollouts
class SlotCache:
    """Keys and values of N slots, [2, N, kv heads, columns + 1, dim] a layer. A forward pass concerns `rows` (slice or [B]),
    writes columns `write` [B, Q] and sees columns < `end`; the last column takes the writes of idle rows and padding."""
    is_compileable = False
    def __init__(self, policy, slots):
        config = policy.model.get_base_model().config
        dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = slots, config.num_key_value_heads, policy.max_context + 1, dim
        self.layers = [torch.zeros(2, *shape, dtype=policy.dtype, device=policy.device)
                       for _ in range(config.num_hidden_layers)]

    def get_seq_length(self, layer_idx=0):
        return 0

    def update(self, keys, values, layer_idx, *args, **kwargs):     # keys, values [B, kv heads, Q, dim]
        seen = []
        for buffer, new in zip(self.layers[layer_idx], (keys, values)):
            if isinstance(self.rows, slice):                        # a view: nothing is copied
                buffer[self.rows].scatter_(2, self.write[:, None, :, None].expand_as(new), new)
            else:
                buffer[self.rows[:, None], :, self.write] = new.transpose(1, 2)
            seen.append(buffer[self.rows, :, :self.end])
        return seen

    def move(self, source, target, length):
        for layer in self.layers:
            layer[:, target, :, :length] = layer[:, source, :, :length]

class _Episode:
    """An episode under way: its generator, what it waits for, and its place in the cache."""
    def __init__(self, index, generator, seed):
        self.index, self.generator = index, generator
        self.rng = random.Random(f"{seed}/{index}")         # its own: what it draws does not depend on its neighbours
        self.length, self.budget = 0, 0                     # columns filled; most tokens of the reply, 0 while there is none
        self.todo = []                                      # ids not fed yet: the last sampled one, and new text behind it
        self.reply, self.logprobs = [], []

class Engine:
    """Runs many episodes at once on one model. `stats` counts what was done, over all runs."""
    def __init__(self, policy, slots=64, prefill_tokens=4096):
        self.policy, self.slots, self.prefill_tokens = policy, slots, prefill_tokens
        self.stats = collections.Counter()

    @torch.inference_mode()
    def run(self, episodes, temperature, seed, sandbox=None):
        """The return values of `episodes`, in order. `temperature` 0 decodes greedily (log-probability 0). What an episode
        samples is a function of the weights, `seed` and its index, up to the rounding of batched sums (which rows share a
        batch depends on how fast environments answer; with one slot even that is fixed)."""
        self.temperature, self.sandbox = temperature, sandbox
        episodes = [_Episode(i, generator, seed) for i, generator in enumerate(episodes)]
        self.results = [None] * len(episodes)
        self.unstarted = collections.deque(episodes)
        self.ready, self.rows, self.waiting = collections.deque(), [], 0    # want a slot; in slots; in the sandbox
        slots, self.columns = max(1, min(self.slots, len(episodes))), self.policy.max_context
        self.cache = SlotCache(self.policy, slots)
        self.policy.model.eval()
        try:
            while self.unstarted or self.ready or self.rows or self.waiting:
                while self.unstarted and self.waiting + len(self.ready) < slots:    # their resets run ahead
                    self._advance(self.unstarted.popleft(), None)
                while self.ready and len(self.rows) < slots:
                    self.rows.append(self.ready.popleft())
                while self.waiting:                         # collect what is there; wait only when there is nothing to do
                    busy = self.ready and len(self.rows) < slots or any(e.budget for e in self.rows)
                    if not (results := sandbox.poll(0.0 if busy else 1.0)):
                        break
                    for episode, result in results:
                        self.waiting -= 1
                        self._advance(episode, result)
                self._step()
        finally:
            del self.cache
            self.policy.model.train()
        return self.results

    def _advance(self, episode, message):
        """Resume an episode with a reply or a result, up to its next request."""
        try:
            request = episode.generator.send(message)
        except StopIteration as stop:
            self.results[episode.index] = stop.value
            if episode in self.rows:
                row, last = self.rows.index(episode), self.rows.pop()
                if last is not episode:                     # keep the rows dense
                    self.cache.move(len(self.rows), row, last.length)
                    self.rows[row] = last
            return
        episode.budget = 0
        if not isinstance(request, Turn):
            self.waiting += 1
            return self.sandbox.submit(episode, *request)
        room = self.columns - episode.length - len(episode.todo) - len(request.ids)
        if min(room, request.budget) <= 0:                  # no context left: an empty reply, which counts as cut
            return self._advance(episode, ([], []))
        episode.todo += request.ids                         # behind the last reply's last token, which was never fed
        episode.budget, episode.reply, episode.logprobs = min(room, request.budget), [], []
        if episode not in self.rows:
            self.ready.append(episode)

    def _step(self):
        """Feed new text, in groups of similar length, or else one token in every row, and sample what follows."""
        fed = [e for e in self.rows if e.budget]
        if new := [e for e in fed if len(e.todo) > 1]:
            fed = new
            self.stats["prefilled"] += sum(len(e.todo) for e in new)
            for group in microbatches(new, self.prefill_tokens, lambda e: len(e.todo)):
                self._feed(group, torch.tensor([self.rows.index(e) for e in group], device=self.policy.device))
        elif fed:
            self._feed(self.rows, slice(0, len(self.rows)))
        for e in fed:
            e.length, e.todo = e.length + len(e.todo), e.reply[-1:]
        for e in fed:
            if e.todo[0] in self.policy.chat.ends or len(e.reply) >= e.budget:
                self._advance(e, (e.reply, e.logprobs))

    def _feed(self, group, rows):
        """One forward pass over the episodes of `group`, in cache rows `rows`, and a token sampled in those not idle."""
        device, todo = self.policy.device, [e.todo if e.budget else [] for e in group]
        count = torch.tensor([[len(ids)] for ids in todo])                                  # [B, 1]
        start = torch.tensor([[min(e.length, self.columns - 1)] for e in group])
        width, end = int(count.max()), int((start + count).max())                           # Q; columns that anybody sees
        ids = torch.tensor([ids + [0] * (width - len(ids)) for ids in todo], device=device)           # [B, Q], right-padded
        position = start + torch.arange(width)
        write = torch.where(torch.arange(width) < count, position, self.columns)
        self.cache.rows, self.cache.write, self.cache.end = rows, write.to(device), end
        position = position.to(device)
        mask = (torch.arange(end, device=device) <= position[..., None])[:, None]           # [B, 1, Q, end]
        hidden = self.policy.body(input_ids=ids, position_ids=position, attention_mask=mask, use_cache=True,
                           cache=self.cache).last_hidden_state                              # [B, Q, hidden]
        busy = [n for n, ids in enumerate(todo) if ids]
        uniform = torch.tensor([group[n].rng.random() for n in busy], device=device)
        tokens, logprobs = sample(self.policy.head(hidden[busy, count[busy, 0] - 1]), self.temperature, uniform)
        for n, token, logprob in zip(busy, tokens.tolist(), logprobs.tolist()):
            group[n].reply.append(token)
            group[n].logprobs.append(logprob)
        self.stats["generated"] += len(busy)

def sample(logits, temperature, uniform):
    """Tokens [B] and their log-probabilities [B] under softmax(logits / temperature); logits [B, V], uniform draws [B]."""
    if temperature == 0:
        tokens = logits.argmax(-1)
        return tokens, torch.zeros_like(tokens, dtype=torch.float32)
    logp = F.log_softmax(logits.float() / temperature, -1)
    cumulative = logp.exp().cumsum(-1)                      # inverse CDF: far cheaper than multinomial for a large V
    point = uniform[:, None].clamp(max=1 - 2 ** -24) * cumulative[:, -1:]
    tokens = torch.searchsorted(cumulative, point, right=True).clamp(max=logits.shape[-1] - 1)
    return tokens[:, 0], logp.gather(1, tokens)[:, 0]

@contextlib.contextmanager
def generating(policy, reference=False):
    """Inside, the engine samples from the policy, or from the reference (adapter off). In fp32 the adapter is merged for
    speed, and the base weights are put back bit by bit; in bf16 merging would not be exact: it stays beside them."""
    merged = policy.dtype == torch.float32 and not reference
    layers = [m for m in policy.model.modules() if isinstance(m, LoraLayer)] if merged else []
    originals = [layer.base_layer.weight.detach().clone() for layer in layers]
    with policy.model.disable_adapter() if reference else contextlib.nullcontext():
        if merged:
            policy.model.merge_adapter()
        try:
            yield
        finally:
            if merged:
                policy.model.unmerge_adapter()
            for layer, original in zip(layers, originals):
                layer.base_layer.weight.data.copy_(original)

# ---- the update
DECIDED = 0.3                       # nats: an entropy of the base below this counts as decided
HEAD_LOGITS = 10 ** 7               # most logits at once, 40 MB: the head's memory does not grow with the batch

def pack(samples, device):
    """Right-padded ids [B, T] and, at action tokens (positions 1..T-1): where [B, T-1], old, advantage, temperature [N]."""
    longest = max(len(s.ids) for s in samples)
    ids = torch.tensor([s.ids + [0] * (longest - len(s.ids)) for s in samples], device=device)
    where = torch.tensor([s.mask + [0] * (longest - len(s.ids)) for s in samples], device=device)[:, 1:] > 0
    count = where.sum(1)
    old = torch.tensor([p for s in samples for p, m in zip(s.logprobs[1:], s.mask[1:]) if m], device=device)
    advantage = torch.tensor([s.advantage for s in samples], device=device).repeat_interleave(count)
    temperature = torch.tensor([s.temperature or 1.0 for s in samples], device=device).repeat_interleave(count)
    return ids, where, old, advantage, temperature

def microbatches(items, tokens, length=lambda sample_: len(sample_.ids)):
    """Length-sorted groups of at most `tokens` padded tokens (or one sequence)."""
    groups = [[]]
    for item in sorted(items, key=length):
        if groups[-1] and (len(groups[-1]) + 1) * length(item) > tokens:
            groups.append([])
        groups[-1].append(item)
    return [group for group in groups if group]

@torch.no_grad()
def token_logprobs(policy, samples):
    """The plain way, for checks: the whole model, one sequence at a time. A list of [N] tensors, one a sample."""
    packs = [pack([s], policy.device) for s in samples]
    rows = [(policy.model(input_ids=ids).logits[:, :-1][where].float() / temperature[:, None], ids[:, 1:][where][:, None])
            for ids, where, _, _, temperature in packs]
    return [F.log_softmax(logits, -1).gather(1, target)[:, 0] for logits, target in rows]

def k3(reference, new):
    """An unbiased, never negative estimate of KL(policy, reference) at sampled tokens, from their log-probabilities."""
    difference = (reference.float() - new.float()).clamp(-20, 20)               # clamped before exp
    return difference.exp() - 1 - difference

def accumulate(policy, group, cfg, tokens, stats, want_reference):
    """Add the gradient of one micro-batch's loss, divided by `tokens`, to the parameters: -> its summed loss. The head is
    applied to HEAD_LOGITS / V action tokens at a time, and each such chunk is differentiated at once, down to its hidden
    states: so no more than one chunk's logits [n, V] ever exist, in either pass."""
    body, head = policy.body, policy.head
    ids, where, old, advantage, temperature = pack(group, policy.device)
    target = ids[:, 1:][where]                                                  # [N]
    hidden = body(input_ids=ids[:, :-1], use_cache=False).last_hidden_state[where]          # causal: padding needs no mask
    if want_reference:
        with torch.no_grad(), policy.model.disable_adapter():
            hidden_ref = body(input_ids=ids[:, :-1], use_cache=False).last_hidden_state[where]

    def measure(name, values):
        stats[name] += values.detach().sum()
        stats[name, "n"] += len(values)

    def chunk(part):                                    # its logits are gone when it returns
        leaf = hidden[part].detach().requires_grad_()
        logp = F.log_softmax(head(leaf).float() / temperature[part, None], -1)  # [n, V]
        new = logp.gather(1, target[part, None])[:, 0]
        ratio, a = (new - old[part]).clamp(-20, 20).exp(), advantage[part]
        clipped = ratio.clamp(1 - cfg.clip_low, 1 + cfg.clip_high)
        loss = -torch.minimum(ratio * a, clipped * a)                           # eq. 10
        measure("clip_frac", ratio * a > clipped * a)
        if group[0].role == "agent":                    # designs may be as old as their window: theirs is real change
            measure("ratio_gap", (new - old[part]).abs())
        if want_reference:
            with torch.no_grad(), policy.model.disable_adapter():
                ref = F.log_softmax(head(hidden_ref[part]).float() / temperature[part, None], -1)
            kl = k3(ref.gather(1, target[part, None])[:, 0], new)
            loss = loss + cfg.kl_coef * kl
            measure("kl_base", kl)
            if cfg.explore_coef or cfg.anchor_coef:
                p = ref.exp()
                undecided = -(p * ref).sum(-1) > DECIDED
                flat = F.normalize(torch.where(p > 1e-3, (ref / 4).exp(), 0.0), p=1, dim=-1)
                loss = loss - cfg.explore_coef * (flat * logp).sum(-1) * undecided     # eq. 11
                stay = (p * (ref - logp)).sum(-1)
                loss = loss + cfg.anchor_coef * stay * ~undecided                      # eq. 12
        loss = group[0].weight * loss.sum()
        (loss / tokens).backward()
        return leaf.grad, loss.detach()
    parts = torch.arange(len(target), device=policy.device).split(max(1, HEAD_LOGITS // head.weight.shape[0]))
    gradients, losses = zip(*map(chunk, parts))         # the first: of the loss by the hidden states, [N, hidden] in all
    hidden.backward(torch.cat(gradients))
    return sum(losses)

def update(policy, optimizer, samples, cfg, accelerator, rng):
    """`minibatches` policy-gradient steps, each on both roles (eq. 10): -> metrics. `cfg` is train.Config, or has its names.

    Each process brings its own samples and runs as many micro-batches as they need; then the flat gradients are summed
    across processes and divided by the global count of action tokens: uneven work cannot hang, and (with one mini-batch)
    any number of processes makes the same update. Samples without advantage (but for designs that eqs. 11, 12 hold) and,
    unless `train_on_cut`, samples cut at their budget are in neither sum nor count; with nothing left there is no step."""
    parameters = list(policy.trainable().values())
    held = bool(cfg.explore_coef or cfg.anchor_coef)
    use = [s for s in samples if (s.advantage or held and s.role == "designer") and any(s.mask)
           and (cfg.train_on_cut or not s.cut)]
    rng.shuffle(use)
    want_reference = bool(cfg.kl_coef or cfg.explore_coef or cfg.anchor_coef)
    stats, norms = [collections.Counter() for _ in range(cfg.minibatches)], []
    batches = [use[k::cfg.minibatches] for k in range(cfg.minibatches)]
    counts = torch.tensor([float(sum(sum(s.mask) for s in batch)) for batch in batches], device=policy.device)
    for k, (batch, tokens) in enumerate(zip(batches, accelerator.reduce(counts, "sum").tolist())):
        if tokens == 0:
            continue
        roles = []
        for role in ("agent", "designer"):
            optimizer.zero_grad(set_to_none=True)
            groups = microbatches([s for s in batch if s.role == role], cfg.microbatch_tokens)
            for n, group in enumerate(groups):          # the KL is measured once a role even when it is not in the loss
                accumulate(policy, group, cfg, tokens, stats[k], want_reference or k == 0 and n == len(groups) // 2)
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
            roles.append(torch.cat([g.flatten().float() for g in gradients]))
        roles = accelerator.reduce(torch.stack(roles), "sum")           # [2, trainable]: the only time that processes wait
        norms += roles.norm(dim=1).tolist()
        joint = (roles * (cfg.max_grad_norm / (roles.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1.0)).sum(0)
        for p, gradient in zip(parameters, joint.split([p.numel() for p in parameters])):
            p.grad = gradient.view_as(p).to(p.dtype)
        optimizer.step()
    whole = sum(stats, collections.Counter())           # the gap is of the first mini-batch: later ones have moved
    sources = {"ratio_gap": stats[0], "clip_frac": whole, "kl_base": whole}
    sums = torch.tensor([[float(c[name]), c[name, "n"]] for name, c in sources.items()], device=policy.device)
    sums = accelerator.reduce(sums, "sum").tolist()
    return {f"policy/{name}": total / max(1, n) for name, (total, n) in zip(sources, sums)} | {
        "policy/grad_norm": sum(norms) / max(1, len(norms))}            # of a role, before clipping
