/** Steps, distance and pace, today and in a chosen interval. Only what is known is shown. */

import { devicePath, isAbort, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, emptyState, h, segmented, setText } from "../core/dom.js";
import { onUnitsChange, setUnits, units as chosenUnits } from "../core/units.js";
import { inputText, inputTime, midnight, nearTime } from "../pure/format.js";
import { quantities } from "../pure/walk.js";

const EVERY = 5000;

/** @param {{group: string, device: string}} address @param {import("../core/live.js").LiveSamples} live @param {boolean} hasSteps */
export function pedometerCard({ group, device }, live, hasSteps) {
    const units = segmented({ label: "Units", value: chosenUnits(), options: [{ value: "metric", text: "km" , title: "Metric" }, { value: "imperial", text: "mi", title: "Imperial" }], onchange: setUnits });
    const { element, body } = card({ title: "Pedometer", id: "pedometer", className: "card-walk", tools: hasSteps ? units.element : null });
    if (!hasSteps) {
        body.append(emptyState({ symbol: "walk", title: "No steps", text: "The device does not count steps, or nobody has walked with it yet." }));
        return { element };
    }
    const spans = segmented({ label: "Interval", value: "today", options: [{ value: "today", text: "Today" }, { value: "hour", text: "1 h" }, { value: "week", text: "7 d" }, { value: "own", text: "Interval" }], onchange: (value) => {
        span = value;
        own.hidden = value !== "own";
        load();
    } });
    const from = h("input", { class: "field", type: "datetime-local", "aria-label": "Start", onchange: () => load() });
    const to = h("input", { class: "field", type: "datetime-local", "aria-label": "End", onchange: () => load() });
    const own = h("div", { class: "walk-own", hidden: true }, from, h("span", { class: "muted" }, "to"), to);
    const list = h("dl", { class: "walk" });
    const foot = h("p", { class: "walk-foot muted num" });
    body.append(spans.element, own, list, foot);
    let span = "today";
    let walk = null;
    let timer = 0;
    const abort = new AbortController();
    from.value = inputText(midnight(now())).slice(0, 16);
    to.value = inputText(now()).slice(0, 16);

    function interval() {
        const time = now();
        if (span === "hour") return { from: time - 3600e6, to: time };
        if (span === "week") return { from: midnight(time) - 6 * 86400e6, to: time };
        if (span === "own") return { from: inputTime(from.value), to: inputTime(to.value) };
        return { from: midnight(time), to: time };
    }

    async function load() {
        clearTimeout(timer);
        const query = interval();
        if (!(query.to > query.from)) {
            list.replaceChildren();
            setText(foot, "The end must be after the start.");
            return;
        }
        try {
            const wanted = span;
            const reply = await request(`${devicePath(group, device)}/walk`, { query: { from: Math.round(query.from), to: Math.round(query.to) }, signal: abort.signal });
            if (wanted !== span) return;
            walk = { ...reply, ...query };
            draw();
        } catch (error) {
            if (isAbort(error)) return;
            setText(foot, error.message);
        }
        if (span !== "own") timer = setTimeout(load, EVERY);
    }

    let shape = "";
    function draw() {
        if (!walk) return;
        const known = quantities(walk, chosenUnits());
        const next = known.map(({ key }) => key).join();
        if (next !== shape || !known.length) {
            shape = next;
            list.replaceChildren(...(known.length ? known.map(({ key, label }) => h("div", { class: `walk-item walk-${key}` }, h("dt", null, label), h("dd", null, h("span", { class: "walk-value num" }), h("span", { class: "walk-unit" })))) : [h("div", { class: "walk-none muted" }, "No steps in this period")]));
        }
        known.forEach(({ value, unit }, i) => {
            setText(list.children[i].querySelector(".walk-value"), value);
            setText(list.children[i].querySelector(".walk-unit"), unit);
        });
        setText(foot, `From ${nearTime(walk.from, now(), { seconds: false })} to ${Math.abs(walk.to - now()) < 60e6 ? "now" : nearTime(walk.to, now(), { seconds: false })}`);
    }

    function onsamples(event) {
        if (event.detail.key === `${group}/${device} steps` && span !== "own") load();
    }
    live.addEventListener("samples", onsamples);
    const release = live.want(`${group}/${device}`, "steps");
    const stopUnits = onUnitsChange(() => {
        units.set(chosenUnits());
        draw();
    });
    load();
    return { element, close() {
        stopUnits();
        clearTimeout(timer);
        abort.abort();
        live.removeEventListener("samples", onsamples);
        release();
    } };
}
