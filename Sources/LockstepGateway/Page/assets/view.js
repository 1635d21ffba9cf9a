/** What the page shows. */

import { isID, randomID } from "./pure/identity.js";
import { setUpSharing } from "./share.js";
import { clockTime, rateText, SENSOR_TEXTS, statusOf } from "./pure/texts.js";

/** @param {string} id @returns {any} */
const element = (id) => document.getElementById(id);

function setText(target, text) {
    if (target.textContent !== text) target.textContent = text;
}

/** Shows a message at the top, or none. @param {string|null} text @param {"warn"|"bad"} kind */
export function notice(text, kind = "warn") {
    const target = element("notice");
    target.hidden = text === null;
    target.dataset.kind = kind;
    setText(target, text ?? "");
}

/** Explains why there are no sensors at this address, and what to do. */
export function explainInsecure() {
    const target = element("notice");
    const paragraph = (text) => Object.assign(document.createElement("p"), { textContent: text });
    target.dataset.kind = "bad";
    target.replaceChildren(
        paragraph("This address is not secure, and browsers give sensors only to secure addresses."),
        paragraph(`Open the page with https:// instead of http://. If ${location.host} has no https address, its operator must give the gateway a certificate that this phone trusts.`));
    target.hidden = false;
}

export class View {
    onstart = (_settings) => {};
    onstop = () => {};
    ontoken = (_token) => {};
    #parts;
    #isUpdating = false;
    #summary = { waiting: 0, oldest: null, refused: 0, detail: null };
    /** @type {Map<string, {value: HTMLElement}>} */
    #rows = new Map();

    constructor(parts) {
        this.#parts = parts;
        const { settings, queue, sender, recorder } = parts;
        element("form").addEventListener("submit", (event) => {
            event.preventDefault();
            const changes = { device: element("device").value.trim(), group: element("group").value.trim(), token: element("token").value.trim() };
            if (!isID(changes.device) || !isID(changes.group)) return;
            this.onstart(changes);
            this.#draw();
            element("status").focus();
        });
        element("stop").addEventListener("click", () => {
            this.onstop();
            this.#draw();
            element("title").focus();
        });
        const retry = (event) => {
            event?.preventDefault();
            const token = element("new-token").value.trim();
            if (element("token-form").hidden || !token) return sender.retryNow();
            this.ontoken(token);
            element("new-token").value = "";
            // The form may be in view while earlier batches wait.
            element("token").value = settings.token;
        };
        element("retry").addEventListener("click", retry);
        element("token-form").addEventListener("submit", retry);
        element("discard").addEventListener("click", async () => {
            if (!confirm("Delete all batches that wait on this phone? They cannot be recovered.")) return;
            await queue.clear("batches");
            sender.retryNow();
            this.update();
        });
        element("retry-refused").addEventListener("click", async () => {
            await queue.retryRefused(randomID());
            sender.wake();
            this.update();
        });
        element("drop-refused").addEventListener("click", async () => {
            if (!confirm("Delete the refused batches? They cannot be recovered.")) return;
            await queue.clear("refused");
            this.update();
        });
        setUpSharing();
        sender.addEventListener("change", () => this.update());
        recorder.addEventListener("change", () => this.update());
        document.addEventListener("visibilitychange", () => this.update());
        setInterval(() => this.update(), 500);
    }

    async update() {
        if (this.#isUpdating || document.hidden) return;
        this.#isUpdating = true;
        try {
            this.#summary = await this.#parts.queue.summary();
            this.#draw();
        } catch {
            // The database is being opened again. The recorder and the sender say so.
            this.#draw();
        } finally {
            this.#isUpdating = false;
        }
    }

    #draw() {
        const summary = this.#summary;
        const { settings, sender, recorder, sensors, screen } = this.#parts;
        const isRunning = recorder.isRunning;
        // The settings may have changed since the form was shown last, for example the token.
        if (element("form").hidden && !isRunning) for (const name of ["device", "group", "token"]) element(name).value = settings[name];
        element("form").hidden = element("share").hidden = isRunning;
        element("running").hidden = !isRunning;
        element("delivery").hidden = !isRunning && !summary.waiting && !summary.refused && !sender.stored;
        setText(element("title"), isRunning ? settings.device : "Join with this phone");
        setText(element("address"), `${settings.group}/${settings.device}, ${recorder.state}`);
        if (isRunning) {
            const status = statusOf({ sensors: { motion: sensors.motion.status, location: sensors.location.status }, sender: sender.status, problem: sender.problem, unwritten: recorder.problem, dropped: recorder.dropped, waiting: summary.waiting, isAwake: screen.isOn });
            setText(element("status"), status.title);
            setText(element("status-text"), status.text);
            element("status-card").dataset.kind = status.kind;
            this.#drawSensors();
        }
        this.#drawDelivery(summary);
    }

    #drawSensors() {
        const { sensors, recorder } = this.#parts;
        const now = performance.now();
        const rate = (stream) => recorder.rates.get(stream)?.at(now) ?? 0;
        const motion = sensors.motion.status;
        this.#row("Acceleration", motion, rateText(rate("motion/accelerometer")));
        this.#row("Rotation rate", motion, rateText(rate("motion/gyroscope")));
        this.#row("Attitude", motion, rateText(rate("motion/device")));
        const { status, accuracy } = sensors.location;
        this.#row("Location", status, accuracy === null ? "running" : `±${Math.round(accuracy)} m`);
        this.#row("Samples taken", "running", recorder.samples.toLocaleString("en-GB"));
    }

    #row(name, status, running) {
        let row = this.#rows.get(name);
        if (!row) {
            const value = Object.assign(document.createElement("span"), { className: "value" });
            const item = document.createElement("li");
            item.append(Object.assign(document.createElement("span"), { className: "name", textContent: name }), value);
            element("sensors").append(item);
            row = { value };
            this.#rows.set(name, row);
        }
        setText(row.value, status === "running" ? running : SENSOR_TEXTS[status]);
        row.value.dataset.kind = status === "denied" ? "bad" : "";
    }

    #drawDelivery({ waiting, oldest, refused, detail }) {
        const { sender } = this.#parts;
        const batches = (count) => `${count.toLocaleString("en-GB")} ${count === 1 ? "batch" : "batches"}`;
        setText(element("waiting"), waiting > 1 && oldest !== null ? `${batches(waiting)}, since ${clockTime(oldest)}` : batches(waiting));
        setText(element("stored"), sender.lastStored === null ? "none yet" : `${batches(sender.stored)}, last at ${clockTime(sender.lastStored)}`);
        element("refused-row").hidden = element("refused-problem").hidden = refused === 0;
        setText(element("refused"), batches(refused));
        setText(element("refused-text"), detail ? `The gateway cannot store some batches: ${detail}` : "");
        const problem = sender.status === "waiting" || sender.status === "stopped" ? sender.problem : null;
        element("problem").hidden = problem === null;
        if (!problem) return;
        setText(element("problem-text"), problem.detail);
        element("token-form").hidden = problem.status !== 401 && problem.status !== 403;
        // Another token solves 401; nothing on this phone may solve the others.
        element("discard").hidden = problem.status !== 403 && problem.status !== 409;
    }
}
