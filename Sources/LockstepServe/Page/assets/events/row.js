/** One event of a rule in the list. */

import { now } from "../core/clock.js";
import { h, icon } from "../core/dom.js";
import { ruleEvents } from "../core/events-store.js";
import { addressOf, routeTo } from "../core/router.js";
import { eventParameters } from "../pure/address.js";
import { session } from "../core/session.js";
import { announce } from "../core/shell.js";
import { dateTime, isoTime, nearTime } from "../pure/format.js";

/** @param {import("../pure/events.js").RuleEvent} event */
export function eventRow(event) {
    const element = h("li", { class: "event", data: { open: String(!event.acknowledged) } },
        h("span", { class: "event-mark", "aria-hidden": "true" }, icon(event.acknowledged ? "check" : "bell")),
        h("div", { class: "event-main" },
            h("p", { class: "event-text" }, event.text),
            h("p", { class: "event-facts" }, deviceLink(event), h("span", { class: "event-rule" }, event.rule),
                event.late && h("span", { class: "event-late", title: "The samples arrived late" }, "late"))),
        h("time", { class: "event-time num", dateTime: isoTime(event.t), title: dateTime(event.t) }, nearTime(event.t, now())),
        h("div", { class: "event-act" }, action(event)));
    return element;
}

/** The plots of its device around its time, with a mark. */
function deviceLink({ device, t }) {
    if (!device) return h("span", null, "Collector");
    const [group, name] = device.split("/");
    return h("a", { href: addressOf(routeTo("device", group, name), Object.entries(eventParameters(t))) }, device);
}

function action(event) {
    if (event.acknowledged) {
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
            await ruleEvents.acknowledge(event);
            announce("Acknowledged");
        } catch (error) {
            problem.textContent = error.message;
            problem.hidden = false;
            button.removeAttribute("aria-disabled");
        }
    } }, "Acknowledge");
    return h("span", { class: "event-actions" }, button, problem);
}
