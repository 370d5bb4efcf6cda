"""A headless Chromium, driven over its debugging pipe: the look, text, requests and complaints of a page."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from patience import wait_until

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def installed() -> str | None:
    """Returns the path of the browser, if installed."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser with one page."""

    def __init__(self, profile: Path) -> None:
        program = installed()
        assert program is not None
        command_read, self._write = os.pipe()
        self._read, answer_write = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        move = f'exec 3<&{command_read} 4>&{answer_write}; exec "$@"'
        words = ["/bin/bash", "-c", move, "bash", program, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            words, pass_fds=(command_read, answer_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(command_read)
        os.close(answer_write)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # At a requested exit, Chromium ends its children.
        self._session = None
        self._number += 1
        os.write(self._write, json.dumps({"id": self._number, "method": "Browser.close"}).encode() + b"\0")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and returns its answer; other messages are kept in `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, page: Path, *, width: int = 1280, height: int = 1000, scheme: str = "light") -> None:
        """Opens a page from its file in a light or dark scheme, and waits until the page has loaded."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.send("Page.navigate", url=page.resolve().as_uri())
        wait_until(self._has_loaded)

    def _has_loaded(self) -> bool:
        self.send("Runtime.evaluate", expression="0")
        return any(event.get("method") == "Page.loadEventFired" for event in self.events)

    def ask(self, expression: str) -> Any:
        """Evaluate an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, what: str, x: float, y: float) -> None:
        """Press, move or release the left button at a place in the window, as a hand does."""
        kind = {"press": "mousePressed", "move": "mouseMoved", "release": "mouseReleased"}[what]
        held = {"press": 1, "move": 1, "release": 0}[what]
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=held, clickCount=1)

    def click(self, x: float, y: float) -> None:
        """Click at a place in the window."""
        self.mouse("press", x, y)
        self.mouse("release", x, y)

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        code = {"Tab": 9, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}[key]
        named: dict[str, Any] = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        text = {"text": " "} if key == " " else {}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **named, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    def place(self, selector: str) -> tuple[float, float, float, float]:
        """Scrolls an element into the window; returns its left and top edge, its width and its height."""
        left, top, width, height = self.ask(
            f"""(() => {{
                const element = document.querySelector({json.dumps(selector)});
                element.scrollIntoView({{ block: "center" }});
                const box = element.getBoundingClientRect();
                return [box.left, box.top, box.width, box.height];
            }})()"""
        )
        return left, top, width, height

    def complaints(self) -> list[str]:
        """Errors and warnings of the page's script and of the browser."""
        self.ask("0")
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning", "assert"}:
                found.append(json.dumps(parameters["args"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in {"error", "warning"}:
                found.append(parameters["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """Returns the requests of the page."""
        self.ask("0")
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent]

    def screenshot(self, file: Path, *, whole: bool = True) -> Path:
        """Keeps a picture of the page."""
        file.parent.mkdir(parents=True, exist_ok=True)
        picture = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
            picture = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(picture["data"]))
        return file

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found
