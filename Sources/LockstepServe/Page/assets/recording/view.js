/** One session: its state and devices, its markers, and the plots and models of all its devices with one cursor. */

import { devicePath, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { emptyState, h, icon, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { LiveSamples } from "../core/live.js";
import { session as login } from "../core/session.js";
import { stored } from "../core/settings.js";
import { announce } from "../core/shell.js";
import { attitudeCard } from "../device/attitude.js";
import { Moment } from "../device/moment.js";
import { trackCard } from "../device/track.js";
import { PlotPanel } from "../plot/panel.js";
import { plottable } from "../pure/columns.js";
import { alignment, bothMarkers, otherOf, pairsOf } from "../pure/comparison.js";
import { dateTime, duration } from "../pure/format.js";
import { canStop, isRunning, isSameMarker, progressText, sessionRange } from "../pure/recording.js";
import { askComparison } from "./compare-dialog.js";
import { devicesCard } from "./devices.js";
import { askDelete, askEdit } from "./dialogs.js";
import { gapsCard } from "./gaps.js";
import { showList } from "./list.js";
import { markersCard } from "./markers.js";
import { ask, repeat, sessionAddress, sessionPath, started } from "./requests.js";
import { stateBadge } from "./state-badge.js";

/** The plots, models and maps that are shown without a choice. */
const MOST_PLOTS = 8;
const MOST_CARDS = 4;
/** The time that a collector has to show a session that was just started, in µs. */
const PATIENCE = 15e6;

/** @param {HTMLElement} main @param {{group?: string, id?: string, query: URLSearchParams}} route */
export function show(main, { group, id, query }) {
    if (!group || !id) return showList(main, { query });
    const key = { group, id };
    const withKey = otherOf(query);
    const kept = /** @type {[string, string][]} */ (withKey ? [["with", `${withKey.group}/${withKey.id}`], ["align", query.get("align") ?? ""]] : []);
    const place = `session ${group}/${id}${withKey ? ` with ${withKey.group}/${withKey.id}` : ""}`;
    const live = new LiveSamples();
    const moment = new Moment(live);
    const panel = new PlotPanel({ live, moment, group, device: "", query, kept, place, isOnCollectorTime: true });
    // A session has no other clock.
    panel.clock.hidden = true;
    const chosen = query.has("plot") ? query.getAll("plot") : stored(`plots ${place}`, null);
    let isRangeChosen = query.has("from") || query.has("span");
    /** @type {import("../pure/recording.js").Recording|null} */
    let session = null;
    /** Markers that were sent, until the collector has them. @type {import("../pure/recording.js").Marker[]} */
    let sent = [];
    /** The one that is laid over it. @type {import("../pure/recording.js").Recording|null} */
    let second = null;
    let drawn = "";
    let isBuilt = false;
    let isOver = false;
    /** @type {{element: HTMLElement, close?: () => void}[]} */
    let cards = [];

    const title = h("h1", null, id);
    const state = h("span", { class: "session-state" });
    const progress = h("span", { class: "num muted", role: "timer" });
    const facts = h("p", { class: "event-facts" });
    const comparison = h("span", { role: "status" }, withKey && `With ${withKey.id}`);
    const compared = h("p", { class: "event-facts compared", hidden: !withKey }, comparison, h("a", { class: "button", href: sessionAddress(key) }, "End comparison"));
    const problem = h("p", { class: "message", role: "alert", hidden: true, data: { kind: "bad" } });
    const act = (text, run, more = {}) => h("button", { class: "button", type: "button", onclick: () => attempt(run), ...more }, text);
    const stop = act("Stop", () => ask(key, "stop"), { class: "button primary", hidden: true });
    const edit = login.canOperate && act("Edit", () => session && askEdit(session, reload));
    const compare = act("Compare", () => session && askComparison(session), { hidden: true });
    const remove = login.canOperate && act("Delete", () => session && askDelete(session));
    const file = (format) => h("a", { class: "button", download: `${id}.${format}`, href: `/api/v1${sessionPath(group, id)}/export?format=${format}`, title: `All samples and markers as in lockstep export session ${id} --out ${id}.${format}` }, icon("download"), format.toUpperCase());
    const files = h("span", { class: "row-tools", role: "group", "aria-label": "Download", hidden: true }, file("mcap"), file("xdf"));
    const text = h("input", { class: "field", "aria-label": "Text of the marker", placeholder: "Marker", maxLength: 200 });
    const marking = h("form", { class: "mark-form", hidden: true, onsubmit: (event) => { event.preventDefault(); attempt(mark); } },
        text, h("button", { class: "button", type: "submit", title: "Key M. During a recording now, otherwise at the mark of the plots" }, "Mark"));
    const devices = devicesCard();
    const markers = markersCard({ canEdit: login.canOperate, onshow: (t) => panel.showMoment(t), markOf: () => panel.markedTime, onsent: reload });
    const gaps = gapsCard({ onshow: (t) => panel.showMoment(t) });
    const grid = h("div", { class: "device-grid", hidden: true }, devices.element, markers.element, gaps.element, panel.element);
    const missing = h("div");
    main.append(h("div", { class: "view view-session" },
        h("header", { class: "device-head" }, h("nav", { class: "crumbs", "aria-label": "Path" }, h("a", { href: "#/sessions", class: "crumb" }, icon("back"), "Sessions"), h("span", { class: "muted" }, group)),
            h("div", { class: "device-title" }, title, state, progress, h("span", { class: "spacer" }), marking, stop, edit, compare, remove, files), facts, compared, problem), missing, grid));

    let isPollProblem = false;
    // When the second session is loaded again, in ms since 1970.
    let nextSecond = 0;
    const loading = repeat(async (signal) => {
        try {
            const next = await request(sessionPath(group, id), { signal });
            if (isOver) return;
            // In a state, only the newest markers of a long session are sure to be there.
            sent = sent.filter((marker) => !next.markers.some((known) => isSameMarker(known, marker)));
            session = next;
            if (isPollProblem) problem.hidden = true;
            isPollProblem = false;
            draw();
            // The first session does not wait for it. At rest, only people change it.
            if (isBuilt && second && now() >= nextSecond) {
                nextSecond = Infinity;
                loadSecond(signal).then(() => {
                    nextSecond = now() + (second && isRunning(second) ? 1000 : 10_000);
                    if (!isOver) draw();
                });
            }
            // Without its start, nothing can be aligned with it.
            if (!isBuilt && next.devices.length && (!withKey || next.start !== undefined)) build(next, signal);
        } catch (error) {
            if (signal.aborted) return;
            drawn = "";
            const waits = started.address === sessionAddress(key) && now() - started.at < PATIENCE;
            if (error.status === 404 && waits) missing.replaceChildren(emptyState({ symbol: "record", title: "Starting", text: "The collector has the request." }));
            else if (error.status === 404) missing.replaceChildren(emptyState({ symbol: "search", title: "Unknown session", text: started.address === sessionAddress(key) ? "No collector has carried out the request: see the view System." : "It does not exist, or was deleted." }));
            else {
                say(error.message);
                isPollProblem = true;
            }
            if (error.status === 404) {
                session = null;
                for (const part of [grid, stop, compare, marking, files]) part.hidden = true;
            }
        }
    }, 1000);

    function reload() {
        loading.now();
    }

    /** @param {() => unknown} run */
    async function attempt(run) {
        problem.hidden = true;
        try {
            await run();
        } catch (error) {
            say(error.message);
        }
        loading.now();
    }

    function say(reason) {
        setText(problem, reason);
        problem.hidden = false;
    }

    async function mark() {
        if (!session) return;
        const isNow = session.state === "recording";
        const t = isNow ? now() : panel.markedTime;
        if (t === null) throw new Error("Click on a plot first: the marker is set at its mark");
        const marker = { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), t: Math.round(t), text: text.value.trim() || `Marker ${session.marker_count + sent.length + 1}` };
        sent.push(marker);
        draw();
        announce(`${marker.text} marked`);
        try {
            await ask(key, "mark", marker);
        } catch (error) {
            sent = sent.filter((other) => other !== marker);
            throw error;
        }
    }

    /** "M" marks, also while nothing has the focus. @param {KeyboardEvent} event */
    function onkey(event) {
        if (event.key.toLowerCase() !== "m" || event.ctrlKey || event.metaKey || event.altKey || event.repeat || marking.hidden) return;
        if (event.target instanceof Element && event.target.closest("input, select, textarea, dialog")) return;
        event.preventDefault();
        attempt(mark);
    }

    function draw() {
        if (!session) return;
        tick();
        // The rates of devices change without the session. A session that has ended is at rest.
        const content = JSON.stringify([session, sent, second]);
        if (content === drawn && !canStop(session)) return;
        drawn = content;
        missing.replaceChildren();
        grid.hidden = false;
        setText(title, session.name);
        if (state.dataset.state !== session.state) state.replaceChildren(stateBadge(session.state));
        state.dataset.state = session.state;
        const known = [session.start === undefined ? "" : dateTime(session.start), ...Object.entries(session.labels).map(([name, value]) => `${name}=${value}`), session.note ?? ""].filter(Boolean);
        facts.replaceChildren(...known.map((fact) => h("span", { class: "label" }, fact)));
        stop.hidden = !login.canOperate || !canStop(session);
        marking.hidden = !login.canOperate || session.start === undefined;
        // The samples of another session are all past ones.
        compare.hidden = session.start === undefined || isRunning(session);
        files.hidden = session.start === undefined || session.end === undefined;
        const all = { ...session, markers: [...session.markers, ...sent].sort((a, b) => a.t - b.t) };
        devices.update(all);
        gaps.update(session);
        markers.update(all);
        align();
        drawMarkers(all.markers);
        const range = sessionRange(session);
        if (range && !isRunning(session) && !isRangeChosen) panel.showRange(range, session.start);
        isRangeChosen ||= !isRunning(session);
    }

    /** @param {import("../pure/recording.js").Marker[]} markers */
    function drawMarkers(markers) {
        panel.setMarkers(second && panel.other ? bothMarkers(markers, second.markers, panel.other) : markers);
    }

    /** Loads the session that is laid over the first one. Returns whether the plots can be made. @param {AbortSignal} signal */
    async function loadSecond(signal) {
        if (!withKey) return true;
        try {
            second = await request(sessionPath(withKey.group, withKey.id), { signal });
        } catch (error) {
            const isUnknown = error.status === 404;
            if (isUnknown) second = null;
            if (!signal.aborted) setText(comparison, `With ${withKey.id}, which ${isUnknown ? "does not exist, or was deleted" : `could not be loaded: ${error.message}`}`);
            return isUnknown;
        }
        align();
        return true;
    }

    /** Moves the second session to the first one as it is now, and says how. */
    function align() {
        if (!session || !second || !withKey || isOver) return;
        let how = "which has not started";
        if (second.start !== undefined) {
            const wanted = query.get("align") ?? "";
            const { shift, marker } = alignment(session, second, wanted);
            panel.align({ id: second.id, shift });
            how = marker ? `aligned at the marker ${marker}` : wanted ? `aligned at their starts: one of them has no marker ${wanted}` : "aligned at their starts";
        }
        const text = `With ${second.name}, ${how}`;
        if (comparison.textContent !== text) comparison.replaceChildren("With ", h("a", { href: sessionAddress(withKey) }, second.name), `, ${how}`);
    }

    /** What moves between two answers. */
    function tick() {
        if (session) setText(progress, progressText(session, now()));
    }

    /** Plots, models and maps of the devices. */
    async function build(first, signal) {
        isBuilt = true;
        const addresses = first.devices.map(({ device }) => ({ group, device }));
        if (!await loadSecond(signal)) {
            isBuilt = false;
            return;
        }
        const others = (panel.other && second?.devices.map(({ device }) => device)) || [];
        const pairs = pairsOf(addresses.map(({ device }) => device), others);
        const secondOf = (device) => ({ group: second?.group ?? group, device });
        const details = new Map();
        for (const { group: name, device } of [...addresses, ...others.map(secondOf)]) {
            const path = devicePath(name, device);
            if (!details.has(`${name}/${device}`)) details.set(`${name}/${device}`, request(path, { signal }).catch(() => null));
        }
        if (Array.isArray(chosen)) await panel.restore(chosen, details, signal);
        const loaded = new Map(await Promise.all([...details].map(async ([name, detail]) => /** @type {[string, any]} */ ([name, await detail]))));
        if (isOver) return;
        const known = addresses.map((address) => ({ address, detail: loaded.get(`${group}/${address.device}`) })).filter(({ detail }) => detail);
        // Devices that have not sent anything yet.
        if (!known.length) {
            isBuilt = false;
            return;
        }
        const has = (detail, stream) => detail.streams.some((entry) => entry.stream === stream);
        const asked = Object.keys(first.rates);
        const streams = asked.length ? asked : [known.some(({ detail }) => has(detail, "motion/accelerometer")) ? "motion/accelerometer" : known[0].detail.streams[0]?.stream];
        for (const stream of panel.isArranged ? [] : streams) {
            for (const { address, detail } of known) {
                const entry = detail.streams.find((candidate) => candidate.stream === stream);
                if (!entry || !plottable(entry).length || panel.charts.length >= MOST_PLOTS) continue;
                const chart = panel.add({ ...address, stream, rate: entry.rate, columns: plottable(entry) });
                const pair = secondOf(pairs.get(address.device) ?? "");
                const other = loaded.get(`${pair.group}/${pair.device}`)?.streams.find((candidate) => candidate.stream === stream);
                if (other && panel.other) chart.join({ ...pair, stream, rate: other.rate, columns: plottable(other), session: panel.other.id, shift: panel.other.shift });
            }
        }
        panel.empty.hidden = panel.charts.length > 0;
        panel.picker.setDevice(`${group}/${known[0].address.device}`);
        const until = first.end ?? null;
        cards = [
            ...known.filter(({ detail }) => has(detail, "motion/device")).slice(0, MOST_CARDS).map(({ address }) => attitudeCard(address, moment, true, { title: `Attitude of ${address.device}`, id: `attitude-${address.device}` })),
            ...known.filter(({ detail }) => has(detail, "location")).slice(0, MOST_CARDS).map(({ address }) => trackCard(address, moment, true, { title: `Position of ${address.device}`, id: `track-${address.device}`, until })),
        ];
        grid.append(...cards.map(({ element }) => element));
        if (session) drawMarkers(session.markers);
    }

    const timer = setInterval(tick, 100);
    document.addEventListener("keydown", onkey);
    fleet.addEventListener("tick", draw);
    return { title: id, leave() {
        isOver = true;
        loading.stop();
        clearInterval(timer);
        document.removeEventListener("keydown", onkey);
        fleet.removeEventListener("tick", draw);
        for (const part of cards) part.close?.();
        panel.close();
        moment.close();
        panel.picker.close();
        live.close();
    } };
}
