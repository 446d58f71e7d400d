"""The page of a run, in headless Chromium where there is one: it opens from disk, nothing escapes from a program, keys move."""
import json, re, shutil, subprocess, sys
from pathlib import Path

import pytest
from conftest import ROOT

from envs_examples import runs

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NASTY = '</script><script>document.title = "ESCAPED"</script><img src=x onerror="document.title=\'ESCAPED\'">\u2028<!-- ${1} \\'


def make_run(folder, steps=3, designs=2, plays=2):
    """A run on disk in which every text that a model or a program wrote is hostile."""
    (folder / "episodes").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(dict(model=NASTY, recipe="pocket", seed=0, designer_reward="blend")))
    for step in range(steps):
        (folder / f"envs/step_{step:05d}").mkdir(parents=True)
        episodes = []
        for index in range(designs):
            record = dict(index=index, step=step, skill=NASTY, document=None, refusal=NASTY if index else None, hint=NASTY, reply=NASTY,
                          verdict=dict(level=3, max_turns=4), solve_rate=0.5, regret=0.25, regret_se=0.1, reward=1.0, prompt=NASTY,
                          examples=[[step - 1, 0]] if step else [])
            stem = folder / f"envs/step_{step:05d}/{index:02d}"
            stem.with_suffix(".json").write_text(json.dumps(record))
            stem.with_suffix(".py").write_text(f"# program {step}/{index}\n{NASTY}")
            episodes += [dict(env=index, hinted=hinted, seed=seed, value=float(hinted), hint=NASTY if hinted else None, error=None,
                              messages=[NASTY, NASTY, "end"]) for seed in range(plays) for hinted in (False, True)]
        (folder / f"episodes/step_{step:05d}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in episodes))
    rows = [{"step": step, "agent/solve_rate": 0.5, "agent/solve_rate_hint": 0.7, "designer/regret": 0.2, "designer/level": 3.0,
             "designer/reward": 0.5, "designer/valid_rate": 0.5, "designer/refused/crash": 1} for step in range(steps)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def browse(page, script=""):
    """The page's document after `script` has run in it."""
    if script:                                          # a copy with the visitor's actions at its end
        page = page.with_name("visited.html")
        page.write_text((page.parent / "page.html").read_text().replace("</html>", f"<script>{script}</script></html>"))
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", f"--user-data-dir={page.parent / 'profile'}",
         "--virtual-time-budget=5000", "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    return re.sub(r'<script type="application/json".*?</script>', "", done.stdout, flags=re.S)      # without the data


def test_the_data_cannot_end_its_element(tmp_path):
    run = make_run(tmp_path / "run")
    page = runs.page(run)
    text = page.read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    assert "<" not in data and json.loads(data)["envs"][0]["reply"] == NASTY
    assert "://" not in text.replace(data, "").replace("http://www.w3.org/2000/svg", "")              # no network
    assert text.count("<script") == 2 and "innerHTML" not in text
    envs = json.loads(data)["envs"]
    assert [(e["step"], e["index"]) for e in envs] == [(s, i) for s in range(3) for i in range(2)]
    assert [[p[0], p[1]["hinted"], p[2]["hinted"]] for p in envs[0]["plays"]] == [[0, False, True], [1, False, True]]


def test_a_run_on_the_command_line(tmp_path):
    make_run(tmp_path / "run")
    done = subprocess.run([sys.executable, ROOT / "regret.py", tmp_path / "run"], capture_output=True, text=True)
    assert done.returncode == 0 and "page.html" in done.stdout and Path(tmp_path / "run/page.html").exists()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_the_page_in_a_browser(tmp_path):
    run = make_run(tmp_path / "run")
    page = runs.page(run)
    seen = browse(page)
    assert "<title>nanoSPADE run</title>" in seen and "ESCAPED&quot;" not in seen.split("<title>")[1].split("</title>")[0]
    assert "# program 0/0" in seen and "&lt;/script&gt;&lt;script&gt;" in seen and "<img" not in seen
    assert "It inspired:" in seen and seen.count("<polyline") >= 5
    moved = browse(page, 'for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) document.dispatchEvent(new KeyboardEvent("keydown", {key}));')
    assert "# program 2/1" in moved and "refused" in moved and "In its prompt:" in moved
    clicked = browse(page, 'document.querySelector("#detail button").click();')
    assert "# program 1/0" in clicked


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_five_thousand_environments(tmp_path):
    run = make_run(tmp_path / "run", steps=500, designs=10, plays=1)
    page = runs.page(run)
    seen = browse(page, 'const t = performance.now(); for (let n = 0; n < 20; n++) choose(n * 200); '
                        'document.title = "ms each " + ((performance.now() - t) / 20).toFixed(1);')
    assert "5000 environments" in seen and "# program 380/0" in seen
