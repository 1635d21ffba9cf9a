/** Adding a plot: the choice of a device and a stream. */

import { devicePath, request } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { plottable } from "../pure/columns.js";

const collator = new Intl.Collator("en", { numeric: true });

/** @param {{onpick: (source: any) => void}} options */
export function plotPicker({ onpick }) {
    const device = h("select", { id: "plot-device", onchange: () => loadStreams() });
    const stream = h("select", { id: "plot-stream" });
    const problem = h("p", { class: "message", role: "alert", hidden: true, data: { kind: "bad" } });
    const add = h("button", { class: "button primary", type: "submit" }, "Add plot");
    const wrap = (select) => h("span", { class: "select" }, select, icon("chevron"));
    const dialog = h("dialog", { "aria-labelledby": "plot-title" }, h("h2", { id: "plot-title" }, "Add a plot"),
        h("form", { method: "dialog", onsubmit: submit }, h("label", null, "Device", wrap(device)), h("label", null, "Stream", wrap(stream)), problem, add,
            h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel")));
    const button = h("button", { class: "button", type: "button", onclick: open }, icon("plus"), "Plot");
    let streams = [];
    let current = "";

    function open() {
        if (!dialog.isConnected) document.body.append(dialog);
        const keys = [...fleet.entries.keys()].sort(collator.compare);
        device.replaceChildren(...keys.map((key) => h("option", { value: key, selected: key === current }, key)));
        dialog.showModal();
        loadStreams();
    }

    async function loadStreams() {
        const [group, name] = device.value.split("/");
        problem.hidden = true;
        add.disabled = true;
        try {
            const reply = await request(devicePath(group, name));
            streams = reply.streams.map((entry) => ({ ...entry, columns: plottable(entry) })).filter((entry) => entry.columns.length > 0);
            stream.replaceChildren(...streams.map((entry) => h("option", { value: entry.stream }, entry.stream)));
            add.disabled = streams.length === 0;
            if (!streams.length) fail("This device has no stream that can be plotted yet.");
        } catch (error) {
            fail(error.message);
        }
    }

    function fail(text) {
        problem.textContent = text;
        problem.hidden = false;
    }

    function submit(event) {
        event.preventDefault();
        const [group, name] = device.value.split("/");
        const entry = streams.find((candidate) => candidate.stream === stream.value);
        if (entry) onpick({ group, device: name, stream: entry.stream, rate: entry.rate, columns: entry.columns });
        dialog.close();
    }

    return { element: button, setDevice(key) { current = key; }, close() { dialog.remove(); } };
}
