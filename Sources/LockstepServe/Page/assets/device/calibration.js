/**
 * The guided calibration of a device. The server finds the positions in its live samples, and says which one is next.
 *
 * It is loaded when it is needed, so it has copies of what it imports: only what has no state of the page.
 */

import { h, setText } from "../core/dom.js";
import { eventsOf, qualityText, sentence } from "../pure/calibration.js";

/** @param {{request: typeof import("../core/api.js").request, path: string, device: string, calibration: import("../pure/calibration.js").Calibration|null, timeText: (micros: number) => string}} page `path` is that of the device */
export function openCalibration({ request, path, device, calibration, timeText }) {
    /** The guidance that goes on: its end is that of the connection. @type {AbortController|null} */
    let running = null;
    /** @type {import("../pure/calibration.js").Calibration|null} */
    let result = null;
    const present = h("p", { id: "calibration-present" });
    const positions = h("ol", { class: "steps", hidden: true });
    const message = h("p", { class: "message", role: "status", tabindex: -1, hidden: true });
    const button = (text, onclick, kind = "") => h("button", { class: `button ${kind}`, type: "button", onclick }, text);
    const start = button("Start", guide);
    const accept = button("Use this calibration", () => send(result, "It is used from now on."), "primary");
    const undo = button("Undo the calibration", () => send(null, "Samples are published as measured again."));
    const close = button("Close", () => dialog.close());
    const leave = () => dialog.close();
    const command = (body) => request(`${path}/commands`, { method: "POST", body });
    const described = async () => (await command({ describe: true })).describe.calibration ?? null;
    const dialog = h("dialog", { class: "calibration", "aria-labelledby": "calibration-title", "aria-describedby": "calibration-present", onclose: () => {
        running?.abort();
        window.removeEventListener("hashchange", leave);
        dialog.remove();
    } }, h("h2", { id: "calibration-title" }, `Calibrate ${device}`), h("p", { class: "muted" }, "On a level table, lay the device on each of its six sides, in any order, and then in three tilted positions."),
        present, positions, message, h("div", { class: "row" }, close, start, undo, accept));

    function draw() {
        setText(present, calibration ? `Calibrated ${timeText(calibration.t)}. ${qualityText(calibration)}` : "Not calibrated.");
        accept.hidden = !result;
        start.hidden = running !== null;
        undo.hidden = running !== null || !calibration;
        setText(start, result ? "Start again" : "Start");
        start.classList.toggle("primary", !result);
        (result ? accept : running ? message : start).focus();
    }

    function say(kind, text) {
        message.dataset.kind = kind;
        setText(message, sentence(text));
        message.hidden = false;
    }

    function showStep({ positions: all, next, still, note }) {
        const at = all.findIndex(({ done }) => !done);
        positions.replaceChildren(...all.map(({ text, done }, i) => h("li", { "aria-current": i === at ? "step" : null }, i === at ? h("b", null, text) : text, done && " ✓ done")));
        positions.hidden = false;
        if (next) say("info", `${sentence(still ? note ?? "at rest" : "not still yet")} ${next}`);
    }

    async function guide() {
        const own = new AbortController();
        [running, result] = [own, null];
        say("info", "Asking the device …");
        draw();
        try {
            calibration = await described();
            draw();
            const body = await request(`${path}/calibration`, { method: "POST", signal: own.signal, isStream: true });
            const reader = body.pipeThrough(new TextDecoderStream()).getReader();
            let text = "";
            while (!result) {
                const { done, value } = await reader.read();
                if (done) throw new Error("the connection is lost");
                const { events, rest } = eventsOf(text + value);
                text = rest;
                for (const { name, data } of events) {
                    if (name === "end") throw new Error(data.reason);
                    if (name === "step") showStep(data);
                    if (name === "result") result = data;
                }
            }
            say("ok", qualityText(result));
        } catch (error) {
            if (!own.signal.aborted) say("bad", error.message);
        }
        own.abort();
        running = null;
        draw();
    }

    /** @param {import("../pure/calibration.js").Calibration|null} next @param {string} text */
    async function send(next, text) {
        accept.disabled = undo.disabled = true;
        try {
            // Samples that were calibrated in different ways have no common error.
            if (next && (await described())?.t !== calibration?.t) throw new Error("the calibration of the device was changed meanwhile: start again");
            await command({ calibrate: next });
            [calibration, result] = [next, null];
            positions.hidden = true;
            say("ok", text);
        } catch (error) {
            say("bad", error.message);
        }
        accept.disabled = undo.disabled = false;
        draw();
    }

    window.addEventListener("hashchange", leave);
    document.body.append(dialog);
    dialog.showModal();
    draw();
}
