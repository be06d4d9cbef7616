#!/usr/bin/env python3
"""Opens pages of `wallheat summary` and `wallheat compare` in Chromium, without network.

  test_report_page.py WALLHEAT [--plans N]

No script may fail, nothing may be asked of the network, nothing may stick out to the right at 1280 and 400 pixels, figures
keep their size and tell what they show; what the page says is there without JavaScript, too. A page with planted mistakes
comes first: each must be found. Exit status: 0 all is well, 1 something is not, 77 skipped, with the reason on stdout.
"""

import argparse
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# A busy machine may have solved all plans before it predicts one: then the page says so.
HEADINGS = ["average mean temperature", "wallheat run --data plans.zip", "host", "plans by mean temperature",
            "mean and spread of each plan", "coldest plans", "warmest plans", "where the time went", "threads over time",
            " predicted", "sessions", "settings of the run", "plans"]
OF_COMPARISON = ["a.h5, b.h5 compared", "answers against those of a.h5", "what differs", "tolerance", "absolute differences",
                 "largest in plan", "speed-ups are against", "where the time of all threads went"]
PLANTED = {"planted error": "<script nonce=wallheat>throw new Error('planted error')</script>",
           "asks for http://planted.invalid/a.png": "<img src='http://planted.invalid/a.png'>",
           "sticks out": "<div style='width:5000px'>planted</div>", "shrunk": "<div class=plot><svg viewBox='0 0 900 9' width=9 /></div>"}
# In a copy of the page, ahead of all else: what goes wrong; and behind all else: what is to be seen, into the title.
BEFORE = """<script nonce=wallheat>const found = [];
addEventListener('error', event => found.push('error: ' + event.message));
addEventListener('securitypolicyviolation', event => found.push('asks for ' + event.blockedURI));</script>"""
BEHIND = """<script nonce=wallheat>addEventListener('load', () => setTimeout(() => {
const root = document.documentElement, all = query => [...document.querySelectorAll(query)];
if (root.scrollWidth > root.clientWidth) found.push(`sticks out: ${root.scrollWidth} of ${root.clientWidth} pixels`);
for (const svg of all('.plot svg')) {
  if (svg.getBoundingClientRect().width < svg.viewBox.baseVal.width) found.push('shrunk');
  if ((svg.getAttribute('aria-label') || '').length < 10) found.push('without a text');
}
const rows = () => all('.long tr').slice(1).map(row => row.cells[2].textContent), saved = [];
HTMLAnchorElement.prototype.click = function() { saved.push(this.download + ' ' + this.href.slice(0, 18)); };
all('.plot + .save button').forEach(button => button.click());
const sorted = [0, 1].map(() => { all('.long th button')[2]?.click(); return rows()[0]; });
all('.long .save button')[1]?.click();
parent.postMessage({found, saved, sorted, second: rows().length, ground: getComputedStyle(document.body).backgroundColor}, '*');
}));</script>"""
# Chromium's windows are 500 pixels wide at least, but not its frames.
FRAME = """<!doctype html><title>nothing seen</title><body style='margin:0'><script>
addEventListener('message', event => document.title = 'seen ' + JSON.stringify(event.data));</script>
<iframe src='{}' style='width:{}px;height:{}px;border:0'></iframe>"""


def opened(page, width, dark):
    """What is seen of a page."""
    copy, frame = page.with_name("copy.html"), page.with_name("frame.html")
    text = page.read_text()
    head = text.index("<meta name=viewport") if "<meta name=viewport" in text else text.index("<p>")
    copy.write_text(text[:head] + BEFORE + text[head:] + BEHIND)

    frame.write_text(FRAME.format(copy.name, width, 900))
    with tempfile.TemporaryDirectory() as profile:
        dump = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={profile}", f"--window-size={max(width, 500)},900", "--virtual-time-budget=10000",
             f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--host-resolver-rules=MAP * ~NOTFOUND",
             "--dump-dom", frame.as_uri()], check=True, capture_output=True, text=True).stdout
    return json.loads(html.unescape(re.search("<title>(.*?)</title>", dump)[1]).removeprefix("seen "))


def make_every_second_plan_cold(page):
    """Its mean becomes negative in the lines that the page sorts."""
    before, lines, behind = re.split(r"(?<=<pre hidden>\n)(.*?)(?=</pre>)", page.read_text(), maxsplit=1, flags=re.S)
    plans = [line.split("\t") for line in lines.splitlines()]
    for plan in plans[::2]:
        plan[2] = "-" + plan[2]
    page.write_text(before + "\n".join(map("\t".join, plans)) + "\n" + behind)


def wrong_with(page, words, plans):
    raw = html.unescape(re.sub(r"<(style|svg|script).*?</\1>|<[^>]*>", " ", page.read_text(), flags=re.S))
    wrong = [f"'{word}' is not in the file's text" for word in words if word not in raw]
    grounds = set()
    for width in 1280, 400:
        for colour in "light", "dark":
            seen = opened(page, width, colour == "dark")
            wrong += [f"at {width} pixels, {colour}: {found}" for found in seen["found"]]
            grounds.add(seen["ground"])
    if len(grounds) != 2:
        wrong.append(f"light and dark have the grounds {grounds}")
    if not seen["saved"] or any(not re.match(r"figure-\d+.svg data:image/svg", saved) for saved in seen["saved"]):
        wrong.append(f"saved were {seen['saved']}")
    if plans:
        means = [float(line.split("\t")[2]) for line in
                 re.search("<pre hidden>\n(.*?)</pre>", page.read_text(), re.S)[1].strip().split("\n")]
        if len(means) != plans or [float(mean) for mean in seen["sorted"]] != [min(means), max(means)]:
            wrong.append(f"sorted by means, the first plan of {len(means)} has {seen['sorted']}")
        if seen["second"] != min(plans, 400) - 200 * (plans > 200):
            wrong.append(f"{seen['second']} plans on the second page")
    return [f"{page.name}: {sentence}" for sentence in wrong]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--plans", type=int, default=24, help="in the result file (default: 24)")
    arguments = parser.parse_args()
    if not shutil.which("chromium"):
        print("skipped: there is no Chromium here (apt-get install chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        planted = directory / "planted.html"
        planted.write_text("<!doctype html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
                           "'unsafe-inline'; script-src 'nonce-wallheat'\"><p>" + "".join(PLANTED.values()))
        found = opened(planted, 1280, False)["found"]
        wrong = [f"planted, and not found: {mistake}" for mistake in PLANTED if not any(mistake in one for one in found)]

        def wallheat(*words):
            subprocess.run([arguments.wallheat, *map(str, words)], cwd=directory, check=True, stdout=subprocess.DEVNULL)

        # Many plans are small ones: the page tells the same of them.
        wallheat("generate", "--out", "plans.zip", "--count", arguments.plans, "--size", 48 if arguments.plans < 100 else 16)
        run = ["run", "--data", "plans.zip", "--progress", "none", "--log-level", "warning", "--out"]
        wallheat(*run, "a.h5", "--save-fields")
        wallheat(*run, "b.h5", "--tolerance", "0.01")
        wallheat("summary", "a.h5", "--page", "page.html")
        wallheat("compare", "a.h5", "b.h5", "--page", "compared.html")
        make_every_second_plan_cold(directory / "page.html")
        wrong += wrong_with(directory / "page.html", HEADINGS, arguments.plans)
        wrong += wrong_with(directory / "compared.html", OF_COMPARISON, 0)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
