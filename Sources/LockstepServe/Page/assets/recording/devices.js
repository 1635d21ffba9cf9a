/** The devices of a session: the rates that arrive, the error of each clock, and what is on its way or missing. */

import { card, h } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { routeTo } from "../core/router.js";
import { rate, UNKNOWN, whole } from "../pure/format.js";
import { canStop, streamsOf } from "../pure/recording.js";

export function devicesCard() {
    const { element, body, note } = card({ title: "Devices", id: "session-devices", className: "card-session-devices" });
    const table = h("table", { class: "table session-devices" });
    body.append(h("div", { class: "table-wrap", tabIndex: 0, role: "region", "aria-label": "Devices and their streams" }, table));
    let known = "";
    return { element, /** @param {import("../pure/recording.js").Recording} session */ update(session) {
        const isOpen = canStop(session);
        const present = ({ device, rates }) => rates ?? (isOpen ? fleet.get(session.group, device)?.rates ?? {} : {});
        const streams = isOpen ? streamsOf(session, session.devices.map(present)) : [];
        const columns = ["Device", ...streams.map((stream) => (session.rates[stream] ? `${stream}, ${rate(session.rates[stream])} asked` : stream)), "Clock", "On its way", "Missing", "State"];
        const rows = session.devices.map((device) => [device.device, ...streams.map((stream) => (present(device)[stream] === undefined ? UNKNOWN : rate(present(device)[stream]))),
            device.clock_bound_us === undefined ? UNKNOWN : `± ${(device.clock_bound_us / 1000).toFixed(1)} ms`, whole(device.on_its_way), whole(device.missing), device.problem ?? (isOpen ? "Ready" : "Complete")]);
        const text = JSON.stringify([columns, rows, session.devices.map(({ problem }) => problem)]);
        if (text === known) return;
        known = text;
        note.textContent = session.devices.length ? "" : "None yet";
        // A link that has the focus keeps it.
        const focused = [...table.querySelectorAll("a")].indexOf(/** @type {any} */ (document.activeElement));
        table.replaceChildren(h("thead", null, h("tr", null, ...columns.map((column) => h("th", { scope: "col" }, column)))),
            h("tbody", null, ...rows.map(([device, ...cells], i) => h("tr", null, h("th", { scope: "row" }, h("a", { href: routeTo("device", session.group, device) }, device)),
                ...cells.map((cell, column) => h("td", { class: column === cells.length - 1 && session.devices[i].problem ? "bad num" : "num" }, cell))))));
        table.querySelectorAll("a")[focused]?.focus({ preventScroll: true });
    } };
}
