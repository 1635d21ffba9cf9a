"""Sessions: recordings of several devices that are started, marked, stopped, played and downloaded on the page."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from features import ALLOWED, CHART, HERE, leave
from truth import no_errors, open_view, text

BUTTON = "[...document.querySelectorAll('.view-session .device-title .button')].find((button) => button.textContent === {!r}).click()"
STATE = "document.querySelector('.view-session .session-word')?.textContent"
MARKERS = "[...document.querySelectorAll('.marker-text')].map((marker) => marker.firstChild.textContent)"
DIALOG = "document.querySelector('dialog[open]')"


def post(system, path, body):
    request = urllib.request.Request(f"{system.url}/api/v1/sessions/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)


def recorded(system, name, devices=("left", "right"), seconds=3):
    """A session that is complete, with a marker. Returns it."""
    known = system.get(f"/api/v1/sessions/lab/{name}")
    if not known:
        post(system, "lab", {"name": name, "devices": list(devices), "rates": {"motion/device": 50}, "labels": {"kind": "test"}})
        state = lambda: system.get(f"/api/v1/sessions/lab/{name}") or {}
        system.wait(lambda: state().get("state") == "recording", "the session records", 40)
        start = state()["start"]
        post(system, f"lab/{name}/mark", {"id": "a", "t": start + 1_500_000, "text": "turn"})
        reached = lambda: all((system.get(f"/api/v1/devices/lab/{device}") or {}).get("last_sample", 0) > start + seconds * 1_000_000 for device in devices)
        system.wait(reached, "the session has its length", 40)
        post(system, f"lab/{name}/stop", {})
        system.wait(lambda: state().get("state") == "complete", "the session is complete", 60)
    return system.get(f"/api/v1/sessions/lab/{name}")


def fill(page, label, value, kind="input"):
    """Fills in a field of the dialog by its label."""
    page.evaluate(f"(() => {{ const field = [...{DIALOG}.querySelectorAll('label')].find((label) => label.firstChild.textContent.startsWith({json.dumps(label)})).querySelector({json.dumps(kind)}); field.value = {json.dumps(value)}; field.dispatchEvent(new Event('change')); }})()")


def a_session_is_recorded_on_the_page(system, browser):
    """Start with a count-down, live rates, markers by key and button, stop, plots with markers, edits, search, files."""
    page = browser.page(height=2000)
    open_view(page, system, "#/sessions", "[...document.querySelectorAll('.view-head .button')].some((button) => button.textContent === 'Start session')")
    page.expect("document.querySelector('#main .empty') || document.querySelectorAll('.session').length", 20, "the list")
    page.evaluate("[...document.querySelectorAll('.view-head .button')].find((button) => button.textContent === 'Start session').click()")
    page.expect(f"{DIALOG}?.querySelectorAll('.checks input').length === 4", 20, "the devices of the group")
    page.evaluate(f"{DIALOG}.querySelectorAll('.checks input').forEach((box) => {{ box.checked = ['left', 'right'].includes(box.value); }})")
    fill(page, "Name", "walk 3")
    fill(page, "Labels", "subject=7")
    page.evaluate(f"(() => {{ {DIALOG}.querySelector('.rate-form [type=number]').value = '100'; [...{DIALOG}.querySelectorAll('button')].find((button) => button.textContent === 'Add rate').click(); }})()")
    page.expect(f"{DIALOG}.querySelector('.rates').textContent === 'motion/accelerometer 100 Hz'")
    page.evaluate(f"{DIALOG}.querySelector('form').requestSubmit()")
    page.expect(f"{DIALOG}.querySelector('[type=submit]').textContent === 'Starts in 2 s'", 10, "the count-down")
    page.expect("location.hash === '#/sessions/lab/walk-3' && document.title === 'walk-3 · Lockstep'", 15, "the new session")
    page.expect(f"{STATE} === 'Recording'", 40, "the recording")
    rows = "[...document.querySelectorAll('.session-devices tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))"
    page.expect(f"(({rows})).length === 2 && {rows}.every(([, hz, clock, , missing, state]) => parseFloat(hz) >= 90 && /^± [0-9.]+ ms$/.test(clock) && missing === '0' && state === 'Ready')", 30, "rates and clocks of both devices")
    page.expect(f"/^For [0-9.]+ s$/.test({text('.device-title [role=timer]')})", 10, "the length so far")
    page.expect("document.querySelectorAll('.chart').length === 2", 20, "a plot of each device")
    page.key("m")
    page.expect(f"{MARKERS}.join() === 'Marker 1'", 10, "a marker by the key")
    page.evaluate("document.querySelector('.mark-form input').focus()")
    page.type("turn")
    page.key("Enter")
    page.expect(f"{MARKERS}.join() === 'Marker 1,turn'", 10, "a marker with a text")
    system.wait(lambda: len(system.get("/api/v1/sessions/lab/walk-3")["markers"]) == 2, "the collector has both markers")
    page.evaluate(BUTTON.format("Stop"))
    page.expect(f"{STATE} === 'Complete'", 60, "the end")
    session = system.get("/api/v1/sessions/lab/walk-3")
    note = text("#plots .card-note")
    length = (session["end"] - session["start"]) / 1e6
    # The moment of the start is marked. Without a mark, the range is shown.
    page.evaluate(f"{CHART}.focus()")
    page.key("Escape")
    shown = page.expect(f"{note}.match(/· ([0-9.]+) s$/)?.[1]", 20, "the range of the session")
    assert 0 <= float(shown) - length <= max(0.3, length * 0.1), f"{shown} s are shown of {length} s"
    page.expect("document.querySelectorAll('.chart[data-loading]').length === 0 && document.querySelector('.chart-note').hidden", 20, "past samples")
    # A line of the colour of markers goes from top to bottom where the marker is.
    drawn = """(() => { const canvas = document.querySelector('.chart-canvas'); const c = canvas.getContext('2d'); const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent'); probe.fillRect(0, 0, 1, 1); const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
        const height = canvas.height - 24; const columns = [];
        for (let x = 40; x < canvas.width; x += 1) { const { data } = c.getImageData(x, 6, 1, height - 6); let count = 0; for (let i = 0; i < data.length; i += 4) if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 30) count += 1; if (count > height / 2) columns.push(x); }
        return columns; })()"""
    page.expect(f"(columns => columns.length === 2 || columns)({drawn}) === true", 10, "the lines of two markers")
    page.evaluate("document.querySelectorAll('.marker')[1].querySelector('.button:last-child').click()")
    fill(page, "Text", "turn left")
    fill(page, "Seconds after the start", "0.25")
    page.evaluate(f"{DIALOG}.querySelector('form').requestSubmit()")
    page.expect(f"{MARKERS}[0] === 'turn left' && document.querySelector('.marker .button').textContent === '0.250 s'", 15, "the edited marker at its new time")
    page.evaluate(BUTTON.format("Edit"))
    fill(page, "Labels", "subject=8, shoes=new")
    page.evaluate(f"{DIALOG}.querySelector('form').requestSubmit()")
    page.expect("[...document.querySelectorAll('.view-session .label')].some((label) => label.textContent === 'shoes=new')", 15, "the new label")
    files(system, "walk-3")
    page.evaluate("location.hash = '#/sessions'")
    page.expect("[...document.querySelectorAll('.session a')].some((link) => link.textContent === 'walk 3')", 10, "the session in the list")
    page.evaluate("(() => { const search = document.querySelector('[data-search]'); search.value = 'shoes=new'; search.dispatchEvent(new Event('input')); })()")
    page.expect("document.querySelectorAll('.session').length === 1 && location.hash === '#/sessions?search=shoes%3Dnew'", 10, "the search by a label")
    page.evaluate("(() => { const search = document.querySelector('[data-search]'); search.value = 'subject=7'; search.dispatchEvent(new Event('input')); })()")
    page.expect(f"{text('.empty-title')} === 'No session matches'", 10, "no session with the old label")
    no_errors(page, ALLOWED + ("404",))
    leave(page)


def files(system, session):
    """The server sends the file that `lockstep export session` writes."""
    for extension in ("mcap", "xdf"):
        path = system.folder / f"{session}.{extension}"
        subprocess.run([system.programs / "lockstep", "export", "session", session, "--store", system.store, "--out", path], check=True, capture_output=True)
        assert path.read_bytes() == system.get(f"/api/v1/sessions/lab/{session}/export?format={extension}"), f"another {extension}"


def several_devices_are_played_in_step(system, browser):
    """A marker moves plots, models and maps of all devices to its time, and playback moves all of them."""
    session = recorded(system, "played")
    page = browser.page(height=2400)
    open_view(page, system, "#/sessions/lab/played", "document.querySelectorAll('.card-attitude').length === 2 && document.querySelectorAll('.chart').length === 2")
    page.expect(f"/[0-9]:[0-9]/.test({text('#plots .card-note')}) && !/at=/.test(location.hash)", 20, "the moment of the start")
    page.evaluate("document.querySelector('.marker .button').click()")
    at = session["markers"][0]["t"]
    page.expect(f"Number(new URLSearchParams(location.hash.split('?')[1]).get('at')) === {at}", 10, "the moment of the marker in the address")
    angles = "[...document.querySelectorAll('.card-attitude')].map((card) => [...card.querySelectorAll('dd')].map((angle) => angle.textContent).join())"
    page.expect(f"{angles}.every((text) => /[0-9]°/.test(text))", 20, "both models")
    still = page.evaluate(angles)
    page.drain(1)
    assert page.evaluate(angles) == still, "the models move on although the moment stands still"
    asked = [url for url in page.requests if "/streams/motion/device?" in url and "every=" not in url and "points=" not in url]
    assert len({url.split("/streams")[0] for url in asked}) == 2 and all("time=collector" in url for url in asked), asked
    page.evaluate("(() => { const speed = document.querySelector('.player select'); speed.value = '0.5'; speed.dispatchEvent(new Event('change')); document.querySelector('.player button').click(); })()")
    page.expect(f"{angles}.every((text, i) => text !== {json.dumps(still)}[i])", 15, "both models move")
    page.evaluate("document.querySelector('.player button').click()")
    page.expect(f"Number(new URLSearchParams(location.hash.split('?')[1]).get('at')) > {at}", 10, "the moment in the address")
    no_errors(page, ALLOWED)
    leave(page)


def the_gaps_of_a_session_are_listed(system, browser):
    """A stream that never arrived is listed with its device, and about how many samples are missing; its time is shown in the plots."""
    post(system, "lab", {"name": "gaps", "devices": ["left"], "rates": {"motion/device": 50, "battery": 10}, "within_s": 5})
    state = lambda: system.get("/api/v1/sessions/lab/gaps") or {}
    system.wait(lambda: state().get("state") == "recording", "the session records", 40)
    start = state()["start"]
    system.wait(lambda: (system.get("/api/v1/devices/lab/left") or {}).get("last_sample", 0) > start + 1_500_000, "the session has its length", 40)
    page = browser.page(height=2000)
    open_view(page, system, "#/sessions/lab/gaps", f"{STATE} === 'Recording'")
    assert page.evaluate("document.querySelector('#gaps').hidden"), "gaps are shown before the end"
    shows_compare = "[...document.querySelectorAll('.view-session .device-title .button')].some((button) => button.textContent === 'Compare' && !button.hidden)"
    assert not page.evaluate(shows_compare), "a session that records is compared"
    post(system, "lab/gaps/stop", {})
    page.expect(f"{STATE} === 'Complete'", 60, "the end")
    page.expect(shows_compare, 10, "the button for a comparison")
    page.expect("document.querySelectorAll('.gaps .marker').length === 1", 20, "one gap")
    session = system.get("/api/v1/sessions/lab/gaps?gaps=true")
    gap = next(stream for stream in session["streams"] if stream["stream"] == "battery")["gaps"][0]
    assert (gap["from"], gap["to"]) == (session["start"], session["end"]), session
    shown = page.evaluate("document.querySelector('.gaps .marker').textContent")
    assert shown.startswith("0.000 sleftbattery") and f"about {gap['count']} sample" in shown, shown
    page.evaluate("document.querySelector('.gaps .button').click()")
    page.expect(f"Number(new URLSearchParams(location.hash.split('?')[1]).get('at')) === {session['start']}", 10, "the moment of the gap in the address")
    no_errors(page, ALLOWED)
    leave(page)


def two_sessions_are_laid_over_each_other(system, browser):
    """A second session is chosen, and drawn at the time of the first one, aligned at a marker. It is part of the address, and of what is downloaded."""
    first, second = recorded(system, "played"), recorded(system, "again", ("left", "hip"))
    turn = lambda session: next(marker["t"] for marker in session["markers"] if marker["text"] == "turn")
    shift = turn(second) - turn(first)
    # Narrow enough that the mark is always within three pixels of a sample, of which there is one each 20 ms.
    page = browser.page(1000, 2400)
    open_view(page, system, "#/sessions/lab/played", "document.querySelectorAll('.chart').length === 2")
    page.evaluate(BUTTON.format("Compare"))
    page.expect(f"{DIALOG} && [...{DIALOG}.querySelectorAll('option')].some((option) => option.textContent.startsWith('again'))", 20, "the other session")
    fill(page, "Session", page.evaluate(f"[...{DIALOG}.querySelectorAll('option')].find((option) => option.textContent.startsWith('again')).value"), "select")
    page.expect(f"[...{DIALOG}.querySelectorAll('option')].some((option) => option.value === 'turn')", 10, "the marker that both have")
    page.evaluate("(() => { const real = window.fetch; window.answers = 0; window.fetch = async (url, options) => { const reply = await real(url, options); const body = await reply.json(); if (String(url).includes('/sessions/lab/again')) window.answers += 1; return { ok: reply.ok, status: reply.status, headers: reply.headers, json: async () => body }; }; window.restore = () => { window.fetch = real; }; })()")
    page.evaluate(f"for (let i = 0; i < 2; i += 1) {DIALOG}.querySelector('select').dispatchEvent(new Event('change'))")
    page.expect("window.answers === 2", 10, "both answers")
    page.evaluate("window.restore()")
    page.expect(f"[...{DIALOG}.querySelectorAll('option')].filter((option) => option.value === 'turn').length === 1", 10, "the marker once")
    problems = page.evaluate((HERE / "accessibility.js").read_text())
    assert not problems, problems
    fill(page, "Aligned at", "turn", "select")
    page.evaluate(f"{DIALOG}.querySelector('form').requestSubmit()")
    page.expect("location.hash.startsWith('#/sessions/lab/played?with=lab/again&align=turn')", 10, "the comparison in the address")
    labels = "[...document.querySelectorAll('.legend-label')].map((label) => label.textContent)"
    page.expect(f"{labels}.length === 2", 20, "two sessions in each plot")
    assert page.evaluate(labels) == ["left Device motion of again", "hip Device motion of again"], page.evaluate(labels)
    assert "aligned at the marker turn" in page.evaluate("document.querySelector('.view-session').textContent")
    page.expect("document.querySelectorAll('.chart[data-loading]').length === 0 && document.querySelector('.chart-note').hidden", 20, "past samples")
    problems = page.evaluate((HERE / "accessibility.js").read_text())
    assert not problems, problems
    asked = [dict(urllib.parse.parse_qsl(urllib.parse.urlparse(url).query)) | {"url": url} for url in page.requests if "/streams/motion/device?" in url and "points=" in url]
    starts = {int(query["from"]) for query in asked if "/lab/left/" in query["url"]}
    assert any(start + shift in starts for start in starts), (shift, starts)
    assert any("/lab/hip/" in query["url"] for query in asked), asked
    # At the mark, the value of the second session is that of its own time.
    page.evaluate("document.querySelector('.marker .button').click()")
    page.expect(f"Number(new URLSearchParams(location.hash.split('?')[1]).get('at')) === {turn(first)}", 10, "the moment of the marker")
    page.expect("[...document.querySelectorAll('.legend')].every((legend) => /[0-9]/.test(legend.textContent))", 20, "values of both sessions at the mark")
    # A link shows the same in a new window.
    address = page.evaluate("location.hash")
    other = browser.page(height=2400)
    open_view(other, system, address, f"{labels}.length === 2")
    other.evaluate("document.querySelector('[aria-label=\\'Download what is shown\\']').click()")
    fill(other, "Stream", "1", "select")
    other.expect(f"/left: motion\\/device of again/.test({DIALOG}.textContent)", 10, "the second session in the dialog")
    times = {name: int(value) for name, value in other.evaluate(f"[...{text('.download-link')}.matchAll(/(from|to)=([0-9]+)/g)].map((match) => match.slice(1))")}
    assert times["from"] > second["start"] - 2_000_000 and times["to"] < second["end"] + 2_000_000, (times, second)
    other.key("Escape")
    other.evaluate("document.querySelector('#plots .plot-tools > .button:last-child').click()")
    other.expect(f"[...{DIALOG}.querySelectorAll('#plot-session option')].map((option) => option.textContent).join() === 'This one,again' && !{DIALOG}.querySelector('[type=submit]').disabled", 20, "a plot of either session")
    other.evaluate(f"{DIALOG}.querySelector('#plot-session').value = 'again'; {DIALOG}.querySelector('form').requestSubmit()")
    other.expect("document.querySelectorAll('.chart').length === 3 && / of again/.test(document.querySelectorAll('.chart-title')[2].textContent) && /@again|%40again/.test(location.hash)", 10, "another plot of the second session")
    no_errors(other, ALLOWED)
    leave(other)
    # The marker of the first session is moved, and the second one with it.
    move = lambda by: post(system, "lab/played/mark", {"id": "a", "t": turn(first) + by, "text": "turn"})
    move(100_000)
    moved = {start + shift - 100_000 for start in starts}

    def is_moved():
        page.drain(0.2)
        return any("/lab/left/streams/motion/device?" in url and int(dict(urllib.parse.parse_qsl(urllib.parse.urlparse(url).query))["from"]) in moved for url in page.requests)

    system.wait(is_moved, "the second session moves with the marker", 20)
    move(0)
    page.evaluate("document.querySelector('#plots [data-value=live]').click()")
    page.expect("[...document.querySelectorAll('.chart-count')].every((note) => note.textContent === 'No live samples of the other session')", 10, "no live samples")
    page.evaluate("[...document.querySelectorAll('.view-session .button')].find((button) => button.textContent === 'End comparison').click()")
    page.expect("location.hash.startsWith('#/sessions/lab/played') && !location.hash.includes('with=') && document.querySelectorAll('.chart').length === 2 && !document.querySelector('.legend-label')", 20, "the first session alone")
    no_errors(page, ALLOWED)
    leave(page)


def a_comparison_is_loaded_again(system, browser):
    """A second session that could not be loaded is asked for again, and so is one that changes; one that does not exist is named. Either comparison can be ended."""
    recorded(system, "played")
    recorded(system, "again", ("left", "hip"))
    page = browser.page(height=2400)
    open_view(page, system, "#/sessions", "document.querySelectorAll('.session').length")
    page.evaluate("(() => { const real = window.fetch; window.fetch = async (url, options) => (String(url).includes('/sessions/lab/again') ? { ok: false, status: 503, json: async () => ({ error: 'busy' }) } : real(url, options)); window.restore = () => { window.fetch = real; }; })()")
    page.evaluate("location.hash = '#/sessions/lab/played?with=lab/again'")
    end = "[...document.querySelectorAll('.compared .button')].some((button) => button.textContent === 'End comparison')"
    page.expect(f"/With again, which could not be loaded/.test({text('.compared')}) && {end}", 20, "the problem")
    page.evaluate("window.restore()")
    page.expect(f"document.querySelectorAll('.legend-label').length === 2 && /With again, aligned at their starts/.test({text('.compared')})", 20, "the comparison")
    # A change of the second session is shown, too.
    for name in ("renamed", "again"):
        post(system, "lab/again/edit", {"name": name})
        page.expect(f"/With {name}, aligned at their starts/.test({text('.compared')})", 20, "the new name of the second session")
    page.evaluate("location.hash = '#/sessions/lab/played?with=lab/none'")
    page.expect(f"/With none, which does not exist/.test({text('.compared')}) && {end} && document.querySelectorAll('.chart').length === 2", 20, "the first session alone")
    no_errors(page, (*ALLOWED, "404"))
    leave(page)


def a_small_window_shows_a_session(system, browser):
    """At 320 px, nothing of a session or of the dialog is wider than the window."""
    recorded(system, "played")
    recorded(system, "again", ("left", "hip"))
    page = browser.page(320, 640, 2, True)
    width = "document.documentElement.scrollWidth <= 320"
    for view, ready in (("#/sessions", "document.querySelector('.session')"), ("#/sessions/lab/played", "document.querySelector('.chart')"), ("#/sessions/lab/played?with=lab/again", "document.querySelector('.legend-label')")):
        open_view(page, system, view, ready)
        page.expect(width, 5, f"{view} fits")
    page.evaluate("location.hash = '#/sessions'")
    page.expect("document.querySelector('.view-head .button.primary')")
    page.evaluate("document.querySelector('.view-head .button.primary').click()")
    page.expect(f"{DIALOG} && {DIALOG}.scrollWidth <= {DIALOG}.clientWidth && {width}", 5, "the dialog fits")
    no_errors(page, ALLOWED)
    leave(page)


def the_space_of_the_store_is_shown(system, browser):
    """The view of the system has the size and the forecast of the store, and counts the space of each stream when asked."""
    # What waits to be merged is not counted.
    system.wait(lambda: (system.get("/api/v1/sizes") or {}).get("sizes"), "some samples are merged", 60)
    page = browser.page()
    open_view(page, system, "#/system", "/Full at the present rate(not foreseeable|in )/.test(document.querySelector('.system-grid').textContent)")
    page.evaluate("document.querySelector('#sizes .button').click()")
    page.expect("document.querySelectorAll('#sizes tbody tr').length > 0", 20, "the sizes")
    shown = page.evaluate("[...document.querySelectorAll('#sizes tbody tr')].map((row) => row.children[0].textContent + ' ' + row.children[1].textContent)")
    sizes = system.get("/api/v1/sizes")["sizes"]
    assert set(shown) <= {f"{size['device']} {size['stream']}" for size in sizes} and "motion/" in shown[0], shown
    assert [size["bytes"] for size in sizes] == sorted((size["bytes"] for size in sizes), reverse=True), sizes
    no_errors(page, ALLOWED)
    leave(page)


def a_page_at_rest_costs_little(system, browser):
    """The processor time of views in which nothing moves, and the memory after many visits of all views.

    LOCKSTEP_PAGE_MINUTES=30 visits them for half an hour, and stays at each for 5 s.
    """
    recorded(system, "played")
    page = browser.page(height=1000)

    def used():
        return sum(process["cpuTime"] for process in browser.call("SystemInfo.getProcessInfo")["processInfo"] if process["type"] == "renderer")

    def share():
        before, began = used(), time.monotonic()
        page.drain(4)
        return (used() - before) / (time.monotonic() - began)

    # What else runs on the machine may disturb a measurement. What the page itself does is in each of them.
    shares = {}
    for view in ("#/", "#/sessions", "#/sessions/lab/played"):
        open_view(page, system, view, "document.querySelector('h1')")
        page.drain(3)
        shares[view] = share()
        for _ in range(2):
            if shares[view] > 0.03:
                shares[view] = min(shares[view], share())
    assert max(shares.values()) <= 0.03, shares

    def visit():
        """Visits all views; returns the memory in MB."""
        for view in ("#/device/lab/left", "#/events", "#/sessions", "#/sessions/lab/played", "#/map", "#/system", "#/"):
            page.evaluate(f"location.hash = '{view}'")
            page.drain(5 if minutes else 0.5)
        page.call("HeapProfiler.collectGarbage")
        return page.call("Runtime.getHeapUsage")["usedSize"] / 1e6

    minutes = float(os.environ.get("LOCKSTEP_PAGE_MINUTES", 0))
    end = time.monotonic() + 60 * minutes
    # In the first rounds, scripts are compiled.
    sizes = [visit() for _ in range(6)]
    while time.monotonic() < end:
        sizes.append(visit())
    first, growth = sizes[2], sizes[-1] - sizes[2]
    # A cache may grow once; what is not released grows in each round.
    if growth > 0.3 * first:
        before = sizes[-1]
        sizes += [visit() for _ in range(4)]
        growth = sizes[-1] - before
    assert growth <= 0.3 * first, sizes
    no_errors(page, ALLOWED)
    leave(page)
    return f"{max(shares.values()):.1%} of a core, {first:.1f} to {sizes[-1]:.1f} MB in {len(sizes)} rounds"


ALL = [a_page_at_rest_costs_little, the_space_of_the_store_is_shown, a_session_is_recorded_on_the_page, several_devices_are_played_in_step, two_sessions_are_laid_over_each_other, a_comparison_is_loaded_again, the_gaps_of_a_session_are_listed, a_small_window_shows_a_session]
