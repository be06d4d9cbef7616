#!/usr/bin/env python3
"""Opens pages of `wallheat summary` and `wallheat compare` in Chromium, without network.

  test_report_page.py WALLHEAT [--plans N] [--pictures DIRECTORY]

Nothing may be on the console, nothing may be asked of the network, nothing may stick out to the right; what the page
says must be there without JavaScript, too. Pages with planted mistakes come first: each must be found. --pictures keeps
what was seen. Exit status: 0 all is well, 1 something is not, 77 skipped, with the reason on stdout.
"""

import argparse
import html
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import browser

PLANTED = {  # what is to be found on a page with this on it
    "console.error": "<script>console.error('planted')</script>",
    "exception": "<script>throw new Error('planted')</script>",
    "security": "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><script>1</script>",
    "asks for http://planted.invalid/a.png": "<img src='http://planted.invalid/a.png'>",
    "sticks out": "<div style='width:5000px'>planted</div>",
}
HEADINGS = ["average mean temperature", "wallheat run --data plans.zip", "host", "plans by mean temperature",
            "mean and spread of each plan", "coldest plans", "warmest plans", "where the time went", "threads over time",
            "predicted and actual time of plans", "sessions", "settings of the run", "plans"]
OF_COMPARISON = ["a.h5, b.h5 compared", "answers against those of a.h5", "what differs", "tolerance", "columns that differ",
                 "largest in plan", "speed-ups are against", "where the time of all threads went"]
# Its texts must have the size at which they were drawn, and who cannot see it must be told of it.
UNREADABLE = """[...document.querySelectorAll('.plot svg')].flatMap(svg =>
    (svg.getBoundingClientRect().width < svg.viewBox.baseVal.width ? ['shrunk'] : []).concat(
     (svg.getAttribute('aria-label') || '').length < 10 ? ['without a text'] : []))"""
WIDTHS = [1280, 400]  # of a screen and of a telephone, in pixels


def look(tab, file, **how):
    """What is wrong with a page, a sentence each."""
    tab.open(file.as_uri(), **how)
    wrong = list(tab.messages)
    wrong += [f"asks for {url[:80]}" for url in tab.requests if not url.startswith((file.as_uri(), "data:"))]
    width, room = (tab.value(f"document.documentElement.{name}") for name in ("scrollWidth", "clientWidth"))
    if width > room:
        wrong.append(f"sticks out: {width} of {room} pixels")
    return wrong


def check_planted(tab, directory):
    page = directory / "planted.html"
    beginning = "<!doctype html><link rel=icon href='data:,'>"
    page.write_text(f"{beginning}<p>all is well")
    wrong = [f"a page without mistake: {found}" for found in look(tab, page)]
    for mistake, text in PLANTED.items():
        page.write_text(beginning + text)
        if not any(mistake in found for found in look(tab, page)):
            wrong.append(f"a planted mistake was not found: {mistake}")
    return wrong


def check_page(tab, page, words, pictures):
    wrong = []
    raw = html.unescape(re.sub(r"<(style|svg|script).*?</\1>|<[^>]*>", " ", page.read_text(), flags=re.S))
    wrong += [f"'{word}' is not in the file's text" for word in words if word not in raw]
    colours = {}
    for width in WIDTHS:
        for dark in (False, True):
            for scripts in (True, False):
                start = time.monotonic()
                found = look(tab, page, width=width, dark=dark, scripts=scripts)
                seconds = time.monotonic() - start
                where = f"{width} pixels, {'dark' if dark else 'light'}, {'with' if scripts else 'without'} scripts"
                seen = tab.value("document.body.innerText").lower()
                found += [f"'{word}' is not to be seen" for word in words if word not in seen]
                heights = tab.value("[...document.querySelectorAll('.plot svg')]"
                                    ".map(svg => svg.getBoundingClientRect().height)")
                if not heights or min(heights) < 20:
                    found.append(f"a plot is not to be seen: their heights are {heights}")
                found += [f"a figure is {what}" for what in tab.value(UNREADABLE)]
                wrong += [f"{page.name}, {where}: {each}" for each in found]
                colours[dark] = tab.value("[getComputedStyle(document.body).backgroundColor,"
                                          "getComputedStyle(document.querySelector('.plot path[stroke]')).stroke]")
            print(f"{page.name}, {where}: there after {seconds:.2f} s", flush=True)
            if pictures:
                tab.picture(pictures / f"{page.stem}-{width}-{'dark' if dark else 'light'}.png")
    for light, dark, what in zip(colours[False], colours[True], ("ground", "lines of figures")):
        if light == dark:
            wrong.append(f"{page.name}: the {what} of the dark page are as light as those of the other one: {dark}")
    return wrong


def check_script(tab, page, plans):
    """The table of plans is sorted by its headings and turned page by page; each figure can be saved."""
    wrong = [f"{page.name}: {found}" for found in look(tab, page)]
    mean = "Number(document.querySelector('.long table').rows[1].cells[2].innerText)"
    means = []
    for _ in range(2):
        tab.value("document.querySelectorAll('.long th button')[2].click()")
        means.append(tab.value(mean))
    listed = [float(line.split("\t")[2]) for line in
              tab.value("document.querySelector('.long pre').textContent").strip().split("\n")]
    if len(listed) != plans or means != [min(listed), max(listed)]:
        wrong.append(f"{page.name}: sorted by means, the first plan of {len(listed)} has {means}")
    tab.value("document.querySelectorAll('.long .save button')[1].click()")
    rows = tab.value("document.querySelector('.long table').rows.length") - 1
    if rows != min(plans, 400) - 200 * (plans > 200):
        wrong.append(f"{page.name}: {rows} plans on the second page")
    tab.value("window.saved = []; HTMLAnchorElement.prototype.click = function() {"
              "window.saved.push(this.download + ' ' + this.href.slice(0, 15)); }")
    figures = tab.value("document.querySelectorAll('.plot svg').length")
    tab.value("document.querySelectorAll('.plot + .save button').forEach(button => button.click())")
    end = time.monotonic() + 300
    while tab.value("window.saved.length") < 2 * figures and time.monotonic() < end:
        time.sleep(0.05)
    saved = sorted(tab.value("window.saved"))
    wanted = sorted(f"figure-{i + 1}.{ending}" for i in range(figures)
                    for ending in ("svg data:image/svg+", "png data:image/png;"))
    if saved != wanted:
        wrong.append(f"{page.name}: saved were {saved}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", type=pathlib.Path)
    parser.add_argument("--plans", type=int, default=24, help="in the result file (default: 24)")
    parser.add_argument("--pictures", type=pathlib.Path, help="keep screenshots in this directory")
    arguments = parser.parse_args()
    chromium = browser.find()
    if not chromium:
        print("skipped: there is no Chromium here (apt-get install chromium)")
        sys.exit(77)
    without_network = browser.without_network()
    if not without_network:
        print("this system makes no namespace without network; names are not resolved, and requests are watched")
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)

        def wallheat(*words):
            start = time.monotonic()
            run = subprocess.run([arguments.wallheat.resolve(), *map(str, words)], cwd=directory, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if run.returncode != 0:
                sys.exit(f"wallheat {' '.join(map(str, words))} ended with status {run.returncode}\n{run.stdout}")
            return time.monotonic() - start

        # Many plans are small ones: the page tells the same of them.
        wallheat("generate", "--out", "plans.zip", "--count", arguments.plans, "--size", 48 if arguments.plans < 100 else 16)
        run = ["run", "--data", "plans.zip", "--progress", "none", "--out"]
        wallheat(*run, "a.h5", "--save-fields")
        wallheat(*run, "b.h5", "--tolerance", "0.01")
        for name, words in {"page": ["summary", "a.h5"], "compared": ["compare", "a.h5", "b.h5"]}.items():
            seconds = wallheat(*words, "--page", f"{name}.html")
            size = (directory / f"{name}.html").stat().st_size
            print(f"{name}.html of {arguments.plans} plans: {size} bytes, made in {seconds:.2f} s", flush=True)
        tab = browser.Browser(chromium, without_network)
        try:
            wrong += check_planted(tab, directory)
            wrong += check_page(tab, directory / "page.html", HEADINGS, arguments.pictures)
            wrong += check_script(tab, directory / "page.html", arguments.plans)
            wrong += check_page(tab, directory / "compared.html", OF_COMPARISON, arguments.pictures)
        finally:
            tab.close()
    for sentence in wrong:
        print(sentence)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
