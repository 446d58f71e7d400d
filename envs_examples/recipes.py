"""Defaults of train.py's flags for three situations, and what --setting tools changes in each; what is not named here stays
as train.Config has it."""
from pathlib import Path

GAMES = str(Path(__file__).parent / "games")
_REAL = dict(hint="policy", train_on_hinted=False, train_on_cut=False, max_grad_norm=1.0, microbatch_tokens=4096,
             skills_active=3, memory_size=200, temperature=0.6, designer_temperature=0.6, train_embeddings=False,
             learning_rate=2e-5, lora_rank=32, lora_alpha=64, explore_coef=0.0, anchor_coef=0.0, minibatches=1,
             weight_decay=0.1, max_context=8192, slots=8, eval_suite=GAMES, eval_plays=4,
             sample_every=5, save_every=5)
RECIPES = {
    "pocket": dict(dtype="float32"),            # in bf16 its embeddings would be too coarse for their small updates
    "small": dict(_REAL, steps=100, designs_per_step=4, plays_per_arm=4, skills_active=2, designer_tokens=1500,
                  turn_tokens=256, max_turns=8, thinking=False, eval_every=20),
    "paper": dict(_REAL, steps=400, designs_per_step=24, plays_per_arm=16, regenerate_every=4, designer_tokens=16_384,
                  turn_tokens=8192, max_context=32_768, slots=16, eval_every=20, microbatch_tokens=16_384,
                  gradient_checkpointing=True)}
TOOLS = {"pocket": dict(model="pocket-tools", eval_suite="heldout_tools", turn_tokens=10, designer_tokens=240,
                        max_context=480),
         "small": dict(eval_suite="tools"), "paper": dict(eval_suite="tools")}
