/** The life-cycle states of a device over time, with the reasons, and what the person with it did. */

import { devicePath, isAbort, request, streamPath } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, h, segmented, setText } from "../core/dom.js";
import { stateWord } from "../core/states.js";
import { activityChanges, visible, whileMeasured } from "../pure/activity.js";
import { day, duration, nearTime, timeOfDay, zoneOffset } from "../pure/format.js";
import { timeTicks } from "../pure/scale.js";
import { intervals, knownUntil, rangeEnd, reasonText, shares } from "../pure/timeline.js";
import { spanBar } from "./span-bar.js";

const SPANS = [{ value: "3600", text: "1 h" }, { value: "21600", text: "6 h" }, { value: "86400", text: "24 h" }, { value: "604800", text: "7 d" }];
/** Time between the last movement of the range and the request, in ms. */
const SETTLE = 110;
/** Time until a failed request is repeated, in ms. */
const RETRY = 2_000;
/** The activity at the start of a range began within this time before it, or is not known. In µs. */
const BEFORE = 21600e6;
/** The width of the narrowest span of an activity, in pixels. */
const LEAST = 2;

/** @param {{group: string, device: string}} address @param {import("./moment.js").Moment} moment @param {boolean} hasActivity */
export function timelineCard({ group, device }, moment, hasActivity) {
    let span = 21600;
    /** The end of a range of the past in µs, which the plots show; null for the range that ends now. @type {number|null} */
    let end = null;
    let transitions = null;
    /** Null before they are loaded. @type {import("../pure/timeline.js").Transition[]|null} */
    let activities = null;
    /** The time of the newest change of activity, in µs; null before it is known. @type {number|null} */
    let newestActivity = null;
    let seq = -1;
    /** When the present state was known last, in µs. */
    let lastKnown = 0;
    let isFirst = true;
    /** Why the states, and the activities, could not be loaded last; empty if they were. */
    let problem = "";
    let activityProblem = "";
    /** Counts the ranges: an answer about another one is of no use. */
    let asked = 0;
    const abort = new AbortController();
    const ranges = segmented({ label: "Time range of the states", options: SPANS, value: String(span), onchange: (value) => {
        span = Number(value);
        end = rangeEnd(pastTime(), span * 1e6, null, now());
        forget();
        load();
    } });
    const { element, body, note } = card({ title: "States", id: "states", className: "card-states", tools: ranges.element });
    const bar = spanBar({ label: "States over time", empty: "No state has been reported in this period", describe });
    const doings = spanBar({ label: "Activities over time", empty: "No activity is known in this period", describe: (part, time) => describe(part, time, activityWord) });
    const doing = h("div", { class: "bar-label num", role: "note", "aria-label": "Activities" });
    const axis = h("div", { class: "bar-axis num", "aria-hidden": "true" });
    const detail = h("details", { class: "log" }, h("summary", null, "Changes of state"));
    const table = h("tbody");
    detail.append(h("div", { class: "table-scroll", tabIndex: 0, role: "region", "aria-label": "Changes of state" }, h("table", { class: "table" }, h("thead", null, h("tr", null, ...["Since", "State", "Reason", "Lasted"].map((text) => h("th", { scope: "col" }, text)))), table)));
    body.append(bar.element, ...(hasActivity ? [doing, doings.element] : []), axis, detail);

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
        asked += 1;
        transitions = null;
        activities = null;
        problem = activityProblem = "";
        bar.mark(null, 0, 0);
        doings.mark(null, 0, 0);
        setText(note, "Loading");
    }

    let waiting = 0;

    /** @param {number} delay in ms */
    function loadIn(delay) {
        clearTimeout(waiting);
        waiting = setTimeout(load, delay);
    }

    /** Repeats a request that may succeed later. */
    function retry({ status }) {
        if (status === 0 || status === 429 || status >= 500) loadIn(RETRY);
    }

    async function load() {
        clearTimeout(waiting);
        const time = end ?? now();
        const wanted = asked;
        const ask = (query) => request(`${devicePath(group, device)}/states`, { query, signal: abort.signal });
        try {
            const from = Math.round(time - span * 1e6);
            const to = end ?? Math.round(time + 60e6);
            if (hasActivity) loadActivities(from - BEFORE, to);
            const [reply, before] = await Promise.all([ask({ from, to, limit: 2000 }), end === null ? { states: [] } : ask({ to: from, limit: 1 })]);
            if (wanted !== asked) return;
            problem = "";
            transitions = [...before.states, ...reply.states];
            // A device that is new is shown with all of its states, not with an empty bar.
            if (isFirst && end === null && transitions.length && transitions[0].since > time - 3000e6 && !transitions[0].previous) {
                span = 3600;
                ranges.set("3600");
            }
            isFirst = false;
        } catch (error) {
            if (isAbort(error) || wanted !== asked) return;
            problem = error.message;
            // The live state is known without the store.
            if (end === null && current) {
                transitions ??= [];
                draw();
            }
            setText(note, problem);
            retry(error);
            return;
        }
        draw();
    }

    /** The states are shown without them. @param {number} from @param {number} to */
    async function loadActivities(from, to) {
        const wanted = asked;
        try {
            const reply = await request(streamPath(group, device, "activity"), { query: { from, to }, signal: abort.signal });
            if (wanted !== asked) return;
            activities = activityChanges(reply);
            activityProblem = "";
        } catch (error) {
            if (isAbort(error) || wanted !== asked) return;
            activityProblem = error.message;
            retry(error);
        }
        draw();
    }

    function draw() {
        if (transitions === null) return;
        const to = end ?? now();
        const from = to - span * 1e6;
        const list = end === null ? knownUntil(intervals(transitions.length ? transitions : fallback(), from, to), current?.isStale ? lastKnown : to)
            : intervals(transitions, from, to).map((part) => ({ ...part, open: false }));
        if (bar.draw(list, from, to)) {
            const known = list.filter(({ state }) => state).reverse();
            table.replaceChildren(...(known.length ? known.map((part) => row(part, now())) : [h("tr", null, h("td", { colspan: 4, class: "muted" }, "None"))]));
        }
        // Without newer samples of any stream, nobody knows whether it is still the same.
        const done = whileMeasured(knownUntil(intervals(activities ?? [], from, to), current?.last_sample ?? from), list).map((part) => ({ ...part, open: part.open && end === null }));
        if (!activities) doings.clear();
        else if (hasActivity) doings.draw(visible(done, ((to - from) / doings.width) * LEAST), from, to);
        drawAxis(from, to);
        shown = { list, done, from, to };
        drawCursor();
        if (moment.time !== null) return;
        const when = end === null ? "" : `${nearTime(from, now())} – ${nearTime(to, now())} · `;
        setText(note, problem || when + largestFirst(list).map(([state, share]) => `${stateWord(state)} ${share}`).join(" · "));
        showDoing(largestFirst(done));
    }

    /** @param {[string|null, string][]} parts activities, each with a text */
    function showDoing(parts) {
        const text = [...parts, activityProblem].join();
        if (doing.dataset.text === text) return;
        doing.dataset.text = text;
        doing.replaceChildren("Activity", ...parts.map(([state, more]) => h("span", { class: "state", data: { state: state ?? "unknown" } }, h("span", { class: "state-dot", "aria-hidden": "true" }), [activityWord(state), more].join(" ").trim())), activityProblem);
    }

    /** The moment that the plots show, and the state at it. */
    function drawCursor() {
        const { list, done, from, to } = shown;
        const { time } = moment;
        bar.mark(time, from, to);
        doings.mark(time, from, to);
        if (time === null) return;
        const at = (parts) => parts.find((interval) => interval.from <= time && time < interval.to)?.state ?? null;
        setText(note, problem || `${stateWord(at(list))} at ${nearTime(time, now())}`);
        showDoing([[at(done), ""]]);
    }
    let shown = { list: /** @type {any[]} */ ([]), done: /** @type {any[]} */ ([]), from: 0, to: 0 };
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

    function drawAxis(from, to) {
        const offset = zoneOffset(to);
        const { ticks, step } = timeTicks(from, to, Math.max(3, bar.width / 100), offset);
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
        /** @param {any[]} streams */
        setStreams(streams) {
            const newest = streams.find(({ stream }) => stream === "activity")?.newest?.t ?? 0;
            if (newestActivity !== null && newest !== newestActivity && end === null) loadIn(SETTLE);
            newestActivity = newest;
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

function describe({ state, reason, from, to, open }, time, word = stateWord) {
    if (state === null) return word === stateWord ? "State unknown" : "Activity unknown";
    const why = reason ? `: ${reasonText(reason)}` : "";
    return `${word(state)}${why}, from ${nearTime(from, time)}${open ? " until now" : ` to ${nearTime(to, time)}`}, ${duration((to - from) / 1e6)}`;
}

/** @param {string|null} activity */
function activityWord(activity) {
    return activity === null ? "Unknown" : activity.charAt(0).toUpperCase() + activity.slice(1);
}

/** The share of each state in words, the largest one first. @param {import("../pure/timeline.js").Interval[]} list @returns {[string, string][]} */
function largestFirst(list) {
    return [...shares(list)].sort((a, b) => b[1] - a[1]).map(([state, share]) => [state, `${share > 0.995 && share < 1 ? "> 99" : share < 0.01 ? "< 1" : Math.round(share * 100)} %`]);
}

function row({ state, reason, from, to, open }, time) {
    return h("tr", null, h("td", { class: "num" }, nearTime(from, time)),
        h("td", null, h("span", { class: "state", data: { state } }, h("span", { class: "state-dot", "aria-hidden": "true" }), stateWord(state))),
        h("td", null, reasonText(reason) || "–"), h("td", { class: "num" }, open ? "ongoing" : duration((to - from) / 1e6)));
}
