"""What people do with the data: read streams, play the past, select, download, and handle events and devices."""

import json
import pathlib
import subprocess
import time

from browser import Page
from slow_link import SlowLink
from system import System
from truth import no_errors, open_view, text

# A page that is left soon ends the request for its icon.
ALLOWED = ("Canvas2D: Multiple readback", "icon from the Manifest")
HERE = pathlib.Path(__file__).resolve().parent
CHART = "document.querySelector('.chart-canvas')"


def stored_seconds(system, device, stream, count):
    """Waits until samples of this number of seconds are stored."""
    path = f"/api/v1/devices/{device}/streams/{stream}?every=1s&from=-10m"
    system.wait(lambda: len((system.get(path) or {}).get("rows", [])) >= count, f"samples of {count} s are stored", 60)


def drag(page, from_share, to_share, shift=False):
    """Drags the mouse in the first plot, between two shares of its width."""
    box = page.evaluate(f"(() => {{ {CHART}.scrollIntoView({{ block: 'center' }}); const box = {CHART}.getBoundingClientRect(); return [box.x + 60, box.width - 62, box.y + 60]; }})()")
    x = lambda share: box[0] + box[1] * share
    modifiers = 8 if shift else 0
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=x(from_share), y=box[2], button="left", clickCount=1, modifiers=modifiers)
    for share in (from_share + (to_share - from_share) / 2, to_share):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x(share), y=box[2], button="left", buttons=1, modifiers=modifiers)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=x(to_share), y=box[2], button="left", clickCount=1, modifiers=modifiers)


def leave(page):
    """Closes a page. The next test begins without what a person has chosen here."""
    page.evaluate("localStorage.clear()")
    page.close()


def what_is_shown_is_downloaded(system, browser):
    """Samples of a selection in each format, a plot as an image, and the same by the command that is shown."""
    stored_seconds(system, "lab/left", "location", 8)
    page = browser.page(height=1700)
    folder = system.folder / "downloads"
    folder.mkdir(exist_ok=True)
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    now = int(time.time() * 1e6)
    # What is newer may be stored between the two downloads.
    link = f"#/device/lab/left?from={now - 60_000_000}&to={now - 5_000_000}&plot=lab/left:motion/accelerometer&plot=lab/left:location"
    open_view(page, system, link, "document.querySelectorAll('.chart').length === 2 && /… |–/.test(document.querySelector('.card-plots').textContent)")
    page.evaluate("document.querySelector('[aria-label=\"Download what is shown\"]').click()")
    dialog = "document.querySelector('dialog[open]')"
    for stream, extension, content in ((0, "csv", b"group,device,stream,t,time,x,y,z\nlab,left,"), (0, "ndjson", b'{"group":"lab"'), (0, "mcap", b"\x89MCAP0"),
                                       (1, "gpx", b"<trkpt "), (1, "geojson", b'"FeatureCollection"'), (0, "png", b"\x89PNG")):
        page.expect(dialog)
        page.evaluate(f"(() => {{ const [stream, format] = {dialog}.querySelectorAll('select'); stream.value = '{stream}'; stream.dispatchEvent(new Event('change')); format.value = '{extension}'; format.dispatchEvent(new Event('change')); {dialog}.querySelector('form').requestSubmit(); }})()")
        page.expect(f"/^left-.*\\.{extension}: /.test({dialog}.querySelector('[role=status]').textContent)", 20, f"the end of the download as {extension}")
        system.wait(lambda: [file for file in folder.glob(f"*.{extension}") if content in file.read_bytes()], f"a file with {content!r}", 20)
        if extension == "csv":
            command = page.evaluate(f"{dialog}.querySelector('code').textContent")
            subprocess.run(command, shell=True, cwd=system.folder, check=True, stderr=subprocess.DEVNULL)
            name = next(folder.glob("*.csv")).name
            assert (system.folder / name).read_bytes() == (folder / name).read_bytes(), "the command downloads something else"
    no_errors(page, ALLOWED)
    leave(page)


def streams_are_listed(system, browser):
    """All streams with value, unit, course, rate and age; a click plots one; headings have a compass."""
    page = browser.page(height=2400)
    open_view(page, system, "#/device/lab/left?plot=lab/left:location:alt", "document.querySelectorAll('.streams tbody tr').length >= 4")
    page.expect(f"/^[0-9.]+$/.test({text('.chart .legend-value')}) || /^[0-9.]+$/.test(document.querySelectorAll('.legend-value')[2]?.textContent)", 20, "an altitude")
    altitude = "Number([...document.querySelectorAll('.legend-item[aria-pressed=true] .legend-value')][0].textContent)"
    metres = page.evaluate(altitude)
    page.evaluate("[...document.querySelectorAll('#more [role=radio]')].find((button) => button.textContent === 'mi').click()")
    page.expect(f"{text('.chart-unit')} === 'ft' && {altitude} > {metres} * 2 && / ft/.test([...document.querySelectorAll('.streams tbody tr')].find((row) => row.textContent.startsWith('location')).textContent)", 20, "feet in plots and lists")
    page.evaluate("[...document.querySelectorAll('#more [role=radio]')].find((button) => button.textContent === 'km').click()")
    row = "[...document.querySelectorAll('.streams tbody tr')].find((row) => row.textContent.startsWith('motion/accelerometer'))"
    page.expect(f"/x [−0-9.]+ gy [−0-9.]+ gz [−0-9.]+ g/.test({row}.children[1].textContent) && /Hz$/.test({row}.children[3].textContent) && /now|s$/.test({row}.children[4].textContent)", 20, "value, unit, rate and age")
    before = page.evaluate(f"{row}.children[1].textContent")
    page.expect(f"{row}.children[1].textContent !== {json.dumps(before)}", 10, "the newest value")
    page.expect(f"(() => {{ const canvas = {row}.querySelector('canvas'); return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0); }})()", 10, "a course")
    streams = page.evaluate("[...document.querySelectorAll('.streams tbody tr')].map((row) => row.children[0].textContent)")
    assert sorted(streams) == sorted(entry["stream"] for entry in system.get("/api/v1/devices/lab/left")["streams"]), streams
    if "heading" in streams:
        page.expect("document.querySelector('.compass[aria-label*=\"°\"] [transform^=rotate]')", 10, "a compass")
    count = page.evaluate("document.querySelectorAll('.chart').length")
    page.evaluate("[...document.querySelectorAll('.streams button')].find((button) => button.textContent === 'motion/magnetometer' || button.textContent === 'location').click()")
    page.expect(f"document.querySelectorAll('.chart').length === {count} + 1 && /plot=/.test(location.hash)", 10, "the plot of a stream")
    no_errors(page, ALLOWED)
    leave(page)


def one_cursor_moves_everything(system, browser):
    """A mark in the past moves plots, level, model, map marker and state bar, and so does playback; Back and the link keep it."""
    stored_seconds(system, "lab/right", "motion/device", 10)
    page = browser.page(height=2400)
    now = int(time.time() * 1e6)
    at = now - 8_000_000
    open_view(page, system, f"#/device/lab/right?from={now - 40_000_000}&to={now}&at={at}", "document.querySelectorAll('.chart').length >= 1")
    angles = "[...document.querySelectorAll('.angles dd')].map((item) => item.textContent).join()"
    page.expect("!document.querySelector('.bar-cursor').hidden", 20, "the moment in the bar of states")
    page.expect(f"/[0-9]°,/.test({angles})", 20, "the attitude of the moment")
    still = page.evaluate(angles)
    page.drain(1)
    assert page.evaluate(angles) == still, "the model moves on although the moment stands still"
    quaternion = system.get(f"/api/v1/devices/lab/right/streams/motion/device?from={at - 1_000_000}&to={at + 1}")["rows"][-1]
    assert abs(quaternion[0] - at) < 100_000, "there is a sample at the moment"
    page.expect("document.querySelector('#track').hasAttribute('data-moment')", 20, "the marker on the map")
    page.expect("/^(Active|Resumed|Unknown) at /.test(document.querySelector('#states .card-note').textContent)", 10, "the state of the moment")
    page.evaluate("(() => { const speed = document.querySelector('.player select'); speed.value = '2'; speed.dispatchEvent(new Event('change')); document.querySelector('.player button').click(); })()")
    page.expect(f"{angles} !== {json.dumps(still)}", 10, "playback moves the model")
    page.evaluate("document.querySelector('.player button').click()")
    page.expect(f"Number(new URLSearchParams(location.hash.split('?')[1]).get('at')) > {at}", 10, "the moment in the address")
    page.evaluate(f"{CHART}.focus()")
    page.key("Escape")
    page.expect("document.querySelector('.bar-cursor').hidden && !/at=/.test(location.hash)", 10, "the present after Escape")
    no_errors(page, ALLOWED)
    leave(page)


def a_selection_is_measured(system, browser):
    """Dragging selects: length, differences and statistics, zoom. A value axis can be fixed, and the link keeps it."""
    stored_seconds(system, "lab/hip", "motion/accelerometer", 10)
    page = browser.page(height=1700)
    now = int(time.time() * 1e6)
    open_view(page, system, f"#/device/lab/hip?from={now - 20_000_000}&to={now}&plot=lab/hip:motion/accelerometer", "document.querySelectorAll('.chart').length === 1")
    page.expect("document.querySelector('.chart-note').hidden", 20)
    drag(page, 0.5, 0.9)
    page.expect(f"/Δt 8\\.0 s$|Δt 7\\.9 s$|Δt 8\\.1 s$/.test({text('.selection-bar [role=status]')})", 10, "the length of the selection")
    page.expect(f"/xΔy [−0-9.]+, [−0-9.]+ … [−0-9.]+, mean .* g, [0-9 ]+ samples/.test({text('.chart-stats')})", 10, "statistics of the selection")
    page.evaluate(f"{CHART}.focus()")
    page.key("Enter")
    page.expect("(() => { const query = new URLSearchParams(location.hash.split('?')[1]); const span = query.get('to') - query.get('from'); return span > 7.5e6 && span < 8.5e6; })()", 10, "the zoom into the selection")
    page.evaluate("document.querySelector('[aria-label^=\"Value axis\"]').click()")
    page.expect("document.querySelector('dialog[open]')")
    page.evaluate("(() => { const [high, low] = document.querySelectorAll('dialog[open] input'); high.value = '4'; low.value = '-4'; high.form.requestSubmit(); })()")
    page.expect("/plot=lab\\/hip:motion\\/accelerometer:\\*:-4\\.\\.4/.test(decodeURIComponent(location.hash))", 10, "the axis in the address")
    no_errors(page, ALLOWED)
    leave(page)


def events_are_filtered_and_acknowledged_together(system, browser):
    """10,000 events are drawn at once; filters, groups and links; all that is shown is acknowledged."""
    rules = "rules: {high: {when: {value: pressure.pressure, above: 10}}, higher: {when: {value: pressure.pressure, above: 20}, severity: critical}}"
    with System(system.programs, rules=rules) as ruled:
        ruled.wait(lambda: "online" in json.dumps(ruled.get("/api/v1/system") or {}), "the collector is online")
        page = browser.page()
        start = int(time.time() * 1e6)
        for device, values in (("lab/left", [5, 11, 5, 12, 5, 21]), ("lab/right", [5, 13])):
            # All samples of a device in one message.
            ruled.publish(f"lockstep/{device}/pressure", json.dumps({"v": 1, "epoch": "e", "seq": 1, "t": start, "dt": 1000, "pressure": values}))
        rows = "document.querySelectorAll('.event').length"
        open_view(page, ruled, "#/events", f"{rows} === 5")
        assert page.evaluate("[...document.querySelectorAll('.event-text')].some((text) => text.textContent === 'lab/left: higher: pressure is 21 hPa, above 20 hPa')"), "value, limit and unit in a sentence"
        page.expect("[...document.querySelectorAll('.event')].find((row) => /higher/.test(row.textContent)).querySelector('a').hash.includes('plot=lab/left:pressure')", 20, "a link to the plot of the stream")
        page.evaluate("[...document.querySelectorAll('.event')].find((row) => /higher/.test(row.textContent)).querySelector('a').click()")
        page.expect(f"document.querySelectorAll('.chart').length === 1 && /Pressure/.test({text('.chart-title')}) && /[?&]at=/.test(location.hash)", 20, "the plot of the event")
        open_view(page, ruled, "#/events", f"{rows} === 5")
        choose = lambda label, value: page.evaluate(f"(() => {{ const select = document.querySelector('.events-tools [aria-label={label}]'); select.value = '{value}'; select.dispatchEvent(new Event('change')); }})()")
        page.expect("[...document.querySelectorAll('.event')].filter((row) => row.querySelector('.event-severity')?.textContent === 'Critical').length === 1", 20, "the severity of a rule")
        stored = {event["rule"]: event["severity"] for event in ruled.get("/api/v1/events")["events"]}
        assert stored == {"high": "warning", "higher": "critical"}, stored
        choose("Severity", "critical")
        page.expect(f"{rows} === 1 && /severity=critical/.test(location.hash) && /higher/.test({text('.event-text')})")
        choose("Severity", "warning")
        page.expect(f"{rows} === 4 && !document.querySelector('.event-severity')")
        choose("Severity", "")
        choose("Rule", "high")
        page.expect(f"{rows} === 4 && /rule=high/.test(location.hash)")
        choose("Device", "lab/left")
        page.expect(f"{rows} === 3 && /device=lab\\/left/.test(location.hash)")
        page.evaluate("[...document.querySelectorAll('.events-tools button')].find((button) => button.textContent === 'Group').click()")
        page.expect(f"{rows} === 1 && /^and 2 before/.test({text('.event-others summary')})", 10, "one row for three events")
        page.evaluate("document.querySelector('.event-others').open = true")
        page.expect("document.querySelectorAll('.event-others li').length === 2")
        problems = page.evaluate((HERE / "accessibility.js").read_text())
        assert not problems, problems
        page.evaluate("[...document.querySelectorAll('.events-tools button')].find((button) => /^Acknowledge 3 events/.test(button.textContent)).click()")
        page.expect(f"/^2 events not/.test({text('.view-head .muted')})", 20, "the three events of the filter are acknowledged")
        page.evaluate("localStorage.removeItem('lockstep.events.grouped')")
        # Many events, as of a year: the server's page has them, without a collector that would have to detect each.
        open_view(page, ruled, "#/events", f"{rows} === 5")
        took = page.evaluate("""(async () => {
            const begin = performance.now();
            const events = Array.from({ length: 10000 }, (_, i) => ({ id: i + 100, rule: `rule ${i % 7}`, device: `lab/device-${i % 50}`, t: Date.now() * 1000 - i * 1e6, at: Date.now() * 1000 - i * 1e6, text: `Event ${i}`, late: false, severity: "info" }));
            const real = window.fetch;
            window.fetch = async (url, options) => (String(url).includes('/events?') ? { ok: true, status: 200, json: async () => ({ events, next: null }) } : real(url, options));
            const older = [...document.querySelectorAll('.events-older button')].find((button) => /older/.test(button.textContent));
            older.click();
            await new Promise((resolve) => { const look = () => (document.querySelectorAll('.event').length > 100 ? resolve() : requestAnimationFrame(look)); look(); });
            const drawn = performance.now() - begin;
            const again = performance.now();
            const select = document.querySelector('.events-tools [aria-label=Rule]');
            select.value = 'rule 3';
            select.dispatchEvent(new Event('change'));
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
            return [drawn, performance.now() - again, document.querySelectorAll('.event').length];
        })()""")
        note = f"10,000 events drawn in {took[0]:.0f} ms, filtered in {took[1]:.0f} ms"
        assert took[2] == 200 and took[0] < 2000 and took[1] < 500, note
        no_errors(page)
        leave(page)
        return note


def a_link_keeps_the_plots_of_the_device(system, browser):
    """What is changed in the plots of a link to an event does not replace those that a person has chosen for the device."""
    page = browser.page(height=1700)
    titles = "[...document.querySelectorAll('.chart-title')].map((title) => title.firstChild.textContent).join()"
    now = int(time.time() * 1e6)
    at = f"from={now - 150_000_000}&to={now}&at={now}"
    open_view(page, system, "#/device/lab/right", f"{titles} === 'Accelerometer,Gyroscope'")
    page.evaluate("document.querySelectorAll('.chart')[1].querySelector('button[aria-label^=Remove]').click()")
    page.expect("location.hash === '#/device/lab/right?plot=lab/right:motion/accelerometer'", 10, "the plot that is left in the address")
    open_view(page, system, f"#/device/lab/right?{at}&plot=lab/right:motion/gyroscope", f"{titles} === 'Gyroscope'")
    page.evaluate("document.querySelector('.chart .legend-item').click()")
    page.expect("/plot=lab\\/right:motion\\/gyroscope:y,z$/.test(location.hash)", 10, "the columns in the address")
    open_view(page, system, "#/device/lab/right", f"{titles} === 'Accelerometer'")
    open_view(page, system, f"#/device/lab/right?{at}&plot=lab/right:x/absent", f"{titles} === 'Accelerometer'")
    page.evaluate("localStorage.clear()")
    open_view(page, system, f"#/device/lab/right?{at}&plot=lab/right:x/absent", f"{titles} === 'Accelerometer,Gyroscope'")
    # Who removes all plots wants none.
    open_view(page, system, "#/device/lab/right?plot=none", "document.querySelector('.card-plots .empty-title')?.checkVisibility() && !document.querySelector('.chart')")
    # What is added to the plots of a link is chosen for the device.
    open_view(page, system, f"#/device/lab/right?{at}&plot=lab/right:motion/gyroscope&plot=lab/right:motion/accelerometer", f"{titles} === 'Gyroscope,Accelerometer'")
    page.evaluate("document.querySelectorAll('.chart')[1].querySelector('button[aria-label^=Remove]').click()")
    open_view(page, system, "#/device/lab/right", f"{titles} === 'Gyroscope'")
    # The plots that a person has chosen remain so after a reload, when they are in the address, and instead of those of a link that are absent.
    columns = "/plot=lab\\/right:motion\\/gyroscope:{}$/.test(location.hash)"
    for address, left in (("?plot=lab/right:motion/gyroscope", "y,z"), (f"?{at}&plot=lab/right:x/absent", "z")):
        open_view(page, system, f"#/device/lab/right{address}", f"{titles} === 'Gyroscope'")
        page.evaluate("document.querySelector('.chart .legend-item[aria-pressed=true]').click()")
        page.expect(columns.format(left), 10, "the columns in the address")
        open_view(page, system, "#/device/lab/left", "document.querySelectorAll('.chart').length > 0")
        open_view(page, system, "#/device/lab/right", f"{titles} === 'Gyroscope'")
        shown = "[...document.querySelectorAll('.chart .legend-item[aria-pressed=true]')].map((item) => item.textContent.trim()[0]).join()"
        page.expect(f"{shown} === '{left}'", 10, "the chosen columns")
    no_errors(page, ALLOWED)
    leave(page)


# The answers about states, as of a device that has run for days.
PAST_STATES = """(() => {
    const states = [[-345600, 'inactive', 'command'], [-259800, 'active', 'live-sample'], [-258600, 'background', 'connection-lost'], [-60, 'active', 'live-sample']]
        .map(([seconds, state, reason], i, all) => ({ state, reason, previous: all[i - 1]?.[1] ?? null, since: NOW + seconds * 1e6, seq: i + 1 }));
    const real = window.fetch;
    window.fetch = async (url, options) => {
        if (!/\\/states\\?/.test(String(url))) return real(url, options);
        if (window.refused !== undefined) return window.refused += 1, { ok: false, status: 503, json: async () => ({ title: 'No store', detail: 'No store' }) };
        const query = new URL(url, location.href).searchParams;
        const found = states.filter(({ since }) => since >= Number(query.get('from') ?? 0) && since < Number(query.get('to')));
        return { ok: true, status: 200, json: async () => ({ states: found.slice(-Number(query.get('limit'))) }) };
    };
})()"""


def the_state_bar_follows_the_past(system, browser):
    """A moment of three days ago: the bar of states shows its time, with a cursor and the state that is stored."""
    page = browser.page(height=2400)
    now = int(time.time() * 1e6)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=PAST_STATES.replace("NOW", str(now)))
    at = now - 259_200_000_000
    note = text("#states .card-note")
    open_view(page, system, f"#/device/lab/right?from={at - 300_000_000}&to={at + 300_000_000}&at={at}", f"/^Active at /.test({note})")
    page.expect("!document.querySelector('.bar-cursor').hidden && Math.abs(parseFloat(document.querySelector('.bar-cursor').style.left) - 50) < 1", 10, "the cursor in the middle of the bar")
    page.expect("[...document.querySelectorAll('#states .bar-wrap:first-child .segment')].map((part) => part.dataset.state).join() === 'inactive,active,background'", 10, "the states of that time")
    assert not page.evaluate("[...document.querySelectorAll('#states .bar-wrap:first-child .segment')].some((part) => /until now/.test(part.ariaLabel))"), "a state of the past lasts until now"
    page.evaluate(f"{CHART}.focus()")
    page.key("Escape")
    page.expect(f"/ – .* · .*Active/.test({note}) && document.querySelectorAll('#states .bar-wrap:first-child .segment').length === 3", 10, "the range in view after the mark is gone")
    page.key("End")
    page.expect("[...document.querySelectorAll('#states .bar-wrap:first-child .segment')].at(-1).ariaLabel.includes('until now')", 10, "the present")
    page.evaluate("window.refused = 0")
    page.evaluate("document.querySelector('#states [data-value=\"604800\"]').click()")
    page.expect("window.refused > 1", 20, "another question after one without an answer")
    assert page.evaluate(f"/No store/.test({note}) && !document.querySelector('#states .bar-wrap:first-child .bar-empty')"), "states that are not known are claimed to be none"
    page.evaluate("delete window.refused")
    page.expect("[...document.querySelectorAll('#states .bar-wrap:first-child .segment')].map((part) => part.dataset.state).join() === 'none,inactive,active,background,active'", 10, "the states when the store is back")
    no_errors(page, ALLOWED)
    leave(page)


def activities_are_shown_over_time(system, browser):
    """What a person did is a bar below the states, with the same cursor; what nobody knows is no activity."""
    with System(system.programs) as own:
        own.wait(lambda: "online" in json.dumps(own.get("/api/v1/system") or {}), "the collector is online")
        now = int(time.time() * 1e6)
        send = lambda stream, sequence, t, **values: own.publish(f"lockstep/lab/walker/{stream}", json.dumps({"v": 1, "epoch": "e", "seq": sequence, "t": t, **values}))
        found = [(-3000, "stationary", "medium"), (-2000, "walking", "medium"), (-1900, "walking", "high"), (-1000, "unknown", "low"), (-500, "cycling", "low")]
        for number, (seconds, value, confidence) in enumerate(found):
            begin = now + (-2000 if value == "walking" else seconds) * 1_000_000
            send("activity", number + 1, now + (seconds + 10) * 1_000_000, start=[begin], value=[value], confidence=[confidence])
        send("pressure", 9, now - 100_000_000, pressure=[1000])
        own.wait(lambda: len((own.get(f"/api/v1/devices/lab/walker/streams/activity?from={now - 4_000_000_000}") or {}).get("rows", [])) == 5, "the activities are stored")
        page = browser.page(height=1700)
        open_view(page, own, "#/device/lab/walker", "document.querySelector('[aria-label=\"Activities over time\"]')")
        shown = "[...document.querySelectorAll('[aria-label=\"Activities over time\"] .segment')].map((part) => part.dataset.state).join()"
        page.expect(f"{shown} === 'none,stationary,walking,none,cycling,none'", 20, "activities, and times without")
        label = "[...document.querySelectorAll('[aria-label=\"Activities over time\"] .segment')][2].ariaLabel"
        assert page.evaluate(f"/^Walking: high confidence, from .* to .*, 16 min 40 s$/.test({label})"), page.evaluate(label)
        page.expect(f"/^ActivityStationary 4[0-9] %Walking 4[0-9] %Cycling 1[0-9] %$/.test({text('.bar-label')})", 10, "the shares of activities")
        problems = page.evaluate((HERE / "accessibility.js").read_text())
        assert not problems, problems
        # The state of now is known without the store, and the activity is not.
        page.evaluate("(() => { const real = window.fetch; window.refused = /activity|states/; window.refusals = 0; window.fetch = (url, options) => (window.refused.test(String(url)) ? (window.refusals += 1) && Promise.reject(new TypeError()) : real(url, options)); window.allow = () => { window.fetch = real; }; })()")
        page.evaluate("document.querySelector('#states [data-value=\"86400\"]').click()")
        page.expect(f"/does not answer/.test({text('#states .card-note')}) && document.querySelector('.bar-label + .bar-wrap .skeleton') && /^Activity[^%]*does not answer/.test({text('.bar-label')})", 10, "activities that are not loaded")
        page.evaluate("window.notes = []; new MutationObserver(() => notes.push(document.querySelector('#states .card-note').textContent)).observe(document.querySelector('#states .card-note'), { childList: true })")
        page.expect(f"window.refusals > {page.evaluate('window.refusals') + 4}", 20, "further requests")
        assert not page.evaluate("notes.join()"), f"in place of the problem: {page.evaluate('notes')}"
        # States are shown without the activities, which come when they can be loaded.
        page.evaluate("window.refused = /activity/")
        page.expect(f"/%/.test({text('#states .card-note')}) && document.querySelector('.bar-label + .bar-wrap .skeleton') && /does not answer/.test({text('.bar-label')})", 20, "states without activities")
        page.evaluate("window.allow()")
        page.expect(f"/walking/.test({shown}) && !/does not answer/.test({text('.bar-label')})", 20, "the activities by another request")
        page.evaluate("document.querySelector('#states [data-value=\"3600\"]').click()")
        last = "[...document.querySelectorAll('[aria-label=\"Activities over time\"] .segment')].at(-1)"
        page.expect(f"{shown} === 'none,stationary,walking,none,cycling,none' && parseFloat({last}.style.width) > 1", 20, "the activities of an hour again")
        # Newer samples of the device move what is not known, and leave each span in its place: one may have the focus.
        page.evaluate("document.querySelector('[aria-label=\"Activities over time\"] .segment').focus()")
        page.key("ArrowRight")
        reached = "[...document.querySelectorAll('[aria-label=\"Activities over time\"] .segment')].map((part, i) => part.tabIndex === 0 ? i : '').join('')"
        assert page.evaluate(reached) == "1", f"Tab leads to the spans {page.evaluate(reached)}"
        before = page.evaluate(f"parseFloat({last}.style.width)")
        send("pressure", 10, now - 30_000_000, pressure=[1000])
        page.expect(f"parseFloat({last}.style.width) < {before} - 1", 20, "less that is not known")
        assert page.evaluate("document.activeElement.matches('.segment')"), "a span with the focus was replaced"
        # Another one is recognised.
        send("activity", 11, now - 50_000_000, start=[now - 60_000_000], value=["running"], confidence=["high"])
        page.expect(f"{shown} === 'none,stationary,walking,none,cycling,running,none'", 30, "a new activity")
        assert page.evaluate("document.activeElement === document.querySelectorAll('[aria-label=\"Activities over time\"] .segment')[1]"), "the focus is lost with the spans that were replaced"
        open_view(page, own, f"#/device/lab/walker?from={now - 1_800_000_000}&to={now - 1_200_000_000}&at={now - 1_500_000_000}", f"{text('.bar-label')} === 'ActivityWalking'")
        page.expect("[...document.querySelectorAll('.bar-cursor')].every((cursor) => !cursor.hidden)", 10, "a cursor in both bars")
        # No agent answers commands.
        no_errors(page, (*ALLOWED, "504"))
        leave(page)


def a_mean_is_that_of_the_samples(system, browser):
    """One high sample among 3,000: minimum, maximum, mean and number are those of the samples, not of buckets."""
    with System(system.programs) as own:
        own.wait(lambda: "online" in json.dumps(own.get("/api/v1/system") or {}), "the collector is online")
        now = int(time.time() * 1e6)
        first = now - 2_000_000_000
        for part in range(3):
            values = [1900 if part == 1 and i == 500 else 1000 for i in range(1000)]
            own.publish("lockstep/lab/spike/pressure", json.dumps({"v": 1, "epoch": "e", "seq": part + 1, "t": first + part * 100_000_000, "dt": 100_000, "pressure": values}))
        path = f"/api/v1/devices/lab/spike/streams/pressure?from={first}&to={now}&every=1d"
        own.wait(lambda: sum(row[1] for row in (own.get(path) or {}).get("rows", [])) >= 3000, "the samples are stored")
        page = browser.page(width=900, height=1700)
        open_view(page, own, f"#/device/lab/spike?from={first - 300_000_000}&to={first + 600_000_000}&plot=lab/spike:pressure", "document.querySelectorAll('.chart').length === 1")
        page.expect("document.querySelector('.chart-note').hidden && !document.querySelector('.chart[data-loading]')", 30, "the past")
        drag(page, 0.1, 0.9)
        page.expect(f"/^pressure(Δy 0[.0]*, )?1000[.0]* … 1900[.0]*, mean 1000\\.3[0-9]* hPa, 3\u202f000 samples$/.test({text('.chart-stats')})", 20, "the statistics of the samples")
        # No agent answers commands.
        no_errors(page, (*ALLOWED, "504"))
        leave(page)


def all_open_events_are_counted(system, browser):
    """The store has more open events than the server sends: heading and badge count all, and the button says which it takes."""
    with System(system.programs, rules="rules: {high: {when: {value: pressure.pressure, above: 10}}}", served_store="served.db") as ruled:
        ruled.wait(lambda: "online" in json.dumps(ruled.get("/api/v1/system") or {}), "the collector is online")
        start = int(time.time() * 1e6)
        for part in range(3):
            ruled.publish("lockstep/lab/left/pressure", json.dumps({"v": 1, "epoch": "e", "seq": part + 1, "t": start + part * 1_000_000, "dt": 1000, "pressure": [5, 11] * 500}))
        ruled.wait(lambda: (ruled.get("/api/v1/events/count") or {}).get("open") == 1500, "1500 events", 60)
        page = browser.page()
        open_view(page, ruled, "#/events?show=open", f"/^1\u202f500 events not/.test({text('.view-head .muted')})")
        page.expect(f"/1\u202f500 events not/.test({text('#open-events')})", 10, "the badge")
        button = "[...document.querySelectorAll('.events-tools button')].find((button) => /^Acknowledge/.test(button.textContent))"
        page.expect(f"/^Acknowledge 1\u202f000 loaded events$/.test({button}?.textContent) && /^500 older events/.test({button}.title)", 10, "what the button takes")
        page.evaluate(f"{button}.click()")
        page.expect(f"/^500 events not/.test({text('.view-head .muted')})", 180, "those that are not loaded stay")
        page.expect(f"/Older events are not acknowledged.*: show older events/.test({text('.events-body')})", 10, "no claim that all is acknowledged")
        store = ruled.folder / "served.db"
        store.rename(ruled.folder / "away.db")
        page.expect(f"/^No store$/.test({text('.link-state')}) && /500 events of the store are not loaded\\.$/.test({text('.empty-text')})", 30, "no button that is not there")
        (ruled.folder / "away.db").rename(store)
        page.expect("document.querySelector('.events-older button:not([hidden])')", 30, "the store is back")
        page.evaluate("document.querySelector('.events-older button:not([hidden])').click()")
        page.expect(f"/^Acknowledge 500 events$/.test({button}?.textContent)", 20, "the older events")
        # What asks the store while it is away is refused.
        no_errors(page, ("503",))
        leave(page)


def the_fleet_is_arranged(system, browser):
    """Each column sorts both ways, and can be left out; the link keeps the order."""
    page = browser.page()
    names = "[...document.querySelectorAll('.fleet-row[data-key]')].map((row) => row.dataset.key).join()"
    open_view(page, system, "#/", "document.querySelectorAll('.fleet-row[data-key]').length === 4")
    button = "document.querySelector('.fleet-head [data-key=name] button')"
    page.evaluate(f"{button}.click()")
    page.expect(f"{names} === 'lab/hip,lab/left,lab/right,lab/wrist' && {button}.parentElement.getAttribute('aria-sort') === 'ascending'")
    page.evaluate(f"{button}.click()")
    page.expect(f"{names} === 'lab/wrist,lab/right,lab/left,lab/hip' && {button}.parentElement.getAttribute('aria-sort') === 'descending' && location.hash === '#/?sort=name&order=reversed'", 10, "the opposite order")
    page.evaluate("[...document.querySelectorAll('.columns label')].find((label) => label.textContent === 'Battery').querySelector('input').click()")
    page.expect("getComputedStyle(document.querySelector('.fleet-row .cell-battery')).display === 'none' && document.querySelector('.fleet-head [data-cell=battery]').hidden", 10, "no battery")
    open_view(page, system, "#/?sort=name&order=reversed", f"{names} === 'lab/wrist,lab/right,lab/left,lab/hip' && getComputedStyle(document.querySelector('.cell-battery')).display === 'none'")
    no_errors(page)
    leave(page)


MARK = "(() => { const look = () => { if (document.querySelector('.fleet-row[data-key] .state-word')) window.shownAt = performance.now(); else requestAnimationFrame(look); }; look(); })()"


def the_first_view_is_fast(system, browser):
    """With round trips of 150 ms and 1.6 Mbit/s, the fleet needs few round trips and few bytes: at the first visit, and with the kept files."""
    with SlowLink(system.port) as link:
        def visit(context):
            page = Page(browser.tab(context))
            page.call("Page.enable")
            page.call("Page.addScriptToEvaluateOnNewDocument", source=MARK)
            before = link.received
            page.open(f"{link.url}/#/")
            took = page.expect("window.shownAt", 20, "the fleet")
            received = link.received - before
            loaded = page.evaluate("performance.getEntriesByType('resource').filter(({ transferSize, responseEnd }) => transferSize > 0 && responseEnd < window.shownAt).length")
            page.expect(f"{text('.link-state')} === 'Live'", 20)
            leave(page)
            return took, received, loaded

        # The best of three: other processes may take the machine's time.
        contexts = [browser.context() for _ in range(3)]
        cold = min(visit(context) for context in contexts)
        warm = min(visit(contexts[0]) for _ in range(3))
        for context in contexts:
            browser.dispose(context)
    note = ", ".join(f"{name} {took:.0f} ms with {received / 1000:.0f} kB in {loaded + 1} requests" for name, (took, received, loaded) in (("cold", cold), ("warm", warm)))
    assert cold[1] < 125_000 and cold[2] <= 5 and warm[1] < 10_000 and warm[2] == 0, note
    # 1.5 s and 0.7 s on a machine that has nothing else to do.
    assert cold[0] < 3000 and warm[0] < 1400, note
    return note


def the_page_can_be_installed(system, browser):
    """The browser finds nothing that keeps it from installing the page, and each icon has the size that the manifest states."""
    page = browser.page()
    open_view(page, system, "#/", "document.querySelectorAll('.fleet-row[data-key]').length > 1")
    errors = page.call("Page.getInstallabilityErrors")["installabilityErrors"]
    assert not errors, errors
    manifest = page.call("Page.getAppManifest")
    assert manifest["data"] and not manifest["errors"], manifest
    sizes = page.evaluate("""(async () => {
        const manifest = document.querySelector('[rel=manifest]').href;
        const { icons } = await (await fetch(manifest)).json();
        return Promise.all(icons.filter(({ sizes }) => sizes !== 'any').map(async ({ src, sizes, type }) => {
            const reply = await fetch(new URL(src, manifest));
            const { width, height } = await createImageBitmap(await reply.blob());
            return [sizes, `${width}x${height}`, type, reply.headers.get('Content-Type')];
        }));
    })()""")
    assert len(sizes) == 3 and all(stated == found and kind == sent for stated, found, kind, sent in sizes), sizes
    no_errors(page, ALLOWED)
    leave(page)


def maps_without_tiles_show_the_world(system, browser):
    """Coasts, borders and capitals without the internet."""
    page = browser.page()
    open_view(page, system, "#/map", "Number(document.querySelector('.leaflet-container')?.dataset.world) > 150")
    page.expect("(() => { const canvas = document.querySelector('.leaflet-world-pane canvas'); const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; return data.filter((value, i) => i % 4 === 3 && value > 0).length > 2000; })()", 10, "land")
    for _ in range(4):
        page.evaluate("document.querySelector('.leaflet-control-zoom-in').click()")
        page.drain(0.4)
    page.expect("document.querySelectorAll('.map-place').length > 20", 10, "names of places")
    requests = [url for url in page.requests if not url.startswith(system.url)]
    assert not requests or all(url.startswith(("about:", "data:", "chrome")) for url in requests), requests
    no_errors(page, ALLOWED)
    leave(page)


# A map tells its end of a movement within this time.
LATER = "new Promise((resolve) => setTimeout(resolve, 500))"


def areas_of_rules_are_on_the_map(system, browser):
    """The map and the list beside it have the areas that rules watch; a button of the list shows one."""
    rules = "places: {home: {center: [52.52, 13.405], radius: 150}, yard: {polygon: [[52.5, 13.3], [52.5, 13.31], [52.51, 13.31]]}, unused: {center: [0, 0], radius: 1}}\n" \
            "rules: {left: {when: {leave: home}}, there: {when: {enter: yard}}}"
    with System(system.programs, [("lab/left", "simulate:1")], rules=rules) as ruled:
        ruled.wait_for_samples()
        page = browser.page()
        names = "[...document.querySelectorAll('.map-areas .map-item-name')].map((name) => name.textContent).join()"
        open_view(page, ruled, "#/map", f"{names} === 'home,yard' && document.querySelector('.leaflet-container')")
        page.expect("[...document.querySelectorAll('.leaflet-tooltip.map-area')].map((name) => name.textContent).sort().join() === 'home,yard'", 20, "the areas on the map")
        radius = text(".map-areas")
        choose = lambda units: page.evaluate(f"document.querySelector('[role=radiogroup][aria-label=Units] [data-value={units}]').click()")
        assert page.evaluate(f"/150 m around/.test({radius})"), page.evaluate(radius)
        choose("imperial")
        page.expect(f"/492 ft around/.test({radius})", 10, "the radius in feet")
        choose("metric")
        page.expect(f"/150 m around/.test({radius})", 10, "the radius in metres")
        page.evaluate("document.querySelectorAll('.map-areas button')[1].click()")
        query = "new URLSearchParams(location.hash.split('?')[1])"
        page.expect(f"Math.abs({query}.get('lat') - 52.505) < 0.01 && Math.abs({query}.get('lon') - 13.305) < 0.01 && {query}.get('zoom') > 12", 10, "the area in view")
        problems = page.evaluate((HERE / "accessibility.js").read_text())
        assert not problems, problems
        page.evaluate("location.hash = '#/device/lab/left'")
        page.expect("document.querySelectorAll('#track .leaflet-tooltip.map-area').length === 2", 20, "the areas on the map of a device")
        # Whoever may report as a collector can name an area as they like.
        report = {"status": "online", "at": int(time.time() * 1e6), "devices": 0, "stored": 0, "duplicates": 0, "conflicts": 0, "rejected": 0, "places": {"<b>shed</b>": {"center": [52.52, 13.4], "radius": 50}}}
        ruled.publish("lockstep/lab/$collector/other", json.dumps(report))
        page.expect("[...document.querySelectorAll('.leaflet-tooltip.map-area')].some((name) => name.textContent === '<b>shed</b>')", 20, "the name as it is")
        no_errors(page)
        leave(page)


def an_area_is_drawn_and_tested(system, browser):
    """A circle and a polygon, by clicks and by typing; the text is one that `lockstep rules test` reads, with the same events."""
    with System(system.programs) as own:
        own.wait(lambda: "online" in json.dumps(own.get("/api/v1/system") or {}), "the collector is online")
        now = int(time.time() * 1e6)
        # Three visits of a place, and a device that is far from it.
        lats = [52.5, 52.52, 52.5, 52.52, 52.5, 52.52]
        own.publish("lockstep/lab/left/location", json.dumps({"v": 1, "epoch": "e", "seq": 1, "t": now - 3600_000_000, "dt": 60_000_000, "lat": lats, "lon": [13.405] * 6}))
        own.publish("lockstep/lab/right/location", json.dumps({"v": 1, "epoch": "e", "seq": 1, "t": now, "lat": [52.51], "lon": [13.5]}))
        page = browser.page()
        open_view(page, own, "#/map?lat=52.51&lon=13.405&zoom=13", "document.querySelectorAll('.map-list li').length === 2 && document.querySelector('.map-new button:not([hidden])')")
        assert not any("draft.js" in url for url in page.requests), "it is loaded before it is needed"
        # The devices and shapes on the canvas.
        painted = "(() => { const canvas = document.querySelector('.leaflet-overlay-pane canvas:not(.graticule)'); return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.filter((value, i) => i % 4 === 3 && value).length; })()"
        page.expect(f"{painted} > 100", 10, "the devices")
        before = page.evaluate(painted)
        button = "document.querySelector('.map-new button')"
        page.call("Network.setBlockedURLs", urls=["*/draft.js"])
        page.evaluate(f"{button}.focus()")
        page.key("Enter")
        page.expect(f"/try again$/.test({button}.textContent) && document.activeElement === {button} && /try again$/.test(document.getElementById('announcer').textContent)", 20, "that it was not loaded")
        page.call("Network.setBlockedURLs", urls=[])
        page.key("Enter")
        page.expect("document.activeElement === document.querySelector('.map-draft input')", 20, "the focus in the form")
        fields = "[...document.querySelectorAll('.map-draft-circle input')]"
        page.expect(f"{fields}[0].value === '52.51' && {fields}[1].value === '13.405' && {fields}[2].value > 100", 10, "a circle in the middle of the map")
        for label, value in (("Name", "yard"), ("Latitude", "52.52"), ("Radius in m", "500")):
            page.evaluate(f"(() => {{ const field = [...document.querySelectorAll('.map-draft label')].find((each) => each.firstChild.textContent === '{label}').querySelector('input'); field.value = '{value}'; field.dispatchEvent(new Event('input')); }})()")
        rule = text(".map-draft-rule")
        page.expect(f"/yard:\\s+center: \\[52.52, 13.405\\]\\s+radius: 500/.test({rule})")
        status = text(".map-draft [role=status]")

        def check(count):
            page.evaluate("document.querySelector('.map-draft form').requestSubmit()")
            page.expect(f"/^{count} times in 7 positions of 2 devices since /.test({status})", 20, "the number of events")
            (own.folder / "draft.yaml").write_text(page.evaluate(rule))
            found = subprocess.run([own.programs / "lockstep", "rules", "test", own.folder / "draft.yaml", "--store", own.store, "--json"], capture_output=True, text=True, timeout=60)
            assert len(found.stdout.splitlines()) == count, found

        # The first fix inside counts only if the device was outside before.
        check(3)
        page.expect(f"/lab\\/left 3/.test({status}) && !/right/.test({status})", 5, "the devices")
        page.evaluate("(() => { const select = document.querySelector('.map-draft [aria-label=Condition]'); select.value = 'leave'; select.dispatchEvent(new Event('change')); })()")
        page.expect(f"{status} === '' && {rule}.includes('yard-leave')", 5, "no number of another draft")
        check(2)
        problems = page.evaluate((HERE / "accessibility.js").read_text())
        assert not problems, problems
        page.evaluate("document.querySelector('.map-draft [data-value=polygon]').click()")
        box = page.evaluate("(() => { const { left, top, width, height } = document.querySelector('.map-canvas').getBoundingClientRect(); return [left, top, width, height]; })()")
        for x, y in ((0.3, 0.1), (0.7, 0.1), (0.7, 0.5), (0.3, 0.5)):
            for kind in ("mousePressed", "mouseReleased"):
                page.call("Input.dispatchMouseEvent", type=kind, x=box[0] + x * box[2], y=box[1] + y * box[3], button="left", clickCount=1)
            page.evaluate(LATER)
        handles = "document.querySelectorAll('.map-handle').length"
        page.expect(f"{handles} === 4 && {painted} > {before} + 1000", 10, "a corner for each click")
        check(2)
        where = page.evaluate("location.hash")
        for count in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                page.call("Input.dispatchMouseEvent", type=kind, x=box[0] + 0.2 * box[2], y=box[1] + 0.3 * box[3], button="left", clickCount=count)
        page.evaluate(LATER)
        page.expect(f"{handles} === 5 && location.hash === '{where}'", 10, "one corner for a double click, and no zoom")
        typed = lambda lines: page.evaluate(f"(() => {{ const list = document.querySelector('.map-draft textarea'); list.value = {json.dumps(lines)}; list.dispatchEvent(new Event('input')); }})()")
        typed("52.51, 13.4\n52.51,\n52.53, 13.41\n52.53, 13.4")
        page.expect(f"/^Line 2 is not LATITUDE, LONGITUDE$/.test({text('.map-draft .hint')}) && {handles} === 3 && document.querySelector('.map-draft [type=submit]').disabled", 5, "which line is wrong")
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=box[0] + 0.5 * box[2], y=box[1] + 0.7 * box[3], button="left", clickCount=1)
        page.evaluate(LATER)
        page.expect(f"document.querySelector('.map-draft textarea').value.split('\\n')[1] === '52.51,' && {handles} === 3", 5, "the line is kept")
        typed("52.51, 13.4\n52.51, 13.41\n52.53, 13.41\n52.53, 13.4")
        check(2)
        page.evaluate("[...document.querySelectorAll('.map-draft button')].find((button) => button.textContent === 'Close').click()")
        page.expect(f"!document.querySelector('.map-draft, .map-handle') && {painted} === {before} && document.activeElement === {button}", 5, "the map as before")
        no_errors(page, (*ALLOWED, "ERR_BLOCKED_BY_CLIENT"))
        leave(page)


def many_devices_are_grouped_on_the_map(system, browser):
    """230 devices: groups that zoom in, a list that says how many are not in it, and a link to the part of the world."""
    with System(system.programs) as own:
        own.wait(lambda: "online" in json.dumps(own.get("/api/v1/system") or {}), "the collector is online")
        now = int(time.time() * 1e6)
        for i in range(230):
            lat, lon = (52.5 + i // 15 * 0.002, 13.4 + i % 15 * 0.002) if i < 210 else (48.85, 2.35 + (i - 210) * 0.0001)
            own.publish(f"lockstep/city/d{i}/location", json.dumps({"v": 1, "epoch": "e", "seq": 1, "t": now, "lat": [lat], "lon": [lon]}))
        page = browser.page()
        numbers = "[...document.querySelectorAll('.map-group')].map((mark) => Number(mark.textContent))"
        open_view(page, own, "#/map", f"/^230 with a position/.test({text('.map-note')})")
        page.expect(f"{numbers}.reduce((sum, number) => sum + number, 0) === 230", 20, "groups of all devices")
        page.expect(f"document.querySelectorAll('.map-item').length === 200 && {text('.map-rest')} === '30 more in view: zoom in, or search in Fleet'", 10, "what the list lacks")
        page.call("Emulation.setDeviceMetricsOverride", width=1300, height=1000, deviceScaleFactor=1, mobile=False)
        page.evaluate(LATER)
        assert page.evaluate("location.hash === '#/map'"), "the page itself has changed the address"
        problems = page.evaluate((HERE / "accessibility.js").read_text())
        assert not problems, problems
        page.evaluate("[...document.querySelectorAll('.map-group')].find((mark) => mark.textContent === '20').click()")
        page.expect("document.querySelectorAll('.map-item').length === 20 && document.querySelector('.map-rest').hidden", 10, "the devices in view")
        page.expect("/lat=48\\.85.*lon=2\\.35.*zoom=/.test(location.hash)", 10, "the part of the world in the address")
        address = page.evaluate("location.hash")
        leave(page)
        other = browser.page()
        open_view(other, own, address, "document.querySelectorAll('.map-item').length === 20")
        names = "[...document.querySelectorAll('.map-item-name')].map((name) => name.textContent)"
        open_view(other, own, "#/map?lat=52.527&lon=13.424&zoom=17", f"{names}.length > 0 && {names}.length < 30")
        for zoom in range(16, 12, -1):
            other.evaluate("document.querySelector('.leaflet-control-zoom-out').click()")
            other.expect(f"location.hash.includes('zoom={zoom}')", 10, "the next zoom")
        other.expect(f"{names}.join() === Array.from({{ length: 200 }}, (_, i) => `d${{i}}`).join()", 10, "the order of the list")
        no_errors(other)
        leave(other)


def several_devices_share_a_plot(system, browser):
    """The same stream of two devices in one chart, live and past; the link has both, and each can be removed."""
    stored_seconds(system, "lab/wrist", "motion/accelerometer", 6)
    page = browser.page(height=1700)
    plot = "document.querySelectorAll('.chart').length === 1 && document.querySelectorAll('.chart .legend').length"
    open_view(page, system, "#/device/lab/hip?plot=lab/hip:motion/accelerometer:x", f"{plot} === 1 && {text('.link-state')} === 'Live'")
    page.evaluate("[...document.querySelectorAll('#plots .button')].find((button) => button.textContent === 'Plot').click()")
    page.expect("document.querySelector('dialog[open] #plot-device')?.options.length === 4")
    page.evaluate("(() => { const device = document.querySelector('#plot-device'); device.value = 'lab/wrist'; device.dispatchEvent(new Event('change')); })()")
    page.expect("!document.querySelector('dialog[open] [type=submit]').disabled && document.querySelector('#plot-stream').options.length > 3")
    page.evaluate("(() => { document.querySelector('#plot-stream').value = 'motion/accelerometer'; document.querySelector('#plot-place').value = '0'; document.querySelector('dialog[open] form').requestSubmit(); })()")
    page.expect(f"{plot} === 2 && location.hash === '#/device/lab/hip?plot=lab/hip:motion/accelerometer:x+lab/wrist:motion/accelerometer'", 10, "both streams in the address")
    values = "[...document.querySelectorAll('.legend-value')].map((value) => value.textContent).filter(Boolean).length"
    page.expect(f"{values} === 4", 20, "live values of both")
    now = int(time.time() * 1e6)
    open_view(page, system, f"#/device/lab/hip?from={now - 20_000_000}&to={now}&at={now - 6_000_000}&plot=lab/hip:motion/accelerometer:x+lab/wrist:motion/accelerometer", f"{plot} === 2")
    page.expect(f"{values} === 4 && [...document.querySelectorAll('.legend-value')].filter((value) => /[0-9]/.test(value.textContent)).length === 4", 20, "past values of both")
    colours = page.evaluate("(() => { const canvas = document.querySelector('.chart-canvas'); const data = canvas.getContext('2d').getImageData(60, 0, canvas.width - 60, canvas.height - 24).data; const seen = new Set(); for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 3).join()); return ['--axis-1', '--axis-4', '--axis-5', '--axis-6'].map((name) => { const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim(); return seen.has([1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join()); }); })()")
    # Some may be covered by others.
    assert colours[0] and any(colours[1:]), f"curves that are drawn: {colours}"
    page.evaluate("document.querySelector('[aria-label^=\"Remove wrist\"]').click()")
    page.expect(f"{plot} === 1 && /plot=lab\\/hip:motion\\/accelerometer:x$/.test(location.hash)", 10, "one stream")
    no_errors(page, ALLOWED)
    leave(page)


def a_selection_is_deleted_after_a_preview(system, browser):
    """What is removed is counted first. The server's part has tests of its own: here its answers are made up."""
    stored_seconds(system, "lab/hip", "motion/accelerometer", 6)
    page = browser.page(height=1700)
    now = int(time.time() * 1e6)
    open_view(page, system, f"#/device/lab/hip?from={now - 20_000_000}&to={now}&plot=lab/hip:motion/accelerometer", "document.querySelectorAll('.chart').length === 1")
    page.expect("document.querySelector('.chart-note').hidden", 20)
    page.evaluate("""(() => { window.sent = []; const real = window.fetch; window.fetch = async (url, options) => {
        if (!String(url).endsWith('/devices/lab/hip/deletions')) return real(url, options);
        const body = JSON.parse(options.body); window.sent.push(body);
        return { ok: true, status: 200, json: async () => ({ samples: 42, from: body.from, to: body.to, days: [{ stream: body.stream, count: 42, first: body.from, last: body.to }] }) }; }; })()""")
    drag(page, 0.5, 0.9)
    page.evaluate("[...document.querySelectorAll('.selection-bar button')].find((button) => button.textContent === 'Delete').click()")
    page.expect("/^42 stored samples, from /.test(document.querySelector('dialog[open] [role=status]').textContent)", 10, "a preview")
    assert page.evaluate("window.sent.every(({ dry_run }) => dry_run)"), "a deletion without a confirmation"
    page.evaluate("document.querySelector('dialog[open] form').requestSubmit()")
    page.expect("window.sent.length === 2 && /^42 samples are being deleted$/.test(document.querySelector('dialog[open] [role=status]').textContent)", 10, "the deletion")
    sent = page.evaluate("window.sent[1]")
    assert sent["stream"] == "motion/accelerometer" and sent["dry_run"] is False and 7.5e6 < sent["to"] - sent["from"] < 8.5e6, sent
    no_errors(page, ALLOWED)
    leave(page)


def a_retired_device_is_forgotten(system, browser):
    """A device that is online is refused with a reason; one that has stopped leaves the list, and its samples stay."""
    with System(system.programs, [("lab/left", "simulate:1"), ("lab/old", "simulate:2")]) as own:
        own.wait_for_samples()
        own.wait(lambda: (own.get("/api/v1/devices/lab/old") or {}).get("stored"), "the server knows what is stored")
        page = browser.page(height=2400)
        open_view(page, own, "#/device/lab/old", "[...document.querySelectorAll('#control button')].some((button) => button.textContent === 'Forget this device') && " + f"{text('.link-state')} === 'Live'")
        ask = "[...document.querySelectorAll('#control button')].find((button) => button.textContent === 'Forget this device').click()"
        page.evaluate("[...document.querySelectorAll('#control button')].find((button) => button.textContent === 'Rename or move').click()")
        commands = "[...document.querySelectorAll('dialog[open] code')].map((command) => command.textContent).join('|')"
        page.expect(f"{commands} === 'lockstep-agent --group lab --device old --source none|lockstep-agent --group GROUP --device NAME --source …|lockstep forget lab/old'", 10, "the commands")
        page.evaluate("(() => { const field = document.querySelectorAll('dialog[open] input')[1]; field.value = 'new-1'; field.dispatchEvent(new Event('input')); })()")
        page.expect(f"{commands}.includes('--group lab --device new-1 --source …')", 10, "the commands with the new name")
        page.evaluate("document.querySelector('dialog[open] form').requestSubmit()")
        assert page.evaluate("document.querySelector('dialog[open] form') !== null"), "Enter closes the dialog"
        page.evaluate("(() => { const field = document.querySelectorAll('dialog[open] input')[1]; field.value = 'a b; c'; field.dispatchEvent(new Event('input')); })()")
        page.expect(f"{commands}.includes('--group GROUP --device NAME')", 10, "no command for a name that is none")
        problems = page.evaluate((HERE / "accessibility.js").read_text())
        assert not problems, problems
        page.key("Escape")
        page.expect("!document.querySelector('dialog')")
        page.evaluate(ask)
        page.expect("/Stored samples, which stay[0-9\\s]+/.test(document.querySelector('dialog[open] .facts').textContent)", 10, "a preview")
        page.evaluate("document.querySelector('dialog[open] form').requestSubmit()")
        page.expect("/is online/.test(document.querySelector('dialog[open] [role=status]').textContent)", 30, "the refusal")
        own.stop("lab/old")
        own.wait(lambda: (own.get("/api/v1/devices/lab/old") or {}).get("state") == "terminated", "the device has stopped")
        page.evaluate("document.querySelector('dialog[open] form').requestSubmit()")
        page.expect("location.hash === '#/' && document.querySelectorAll('.fleet-row[data-key]').length === 1", 40, "the list without the device")
        assert own.get("/api/v1/devices/lab/old/streams/motion/accelerometer?every=1s&from=-10m")["rows"], "the samples are gone"
        # The view may ask for the device once more while it is being forgotten.
        no_errors(page, (*ALLOWED, "409", "404"))
        leave(page)


ALL = [an_area_is_drawn_and_tested, areas_of_rules_are_on_the_map, many_devices_are_grouped_on_the_map, a_link_keeps_the_plots_of_the_device, the_state_bar_follows_the_past, activities_are_shown_over_time, a_mean_is_that_of_the_samples, all_open_events_are_counted, several_devices_share_a_plot, a_selection_is_deleted_after_a_preview, a_retired_device_is_forgotten, maps_without_tiles_show_the_world, the_page_can_be_installed, the_first_view_is_fast, events_are_filtered_and_acknowledged_together, the_fleet_is_arranged, what_is_shown_is_downloaded, streams_are_listed, one_cursor_moves_everything, a_selection_is_measured]
