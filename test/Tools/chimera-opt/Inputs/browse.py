"""Looks at reports in Chromium as a person does: scrolls, clicks, searches, prints.

usage: browse.py FOLDER        makes reports there, of one chain and of a thousand
"""

import base64
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

CHAIN = """
    %a{0} = linalg.matmul ins(%c{1}, %w : tensor<64x64xf32>, tensor<64x64xf32>)
        outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
    %b{0} = linalg.matmul ins(%a{0}, %w : tensor<64x64xf32>, tensor<64x64xf32>)
        outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
    %c{0} = linalg.generic {{indexing_maps = [#columns, #rows],
        iterator_types = ["parallel", "parallel"]}}
        ins(%b{0} : tensor<64x64xf32>) outs(%c0 : tensor<64x64xf32>) {{
    ^bb0(%x: f32, %y: f32):
      %sum = arith.addf %x, %y : f32
      linalg.yield %sum : f32
    }} -> tensor<64x64xf32>
"""


def write_report(folder, chains):
    """A report of a program in which transposes lie between pairs of products."""
    program, page = folder / f"{chains}.mlir", folder / f"{chains}.html"
    body = "".join(CHAIN.format(i, i - 1) for i in range(1, chains + 1))
    program.write_text(f"""
#columns = affine_map<(d0, d1) -> (d1, d0)>
#rows = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%c0: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {{
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<64x64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
    {body}
    return %c{chains} : tensor<64x64xf32>
}}
""")
    subprocess.run(["chimera-opt", program, f"--chimera-report={page}", "-o", "/dev/null",
                    "--chimera-planning-pipeline=target=zen5"], check=True)
    return page


class Browser:
    """A window of Chromium, driven by the WebDriver protocol."""

    def __init__(self, port):
        self.root = f"http://127.0.0.1:{port}"
        options = {"args": ["--headless", "--no-sandbox", "--disable-gpu",
                            "--window-size=1200,900"]}
        wanted = {"alwaysMatch": {"goog:chromeOptions": options,
                                  "goog:loggingPrefs": {"browser": "ALL"},
                                  "timeouts": {"script": 250000,
                                               "pageLoad": 250000}}}
        self.session = self.ask("/session", capabilities=wanted)["sessionId"]

    def ask(self, path, **data):
        request = urllib.request.Request(self.root + path, json.dumps(data).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["value"]

    def do(self, command, **data):
        return self.ask(f"/session/{self.session}/{command}", **data)

    def run(self, script, *arguments):
        return self.do("execute/sync", script=script, args=list(arguments))

    def click(self, selector):
        found = self.do("element", using="css selector", value=selector)
        (element,) = found.values()
        self.do(f"element/{element}/click")

    def close(self):
        request = urllib.request.Request(f"{self.root}/session/{self.session}",
                                         method="DELETE")
        urllib.request.urlopen(request, timeout=300).close()


@contextlib.contextmanager
def start():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(["chromedriver", f"--port={port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(
                    ("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        browser = Browser(port)
        yield browser
        browser.close()
    finally:
        driver.terminate()
        driver.wait()


def look_at(browser, page, chains):
    browser.do("url", url=page.resolve().as_uri())
    assert browser.run("return document.querySelectorAll('section').length") == chains
    # The pictures have a size once their chain is in sight.
    for chain in {0, chains // 2, chains - 1}:
        browser.click(f'a[href="#chain{chain}"]')
        assert browser.run("return location.hash") == f"#chain{chain}"
        top, drawn = browser.run(
            "const chain = document.getElementById(arguments[0]);"
            "return [chain.getBoundingClientRect().top,"
            " [...chain.querySelectorAll(':scope > .charts svg, :scope > svg')]"
            " .every(s => s.getBoundingClientRect().width > 100)]", f"chain{chain}")
        assert drawn and (chain + 1 == chains or abs(top) < 100), (chain, top, drawn)
        browser.click(f"#chain{chain} details summary")
        assert browser.run("return document.getElementById(arguments[0])"
                           ".querySelector('details').open", f"chain{chain}")
    # What is out of sight is found.
    browser.run("getSelection().removeAllRanges(); scrollTo(0, 0)")
    assert browser.run("return window.find(arguments[0])", f"Chain {chains - 1}:")
    errors = browser.do("se/log", type="browser")
    assert not errors, errors


folder = pathlib.Path(sys.argv[1])
pages = {chains: write_report(folder, chains) for chains in (1, 1000)}
with start() as browser:
    for chains, page in pages.items():
        begin = time.monotonic()
        look_at(browser, page, chains)
        print(f"{chains} chains looked at in {time.monotonic() - begin:.1f} s")
    browser.do("url", url=pages[1].resolve().as_uri())
    pdf = base64.b64decode(browser.do("print"))
    assert pdf.startswith(b"%PDF") and len(pdf) > 10_000
