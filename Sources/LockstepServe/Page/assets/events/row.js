/** One event of a rule in the list, or several of the same rule and device. */

import { now } from "../core/clock.js";
import { h, icon } from "../core/dom.js";
import { addressOf, routeTo } from "../core/router.js";
import { eventParameters, eventPlot } from "../pure/address.js";
import { parts } from "../core/parts.js";
import { session } from "../core/session.js";
import { dateTime, isoTime, nearTime } from "../pure/format.js";
import { streamOf, unacknowledged } from "../pure/events.js";

/** The severities that are named; the usual one is not. */
const SEVERITIES = { critical: "Critical", info: "Info" };
/** Events of a group that are listed. */
const LISTED = 100;

/**
 * @param {import("../pure/events.js").RuleEvent[]} events newest first
 * @param {(events: import("../pure/events.js").RuleEvent[]) => Promise<void>} acknowledge
 */
export function eventRow(events, acknowledge) {
    const [event, ...others] = events;
    const open = unacknowledged(events);
    return h("li", { class: "event", data: { open: String(open.length > 0), severity: event.severity } },
        h("span", { class: "event-mark", "aria-hidden": "true" }, icon(open.length ? "bell" : "check")),
        h("div", { class: "event-main" },
            h("p", { class: "event-text" }, event.text),
            h("p", { class: "event-facts" }, deviceLink(event), h("span", { class: "event-rule" }, event.rule),
                SEVERITIES[event.severity] && h("span", { class: "event-severity" }, SEVERITIES[event.severity]),
                event.late && h("span", { class: "event-late", title: "The samples arrived late" }, "late")),
            others.length > 0 && othersOf(others)),
        h("time", { class: "event-time num", dateTime: isoTime(event.t), title: dateTime(event.t) }, nearTime(event.t, now())),
        h("div", { class: "event-act" }, action(event, open, acknowledge)));
}

/** The earlier events of a group. @param {import("../pure/events.js").RuleEvent[]} others */
function othersOf(others) {
    const list = h("ul");
    const element = h("details", { class: "event-others", ontoggle: () => {
        if (list.children.length) return;
        list.append(...others.slice(0, LISTED).map((event) => h("li", null, h("time", { class: "num", dateTime: isoTime(event.t) }, nearTime(event.t, now())), ` ${event.text}`)),
            ...(others.length > LISTED ? [h("li", null, `and ${others.length - LISTED} before`)] : []));
    } }, h("summary", null, `and ${others.length} before, since ${nearTime(others[others.length - 1].t, now())}`), list);
    return element;
}

/** The plots of its device around its time, with a mark. */
function deviceLink({ device, rule, t }) {
    if (!device) return h("span", null, "Collector");
    const [group, name] = device.split("/");
    return h("a", { href: addressOf(routeTo("device", group, name), [...Object.entries(eventParameters(t)), ["plot", eventPlot(device, streamOf({ device, rule }, parts.system))]]) }, device);
}

function action(event, open, acknowledge) {
    if (!open.length) {
        return h("span", { class: "event-done", title: dateTime(event.acknowledged) }, `Acknowledged ${nearTime(event.acknowledged, now(), { seconds: false })}`);
    }
    if (!session.canOperate) return h("span", { class: "muted" }, "Not acknowledged");
    const problem = h("span", { class: "event-problem", role: "alert", hidden: true });
    const button = h("button", { class: "button", type: "button", "aria-label": `Acknowledge: ${event.text}`, onclick: async () => {
        // Not disabled, because it would lose the focus.
        if (button.getAttribute("aria-disabled") === "true") return;
        button.setAttribute("aria-disabled", "true");
        problem.hidden = true;
        try {
            await acknowledge(open);
        } catch (error) {
            problem.textContent = error.message;
            problem.hidden = false;
            button.removeAttribute("aria-disabled");
        }
    } }, open.length > 1 ? `Acknowledge ${open.length}` : "Acknowledge");
    return h("span", { class: "event-actions" }, button, problem);
}
