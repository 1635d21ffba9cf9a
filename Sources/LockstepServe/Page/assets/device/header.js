/** The name, the state and the main figures of a device. */

import { now } from "../core/clock.js";
import { h, icon, setText } from "../core/dom.js";
import { parts } from "../core/parts.js";
import { stateBadge } from "../core/states.js";
import { age, dateTime, duration, isAhead, percent, position, sampleRate, UNKNOWN } from "../pure/format.js";
import { deliveryText } from "../pure/delivery.js";
import { problemsOf } from "../pure/problems.js";
import { totalRate } from "../pure/selection.js";
import { reasonText } from "../pure/timeline.js";

/** @param {{group: string, device: string}} address */
export function deviceHeader({ group, device }) {
    const state = stateBadge();
    const since = h("span", { class: "state-since num" });
    const problems = h("div", { class: "device-problems" });
    const wide = ["Delivery", "Position"];
    const figures = ["Last sample", "All streams", "Delivery", "Battery", "Missing", "Orientation", "Position"].map((label) => {
        const value = h("dd", { class: "num" }, UNKNOWN);
        return { label, value, element: h("div", { class: "figure", data: wide.includes(label) ? { wide: "" } : {} }, h("dt", null, label), value) };
    });
    const [last, hz, promise, battery, missing, posture, place] = figures;
    const element = h("header", { class: "device-head" },
        h("nav", { class: "crumbs", "aria-label": "Path" }, h("a", { href: "#/", class: "crumb" }, icon("back"), "Fleet"), h("span", { class: "muted" }, group)),
        h("div", { class: "device-title" }, h("h1", null, device), h("span", { class: "device-state" }, state.element, since), problems),
        h("dl", { class: "figures" }, ...figures.map((figure) => figure.element)));
    let problemText = "";

    return {
        element,
        /** The details that the fleet does not have. */
        setStreams(streams) {
            const orientation = streams.find(({ stream }) => stream === "orientation")?.newest?.values?.value;
            setText(posture.value, orientation ? words(String(orientation)) : UNKNOWN);
        },
        /** @param {import("../core/api.js").Device} value */
        update(value) {
            state.update(value.state);
            setText(since, value.since === null ? "" : `for ${duration((now() - value.since) / 1e6)}${value.reason ? ` · ${reasonText(value.reason)}` : ""}`);
            since.title = value.since === null ? "" : `Since ${dateTime(value.since)}`;
            setText(last.value, value.last_sample === null ? "none yet" : ago((now() - value.last_sample) / 1e6));
            last.value.title = dateTime(value.last_sample);
            const sum = totalRate(value);
            setText(hz.value, sum > 0 ? sampleRate(sum) : UNKNOWN);
            setText(battery.value, value.battery?.level === null || !value.battery ? UNKNOWN : `${percent(value.battery.level)}${value.battery.charging ? ", charging" : ""}`);
            const promised = parts.promise([value]);
            setText(promise.value, promised.text);
            promise.element.dataset.kind = promised.kind;
            setText(missing.value, deliveryText(value));
            missing.element.toggleAttribute("data-bad", (value.missing ?? 0) > 0);
            setText(place.value, value.position ? position(value.position.lat, value.position.lon, 5) : UNKNOWN);
            const found = problemsOf(value, now()).filter(({ level }) => level > 0);
            const text = found.map(({ level, text }) => level + text).join("|");
            if (text === problemText) return;
            problemText = text;
            problems.replaceChildren(...found.map(({ level, text }) => h("span", { class: "problem pill", data: { level: String(level) } }, icon(level === 2 ? "alert" : "warning"), text)));
        },
    };
}

function ago(seconds) {
    const text = age(seconds);
    if (isAhead(seconds)) return "in the future";
    return text === "now" ? "now" : `${text} ago`;
}

/** portraitUpsideDown becomes Portrait upside down. @param {string} value */
function words(value) {
    const text = value.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    return text.charAt(0).toUpperCase() + text.slice(1);
}
