#!/usr/bin/env python3
"""Opens pages of `wallheat summary`, `wallheat compare` and `wallheat status` in Chromium, without network.

  test_report_page.py WALLHEAT [--plans N]

Requires that no script fails, that the page requests nothing from the network, that nothing is cut off on the right at 1280
and 400 pixels and on paper, that figures keep their size and have an alternative text, that the headings have levels, and
that the page contains its facts without JavaScript. The page of a run in progress must reload itself, show when it is out
of date, and stay as it is after the end of the run. A page with planted problems is checked first: each must be found. Exit
status: 0 success, 1 problems, 77 skipped, with the reason on stdout.
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
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "jobs/examples"
# The least numbers of headings, figures and tables of a page.
SUMMARY_ELEMENTS = {"heading": 12, "figure": 5, "table": 8}
COMPARISON_ELEMENTS = {"heading": 5, "figure": 2, "table": 5}
ELEMENTS = {"heading": "<h2>[^<]|<summary>[^<]", "figure": "<svg role=img", "table": "<table"}
PLANTED = {"planted error": "<script nonce=wallheat>throw new Error('planted error')</script>",
           "asks for http://planted.invalid/a.png": "<img src='http://planted.invalid/a.png'>",
           "sticks out": "<div style='width:5000px'>planted</div>",
           "cut off on paper": "<div class=scroll style='overflow:auto;width:50px'><table><td style='min-width:900px'></table></div>",
           "two columns": "<div class=scroll style='overflow:auto;width:50px'><table><tr><td style='min-width:900px'><td></table></div>",
           "headings": "<h1>planted</h1><h1>planted</h1>",
           "shrunk": "<div class=plot><svg viewBox='0 0 900 9' width=9 /></div>"}
# Scripts for a copy of the page. The first, before all others, records errors; the second, after all others, reports the
# problems and the state of the page.
BEFORE = """<script nonce=wallheat>const found = [];
addEventListener('error', event => found.push('error: ' + event.message));
addEventListener('securitypolicyviolation', event => found.push('asks for ' + event.blockedURI));</script>"""
BEHIND = """<script nonce=wallheat>addEventListener('load', () => setTimeout(() => {
const root = document.documentElement, all = query => [...document.querySelectorAll(query)];
if (root.scrollWidth > root.clientWidth) found.push(`sticks out: ${root.scrollWidth} of ${root.clientWidth} pixels`);
const levels = all('h1, h2, h3').map(heading => Number(heading.localName[1]));
if (levels[0] !== 1 || levels.some((level, i) => i > 0 && (level === 1 || level > levels[i - 1] + 1))) found.push(`headings: ${levels}`);
for (const svg of all('.plot svg')) {
  if (svg.getBoundingClientRect().width < svg.viewBox.baseVal.width) found.push('shrunk');
  if ((svg.getAttribute('aria-label') || '').length < 10) found.push('without a text');
}
for (const box of all('.scroll'))
  if (box.querySelector('tr')?.cells.length === 2 && box.scrollWidth > box.clientWidth + 1)
    found.push(`a table of two columns is cut off: ${box.scrollWidth} of ${box.clientWidth} pixels`);
const rows = () => all('.long tr').slice(1).map(row => row.cells[2].textContent), saved = [];
HTMLAnchorElement.prototype.click = function() { saved.push(this.download + ' ' + this.href.slice(0, 18)); };
all('.plot + .save button').forEach(button => button.click());
const sorted = [0, 1].map(() => { all('.long th button')[2]?.click(); return rows()[0]; });
all('.long .save button')[1]?.click();
const ground = getComputedStyle(document.body).backgroundColor;
// The rules for print, on the screen.
for (const sheet of document.styleSheets)
  for (const rule of [...sheet.cssRules])
    if (rule.media?.mediaText === 'print') [...rule.cssRules].forEach(one => sheet.insertRule(one.cssText, sheet.cssRules.length));
document.documentElement.style.width = document.body.style.width = '700px';
for (const box of all('.scroll'))
  if (box.scrollWidth > box.clientWidth + 1) found.push(`cut off on paper: ${box.scrollWidth} of ${box.clientWidth} pixels`);
parent.postMessage({found, saved, sorted, second: rows().length, ground, text: document.body.innerText}, '*');
}));</script>"""
# A window of Chromium is at least 500 pixels wide; a frame may be narrower.
FRAME = """<!doctype html><title>no report</title><body style='margin:0'><script>
let loads = 0;
addEventListener('message', event => document.title = 'report ' + JSON.stringify({{loads: ++loads, ...event.data}}));</script>
<iframe src='{}' style='width:{}px;height:{}px;border:0'></iframe>"""


def open_page(page, width, dark):
    """Returns the report of a page that Chromium shows."""
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
    return json.loads(html.unescape(re.search("<title>(.*?)</title>", dump)[1]).removeprefix("report "))


def make_every_second_plan_cold(page):
    """Makes the mean of every second plan negative in the lines that the page sorts."""
    before, lines, behind = re.split(r"(?<=<pre hidden>\n)(.*?)(?=</pre>)", page.read_text(), maxsplit=1, flags=re.S)
    plans = [line.split("\t") for line in lines.splitlines()]
    for plan in plans[::2]:
        plan[2] = "-" + plan[2]
    page.write_text(before + "\n".join(map("\t".join, plans)) + "\n" + behind)


def facts_of_summary(summary, plans_by_mean):
    """Returns the texts that the page of a summary must contain, from the JSON output of summary and list."""
    session, slowest = summary["sessions"][0], summary["slowest"][0]
    facts = [summary["solver"], session["command_line"], slowest["host"], slowest["device"]]
    facts += [f"{summary[name]:.3f} °C" for name in ("mean_of_means", "median_of_means", "mean_of_stds")]
    facts += [f"{plan['id']} {plan['mean_temp']:.3f}" for plan in (plans_by_mean[0], plans_by_mean[-1])]
    facts += [f"{setting['name']} {setting['value']}" for setting in summary["settings"]]
    # The chart of predicted times, or the reason why there is none: a busy machine may solve all plans before it predicts one.
    return facts + ["100.00", "predicted"]


def facts_of_comparison(comparison):
    """Returns the texts that the page of a comparison must contain, from the JSON output of compare."""
    facts = [comparison["first"], comparison["base"]]
    facts += [f"{row['name']} {row['first']} {row['second']}" for row in comparison["settings"]]
    facts += [f"{row['column']} {row['plans']} {row['largest']:.6g} {row['mean']:.6g} {row['plan']}"
              for row in comparison["columns"][:3]]
    return facts + [f"{row['name']} {row['workers']}" for row in comparison["times"]] + ["100.00"]


def wait_until(condition, what):
    """Polls until the condition holds."""
    deadline = time.monotonic() + 300
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited five minutes for {what}")
        time.sleep(0.05)


def problems_of_live_page(program, directory):
    """Returns the messages about the page of `wallheat status --watch --page`, while a run solves plans and after its end.
    One plan takes many minutes, the others end soon, and one of them is damaged."""
    def wallheat(*words):
        return subprocess.run([program, *map(str, words)], cwd=directory, check=False, stdout=subprocess.PIPE, text=True).stdout

    for plans, count, size in ("live", 3, 16), ("slow", 1, 1500):
        wallheat("generate", "--out", plans, "--count", count, "--size", size)
    for file in (directory / "slow").glob("0*.npy"):
        file.rename(directory / "live" / f"slow{file.name}")
    (directory / "live" / "00002_interior.npy").write_bytes(b"damaged")
    (directory / "live" / "building_ids.txt").unlink()
    page = directory / "live.html"
    run = [program, "run", "--data", "live", "--out", "live.h5", "--tolerance", "0", "--max-iterations", "2000000",
           "--threads", "2", "--device", "cpu", "--progress", "none", "--log-level", "error"]
    with subprocess.Popen(run, cwd=directory) as running:
        try:
            wait_until((directory / "live.h5").exists, "the result file")
            wait_until(lambda: json.loads(wallheat("status", "live.h5", "--json") or "{}").get("pending") == 1,
                       "the end of the other plans")
            watch = [program, "status", "live.h5", "--watch", "--interval", "1", "--page", "live.html"]
            with subprocess.Popen(watch, cwd=directory, stdout=subprocess.DEVNULL) as watching:
                wait_until(lambda: page.exists() and "<svg" in page.read_text(), "the page with its figure")
                problems = problems_of(page, ["75 % of live.h5", "slow00001", "00002", "cpu"],
                                       {"heading": 4, "table": 4, "figure": 1}, 0)
                report = open_page(page, 1280, False)
                if report["loads"] < 3:
                    problems.append(f"{page.name} did not reload itself: {report['loads']} loads in ten seconds")
                if "out of date" in report["text"]:
                    problems.append(f"{page.name} is out of date although it was just written")
                old = page.with_name("old.html")
                old.write_text(re.sub(r"<time datetime=\S+?>", "<time datetime=2020-01-01T00:00:00.000Z>", page.read_text()))
                if "out of date" not in open_page(old, 400, False)["text"]:
                    problems.append("a page that was not replaced for years does not say that it is out of date")
                running.terminate()
                watching.wait(timeout=300)
        finally:
            running.terminate()
    problems += problems_of(page, ["75 % of live.h5", "00002", "closed"], {"heading": 2, "table": 2}, 0)
    report = open_page(page, 1280, False)
    if report["loads"] != 1:
        problems.append(f"{page.name} reloads itself after the end of the run: {report['loads']} loads")
    return problems


def problems_of(page, facts, elements, plans):
    """Returns the messages about a page. Checks the table of plans if `plans` is their number, not 0."""
    source = page.read_text()
    text = " ".join(html.unescape(re.sub(r"<(style|svg|script).*?</\1>|<[^>]*>", " ", source, flags=re.S)).split())
    problems = [f"'{fact}' is missing in the text" for fact in facts if fact not in text]
    for name, least in elements.items():
        count = len(re.findall(ELEMENTS[name], source))
        if count < least:
            problems.append(f"{count} {name}s, expected at least {least}")
    grounds = set()
    for width in 1280, 400:
        for colour in "light", "dark":
            report = open_page(page, width, colour == "dark")
            problems += [f"at {width} pixels, {colour}: {found}" for found in report["found"]]
            grounds.add(report["ground"])
    if len(grounds) != 2:
        problems.append(f"background colours of light and dark: {grounds}")
    if elements.get("figure") and not report["saved"] or any(not re.match(r"figure-\d+.svg data:image/svg", saved) for saved in report["saved"]):
        problems.append(f"saved files: {report['saved']}")
    if plans:
        means = [float(line.split("\t")[2]) for line in
                 re.search("<pre hidden>\n(.*?)</pre>", source, re.S)[1].strip().split("\n")]
        if len(means) != plans or [float(mean) for mean in report["sorted"]] != [min(means), max(means)]:
            problems.append(f"first plan of {len(means)}, sorted by mean: {report['sorted']}")
        if report["second"] != min(plans, 400) - 200 * (plans > 200):
            problems.append(f"{report['second']} plans on the second page")
    return [f"{page.name}: {message}" for message in problems]


def paper_problems_of(page):
    """Returns the messages about a page that Chromium prints: its paper must be A4, and its sheets few."""
    pdf = page.with_suffix(".pdf")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                        f"--user-data-dir={profile}", f"--print-to-pdf={pdf}", page.as_uri()], check=True, capture_output=True)
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf.read_bytes())
    if not 1 <= len(boxes) <= 2:
        return [f"{len(boxes)} sheets, expected 1 or 2"]
    return [f"paper of {box} points, expected A4" for box in boxes if [round(float(side)) for side in box] != [595, 842]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--plans", type=int, default=24, help="in the result file (default: 24)")
    arguments = parser.parse_args()
    if not shutil.which("chromium"):
        print("skipped: Chromium is not installed (apt-get install chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        planted = directory / "planted.html"
        planted.write_text("<!doctype html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
                           "'unsafe-inline'; script-src 'nonce-wallheat'\"><p>" + "".join(PLANTED.values()))
        found = open_page(planted, 1280, False)["found"]
        problems = [f"planted problem not found: {planted}" for planted in PLANTED if not any(planted in one for one in found)]

        def wallheat(*words):
            return subprocess.run([arguments.wallheat, *map(str, words)], cwd=directory, check=True, stdout=subprocess.PIPE,
                                  text=True).stdout

        # Many plans are small. The page shows the same about them.
        wallheat("generate", "--out", "plans.zip", "--count", arguments.plans, "--size", 48 if arguments.plans < 100 else 16)
        run = ["run", "--data", "plans.zip", "--progress", "none", "--log-level", "warning", "--out"]
        wallheat(*run, "a.h5", "--save-fields")
        wallheat(*run, "b.h5", "--tolerance", "0.01")
        wallheat("summary", "a.h5", "--page", "page.html")
        wallheat("compare", "a.h5", "b.h5", "--page", "compared.html")
        wallheat("list", "a.h5", "--columns", "all", "--page", "wide.html")
        wallheat("solve", "00001", "--data", "plans.zip", "--rooms", "--page", "plan.html")
        # A page for a client fits A4 paper.
        wallheat("generate", "--from", EXAMPLES / "flat.png", "--wall", "#ff0000=25", "--wall", "#000000=5", "--cell-size", 0.05,
                 "--out", "drawn")
        (directory / "rooms.csv").write_text("x_m,y_m,name\n2,2,Bedroom\n4.5,2,Kitchen\n")
        wallheat("solve", "flat", "--data", "drawn", "--door", "0.9m", "--room-names", "rooms.csv", "--title", "Flat 3b",
                 "--author", "A. Engineer", "--date", "1 March 2026", "--page", "client.html")
        client_facts = ["Flat 3b", "A. Engineer, 1 March 2026", "1 Bedroom", "2 Kitchen", "flat.png", "0.05 m", "0.9 m", "38.8"]
        problems += problems_of(directory / "client.html", client_facts, {"heading": 4, "figure": 1, "table": 4}, 0)
        problems += [f"client.html: {found}" for found in paper_problems_of(directory / "client.html")]
        summary = json.loads(wallheat("summary", "a.h5", "--json"))
        plans_by_mean = json.loads(wallheat("list", "a.h5", "--sort", "mean_temp", "--json"))["plans"]
        comparison = json.loads(wallheat("compare", "a.h5", "b.h5", "--json"))
        make_every_second_plan_cold(directory / "page.html")
        problems += problems_of(directory / "page.html", facts_of_summary(summary, plans_by_mean), SUMMARY_ELEMENTS,
                                arguments.plans)
        problems += problems_of(directory / "compared.html", facts_of_comparison(comparison), COMPARISON_ELEMENTS, 0)
        problems += problems_of(directory / "plan.html", ["plan 00001"], {"heading": 2, "figure": 1, "table": 2}, 0)
        problems += problems_of_live_page(arguments.wallheat, directory)
        problems += [f"wide.html: {found}" for found in open_page(directory / "wide.html", 1280, False)["found"]]
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
