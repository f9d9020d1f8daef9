"""Asks Licet whether a license key may run here. Python 3.8 or newer, no dependencies; see README.md."""
import getpass
import hashlib
import json
import math
import os
import platform
import queue
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import NamedTuple, Optional


class Answer(NamedTuple):
    state: str  # "valid", "grace", "refused" or "unreachable"
    message: str  # for the user to read

    @property
    def may_run(self) -> bool:
        return self.state in ("valid", "grace")


class _Reply(NamedTuple):
    valid: Optional[bool]  # None: the service cannot be reached, and the text is why
    text: str
    retry_after_seconds: Optional[int] = None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def hardware_id() -> str:
    try:
        user = getpass.getuser()
    except Exception:
        user = ""
    return _sha256(f"{_read('/etc/machine-id')}\n{socket.gethostname()}\n{user}")


def _ask(url: str, fields: dict, timeout_seconds: float) -> _Reply:
    headers = {"Content-Type": "application/json", "User-Agent": "licet-client/1"}
    request = urllib.request.Request(url + "/api/v1/validate", json.dumps(fields).encode(), headers)
    try:
        answer = urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_seconds)
    except urllib.error.HTTPError as error:
        answer = error
    status = answer.getcode()
    text = answer.read().decode("utf-8", "replace")
    said = json.loads(text) if text.startswith("{") else {}
    if said.get("valid") is True and status == 200:
        return _Reply(True, str(said.get("message")))
    if said.get("valid") is False and status in (400, 413):
        return _Reply(False, str(said.get("message")))
    retry_after = answer.headers.get("Retry-After", "")
    return _Reply(None, f"HTTP {status}", int(retry_after) if retry_after.isdigit() else None)


def _ask_in_time(url: str, fields: dict, timeout_seconds: float) -> _Reply:
    replies: "queue.Queue[_Reply]" = queue.Queue()

    def work() -> None:
        try:
            replies.put(_ask(url, fields, timeout_seconds))
        except Exception as error:
            replies.put(_Reply(None, str(error)))

    # The socket's own time-out begins anew with each byte that arrives.
    threading.Thread(target=work, daemon=True).start()
    try:
        return replies.get(timeout=timeout_seconds)
    except queue.Empty:
        return _Reply(None, "time-out")


def check_license(
    url: str,
    product_id: int,
    product_version: str,
    license_key: str,
    mark_file: str,  # where the time of the last good answer is kept
    timeout_seconds: float = 10,
    retry_seconds: float = 2,
    grace_hours: float = 72,
) -> Answer:
    """Takes up to 30 seconds: call it from a thread where something else has to go on."""
    hwid = hardware_id()
    fields = {
        "licenseKey": license_key,
        "productId": product_id,
        "hwid": hwid,
        "productVersion": product_version,
        "operatingSystem": platform.system(),
        "osVersion": platform.release(),
        "osArchitecture": platform.machine(),
    }
    reply = _ask_in_time(url, fields, timeout_seconds)
    pause_seconds = retry_seconds if reply.retry_after_seconds is None else reply.retry_after_seconds
    if reply.valid is None and pause_seconds <= 10:
        time.sleep(pause_seconds)
        reply = _ask_in_time(url, fields, timeout_seconds)

    def mark_of(seconds: str) -> str:
        return f"{seconds} " + _sha256(f"{seconds}\n{license_key}\n{product_id}\n{hwid}")

    now = int(time.time())
    try:
        if reply.valid:
            with open(mark_file, "w", encoding="utf-8") as file:
                file.write(mark_of(str(now)))
        elif reply.valid is False:
            os.remove(mark_file)
    except OSError:
        pass  # then there is no grace
    if reply.valid:
        return Answer("valid", reply.text)
    if reply.valid is False:
        return Answer("refused", f"License refused: {reply.text}")
    problem = f"The license service cannot be reached ({reply.text})."
    mark = _read(mark_file)
    seconds = mark.split(" ")[0]
    if seconds.isdigit() and mark == mark_of(seconds):
        hours = math.ceil(grace_hours - abs(now - int(seconds)) / 3600)
        if hours > 0:
            return Answer("grace", f"{problem} The last good answer counts for {hours} h more.")
    return Answer("unreachable", f"{problem} Check the network connection and try again.")


if __name__ == "__main__":  # tries it out; no part of your program
    product = os.environ.get("LICET_PRODUCT_ID", "")
    if not (os.environ.get("LICET_URL") and os.environ.get("LICET_KEY") and product.isdecimal()):
        print("Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.", file=sys.stderr)
        sys.exit(3)
    result = check_license(
        os.environ["LICET_URL"],
        int(product),
        "1.0.0",
        os.environ["LICET_KEY"],
        os.environ.get("LICET_MARK", "licet.mark"),
        int(os.environ.get("LICET_TIMEOUT_SECONDS", "10")),
        int(os.environ.get("LICET_RETRY_SECONDS", "2")),
    )
    print(result.message)
    sys.exit({"valid": 0, "grace": 0, "refused": 1, "unreachable": 2}[result.state])
