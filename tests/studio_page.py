"""The studio in a real Chromium: a page that notes what goes wrong on its console, and keeps pictures of itself."""

import os
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from browser import CHROMIUM

# Debian's own browser, without a window and without calls home.
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

WIDE = {"viewport": {"width": 1400, "height": 1000}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


@contextmanager
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        yield browser
        browser.close()


def address(url, **state):
    """The address of a view."""
    return f"{url.partition('#')[0]}#{urlencode(state)}"


class StudioPage:
    """One page of the studio. complaints: what its console and the network had to complain about."""

    def __init__(self, browser, folder, **options):
        self.context = browser.new_context(accept_downloads=True, **(options or WIDE))
        self.page = self.context.new_page()
        self.folder = Path(os.environ.get("CLASSWISE_SCREENSHOTS") or folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.complaints, self.requests = [], []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, url, **state):
        """Open a view and wait for its picture."""
        self.page.goto("about:blank")
        self.page.goto(address(url, **state) if state else url)
        self.page.wait_for_selector("#picture .plot-container", state="attached", timeout=30_000)
        self.settle()

    def settle(self):
        """Wait until no question is under way and the picture is that of the dials."""
        self.page.wait_for_timeout(60)
        self.page.wait_for_selector("body[data-asking='0']")
        self.page.wait_for_timeout(300)  # panels follow a dial after a pause
        self.page.wait_for_selector("body[data-asking='0']")
        self.page.wait_for_timeout(60)

    def text(self, selector):
        return self.page.inner_text(selector)

    def shapes(self, name):
        """The shapes of this name that the picture has now."""
        script = "name => document.getElementById('picture').layout.shapes.filter(each => each.name === name)"
        return self.page.evaluate(script, name)

    def posterior(self, label):
        """The posterior of a class in the panel "Why?", with all digits."""
        cell = self.page.wait_for_selector(f"#panel-why td[data-class='{label}']")
        return float(cell.get_attribute("data-posterior"))

    def picture(self, name, full=True):
        """Keep a screenshot."""
        self.page.screenshot(path=self.folder / f"{name}.png", full_page=full)

    def close(self):
        self.context.close()
