"""Asks Licet whether a license key may run here. Python 3.8 or newer, no dependencies; see README.md."""
import base64
import getpass
import hashlib
import json
import math
import os
import platform
import queue
import random
import re
import secrets
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Callable, Dict, NamedTuple, Optional, Tuple, Union


class Answer(NamedTuple):
    state: str  # "valid", "grace", "refused" or "unreachable"
    message: str  # for the user to read
    check_after: float = 0  # seconds since 1970: then it is time to ask again; 0 if the program may not run
    entitlements: Dict[str, str] = {}

    @property
    def may_run(self) -> bool:
        return self.state in ("valid", "grace")

    def entitlement(self, name: str) -> Optional[str]:
        """The value as text, "true" for one without a value; None if the license has none. Needs public keys."""
        return self.entitlements.get(name) or None


# The buyer's next step after a refusal, by the message of the service.
_ADVICE = {
    "License not found or invalid": "Copy the key from your purchase again, and check that it is for this program.",
    "License is deactivated": "Ask the seller of the program for the reason.",
    "License has expired": "Renew it with the seller of the program, and start the program again.",
    "Max IPs reached": "Other addresses use all its slots. Free one on your customer page, or ask the seller.",
    "Max HWIDs reached": "Other machines use all its slots. Free one on your customer page, or ask the seller.",
    "IP address is blacklisted": "The seller of the program has blocked it. Ask the seller for the reason.",
    "Hardware ID is blacklisted": "The seller of the program has blocked it. Ask the seller for the reason.",
}


class _Reply(NamedTuple):
    valid: Optional[bool]  # None: the service cannot be reached, and the text is why
    text: str
    retry_after_seconds: Optional[int] = None
    status: int = 0
    lease: object = None
    claims: dict = {}


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


def _installation_id(path: str) -> str:
    """Reads the id of this installation; draws it at the first start. It survives updates and new containers."""
    if not os.path.exists(path):
        new = secrets.token_hex(16)
        draft = f"{path}.{new}.tmp"
        try:
            with open(draft, "x", encoding="utf-8") as file:
                file.write(new)
            try:
                os.link(draft, path)  # unlike a rename, it never replaces the id of another process
            except OSError:
                if not os.path.exists(path):
                    os.replace(draft, path)  # some file systems have no links
        finally:
            if os.path.exists(draft):
                os.remove(draft)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64url(text: str) -> bytes:
    data = base64.urlsafe_b64decode(text + "==")
    if _base64url(data) != text:  # Python ignores characters that are not base64url
        raise ValueError("not base64url")
    return data


_SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def _is_signed(data: bytes, signature: bytes, modulus: bytes) -> bool:
    """RSA of 2048 bits with exponent 65537, PKCS #1 v1.5, SHA-256: compares the whole padded block."""
    number, n = int.from_bytes(signature, "big"), int.from_bytes(modulus, "big")
    if n.bit_length() != 2048 or len(signature) != 256 or number >= n:
        return False
    block = b"\0\1" + b"\xff" * 202 + b"\0" + _SHA256_INFO + hashlib.sha256(data).digest()
    return pow(number, 65537, n) == int.from_bytes(block, "big")


def _verified(jws: object, typ: str, public_keys: str, expected: dict) -> Optional[dict]:
    """The claims of a JWS that a pinned key signed and that has the type and the claims expected."""
    try:
        header, payload, signature = str(jws).split(".")
        said = json.loads(_from_base64url(header))
        for key in public_keys.split(" "):
            kid, modulus = key.split(":")
            # The pinned key decides about the algorithm, never the header.
            if said == {"alg": "RS256", "kid": kid, "typ": typ} and _is_signed(
                f"{header}.{payload}".encode(), _from_base64url(signature), _from_base64url(modulus)
            ):
                claims = json.loads(_from_base64url(payload))
                if all(claims.get(name) == value for name, value in expected.items()):
                    return claims
    except (ValueError, AttributeError):
        pass
    return None


def _check_form(public_keys: str) -> None:
    for key in public_keys.split(" ") if public_keys else []:
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}:[A-Za-z0-9_-]{342}", key):
            form = "it has the form KID:KEY, where KEY is 342 characters (RS256, the rs- key)"
            raise ValueError(f"'{key}' is no public key; {form}")


# Returns the part of an answer, of this status, that counts.
_Believe = Callable[[dict, int], dict]


def _ask(url: str, fields: dict, timeout_seconds: float, believe: _Believe) -> _Reply:
    headers = {"Content-Type": "application/json", "User-Agent": "licet-client/2"}
    request = urllib.request.Request(url + "/api/v1/validate", json.dumps(fields).encode(), headers)
    try:
        answer = urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_seconds)
    except urllib.error.HTTPError as error:
        answer = error
    status = answer.getcode()
    text = answer.read().decode("utf-8", "replace")
    said = json.loads(text) if text.startswith("{") else {}
    believed = believe(said, status)
    valid = believed.get("valid")
    if valid is True or valid is False:
        return _Reply(valid, str(believed.get("message")), lease=said.get("lease"), claims=believed)
    retry_after = answer.headers.get("Retry-After", "")
    seconds = int(retry_after) if retry_after.isdigit() else None
    return _Reply(None, f"HTTP {status}", seconds, status)


def _ask_in_time(url: str, fields: dict, timeout_seconds: float, believe: _Believe) -> _Reply:
    replies: "queue.Queue[_Reply]" = queue.Queue()

    def work() -> None:
        try:
            replies.put(_ask(url, fields, timeout_seconds, believe))
        except Exception as error:
            replies.put(_Reply(None, str(error)))

    # The socket's own time-out begins anew with each byte that arrives.
    threading.Thread(target=work, daemon=True).start()
    try:
        return replies.get(timeout=timeout_seconds)
    except queue.Empty:
        return _Reply(None, "time-out")


def _keep_lease(path: str, lease: object, latest: int) -> None:
    try:
        with open(os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(f"{lease} {latest}")
        os.replace(path + ".tmp", path)
    except OSError:
        pass  # then the program does not start without the network


def _entitlements(claims: dict) -> Dict[str, str]:
    text = claims.get("entitlements")
    parts = [part.partition("=") for part in (text.split() if isinstance(text, str) else [])]
    return {name: value if equals else "true" for name, equals, value in parts}


def _check_after(claims: dict, otherwise: float) -> float:
    """The earlier time of the claims. Without a time to check: as given."""
    check_after, until = claims.get("checkAfter"), claims.get("entitlementsUntil")
    at = check_after if type(check_after) is int else otherwise
    return min(at, until) if type(until) is int else at


def _in_about(seconds: float) -> float:
    """A time up to a tenth earlier, so that programs that started together do not ask together."""
    return time.time() + seconds * (1 - random.random() / 10)


def _next_time(answer: Answer) -> float:
    is_ahead = answer.state == "valid" and answer.check_after > time.time()
    return answer.check_after if is_ahead else _in_about(3600)


_OnAnswer = Optional[Callable[[Answer], object]]
_latest: Dict[str, object] = {}  # by mark file: only its latest check goes on asking


def _keep_asking(mark_file: str, ask: Callable[[], Answer], at: float, on_answer: _OnAnswer) -> None:
    own = _latest[mark_file] = object()

    def work() -> None:
        next_at = at
        while _latest[mark_file] is own:
            left_seconds = next_at - time.time()
            if left_seconds > 0:
                # No longer: a machine may sleep, and a clock may be set.
                time.sleep(min(left_seconds, 3600))
                continue
            answer = ask()
            if _latest[mark_file] is not own:
                return
            try:
                if on_answer:
                    on_answer(answer)
            except Exception:
                sys.excepthook(*sys.exc_info())
            if answer.state == "refused":
                return
            next_at = _next_time(answer)

    threading.Thread(target=work, daemon=True).start()


def check_license(
    url: str,
    product_id: int,
    product_version: str,
    license_key: Union[str, int, None],  # as the customer's configuration has it
    mark_file: str,  # where the time of the last good answer is kept; with public keys, the lease
    timeout_seconds: float = 10,
    retry_seconds: float = 2,
    grace_hours: float = 72,
    public_keys: str = "",  # KID:N of one or two RS256 keys. With them only signed answers count.
    hwid: str = "",  # in place of the id of the installation; README.md says when
    on_answer: _OnAnswer = None,  # gets each later answer, in a thread of its own
    take_over: bool = False,  # moves the license here: only if a person asks for it. Asks first.
) -> Answer:
    """Takes up to 30 seconds: call it from a thread where something else has to go on. Asks again in the
    background. Raises ValueError if the url or a public key is none."""
    if not re.match("(?i)https?://.", str(url)):
        raise ValueError(f"'{url}' is no address of a service; url has the form https://license.example.com")
    _check_form(public_keys)
    # A byte that is no UTF-8 is a lone surrogate here. The service hashes what it gets.
    license_key = re.sub("[\ud800-\udfff]", "\ufffd", "" if license_key is None else str(license_key))
    if not license_key.strip():
        return Answer("refused", "License refused: no license key is set. "
                      "Enter the key from your purchase in the configuration, and start the program again.")
    id_file = os.path.join(os.path.dirname(mark_file), "licet-id")
    try:
        own_id = hwid or _installation_id(id_file)
    except OSError:
        problem = "cannot be read or written: it keeps the id of this installation."
        return Answer("unreachable", f"{id_file} {problem} Check the permissions and the free space there.")
    if not (hwid or re.fullmatch("[0-9a-f]{32}", own_id)):
        advice = "Restore the file, or delete it: then this counts as a new installation."
        return Answer("unreachable", f"{id_file} does not hold the id of an installation. {advice}")
    hwid = own_id
    fields = {
        "licenseKey": license_key,
        "productId": product_id,
        "hwid": hwid,
        "productVersion": product_version,
        "operatingSystem": platform.system(),
        "osVersion": platform.release(),
        "osArchitecture": platform.machine(),
    }
    sub = _base64url(hashlib.sha256(license_key.encode()).digest())
    own = {"aud": str(product_id), "sub": sub, "hwid": hwid}
    kids = [key.split(":")[0] for key in public_keys.split(" ")]

    def mark_of(seconds: str) -> str:
        return f"{seconds} " + _sha256(f"{seconds}\n{license_key}\n{product_id}\n{hwid}")

    def lease_of(jws: object) -> Optional[dict]:
        return _verified(jws, "licet-lease+jwt", public_keys, own)

    def kept(is_start: bool = False) -> Tuple[float, dict]:
        """For how long the last good answer counts, and its lease: at a start, only until it is time to check.
        Keeps the latest time seen."""
        now, mark = int(time.time()), _read(mark_file)
        left_seconds, claims = 0.0, {}
        if public_keys:
            jws, _, latest = mark.partition(" ")
            lease = lease_of(jws)
            if lease and "iat" in lease and "exp" in lease and latest.isdecimal():
                claims, seen = lease, max(lease["iat"], int(latest))
                is_late = is_start and _check_after(lease, 0) <= now
                # The clock may be a day wrong: time zones differ that much.
                if now >= seen - 86400 and not is_late:
                    left_seconds = lease["exp"] - now
                if left_seconds > 0 and now > seen:
                    _keep_lease(mark_file, jws, now)
        else:
            seconds = mark.split(" ")[0]
            if seconds.isdigit() and mark == mark_of(seconds):
                left_seconds = grace_hours * 3600 - abs(now - int(seconds))
        return left_seconds, claims

    def may_run(state: str, message: str, claims: dict) -> Answer:
        counting = claims if public_keys else {}
        return Answer(state, message, _check_after(counting, _in_about(86400)), _entitlements(counting))

    def ask(takes_over: bool = False) -> Answer:
        nonce = secrets.token_urlsafe(16)

        def believe(said: dict, status: int) -> dict:
            if public_keys:
                expected = dict(own, nonce=nonce)
                return _verified(said.get("signed"), "licet-validation+jwt", public_keys, expected) or {}
            return said if status in ((200,) if said.get("valid") else (400, 413)) else {}

        def ask_for(kid: str) -> _Reply:
            signed = dict(nonce=nonce, kid=kid, lease=True) if public_keys else {}
            moved = {"takeOver": True} if takes_over else {}
            return _ask_in_time(url, {**fields, **signed, **moved}, timeout_seconds, believe)

        reply = ask_for(kids[0])
        pause_seconds = retry_seconds if reply.retry_after_seconds is None else reply.retry_after_seconds
        if reply.valid is None and pause_seconds <= 10:
            time.sleep(pause_seconds)
            # 400 may mean that the service no longer has the first key.
            reply = ask_for(kids[-1] if reply.status == 400 else kids[0])
        try:
            if reply.valid and not public_keys:
                with open(mark_file, "w", encoding="utf-8") as file:
                    file.write(mark_of(str(int(time.time()))))
            elif reply.valid is False:
                os.remove(mark_file)
        except OSError:
            pass  # then there is no grace
        if reply.valid:
            lease = lease_of(reply.lease)
            if lease:
                _keep_lease(mark_file, reply.lease, lease.get("iat", 0))
            return may_run("valid", reply.text, reply.claims)
        if reply.valid is False:
            advice = _ADVICE.get(reply.text)
            return Answer("refused", f"License refused: {reply.text}" + (f". {advice}" if advice else ""))
        problem = f"The license service cannot be reached ({reply.text})."
        advice = "Check the network connection and try again."
        if public_keys and reply.status in (200, 400):  # the service signs these: no fault of the network
            problem = f"The response has no valid signature of this service ({reply.text})."
            advice = "If this continues, ask the seller of the program."
        left_seconds, lease = kept()
        if left_seconds > 0:
            hours = math.ceil(left_seconds / 3600)
            return may_run("grace", f"{problem} The last good answer counts for {hours} h more.", lease)
        return Answer("unreachable", f"{problem} {advice}")

    left_seconds, lease = kept(is_start=True) if public_keys and not take_over else (0, {})
    if left_seconds > 0:
        answer, ask_at = may_run("valid", "License is valid", lease), 0.0
    else:
        answer = ask(take_over)
        ask_at = _next_time(answer)
    if answer.may_run:
        _keep_asking(mark_file, ask, ask_at, on_answer)
    return answer


def move_license(*program, **options) -> Answer:
    """Moves the license to this machine. Takes what check_license takes. Only for the command of a person."""
    return check_license(*program, **options, take_over=True)


if __name__ == "__main__":  # tries it out; no part of your program
    product = os.environ.get("LICET_PRODUCT_ID", "")
    if not (os.environ.get("LICET_URL") and os.environ.get("LICET_KEY") and product.isdecimal()):
        print("Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.", file=sys.stderr)
        sys.exit(3)
    try:
        result = (move_license if os.environ.get("LICET_MOVE") == "1" else check_license)(
            os.environ["LICET_URL"],
            int(product),
            "1.0.0",
            os.environ["LICET_KEY"],
            os.environ.get("LICET_MARK", "licet.mark"),
            int(os.environ.get("LICET_TIMEOUT_SECONDS", "10")),
            int(os.environ.get("LICET_RETRY_SECONDS", "2")),
            public_keys=os.environ.get("LICET_PUBLIC_KEYS", ""),
        )
    except ValueError as problem:
        print(problem, file=sys.stderr)
        sys.exit(3)
    print(result.message)
    wanted = os.environ.get("LICET_ENTITLEMENT")
    if wanted:
        value = result.entitlement(wanted)
        print(wanted if value is None else f"{wanted}={value}")
    sys.exit({"valid": 0, "grace": 0, "refused": 1, "unreachable": 2}[result.state])
