/** The start of a session: its devices, the rates of their streams, its labels, and a count-down. */

import { request } from "../core/api.js";
import { formDialog } from "../core/dialog.js";
import { h, icon, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { now } from "../core/clock.js";
import { announce } from "../core/shell.js";
import { store, stored } from "../core/settings.js";
import { proposedRate } from "../pure/lease.js";
import { rate } from "../pure/format.js";
import { readLabels } from "./dialogs.js";
import { sessionAddress, started } from "./requests.js";

const COUNTS = [0, 3, 5, 10];

export function askStart() {
    const wrap = (field) => h("span", { class: "select" }, field, icon("chevron"));
    const name = h("input", { class: "field", required: true, maxLength: 200, placeholder: "walk 3" });
    const group = h("select", { onchange: drawGroup }, ...fleet.groups().map((value) => h("option", { value }, value)));
    const devices = h("div", { class: "checks" });
    const stream = h("select", { "aria-label": "Stream", onchange: propose });
    const hz = h("input", { class: "field num", type: "number", "aria-label": "Rate in Hz", min: "0.001", max: "10000", step: "any" });
    const list = h("ul", { class: "rates", "aria-label": "Rates" });
    const labels = h("input", { class: "field", placeholder: "subject=7, shoes=new", value: stored("session.labels", "") });
    const note = h("input", { class: "field", maxLength: 900 });
    const minutes = h("input", { class: "field num", type: "number", min: "0", step: "any", placeholder: "until it is stopped" });
    const bound = h("input", { class: "field num", type: "number", min: "0", step: "any", placeholder: "any" });
    const count = h("select", null, ...COUNTS.map((seconds) => h("option", { value: String(seconds), selected: seconds === stored("session.count", 3) }, seconds ? `${seconds} s` : "None")));
    /** @type {Map<string, number>} */
    const rates = new Map();

    function drawGroup() {
        const members = fleet.sorted().map(({ device }) => device).filter((device) => device.group === group.value);
        devices.replaceChildren(...members.map(({ device }) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, value: device }), device)));
        const streams = [...new Set(members.flatMap((device) => device.streams))].sort();
        stream.replaceChildren(...streams.map((value) => h("option", { value, selected: value === "motion/accelerometer" }, value)));
        rates.clear();
        drawRates();
        propose();
    }

    function propose() {
        hz.value = stream.value ? String(proposedRate(stream.value, null)) : "";
    }

    function drawRates() {
        list.replaceChildren(...[...rates].map(([key, value]) => h("li", null, `${key} ${rate(value)}`, h("button", { class: "button quiet icon-only small", type: "button", "aria-label": `Remove the rate of ${key}`, onclick: () => {
            rates.delete(key);
            drawRates();
        } }, icon("close")))));
    }

    const add = h("button", { class: "button", type: "button", onclick: () => {
        if (!stream.value || !(Number(hz.value) > 0)) return;
        rates.set(stream.value, Number(hz.value));
        drawRates();
    } }, "Add rate");
    drawGroup();
    const { dialog, button } = formDialog({ id: "start-title", title: "Start a session", action: "Start", fields: [
        h("label", null, "Name", name), h("label", null, "Group", wrap(group)), h("fieldset", null, h("legend", null, "Devices"), devices),
        h("fieldset", null, h("legend", null, "Rates, or else each stream as it is"), h("div", { class: "rate-form" }, wrap(stream), h("span", { class: "with-unit" }, hz, h("span", { "aria-hidden": "true" }, "Hz")), add), list),
        h("label", null, "Labels", labels), h("label", null, "Note", note), h("label", null, "Stop after minutes", minutes), h("label", null, "Largest error of each clock in ms", bound), h("label", null, "Count-down", wrap(count))],
        send });

    async function send() {
        const boxes = [...devices.querySelectorAll("input")];
        const chosen = boxes.filter(({ checked }) => checked).map(({ value }) => value);
        if (!chosen.length) throw new Error("Choose at least one device");
        const body = { name: name.value.trim(), labels: readLabels(labels), rates: Object.fromEntries(rates), ...(chosen.length < boxes.length ? { devices: chosen } : {}),
            ...(note.value.trim() ? { note: note.value.trim() } : {}), ...(minutes.value ? { for_s: Number(minutes.value) * 60 } : {}), ...(bound.value ? { clock_bound_us: Math.round(Number(bound.value) * 1000) } : {}) };
        store("session.labels", labels.value);
        store("session.count", Number(count.value));
        try {
            for (let left = Number(count.value); left > 0; left -= 1) {
                setText(button, `Starts in ${left} s`);
                announce(String(left));
                await new Promise((resolve) => setTimeout(resolve, 1000));
                if (!dialog.open) return;
            }
            const session = await request(`/sessions/${encodeURIComponent(group.value)}`, { method: "POST", body });
            started.address = sessionAddress(session);
            started.at = now();
            location.hash = started.address;
        } finally {
            setText(button, "Start");
        }
    }
}
