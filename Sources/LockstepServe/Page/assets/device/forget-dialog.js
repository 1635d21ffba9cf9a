/** Forgetting a device that no longer exists, after a preview of what goes and what stays. */

import { devicePath, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { h, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { stateWord } from "../core/states.js";
import { age, dateTime, UNKNOWN, whole } from "../pure/format.js";

/** @param {{group: string, device: string}} address */
export function askForget({ group, device }) {
    const known = fleet.get(group, device);
    const facts = known ? [["State", stateWord(known.state)], ["Last sample", known.last_sample === null ? "none" : `${dateTime(known.last_sample)} (${age((now() - known.last_sample) / 1e6)})`], ["Stored samples, which stay", known.stored === null ? UNKNOWN : whole(known.stored)],
        ["Batches on the way", whole(known.on_its_way)]] : [];
    const result = h("p", { class: "message", role: "status", hidden: true });
    const confirm = h("button", { class: "button primary", type: "submit" }, "Forget");
    const close = h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel");
    const dialog = h("dialog", { "aria-labelledby": "forget-title", onclose: () => dialog.remove() }, h("h2", { id: "forget-title" }, `Forget ${group}/${device}`),
        h("p", { class: "muted" }, "The device leaves this page, all lists, metrics and Home Assistant. Its samples stay in the store. If it sends again, it is listed again."),
        h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
        h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); forget(); } }, result, confirm, close));

    async function forget() {
        confirm.disabled = true;
        result.hidden = false;
        result.dataset.kind = "info";
        setText(result, "Asking the collectors, which takes up to 20 s");
        try {
            await request(`${devicePath(group, device)}/forget`, { method: "POST" });
            dialog.close();
            location.hash = "#/";
        } catch (error) {
            result.dataset.kind = "bad";
            setText(result, error.message);
            confirm.disabled = false;
        }
    }

    document.body.append(dialog);
    dialog.showModal();
}
