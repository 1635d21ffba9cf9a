/** The life-cycle states of a device over time, with the reasons. */

import { devicePath, isAbort, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, emptyState, h, segmented, setText } from "../core/dom.js";
import { stateWord } from "../core/states.js";
import { day, duration, nearTime, timeOfDay, zoneOffset } from "../pure/format.js";
import { timeTicks } from "../pure/scale.js";
import { intervals, knownUntil, rangeEnd, reasonText, shares } from "../pure/timeline.js";

const SPANS = [{ value: "3600", text: "1 h" }, { value: "21600", text: "6 h" }, { value: "86400", text: "24 h" }, { value: "604800", text: "7 d" }];
/** Time between the last movement of the range and the request, in ms. */
const SETTLE = 110;
/** Time until a failed request is repeated, in ms. */
const RETRY = 2_000;

/** @param {{group: string, device: string}} address @param {import("./moment.js").Moment} moment */
export function timelineCard({ group, device }, moment) {
    let span = 21600;
    /** The end of a range of the past in µs, which the plots show; null for the range that ends now. @type {number|null} */
    let end = null;
    let transitions = null;
    let seq = -1;
    /** When the present state was known last, in µs. */
    let lastKnown = 0;
    let isFirst = true;
    let signature = "";
    const abort = new AbortController();
    const ranges = segmented({ label: "Time range of the states", options: SPANS, value: String(span), onchange: (value) => {
        span = Number(value);
        end = rangeEnd(pastTime(), span * 1e6, null, now());
        forget();
        load();
    } });
    const { element, body, note } = card({ title: "States", id: "states", className: "card-states", tools: ranges.element });
    const bar = h("div", { class: "bar", role: "list", "aria-label": "States over time" });
    const cursor = h("div", { class: "bar-cursor", hidden: true });
    const axis = h("div", { class: "bar-axis num", "aria-hidden": "true" });
    const tip = h("div", { class: "tip", role: "tooltip", hidden: true });
    const detail = h("details", { class: "log" }, h("summary", null, "Changes of state"));
    const table = h("tbody");
    detail.append(h("div", { class: "table-scroll", tabIndex: 0, role: "region", "aria-label": "Changes of state" }, h("table", { class: "table" }, h("thead", null, h("tr", null, ...["Since", "State", "Reason", "Lasted"].map((text) => h("th", { scope: "col" }, text)))), table)));
    body.append(h("div", { class: "bar-wrap" }, bar, cursor, tip), axis, detail);
    bar.append(h("div", { class: "skeleton bar-skeleton" }));

    /** The time of the past that the plots show: the moment, or the middle of a range that stands still. @returns {number|null} */
    function pastTime() {
        const { time, view } = moment;
        return time ?? (view && !view.live && !view.follows ? (view.from + view.to) / 2 : null);
    }

    /** Moves the range to the one that the plots show. */
    function follow() {
        const next = rangeEnd(pastTime(), span * 1e6, end, now());
        if (next === end) return;
        end = next;
        forget();
        loadIn(SETTLE);
    }

    /** What is loaded says nothing about another range. */
    function forget() {
        transitions = null;
        cursor.hidden = true;
        setText(note, "Loading");
    }

    let waiting = 0;

    /** @param {number} delay in ms */
    function loadIn(delay) {
        clearTimeout(waiting);
        waiting = setTimeout(load, delay);
    }

    async function load() {
        clearTimeout(waiting);
        const time = end ?? now();
        const wanted = `${end} ${span}`;
        const ask = (query) => request(`${devicePath(group, device)}/states`, { query, signal: abort.signal });
        try {
            const from = Math.round(time - span * 1e6);
            const [reply, before] = await Promise.all([ask({ from, to: end ?? Math.round(time + 60e6), limit: 2000 }), end === null ? { states: [] } : ask({ to: from, limit: 1 })]);
            if (wanted !== `${end} ${span}`) return;
            transitions = [...before.states, ...reply.states];
            // A device that is new is shown with all of its states, not with an empty bar.
            if (isFirst && end === null && transitions.length && transitions[0].since > time - 3000e6 && !transitions[0].previous) {
                span = 3600;
                ranges.set("3600");
            }
            isFirst = false;
        } catch (error) {
            if (isAbort(error) || wanted !== `${end} ${span}`) return;
            // The live state is known without the store.
            if (end === null && current) {
                transitions ??= [];
                draw();
            }
            setText(note, error.message);
            if (error.status === 0 || error.status === 429 || error.status >= 500) loadIn(RETRY);
            return;
        }
        draw();
    }

    function draw() {
        if (transitions === null) return;
        const to = end ?? now();
        const from = to - span * 1e6;
        const list = end === null ? knownUntil(intervals(transitions.length ? transitions : fallback(), from, to), current?.isStale ? lastKnown : to)
            : intervals(transitions, from, to).map((part) => ({ ...part, open: false }));
        const next = list.map((part) => `${part.state}${part.from === from ? "" : part.from}`).join() + span;
        if (next !== signature) {
            signature = next;
            if (!list.some(({ state }) => state)) {
                bar.replaceChildren(h("div", { class: "bar-empty" }, "No state has been reported in this period"));
                table.replaceChildren(h("tr", null, h("td", { colspan: 4, class: "muted" }, "None")));
            } else {
                bar.replaceChildren(...list.map((part) => segment(part)));
                table.replaceChildren(...list.filter(({ state }) => state).reverse().map((part) => row(part, to)));
            }
        }
        list.forEach((part, i) => {
            const child = /** @type {HTMLElement} */ (bar.children[i]);
            if (!child?.dataset.state) return;
            child.style.left = `${((part.from - from) / (to - from)) * 100}%`;
            child.style.width = `${((part.to - part.from) / (to - from)) * 100}%`;
            child.setAttribute("aria-label", describe(part, to));
            child.dataset.from = String(part.from);
        });
        drawAxis(from, to);
        shown = { list, from, to };
        drawCursor();
        if (moment.time !== null) return;
        const parts = [...shares(list)].sort((a, b) => b[1] - a[1]);
        const when = end === null ? "" : `${nearTime(from, now())} – ${nearTime(to, now())} · `;
        setText(note, when + parts.map(([state, share]) => `${stateWord(state)} ${share > 0.995 && share < 1 ? "> 99" : share < 0.01 ? "< 1" : Math.round(share * 100)} %`).join(" · "));
    }

    /** The moment that the plots show, and the state at it. */
    function drawCursor() {
        const { list, from, to } = shown;
        const { time } = moment;
        const isShown = time !== null && from <= time && time <= to;
        cursor.hidden = !isShown;
        if (isShown) cursor.style.left = `${((time - from) / (to - from)) * 100}%`;
        if (time === null) return;
        const part = list.find((interval) => interval.from <= time && time < interval.to);
        setText(note, `${stateWord(part?.state)} at ${nearTime(time, now())}`);
    }
    let shown = { list: /** @type {any[]} */ ([]), from: 0, to: 0 };
    const onmoment = () => {
        follow();
        if (transitions === null) return;
        if (moment.time === null) draw();
        else drawCursor();
    };
    moment.addEventListener("change", onmoment);
    moment.addEventListener("view", follow);

    /** The current state is older than the range. */
    function fallback() {
        return current?.state && current.since ? [{ state: current.state, previous: null, reason: current.reason, since: current.since }] : [];
    }
    let current = null;

    function segment(part) {
        const child = h("div", { class: "segment", role: "listitem", tabIndex: 0, data: { state: part.state ?? "none" } });
        const show = () => {
            setText(tip, describe(part, now()));
            tip.hidden = false;
            const left = child.offsetLeft + child.offsetWidth / 2;
            tip.style.left = `${Math.min(bar.offsetWidth - tip.offsetWidth / 2, Math.max(tip.offsetWidth / 2, left))}px`;
        };
        child.addEventListener("pointerenter", show);
        child.addEventListener("focus", show);
        child.addEventListener("pointerleave", () => { tip.hidden = true; });
        child.addEventListener("blur", () => { tip.hidden = true; });
        child.addEventListener("keydown", (event) => {
            const sibling = event.key === "ArrowRight" ? child.nextElementSibling : event.key === "ArrowLeft" ? child.previousElementSibling : null;
            if (sibling) { event.preventDefault(); sibling.focus(); }
        });
        return child;
    }

    function drawAxis(from, to) {
        const offset = zoneOffset(to);
        const { ticks, step } = timeTicks(from, to, Math.max(3, (bar.offsetWidth || 800) / 100), offset);
        while (axis.children.length > ticks.length) axis.lastElementChild.remove();
        while (axis.children.length < ticks.length) axis.append(h("span"));
        ticks.forEach((t, i) => {
            const label = /** @type {HTMLElement} */ (axis.children[i]);
            const share = (t - from) / (to - from);
            setText(label, (t + offset) % 86400e6 === 0 || step >= 86400e6 ? day(t, { year: false }) : timeOfDay(t, { seconds: step < 60e6 }));
            label.style.left = `${share * 100}%`;
            label.style.visibility = share < 0.02 || share > 0.98 ? "hidden" : "";
        });
    }

    // The plots may show a moment already.
    end = rangeEnd(pastTime(), span * 1e6, null, now());
    load();
    const timer = setInterval(draw, 2000);
    return {
        element,
        close() {
            clearInterval(timer);
            clearTimeout(waiting);
            moment.removeEventListener("change", onmoment);
            moment.removeEventListener("view", follow);
            abort.abort();
        },
        /** @param {import("../core/api.js").Device} value */
        update(value) {
            if (!value.isStale) lastKnown = now();
            current = value;
            if (value.seq !== seq && seq !== -1) load();
            if (seq === -1) draw();
            seq = value.seq;
        },
    };
}

function describe({ state, reason, from, to, open }, time) {
    if (state === null) return "State unknown";
    const why = reason ? `: ${reasonText(reason)}` : "";
    return `${stateWord(state)}${why}, from ${nearTime(from, time)}${open ? " until now" : ` to ${nearTime(to, time)}`}, ${duration((to - from) / 1e6)}`;
}

function row({ state, reason, from, to, open }, time) {
    return h("tr", null, h("td", { class: "num" }, nearTime(from, time)),
        h("td", null, h("span", { class: "state", data: { state } }, h("span", { class: "state-dot", "aria-hidden": "true" }), stateWord(state))),
        h("td", null, reasonText(reason) || "–"), h("td", { class: "num" }, open ? "ongoing" : duration((to - from) / 1e6)));
}
