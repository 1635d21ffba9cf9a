/** Commands to a device: leases of rates, the phase, flush, the calibration. Only for sessions that may operate. */

import { devicePath, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, emptyState, h, icon, segmented, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { parts } from "../core/parts.js";
import { session } from "../core/session.js";
import { stored, store } from "../core/settings.js";
import { announce } from "../core/shell.js";
import { askForget } from "./forget-dialog.js";
import { askRename } from "./rename-dialog.js";
import { dateTime } from "../pure/format.js";
import { leaseRate, proposedRate, remaining } from "../pure/lease.js";

const DURATIONS = [["60", "1 min"], ["300", "5 min"], ["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"]];

const PHASES = {
    inactive: { title: "Inactive", text: "All sensors of the device pause until it is in the foreground again. What would be measured meanwhile is not recorded." },
    background: { title: "Background", text: "The sensors of motion stop, and others run at lower rates, until the device is in the foreground again." },
};

/** @param {{group: string, device: string}} address @param {{stream: string, rate: number|null}[]} streams */
export function controlCard({ group, device }, streams) {
    const { element, body, note } = card({ title: "Control", id: "control", className: "card-control" });
    if (!session.canOperate) {
        body.append(emptyState({ symbol: "lock", title: "This session may only read", text: "To change rates and phases, sign in with a token that has the right to operate." }));
        return { element };
    }
    const client = clientName();
    const result = h("p", { class: "message", role: "status", hidden: true });
    const offline = h("p", { class: "message", hidden: true, data: { kind: "info" } }, "The device is not connected. Commands fail until it is.");
    const leases = h("ul", { class: "leases", "aria-label": "Leases" });
    const wrap = (field) => h("span", { class: "select" }, field, icon("chevron"));
    const stream = h("select", { "aria-label": "Stream", onchange: () => propose() }, ...[...streams].sort((a, b) => (b.rate ?? 0) - (a.rate ?? 0)).map((entry) => h("option", { value: entry.stream }, entry.stream)));
    const hz = h("input", { class: "field num", type: "number", "aria-label": "Rate in Hz", min: "0.001", max: "10000", step: "any", required: true });
    const propose = () => { hz.value = String(proposedRate(stream.value, streams.find((entry) => entry.stream === stream.value)?.rate)); };
    propose();
    const span = h("select", { "aria-label": "Duration" }, ...DURATIONS.map(([value, text]) => h("option", { value, selected: value === "300" }, text)));
    const leaseButton = h("button", { class: "button primary", type: "submit" }, "Start lease");
    const form = h("form", { class: "lease-form", onsubmit: (event) => {
        event.preventDefault();
        send({ client, rate: { stream: stream.value, hz: Number(hz.value), lease_s: Number(span.value) } }, leaseButton, (reply) => `${reply.rate.stream} runs at ${leaseRate(reply.rate.hz)}`);
    } }, wrap(stream), h("span", { class: "with-unit" }, hz, h("span", { "aria-hidden": "true" }, "Hz")), wrap(span), leaseButton);
    const phase = segmented({ label: "Phase", value: null, isDeliberate: true, options: [{ value: "foreground", text: "Foreground" }, { value: "inactive", text: "Inactive" }, { value: "background", text: "Background" }],
        onchange: async (value) => {
            if (value !== "foreground" && !(await confirmed(PHASES[value], device))) return;
            send({ phase: value }, null, (reply) => `The device is in the ${reply.phase} phase`);
        } });
    const flush = h("button", { class: "button", type: "button", onclick: () => send({ flush: true }, flush, (reply) => `${reply.flushed} batches written`) }, "Flush now");
    flush.title = "Publish the samples of the current window now";
    const forget = h("button", { class: "button", type: "button", onclick: () => askForget({ group, device }) }, "Forget this device");
    const rename = h("button", { class: "button", type: "button", onclick: () => askRename({ group, device }) }, "Rename or move");
    const calibrate = h("button", { class: "button", type: "button", hidden: !streams.some((entry) => entry.stream === "motion/accelerometer"), onclick: async () => {
        const module = await import("/assets/device/calibration.js").catch(() => null);
        if (!module) return say("bad", "The server does not answer: try again.");
        module.openCalibration({ request, path: devicePath(group, device), device, calibration: fleet.get(group, device)?.calibration ?? null, timeText: dateTime });
    } }, "Calibrate");
    body.append(
        offline, h("h3", { class: "sub" }, "Rate lease"), h("p", { class: "hint" }, "A lease raises the rate of a stream until it ends."), form, leases,
        h("h3", { class: "sub" }, "Phase"), h("div", { class: "row" }, phase.element, flush), h("div", { class: "row" }, calibrate, forget, rename), result);

    let known = [];
    let describeTimer = 0;
    let isOver = false;
    let isReachable = false;

    async function send(command, button, text) {
        if (button) button.disabled = true;
        result.hidden = true;
        try {
            const reply = await request(`${devicePath(group, device)}/commands`, { method: "POST", body: { id: uniqueId(), ...command } });
            say("ok", text(reply));
        } catch (error) {
            say("bad", error.status === 504 ? "The device did not answer within 10 s. It may be offline." : error.message);
        } finally {
            if (button) button.disabled = false;
        }
        describe();
    }

    function say(kind, text) {
        result.dataset.kind = kind;
        setText(result, text);
        result.hidden = false;
    }

    async function describe() {
        clearTimeout(describeTimer);
        if (!isReachable) return;
        try {
            const reply = await request(`${devicePath(group, device)}/commands`, { method: "POST", body: { id: uniqueId(), describe: true } });
            known = reply.describe.leases ?? [];
            phase.set(reply.describe.phase);
            const { outbox } = reply.describe;
            setText(note, outbox ? `Outbox: ${outbox.batches} ${outbox.batches === 1 ? "batch" : "batches"}` : "");
        } catch (error) {
            setText(note, error.status === 504 ? "No answer from the agent" : "");
        }
        drawLeases();
        if (!isOver) describeTimer = setTimeout(describe, 30_000);
    }

    let shape = "";
    function drawLeases() {
        const time = now();
        known = known.filter(({ until }) => until > time);
        const next = known.map((lease) => `${lease.client}${lease.stream}${lease.hz}${lease.until}`).join();
        if (next !== shape) {
            shape = next;
            leases.replaceChildren(...known.map((lease) => h("li", { class: "lease" }, h("span", { class: "lease-name" }, h("b", null, lease.stream), ` ${leaseRate(lease.hz)}`),
                h("span", { class: "muted lease-client" }, lease.client === client ? "this page" : lease.client || "no name"), h("span", { class: "lease-left num", role: "timer" }),
                lease.client === client && h("button", { class: "button quiet", type: "button", "aria-label": `End the lease of ${lease.stream}`, onclick: (event) => send({ client, rate: { stream: lease.stream, hz: 0 } }, event.currentTarget, () => "The lease has ended") }, "End"))));
            if (known.length) announce(`${known.length} leases`);
        }
        known.forEach((lease, i) => setText(leases.children[i].querySelector(".lease-left"), remaining(lease.until, time)));
    }

    const timer = setInterval(drawLeases, 500);
    return { element, close() {
        isOver = true;
        clearInterval(timer);
        clearTimeout(describeTimer);
    }, update(value) {
        const next = isConnected(value);
        offline.hidden = next;
        if (next && !isReachable) {
            isReachable = true;
            describe();
        }
        isReachable = next;
        if (value.phase && !known.length) phase.set(value.phase);
    } };
}

/** Asks before a phase that ends what the device records. @param {{title: string, text: string}} phase @param {string} device @returns {Promise<boolean>} */
function confirmed({ title, text }, device) {
    return new Promise((resolve) => {
        const dialog = h("dialog", { "aria-labelledby": "phase-title", "aria-describedby": "phase-text", onclose: () => {
            dialog.remove();
            resolve(dialog.returnValue === "yes");
        } }, h("h2", { id: "phase-title" }, `${title} for ${device}?`), h("p", { id: "phase-text", class: "muted" }, text),
            h("form", { method: "dialog" }, h("button", { class: "button", value: "no" }, "Cancel"), h("button", { class: "button primary", value: "yes" }, title)));
        document.body.append(dialog);
        dialog.showModal();
    });
}

/** Whether an agent would answer. @param {import("../core/api.js").Device} device */
function isConnected({ state, reason, isStale }) {
    // Its state may be unknown because the collector is away: commands go without it.
    if (isStale) return parts.isLive;
    return state !== null && state !== "terminated" && !(state === "background" && (reason === "connection-lost" || reason === "silent"));
}

/** One name for each browser, so that a new lease replaces its old one. */
function clientName() {
    const name = stored("client", `page-${uniqueId().slice(0, 8)}`);
    store("client", name);
    return name;
}

function uniqueId() {
    return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
