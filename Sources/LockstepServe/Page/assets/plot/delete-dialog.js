/** Deletion of stored samples in a selection, after a preview of what is removed. */

import { devicePath, request } from "../core/api.js";
import { h, setText } from "../core/dom.js";
import { counted, dateTime, duration } from "../pure/format.js";

/**
 * @param {{group: string, device: string, stream: string}[]} sources the plotted streams @param {{from: number, to: number}} range
 * @param {() => void} ondelete called when the deletion is accepted
 */
export function askDeletion(sources, range, ondelete) {
    const stream = h("select", { onchange: () => preview() }, ...sources.map((source, i) => h("option", { value: String(i) }, `${source.device}: ${source.stream}`)));
    const reason = h("input", { class: "field", maxLength: 200, placeholder: "Such as: wrong fix" });
    const secure = h("input", { type: "checkbox" });
    const found = h("p", { class: "message", role: "status", data: { kind: "info" } });
    const confirm = h("button", { class: "button primary", type: "submit", disabled: true }, "Delete");
    const close = h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel");
    const dialog = h("dialog", { "aria-labelledby": "delete-title", onclose: () => dialog.remove() }, h("h2", { id: "delete-title" }, "Delete samples"),
        h("p", { class: "muted num" }, `${dateTime(range.from)}, ${duration((range.to - range.from) / 1e6)}`),
        h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); remove(); } },
            h("label", null, "Stream", h("span", { class: "select" }, stream)), h("label", null, "Reason, which is recorded", reason),
            h("label", { class: "check" }, secure, "Overwrite the freed pages of the file"), found, confirm, close));
    let asked = 0;

    const send = (isPreview) => {
        const { group, device, stream: name } = sources[Number(stream.value)];
        return request(`${devicePath(group, device)}/deletions`, { method: "POST", body: { from: Math.round(range.from), to: Math.round(range.to), stream: name, secure: secure.checked, dry_run: isPreview, ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) } });
    };

    function say(kind, text) {
        found.dataset.kind = kind;
        setText(found, text);
    }

    async function preview() {
        asked += 1;
        const current = asked;
        confirm.disabled = true;
        say("info", "Counting");
        try {
            const { samples, days } = await send(true);
            if (current !== asked) return;
            confirm.disabled = samples === 0;
            say("info", samples === 0 ? "There are no stored samples in this range." : `${counted(samples, "stored sample")}, from ${dateTime(days[0].first)} to ${dateTime(days[days.length - 1].last)}. They do not come back, also if they are sent again.`);
        } catch (error) {
            if (current === asked) say("bad", error.message);
        }
    }

    async function remove() {
        confirm.disabled = true;
        try {
            const { samples } = await send(false);
            say("ok", `${counted(samples, "sample")} are being deleted`);
            setText(close, "Close");
            ondelete();
        } catch (error) {
            say("bad", error.message);
            confirm.disabled = false;
        }
    }

    document.body.append(dialog);
    dialog.showModal();
    preview();
}
