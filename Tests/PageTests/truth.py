"""The page says what is so: parts that are away, many windows, values that were measured, and what a click really does."""

import contextlib
import json
import pathlib
import re
import signal
import sqlite3
import time

from system import System

HERE = pathlib.Path(__file__).resolve().parent
# Errors of the browser about a server that was stopped on purpose. The icon is asked for again with each address.
EXPECTED = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "Failed to load resource",
            "icon from the Manifest")


def open_view(page, system, view, ready):
    page.open("about:blank")
    page.open(f"{system.url}/{view}")
    page.expect(ready, 30, f"{view} shows {ready}")


def text(selector):
    return f"(document.querySelector({json.dumps(selector)})?.textContent ?? '')"


def radio(within, label):
    return f"[...document.querySelectorAll({json.dumps(within + ' [role=radio]')})].find((button) => button.textContent === {json.dumps(label)})"


def no_errors(page, allowed=()):
    wrong = [error for error in page.errors if not any(part in error for part in allowed)]
    assert not wrong, f"errors in the console: {wrong[:5]}"


def window(browser, **options):
    """A page that is visible also beside others, as windows are."""
    page = browser.page(**options)
    page.call("Emulation.setFocusEmulationEnabled", enabled=True)
    return page


def parts_that_are_away_are_reported(system, browser):
    """Collector, broker and store end and return: each view shows it within 5 s, and what they would report is not known."""
    notes = []
    with System(system.programs, [("lab/left", "simulate:1")], served_store="served.db") as own:
        own.wait_for_samples()
        fleet, device = window(browser), window(browser, height=1700)
        open_view(fleet, own, "#/", f"{text('.fleet-row[data-key] .state-word')} === 'Active' && {text('.link-state')} === 'Live'")
        open_view(device, own, "#/device/lab/left", f"/Every batch|on the way/.test({text('.verdict')})")

        def within(what, conditions):
            began = time.monotonic()
            for page, condition in conditions:
                page.expect(condition, 6, what)
            notes.append(f"{what} {time.monotonic() - began:.1f} s")
            assert time.monotonic() - began < 5, notes[-1]

        own.stop("collector", signal.SIGKILL)
        within("collector away", [
            (fleet, f"{text('.link-state')} === 'Not stored' && /^Nothing new is stored: collector main is offline/.test({text('#banner')})"),
            (fleet, f"document.querySelector('.promise').dataset.kind === 'warn' && {text('.fleet-row[data-key] .state-word')} === 'Unknown'"),
            (device, f"/^New samples are not stored/.test({text('.verdict')}) && /new ones wait/.test({text('.figures')})")])
        own.start_collector()
        own.wait(lambda: "online" in json.dumps(own.get("/api/v1/system")), "the collector is back")
        within("collector back", [
            (fleet, f"{text('.link-state')} === 'Live' && document.getElementById('banner').hidden && {text('.fleet-row[data-key] .state-word')} === 'Active'"),
            (device, f"!/not stored/.test({text('.verdict')})")])

        link = own.folder / "served.db"
        link.rename(own.folder / "away.db")
        within("store away", [(fleet, f"{text('.link-state')} === 'No store' && {text('.cell-missing')} === '–' && /cannot read the store/.test({text('#banner')})")])
        (own.folder / "away.db").rename(link)
        within("store back", [(fleet, f"{text('.link-state')} === 'Live' && {text('.cell-missing')} === '0'")])

        own.stop("broker", signal.SIGKILL)
        within("broker away", [
            (fleet, f"{text('.link-state')} === 'No broker' && {text('.fleet-row[data-key] .state-word')} === 'Unknown'"),
            (device, f"{text('.device-state .state-word')} === 'Unknown' && /no connection to the broker/.test({text('#banner')})")])
        own.start_broker()
        # Server, collector and agent connect again after a while: the page follows what they report.
        own.wait(lambda: own.get("/readyz") is not None and "online" in json.dumps(own.get("/api/v1/system")), "the broker is back")
        own.wait(lambda: (own.get("/api/v1/devices/lab/left") or {}).get("state") == "active", "the device is back", 60)
        within("broker back", [(fleet, f"{text('.link-state')} === 'Live' && {text('.fleet-row[data-key] .state-word')} === 'Active' && document.getElementById('banner').hidden")])
        no_errors(fleet, EXPECTED)
        fleet.close()
        device.close()
    return ", ".join(notes)


def without_a_store_nothing_is_claimed(system, browser):
    with System(system.programs, [("lab/left", "simulate:1")], served_store=None) as bare:
        bare.wait_for_samples()
        page = browser.page()
        open_view(page, bare, "#/", f"{text('.fleet-row[data-key] .state-word')} === 'Active'")
        page.expect(f"{text('.cell-missing')} === '–' && {text('.promise-long')} === 'Stored samples not known'", what="missing batches that are not known")
        assert page.evaluate("document.getElementById('banner').hidden"), "a server without a store has a problem"
        no_errors(page, ("503",))
        page.close()


def the_promise_is_shown_in_narrow_windows(system, browser):
    """What is stored and on its way is in the header where there is room, and always in the view of the system."""
    for width in (320, 390, 760, 1000, 1100, 1440):
        page = browser.page(width=width)
        open_view(page, system, "#/system", f"/^[0-9\u202f]+ samples? stored, ([0-9\u202f]+ batch(es)?|none) on the way$/.test([...document.querySelectorAll('#store dt')].find((item) => item.textContent === 'Delivery')?.nextElementSibling.textContent)")
        page.expect("document.documentElement.scrollWidth <= innerWidth", 10, f"no scrolling sideways at {width} px")
        page.expect(f"(document.querySelector('.promise').getBoundingClientRect().width > 40) === {str(width not in (320, 760)).lower()}", 10, f"whether the promise is shown at {width} px")
        if width in (1000, 1100, 1440):
            page.expect("(() => { const box = document.querySelector('.promise'); return / stored/.test(box.innerText) && box.scrollWidth <= box.clientWidth; })()", 10, f"the promise at {width} px")
        no_errors(page)
        page.close()


def values_stay_with_their_units(system, browser):
    """At 320 px, each value of a stream is on one line with its name and its unit."""
    page = browser.page(320, 640, 2, True)
    open_view(page, system, "#/device/lab/left", "document.querySelectorAll('.stream-values b').length > 20")
    page.expect("[...document.querySelectorAll('.stream-values span span')].every((value) => value.getBoundingClientRect().height < 26)", 10, "values on one line")
    page.expect("document.documentElement.scrollWidth <= 320", 5, "no scrolling sideways")
    no_errors(page)
    page.close()


def streams(system):
    """The number of event streams that the server sends."""
    lines = system.get("/metrics").decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("lockstep_serve_subscribers{"))


def ten_windows_share_one_connection(system, browser):
    """Browsers allow six connections to a server: each window shows live plots, and the server has three streams."""
    system.wait(lambda: streams(system) == 0, "no page of before is connected", 60)
    pages = []
    for number in range(10):
        # So high that both plots are in view: others do not draw.
        page = window(browser, height=1700)
        pages.append(page)
        page.open(f"{system.url}/#/device/lab/{['left', 'hip'][number % 2]}")
        # Before the next window covers it: a hidden one does not draw.
        page.expect("document.querySelectorAll('.chart').length === 2 && [...document.querySelectorAll('.chart .legend-item[aria-pressed=true] .legend-value')].every((value) => /[0-9]/.test(value.textContent))", 60, f"live values in window {number + 1}")
        page.expect(f"{text('.link-state')} === 'Live'", 10)
    system.wait(lambda: streams(system) == 3, "ten windows have three event streams")
    # A window that is closed takes nothing from the others.
    for page in pages[:9]:
        page.close()
    last = pages[9]
    shown = last.evaluate(text(".chart .legend-value"))
    last.expect(f"{text('.chart .legend-value')} !== {json.dumps(shown)}", 10, "live values after the other windows were closed")
    no_errors(last)
    last.close()


def windows_without_shared_workers_share_one_connection(system, browser):
    """One of the windows has the connection of all. When it is closed, another one has it."""
    pages = []
    for number in range(5):
        page = window(browser, height=1700)
        page.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.SharedWorker")
        pages.append(page)
        open_view(page, system, f"#/device/lab/{['left', 'hip'][number % 2]}", f"{text('.link-state')} === 'Live' && document.querySelectorAll('.chart').length === 2")
        page.expect("[...document.querySelectorAll('.chart .legend-item[aria-pressed=true] .legend-value')].every((value) => /[0-9]/.test(value.textContent))", 60, f"live values in window {number + 1}")
    system.wait(lambda: streams(system) == 3, "five windows have three event streams")
    pages.pop(0).close()
    over = int(time.time() * 1000) + 8_000
    for page in pages:
        # Plots are up to 4 s behind, and show a value for 2 s more: then they have shown all that arrived before.
        page.expect(f"Date.now() > {over}", 30, "the end of what had arrived")
        shown = page.evaluate(text(".chart .legend-value"))
        page.expect(f"/[0-9]/.test({text('.chart .legend-value')}) && {text('.chart .legend-value')} !== {json.dumps(shown)} && {text('.link-state')} === 'Live'", 30, "live values after the window with the connection was closed")
    system.wait(lambda: streams(system) == 3, "one of the others has the connection")
    for page in pages:
        no_errors(page)
        page.close()


# A saw tooth of 40 s at 10 Hz is drawn, then its range changes, and the columns of pixels with two curves are counted.
GHOST = """(async () => {
    const { LiveLayer } = await import('/assets/plot/live-layer.js');
    const { SampleRing } = await import('/assets/pure/ring.js');
    const ring = new SampleRing(1, 1024);
    const start = 1e15;
    const area = { x: 0, y: 0, width: 800, height: 200 };
    const canvas = Object.assign(document.createElement('canvas'), area);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    const layer = new LiveLayer();
    let worst = 0;
    for (let i = 0; i < 600; i += 1) {
        ring.append(start + i * 1e5, [i / 10 % 40]);
        if (i < 400 || i % 5) continue;
        context.clearRect(0, 0, area.width, area.height);
        // Each frame has another range, as after a change of size or columns.
        layer.draw(context, area, { ring, factors: [1], offsets: [0], columns: [0], colours: ['#f00'], circular: [false], gapColour: '#eee', range: { low: -i / 600, high: 41 }, time: start + i * 1e5, span: 30e6, scale: 1, isGapBefore: () => false });
        const { data } = context.getImageData(0, 0, area.width, area.height);
        let twice = 0;
        for (let x = 0; x < area.width; x += 1) {
            let runs = 0, last = -99;
            for (let y = 0; y < area.height; y += 1) {
                if (data[4 * (y * area.width + x) + 3] < 128) continue;
                if (y - last > 10) runs += 1;
                last = y;
            }
            if (runs > 1) twice += 1;
        }
        worst = Math.max(worst, twice);
    }
    return worst;
})()"""


def live_plots_have_one_curve(system, browser):
    """A change of the range does not paint samples of 31 s ago beside those of now."""
    page = browser.page()
    open_view(page, system, "#/system", "document.querySelectorAll('.card').length > 2")
    twice = page.evaluate(GHOST)
    assert twice <= 3, f"{twice} columns of pixels show two curves"
    no_errors(page)
    page.close()


def the_cursor_shows_what_was_measured(system, browser):
    """A spike in a plot of a long range: lowest and highest value, mean and number of samples; never a middle."""
    with System(system.programs) as own:
        own.wait(lambda: "online" in json.dumps(own.get("/api/v1/system") or {}), "the collector is online")
        now = int(time.time() * 1e6)
        first = now - 86_400_000_000
        # An hour at 1 Hz, with one sample of 900 hPa above the others.
        for part in range(6):
            start = first + part * 600_000_000
            values = [1900 if part == 3 and i == 300 else 1000 + i % 2 for i in range(600)]
            own.publish("lockstep/lab/spike/pressure", json.dumps({"v": 1, "epoch": "e", "seq": part + 1, "t": start, "dt": 1_000_000, "pressure": values}))
        own.publish("lockstep/lab/spike/pressure", json.dumps({"v": 1, "epoch": "e", "seq": 7, "t": now, "pressure": [1000]}))
        path = f"/api/v1/devices/lab/spike/streams/pressure?from={first}&to={now}&every=1d"
        own.wait(lambda: sum(row[1] for row in (own.get(path) or {}).get("rows", [])) >= 3600, "the samples are stored")
        page = browser.page(height=1700)
        open_view(page, own, "#/device/lab/spike", "document.querySelector('.chart')")
        page.evaluate(f"{radio('#plots', '7 d')}.click()")
        page.expect("performance.getEntriesByType('resource').some(({ name, responseEnd }) => responseEnd > 0 && /pressure.*points=/.test(name)) && !document.querySelector('.chart[data-loading]')", 30, "the past")
        found = page.evaluate("""(async () => {
            const canvas = document.querySelector('.chart-canvas');
            const box = canvas.getBoundingClientRect();
            let best = '';
            // An hour of yesterday is about five pixels wide.
            for (let x = Math.floor(box.width * 0.84); x < box.width * 0.9; x += 1) {
                canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + 40, pointerType: 'mouse', bubbles: true }));
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                const shown = document.querySelector('.legend-value').textContent;
                if (/…/.test(shown) && /1[0-9]{3}/.test(shown) && !best.includes('1900')) best = shown;
                if (shown.includes('1900')) break;
            }
            return best;
        })()""")
        assert "1000" in found and "1900" in found, f"under the cursor: {found!r}"
        page.expect(f"/mean 100[0-9]/.test({text('.legend-value')}) && /^[0-9\\u202f]+ samples$/.test({text('.chart-count')})", 10, "mean and number")
        # No agent answers commands.
        no_errors(page, ("Canvas2D: Multiple readback", "504"))
        page.close()
        return found


def plots_tell_what_was_summarised(system, browser):
    """Of times whose samples have left, a plot shows summaries and says so; the means of buckets and selections are of all their minutes."""
    with System(system.programs) as own:
        own.wait(lambda: "online" in json.dumps(own.get("/api/v1/system") or {}), "the collector is online")
        minute = 60_000_000
        now = int(time.time() * 1e6)
        first = now // minute * minute - 1500 * minute
        own.publish("lockstep/lab/old/pressure", json.dumps({"v": 1, "epoch": "e", "seq": 1, "t": now, "pressure": [1000]}))
        path = f"/api/v1/devices/lab/old/streams/pressure?from={first}&to={now + 1}"
        own.wait(lambda: (own.get(path) or {}).get("rows"), "the sample is stored")
        with contextlib.closing(sqlite3.connect(own.folder / "samples.db", timeout=30)) as store:
            store.execute("CREATE TABLE _minutes_pressure (device_id INTEGER, t INTEGER, samples INTEGER, pressure_sum REAL, pressure_count INTEGER, pressure_min REAL, pressure_max REAL, PRIMARY KEY (device_id, t)) WITHOUT ROWID")
            # A straight line: the mean of several minutes is in the middle between the least and the greatest value.
            store.executemany("INSERT INTO _minutes_pressure SELECT device_id, ?, 60, ?, 60, ?, ? FROM _devices",
                [(first + i * minute, 60 * (1000 + i), 1000 + i, 1000 + i) for i in range(1440)])
            store.commit()
        page = browser.page(width=900, height=1700)
        # The view has the first day only; what is loaded around it has the sample of today.
        open_view(page, own, f"#/device/lab/old?from={first}&to={first + 1440 * minute}&plot=lab/old:pressure", "document.querySelectorAll('.chart').length === 1")
        page.expect(f"{text('.chart-source')} === 'partly from summaries'", 30, "what was loaded, with the sample of today")
        canvas = "document.querySelector('.chart-canvas')"
        page.evaluate(f"""{canvas}.dispatchEvent(new PointerEvent('pointermove', {{ clientX: {canvas}.getBoundingClientRect().left + 400, clientY: {canvas}.getBoundingClientRect().top + 40, pointerType: 'mouse', bubbles: true }}))""")
        page.expect(f"/mean/.test({text('.legend-value')})", 20, "the mean of a bucket")
        shown = page.evaluate(text(".legend-value"))
        low, high, mean = (float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", shown.replace("\u202f", "")))
        assert high > low and abs(mean - (low + high) / 2) < 0.3, f"not all minutes of the bucket: {shown!r}"
        page.evaluate(f"{radio('#plots', '5 min')}.click()")
        page.expect(f"{text('.chart-source')} === ''", 20, "samples")
        # No agent answers commands.
        no_errors(page, ("Canvas2D: Multiple readback", "504"))
        page.close()
        return shown


def labels_of_axes_are_complete(system, browser):
    """The labels of an axis have the room that they need: the first columns of pixels are free."""
    page = browser.page(height=1700)
    open_view(page, system, "#/device/lab/hip?plot=lab/hip:pressure", "document.querySelectorAll('.chart').length === 1")
    page.expect(f"/^10[0-9]{{2}}\\.[0-9]{{2,}}$/.test({text('.legend-value')})", 30, "a pressure with the decimals of its axis")
    page.drain(1)
    used = page.evaluate("""(() => { const canvas = document.querySelector('.chart-canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, 2, canvas.height);
        return data.some((value, i) => i % 4 === 3 && value > 0); })()""")
    assert not used, "labels are cut at the left edge"
    no_errors(page, ("Canvas2D: Multiple readback",))
    page.close()


def ranges_follow_the_time(system, browser):
    page = browser.page(height=1700)
    open_view(page, system, "#/device/lab/left", "document.querySelectorAll('.chart').length === 2")
    page.evaluate(f"{radio('#plots', '5 min')}.click()")
    shown = "document.querySelector('#plots .card-note').textContent"
    page.expect(f"/– now · 5 min 00 s$/.test({shown})")
    before = page.evaluate(shown)
    page.expect(f"/– now · 5 min 00 s$/.test({shown}) && {shown} !== {json.dumps(before)}", 10, "a range that follows the time")
    loads = "performance.getEntriesByType('resource').filter(({ name }) => /accelerometer.*points=/.test(name)).length"
    page.expect(f"{loads} >= 2", 20, "the newest samples are loaded")
    page.evaluate("document.querySelector('.chart-canvas').focus()")
    page.key("ArrowLeft")
    page.expect(f"!/now/.test({shown}) && document.querySelector('#plots [data-value=\"300\"]').getAttribute('aria-checked') === 'false'", what="a range that was moved stands still")
    no_errors(page, ("Canvas2D: Multiple readback",))
    page.close()


def a_view_is_shown_while_the_server_is_away(system, browser):
    with System(system.programs) as own:
        page = browser.page()
        open_view(page, own, "#/", f"{text('.link-state')} === 'Live'")
        own.stop("server", signal.SIGKILL)
        page.evaluate("location.hash = '#/events'")
        page.expect(f"{text('#main h1')} === 'Events' && document.title.startsWith('Events')", 5, "the view of the address")
        own.start_server()
        page.expect(f"{text('.link-state')} === 'Live'", 30)
        no_errors(page, EXPECTED)
        page.close()


def a_session_that_ends_is_asked_for_once(system, browser):
    """The token of a session is removed: the page asks for another one, and does not go on with wrong logins."""
    with System(system.programs, token="operator-0123456789") as guarded:
        page = browser.page()
        login = "document.querySelector('dialog[open] input[type=password]')"
        page.open(f"{guarded.url}/#/")
        page.expect(login, 20)
        page.type("operator-0123456789")
        page.key("Enter")
        page.expect(f"{text('.link-state')} === 'Live'", 20)
        guarded.stop("server")
        guarded.token = "operator-9876543210"
        guarded.start_server()
        page.expect(login, 30, "the question for another token")
        page.drain(1)
        log = guarded.folder / "server.log"
        refused = log.read_text().count("login refused")
        page.drain(4)
        assert refused and log.read_text().count("login refused") == refused, "the page goes on with a session that is refused"
        page.evaluate(f"{login}.focus()")
        page.type("operator-9876543210")
        page.key("Enter")
        page.expect(f"{text('.link-state')} === 'Live'", 20, "the connection with the new session")
        no_errors(page, (*EXPECTED, "401"))
        page.close()


def a_phase_is_not_changed_by_arrow_keys(system, browser):
    page = browser.page(height=1700)
    open_view(page, system, "#/device/lab/left", "document.querySelector('#control [data-value=foreground][aria-checked=true]')")
    # Commands are recorded, and not sent.
    page.evaluate("""(() => { window.sent = []; const real = window.fetch; window.fetch = (url, options) => {
        if (!String(url).endsWith('/commands') || !/phase/.test(options?.body ?? '')) return real(url, options);
        window.sent.push(options.body); return real('/healthz'); }; })()""")
    page.evaluate("document.querySelector('#control [data-value=foreground]').focus()")
    page.key("ArrowRight")
    page.key("ArrowRight")
    page.expect("document.activeElement.dataset.value === 'background'")
    assert page.evaluate("window.sent.length") == 0, "arrow keys have sent a command"
    page.key("Enter")
    page.expect("document.querySelector('dialog[open]')", what="a question before recording stops")
    page.evaluate("document.querySelector('dialog[open] [value=no]').click()")
    page.expect("!document.querySelector('dialog[open]')")
    assert page.evaluate("window.sent.length") == 0, "a command without a confirmation"
    page.evaluate("document.querySelector('#control [data-value=background]').click()")
    page.expect("document.querySelector('dialog[open]')")
    page.evaluate("document.querySelector('dialog[open] [value=yes]').click()")
    page.expect("window.sent.length === 1", what="the command after the confirmation")
    no_errors(page)
    page.close()


def a_link_shows_the_same(system, browser):
    """Plots with their columns, the range and a mark are in the address; what a person has chosen is kept for the device."""
    page = browser.page(height=1700)
    charts = "[...document.querySelectorAll('.chart-title')].map((title) => title.textContent).join()"
    open_view(page, system, "#/device/lab/wrist?span=300&plot=lab/wrist:motion/gyroscope:x&plot=lab/hip:motion/accelerometer", f"{charts} === 'Gyroscoperad/s,hipAccelerometerg'")
    assert page.evaluate("document.querySelectorAll('.chart')[0].querySelectorAll('.legend-item[aria-pressed=true]').length") == 1, "more columns than in the link"
    assert page.evaluate("document.querySelector('#plots [data-value=\"300\"]').getAttribute('aria-checked')") == "true", "another range than in the link"
    page.evaluate("document.querySelectorAll('.chart')[1].querySelector('button[aria-label^=Remove]').click()")
    page.evaluate("[...document.querySelectorAll('.chart .legend-item')].find((item) => item.textContent.startsWith('y')).click()")
    page.expect("location.hash === '#/device/lab/wrist?span=300&plot=lab/wrist:motion/gyroscope:x,y'", what="the changes in the address")
    # Without them in the address, the device has the plots that were chosen before.
    open_view(page, system, "#/device/lab/wrist", f"{charts} === 'Gyroscoperad/s'")
    page.evaluate("document.querySelector('[aria-label=\"Copy link to this moment\"]').click()")
    page.expect("/^(Link copied|The link is in the address bar)$/.test(document.querySelector('#plots .card-note').textContent)")
    seconds = "/api/v1/devices/lab/wrist/streams/motion/gyroscope?every=1s"
    system.wait(lambda: len((system.get(seconds) or {}).get("rows", [])) >= 8, "samples of 8 s are stored")
    now = int(time.time() * 1e6)
    open_view(page, system, f"#/device/lab/wrist?from={now - 20_000_000}&to={now}&at={now - 5_000_000}", "document.querySelectorAll('.chart').length === 1")
    page.expect("/^[0-9]+ [A-Z][a-z]{2} [0-9]{4}, /.test(document.querySelector('#plots .card-note').textContent) && /[0-9]/.test(document.querySelector('.legend-value').textContent)", 20, "values at the mark")
    # What is shown of the fleet is in its address, so that Back returns to it.
    open_view(page, system, "#/", "document.querySelectorAll('.fleet-row[data-key]').length > 1")
    page.evaluate("document.querySelector('[data-search]').focus()")
    page.type("hip")
    page.expect("location.hash === '#/?search=hip' && document.querySelectorAll('.fleet-row[data-key]').length === 1")
    page.evaluate("document.querySelector('.fleet-row[data-key] a').click()")
    page.expect("document.querySelector('.device-title h1')?.textContent === 'hip'")
    page.evaluate("history.back()")
    page.expect("document.querySelector('[data-search]')?.value === 'hip' && document.querySelectorAll('.fleet-row[data-key]').length === 1", 10, "the search after Back")
    no_errors(page, ("Canvas2D: Multiple readback",))
    page.close()


def ranges_and_zones_are_chosen(system, browser):
    """A range by its start and end; local times or UTC, and units, for all views."""
    page = browser.page(height=1700)
    page.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    open_view(page, system, "#/device/lab/hip", "document.querySelectorAll('.chart').length === 2")
    page.evaluate("document.querySelector('[aria-label=\"Choose a time range\"]').click()")
    page.expect("/UTC\\+5:30/.test(document.querySelector('dialog[open]').textContent)")
    fields = "[...document.querySelectorAll('dialog[open] input')]"
    page.evaluate(f"(() => {{ const [from, to] = {fields}; from.value = '2026-01-02T03:00:00'; to.value = '2026-01-02T02:00:00'; from.form.requestSubmit(); }})()")
    page.expect("!document.querySelector('dialog[open] [role=alert]').hidden", what="a start after the end is refused")
    page.evaluate(f"(() => {{ const [from, to] = {fields}; to.value = '2026-01-02T04:00:00'; to.form.requestSubmit(); }})()")
    shown = "document.querySelector('#plots .card-note').textContent"
    page.expect(f"{shown} === '2 Jan, 03:00:00 – 2 Jan, 04:00:00 · 1 h 00 min'")
    page.expect("/from=1767303000000000&to=1767306600000000/.test(location.hash)", what="the range in the address")
    page.evaluate("document.getElementById('more').open = true")
    page.evaluate(f"{radio('#more', 'UTC')}.click()")
    page.expect(f"{shown} === '1 Jan, 21:30:00 – 1 Jan, 22:30:00 · 1 h 00 min'", what="the same range in UTC")
    page.evaluate(f"{radio('#more', 'mi')}.click()")
    page.expect(f"/ ft altitude/.test({text('.track-text')}) && / ft$|mi$/.test({text('.leaflet-control-scale-line')})", 20, "feet and miles")
    problems = page.evaluate((HERE / "accessibility.js").read_text())
    assert not problems, problems
    page.evaluate(f"{radio('#more', 'km')}.click()")
    page.evaluate(f"{radio('#more', 'Local')}.click()")
    page.expect(f"{shown}.startsWith('2 Jan, 03:00:00')")
    no_errors(page, ("Canvas2D: Multiple readback",))
    page.close()


def bouncer_is_under_more(system, browser):
    page = browser.page()
    open_view(page, system, "#/device/lab/left", "document.querySelector('.device-title h1')")
    page.evaluate("document.querySelector('#more summary').focus()")
    page.key("Enter")
    page.expect("document.getElementById('more').open")
    page.key("Tab")
    page.key("Enter")
    page.expect("location.hash === '#/bouncer/lab/left' && !document.getElementById('more').open", what="the game with the device in view")
    no_errors(page)
    page.close()


ALL = [the_promise_is_shown_in_narrow_windows, values_stay_with_their_units, a_link_shows_the_same, ranges_and_zones_are_chosen, bouncer_is_under_more, ten_windows_share_one_connection, windows_without_shared_workers_share_one_connection, live_plots_have_one_curve, the_cursor_shows_what_was_measured, plots_tell_what_was_summarised,
       labels_of_axes_are_complete, ranges_follow_the_time, a_view_is_shown_while_the_server_is_away, a_phase_is_not_changed_by_arrow_keys, a_session_that_ends_is_asked_for_once,
       without_a_store_nothing_is_claimed, parts_that_are_away_are_reported]
