/** Adding a plot: the choice of a device and a stream. */

import { devicePath, request } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { plottable } from "../pure/columns.js";

const collator = new Intl.Collator("en", { numeric: true });

/** @param {{charts: () => import("./chart.js").Chart[], other: () => {id: string, shift: number}|null, onpick: (source: any, chart: import("./chart.js").Chart|undefined) => void}} options */
export function plotPicker({ charts, other, onpick }) {
    const device = h("select", { id: "plot-device", onchange: () => loadStreams() });
    const stream = h("select", { id: "plot-stream" });
    const session = h("select", { id: "plot-session" });
    const place = h("select", { id: "plot-place" });
    const problem = h("p", { class: "message", role: "alert", hidden: true, data: { kind: "bad" } });
    const add = h("button", { class: "button primary", type: "submit" }, "Add plot");
    const wrap = (select) => h("span", { class: "select" }, select, icon("chevron"));
    const dialog = h("dialog", { "aria-labelledby": "plot-title" }, h("h2", { id: "plot-title" }, "Add a plot"),
        h("form", { method: "dialog", onsubmit: submit }, h("label", null, "Device", wrap(device)), h("label", null, "Stream", wrap(stream)), h("label", null, "Session", wrap(session)), h("label", null, "Where", wrap(place)), problem, add,
            h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel")));
    const button = h("button", { class: "button", type: "button", onclick: open }, icon("plus"), "Plot");
    let streams = [];
    let current = "";

    function open() {
        if (!dialog.isConnected) document.body.append(dialog);
        // The device of the view is known before the others.
        const keys = [...new Set([current, ...fleet.entries.keys()])].filter(Boolean).sort(collator.compare);
        device.replaceChildren(...keys.map((key) => h("option", { value: key, selected: key === current }, key)));
        place.replaceChildren(h("option", { value: "" }, "In a new plot"), ...charts().map((chart, i) => h("option", { value: String(i) }, `In the plot of ${chart.source.device}: ${chart.source.stream}`)));
        const second = other();
        session.closest("label").hidden = second === null;
        session.replaceChildren(h("option", { value: "" }, "This one"), ...(second ? [h("option", { value: second.id }, second.id)] : []));
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
        const second = session.value ? { session: session.value, shift: other()?.shift } : {};
        if (entry) onpick({ group, device: name, stream: entry.stream, rate: entry.rate, columns: entry.columns, ...second }, place.value === "" ? undefined : charts()[Number(place.value)]);
        dialog.close();
    }

    return { element: button, setDevice(key) { current = key; }, close() { dialog.remove(); } };
}
