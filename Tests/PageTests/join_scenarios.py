"""What the page for a phone's browser must do. Against a server of the tests, which has faults on demand."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.parse

from browser import Browser, Page
from join_server import JoinServer
from phone import NUMBERED, Phone, REST, turned
from truth import no_errors

HERE = pathlib.Path(__file__).resolve().parent
# Errors of the browser about replies and connections that fail on purpose.
EXPECTED = ("Failed to load resource", "ERR_INTERNET_DISCONNECTED", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")


def until(condition, what, page, timeout=20):
    """Waits while the page goes on."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        page.drain(0.05)
    raise AssertionError(f"{what} did not hold within {timeout} s")


def each_once(samples, numbers, may_be_lost=()):
    """Whether x of the samples is each of 1 to `numbers`, as the phone of the tests counts, exactly once. Those of
    `may_be_lost` may also be missing."""
    got = [round(-sample[1] * 9.80665 * 1000) for sample in samples]
    lost = sorted(set(range(1, numbers + 1)) - set(got) - set(may_be_lost))
    assert not lost, f"{len(lost)} of {numbers} samples are lost, for example {lost[:5]}"
    twice = len(got) - len(set(got))
    assert not twice, f"{twice} samples are there twice"
    assert numbers - len(may_be_lost) <= len(got) <= numbers, f"{len(got)} samples instead of {numbers}"


def reload(page):
    """Reloads the page while its server is gone. Returns the numbers of the samples that may be lost: those that were not in the
    database of the browser when it ended the page."""
    page.expect("lastKept().then((number) => number > 0)", 60, "samples in the database of the browser")
    kept = page.evaluate("lastKept()")
    page.call("Page.reload")
    page.expect("document.getElementById('running')?.hidden === false", 60, "measuring after a reload without a server")
    return set(range(kept + 1, page.evaluate("numbers()") + 1))


def stop(server, page):
    """Ends the events and the measuring, and waits until everything is sent."""
    page.evaluate("pause()")
    page.evaluate("document.getElementById('stop').click()")
    # The page may still show the empty queue of before the stop.
    until(lambda: ("terminated", "stop") in server.states(), "the batch of the stop", page)
    page.expect("document.getElementById('waiting').textContent === '0 batches'", 20, "an empty queue at the end")


def sensors_are_converted(browser):
    """Emulated sensors (DevTools): at rest face up, then turning, then upright; a position; the address is cleaned."""
    with JoinServer() as server, Phone(browser, server.url) as page:
        page.open(f"{server.url}/join#device=my-phone&group=walkers&token=secret")
        page.expect("document.getElementById('device').value === 'my-phone' && document.getElementById('group').value === 'walkers'")
        assert page.evaluate("location.href") == f"{server.url}/join", "the token is still in the address"
        page.begin()
        for _ in range(20):
            page.sense(**REST)
            page.drain(0.05)
        until(lambda: len(server.samples("motion/accelerometer")) > 60, "samples of acceleration", page)
        until(lambda: server.samples("location"), "a position", page)
        x, y, z = server.samples("motion/accelerometer")[-1][1:]
        assert (abs(x), abs(y)) < (0.001, 0.001) and abs(z + 1) < 0.001, f"at rest, face up: {(x, y, z)}"
        assert server.samples("orientation")[-1][1] == "faceUp"
        location = server.samples("location")[-1]
        assert location[1:6] == [35.7, 139.7, None, 5, None] and abs(location[0] - location[9]) < 60e6, f"position {location}"
        # 90° in a second about x, y, z in turn.
        for axis in range(3):
            page.sense(**REST, rate=[90 if i == axis else 0 for i in range(3)])
            want = [1.5708 if i == axis else 0 for i in range(3)]
            until(lambda: any(all(abs(value - wanted) < 0.002 for value, wanted in zip(sample[1:], want)) for sample in server.samples("motion/gyroscope")[-40:]), f"a rotation about axis {axis}", page)
        page.sense(**turned("upright"))
        until(lambda: server.samples("orientation")[-1][1] == "portrait", "the posture of a phone that is held upright", page)
        until(lambda: abs(server.samples("motion/device")[-1][6] + 1) < 0.02, "gravity along −y", page)
        qw, qx, qy, qz, gx, gy, gz, ux, uy, uz = server.samples("motion/device")[-1][1:11]
        assert abs(qw - 0.7071) < 0.01 and abs(qx - 0.7071) < 0.01, f"attitude {(qw, qx, qy, qz)}"
        ax, ay, az = server.samples("motion/accelerometer")[-1][1:]
        assert max(abs(gx + ux - ax), abs(gy + uy - ay), abs(gz + uz - az)) < 0.03, "gravity and user acceleration are not the acceleration"
        page.expect("/^(5[5-9]|6[0-5]) Hz$/.test(document.querySelector('#sensors .value').textContent)", what="a rate of 60 Hz")
        times = [sample[0] for sample in server.samples("motion/accelerometer")]
        assert all(later > earlier for earlier, later in zip(times, times[1:])), "times do not rise"
        age = time.time() - times[-1] / 1e6
        assert -0.1 < age < 4, f"the newest sample is {age:.1f} s old"
        assert {batch["group"] for batch in server.batches.values()} == {"walkers"}
        foreign = [url for url in page.requests if not url.startswith((server.url, "data:", "about:"))]
        assert not foreign, f"requests to other servers: {foreign[:5]}"
        no_errors(page)


def nothing_is_lost_and_nothing_twice(browser):
    """Numbered motion events (dispatched): server gone, answers lost, offline reload, background. Every number arrives once."""
    with JoinServer() as server, Phone(browser, server.url, script=NUMBERED) as page:
        page.open(f"{server.url}/join#device=my-phone")
        page.begin()
        until(lambda: len(server.batches) >= 3, "batches", page)
        page.expect("caches.match('/join').then(Boolean)", what="a page that is kept for reloads")
        page.drain(1)

        server.stop()
        page.expect("document.getElementById('status').textContent === 'No connection to the gateway'", 20)
        page.expect("parseInt(document.getElementById('waiting').textContent) >= 4", 20, "batches that wait")
        may_be_lost = reload(page)
        before = page.evaluate("numbers()")
        page.expect(f"numbers() > {before + 60}", 20, "samples after the reload")
        waiting = page.evaluate("parseInt(document.getElementById('waiting').textContent)")
        assert waiting >= 4, f"{waiting} batches wait after the reload"
        server.start()
        page.expect("/^[01] batch/.test(document.getElementById('waiting').textContent)", 40, "an empty queue")

        # Every second answer is lost on the way: the page sends these batches again.
        answers = []
        server.fault = lambda batch: "lose answer" if answers.append(1) or len(answers) % 2 else None
        until(lambda: len(server.received) - len(set(server.received)) >= 3, "repeated batches", page, 40)
        server.fault = None

        page.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        page.expect("document.getElementById('status').textContent === 'No connection to the gateway'", 20)
        page.expect("parseInt(document.getElementById('waiting').textContent) >= 3", 20)
        page.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        page.expect("document.getElementById('status').textContent === 'Measuring'", 20)

        stop(server, page)
        numbers = page.evaluate("numbers()")
        each_once(server.samples("motion/accelerometer"), numbers, may_be_lost)
        for epoch in {key[1] for key in server.batches}:
            seqs = [key[2] for key in server.batches if key[1] == epoch]
            assert seqs == list(range(1, len(seqs) + 1)), f"batches of an epoch: {seqs[:20]}"
        assert server.states()[0] == ("active", "start") and server.states()[-1] == ("terminated", "stop"), server.states()
        repeats = len(server.received) - len(set(server.received))
        no_errors(page, EXPECTED)
        return f"{numbers} samples in {len(server.batches)} batches, {repeats} of them sent more than once"


def a_killed_browser_loses_nothing_that_was_stored(_browser):
    """Numbered motion events; the server is gone, the browser is killed. The next one delivers what the first one wrote."""
    with JoinServer() as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        with Browser(profile=profile) as first, Phone(first, server.url, script=NUMBERED, context="") as page:
            page.open(f"{server.url}/join#device=my-phone")
            page.begin()
            until(lambda: len(server.batches) >= 2, "batches", page)
            server.stop()
            page.expect("parseInt(document.getElementById('waiting').textContent) >= 5", 20, "batches that wait")
            kept, numbers = page.evaluate("lastKept().then((kept) => [kept, numbers()])")
            first.kill()
        epoch = next(iter(server.batches))[1]
        server.start()
        with Browser(profile=profile) as second, Phone(second, server.url, context="") as page:
            page.open(f"{server.url}/join")
            page.expect("/^[01] batch/.test(document.getElementById('waiting')?.textContent)", 30, "an empty queue")
            until(lambda: sum(key[1] == epoch for key in server.batches) >= 7, "the batches of the killed browser", page)
            no_errors(page)
        got = [round(-sample[1] * 9.80665 * 1000) for key, batch in server.batches.items() if key[1] == epoch
               for part in batch["streams"] if part["stream"] == "motion/accelerometer" for sample in part["samples"]]
        assert got == list(range(1, len(got) + 1)), "samples are lost or there twice"
        # The samples of the last second are not in the database yet.
        assert len(got) >= kept, f"{len(got)} samples, but {kept} were in the database"
        return f"{len(got)} of {numbers} samples before the kill"


def the_page_goes_to_the_background(browser):
    with JoinServer() as server, Phone(browser, server.url, script=NUMBERED) as page:
        page.open(f"{server.url}/join#device=my-phone")
        page.begin()
        until(lambda: len(server.batches) >= 2, "batches", page)
        other = Page(browser.tab(page.context))
        other.call("Page.bringToFront")
        until(lambda: ("background", "hidden") in server.states(), "the state background", page)
        page.call("Page.bringToFront")
        until(lambda: server.states()[-1] == ("resumed", "visible"), "the state resumed", page)
        until(lambda: list(server.batches.values())[-1]["state"] == "active", "the state active", page)
        other.close()
        page.evaluate("pause()")
        numbers = page.evaluate("numbers()")
        page.open("about:blank")
        until(lambda: ("terminated", "closed") in server.states() or ("background", "hidden") == server.states()[-1], "the end of the page", page)
        each_once(server.samples("motion/accelerometer"), numbers)
        no_errors(page)


def refusals_are_shown(browser):
    """422: aside; 429: again after the delay; 401: everything waits for another token."""
    with JoinServer(token="right") as server, Phone(browser, server.url, script=NUMBERED) as page:
        page.open(f"{server.url}/join#device=my-phone&token=wrong")
        page.begin()
        page.expect("/token is wrong/.test(document.getElementById('problem-text').textContent) && !document.getElementById('token-form').hidden", 20, "the refusal of the token")
        tries = len(server.received)
        page.expect("parseInt(document.getElementById('waiting').textContent) >= 3", 20)
        assert len(server.received) == tries, "the page sends with a wrong token again and again"
        page.evaluate("document.getElementById('new-token').value = 'right'; document.getElementById('retry').click()")
        until(lambda: len(server.batches) >= 3, "batches with the new token", page)

        refused = []
        server.fault = lambda batch: (422, {}, {"detail": "A sample is in the future. Set the clock."}) if not refused and batch["streams"] and not refused.append(batch["seq"]) else None
        page.expect("/Set the clock/.test(document.getElementById('refused-text').textContent) && document.getElementById('refused').textContent === '1 batch'", 20, "the refused batch")
        until(lambda: any(key[2] > refused[0] for key in server.batches), "later batches", page)
        server.fault = None
        page.evaluate("document.getElementById('retry-refused').click()")
        page.expect("document.getElementById('refused-problem').hidden", 20)

        busy = []
        server.fault = lambda batch: (429, {"Retry-After": "2"}, {"detail": "Too many batches."}) if len(busy) < 1 and not busy.append(time.monotonic()) else None
        until(lambda: busy, "a reply 429", page)
        count = len(server.batches)
        until(lambda: len(server.batches) > count, "a batch after the delay", page)
        delay = time.monotonic() - busy[0]
        assert 1.9 < delay < 4, f"sent again after {delay:.1f} s"
        stop(server, page)
        each_once(server.samples("motion/accelerometer"), page.evaluate("numbers()"))
        no_errors(page, EXPECTED)


def an_earlier_name_does_not_block_the_queue(browser):
    """409 for batches of an earlier name: aside, and the others go on. Then the database is deleted, and later changed by a newer page."""
    with JoinServer() as server, Phone(browser, server.url, script=NUMBERED) as page:
        page.open(f"{server.url}/join#device=old")
        server.fault = lambda batch: (409, {}, {"detail": "Another sender uses this name."}) if batch["device"] == "old" else None
        page.begin()
        page.expect("/Another sender/.test(document.getElementById('problem-text').textContent) && parseInt(document.getElementById('waiting').textContent) >= 2", 60, "the refusal of the present name")
        page.evaluate("document.getElementById('stop').click()")
        page.evaluate("document.getElementById('device').value = 'new'; document.getElementById('form').requestSubmit()")
        until(lambda: any(key[0] == "new" for key in server.batches), "batches of the new name", page, 60)
        page.expect("/taken as phones\\/old/.test(document.getElementById('refused-text').textContent) && parseInt(document.getElementById('refused').textContent) >= 2", 60, "the explanation")
        server.fault = None
        page.evaluate("document.getElementById('retry-refused').click()")
        until(lambda: any(key[0] == "old" for key in server.batches), "batches of the old name", page, 60)

        page.evaluate("new Promise((resolve) => { const request = indexedDB.deleteDatabase('lockstep-join'); request.onsuccess = resolve; })")
        count = len(server.batches)
        until(lambda: len(server.batches) > count + 1, "batches by a new database", page, 60)
        page.evaluate("new Promise((resolve) => { const request = indexedDB.open('lockstep-join', 99); request.onsuccess = () => { request.result.close(); resolve(); }; })")
        page.expect("/Reload it/.test(document.getElementById('notice').textContent) && !document.getElementById('notice').hidden", 60, "the request to reload")
        no_errors(page, EXPECTED)


def ios_is_asked_for_motion(browser):
    """A browser that wants a tap before it gives motion, and has the signs of iOS."""
    for reply in ("granted", "denied"):
        script = f"DeviceMotionEvent.requestPermission = DeviceOrientationEvent.requestPermission = async () => {{ if (!navigator.userActivation.isActive) throw new DOMException('no tap', 'NotAllowedError'); globalThis.asked = true; return '{reply}'; }};" + """
            setInterval(() => { dispatchEvent(new DeviceOrientationEvent('deviceorientation', { alpha: 10, beta: 2, gamma: 1 }));
                dispatchEvent(new DeviceMotionEvent('devicemotion', { accelerationIncludingGravity: { x: 0, y: 0, z: -9.80665 }, rotationRate: { alpha: 0, beta: 0, gamma: 0 }, interval: 16 })); }, 16);"""
        with JoinServer() as server, Phone(browser, server.url, script=script) as page:
            page.open(f"{server.url}/join#device=my-phone")
            page.begin()
            page.expect("globalThis.asked === true", what="a request that a tap allows")
            if reply == "granted":
                until(lambda: server.samples("motion/accelerometer"), "samples", page)
                assert server.samples("motion/accelerometer")[-1][1:] == [0, 0, -1]
                page.call("Page.reload")
                page.expect("document.getElementById('form')?.hidden === false", what="a page that waits for a tap after a reload")
            else:
                page.expect("document.querySelector('#sensors .value').textContent === 'not permitted'")
                until(lambda: server.samples("location"), "a position", page)
                assert not server.samples("motion/accelerometer")
            no_errors(page)


def an_insecure_address_is_explained(browser):
    with JoinServer() as server, Browser(options=["--host-resolver-rules=MAP phone.test 127.0.0.1"]) as other:
        page = other.page(390, 844, 2, True)
        page.open(f"http://phone.test:{server.port}/join#token=secret")
        page.expect("/https:/.test(document.getElementById('notice').textContent) && document.getElementById('form').hidden", 20, "an explanation")
        assert page.evaluate("isSecureContext") is False and page.evaluate("location.hash") == ""
        page.close()


def one_tab_measures(browser):
    with JoinServer() as server, Phone(browser, server.url) as page:
        page.open(f"{server.url}/join#device=my-phone")
        page.expect("!document.getElementById('form').hidden")
        with Phone(browser, server.url, context=page.context) as second:
            second.open(f"{server.url}/join")
            second.expect("/another tab/.test(document.getElementById('notice').textContent) && document.getElementById('form').hidden", what="a notice")
            page.open("about:blank")
            second.expect("document.getElementById('notice').hidden && !document.getElementById('form').hidden", what="the form, after the other tab is closed")


def the_code_is_readable(browser):
    """The QR code of the page, read from a screenshot by zbar."""
    zbar = shutil.which("zbarimg")
    if zbar is None:
        return "skipped: the Debian package zbar-tools is not installed"
    for dark, token in ((False, ""), (True, "alice-0123456789abcdef+/&%")):
        with JoinServer() as server, Phone(browser, server.url, dark=dark) as page, tempfile.TemporaryDirectory() as folder:
            page.open(f"{server.url}/join#group=walkers&token={urllib.parse.quote(token, safe='')}")
            page.expect("!document.getElementById('form').hidden && document.getElementById('group').value === 'walkers'")
            page.evaluate("document.querySelector('#share summary').click()")
            page.expect("document.querySelector('#code svg')")
            page.screenshot(f"{folder}/code.png", full=True)
            read = subprocess.run([zbar, "-q", "--raw", f"{folder}/code.png"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60).stdout.strip()
            address, _, fragment = read.partition("#")
            want = {"group": ["walkers"]} | ({"token": [token]} if token else {})
            assert address == f"{server.url}/join" and urllib.parse.parse_qs(fragment) == want, f"the code is {read!r}"
            page.open("about:blank")
            page.open(read)
            page.expect(f"document.getElementById('token')?.value === {json.dumps(token)}", what="the form filled in by the code")
            no_errors(page)


def the_join_page_is_accessible(browser):
    check = (HERE / "accessibility.js").read_text()
    problems = []
    for dark in (False, True):
        for width in (320, 390, 1280):
            with JoinServer(token="right") as server, Phone(browser, server.url, width=width, dark=dark) as page:
                page.open(f"{server.url}/join#device=my-phone&token=wrong")
                page.expect("!document.getElementById('form').hidden")
                problems += [f"form {width} px {'dark' if dark else 'light'}: {problem}" for problem in page.evaluate(check)]
                page.evaluate("document.querySelector('#share summary').click()")
                page.expect("document.querySelector('#code svg')")
                problems += [f"code {width} px {'dark' if dark else 'light'}: {problem}" for problem in page.evaluate(check)]
                page.evaluate("document.querySelector('#share summary').click(); document.getElementById('title').focus()")
                order = []
                for _ in range(6):
                    page.key("Tab")
                    order.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
                assert order[:4] == ["device", "token", "More settings", "Start"], f"order of the focus: {order}"
                page.begin()
                page.expect("!document.getElementById('problem').hidden")
                page.expect("document.activeElement.id === 'status'", what="the focus on the status")
                problems += [f"running {width} px {'dark' if dark else 'light'}: {problem}" for problem in page.evaluate(check)]
                no_errors(page, EXPECTED)
    assert not problems, "\n  ".join(["problems:", *sorted(set(problems))[:40]])


def the_token_in_use_is_the_corrected_one(browser):
    """A wrong token is corrected while it measures; after Stop and Start, the page goes on with the corrected one."""
    with JoinServer(token="right") as server, Phone(browser, server.url, script=NUMBERED) as page:
        page.open(f"{server.url}/join#device=my-phone&token=wrong")
        page.begin()
        page.expect("!document.getElementById('token-form').hidden", 20, "the question for another token")
        # Trying again without an entry does not replace the token by none.
        page.evaluate("document.getElementById('retry').click()")
        page.expect("!document.getElementById('token-form').hidden", 20)
        page.evaluate("document.getElementById('new-token').value = 'right'; document.getElementById('retry').click()")
        until(lambda: len(server.batches) >= 2, "batches with the new token", page)
        page.evaluate("document.getElementById('stop').click()")
        page.expect("document.getElementById('form').hidden === false && document.getElementById('token').value === 'right'", what="the form with the corrected token")
        stored = len(server.batches)
        page.begin()
        until(lambda: len(server.batches) >= stored + 3, "batches after Stop and Start", page)
        no_errors(page, EXPECTED)


def a_link_in_an_open_tab_is_used(browser):
    """A tab with the page opens a link with settings: they are used, and the token does not stay in the address."""
    with JoinServer() as server, Phone(browser, server.url, script=NUMBERED) as page:
        page.open(f"{server.url}/join#device=my-phone")
        page.expect("document.getElementById('device')?.value === 'my-phone'")
        page.evaluate("location.href = '/join#device=other-phone&token=secret'")
        page.expect("document.getElementById('device')?.value === 'other-phone' && document.getElementById('token').value === 'secret'", 20, "the settings of the link")
        assert page.evaluate("location.href") == f"{server.url}/join", "the token is still in the address"
        no_errors(page, EXPECTED)


def the_browser_does_not_know_whether_the_gateway_is_there(browser):
    """`navigator.onLine` may be false on a network without internet: replies count."""
    with JoinServer() as server, Phone(browser, server.url, script=NUMBERED) as page:
        page.call("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(navigator, 'onLine', { get: () => false })")
        page.open(f"{server.url}/join#device=my-phone")
        page.begin()
        until(lambda: len(server.batches) >= 2, "batches", page)
        page.expect("document.getElementById('status').textContent === 'Measuring'", what="a status that follows the replies")
        no_errors(page, EXPECTED)


ALL = [the_token_in_use_is_the_corrected_one, a_link_in_an_open_tab_is_used, the_browser_does_not_know_whether_the_gateway_is_there, sensors_are_converted, nothing_is_lost_and_nothing_twice, a_killed_browser_loses_nothing_that_was_stored, the_page_goes_to_the_background, refusals_are_shown, an_earlier_name_does_not_block_the_queue,
       ios_is_asked_for_motion, an_insecure_address_is_explained, one_tab_measures, the_code_is_readable,
       the_join_page_is_accessible]
