/** What a person has selected in the plots: its length, and what to do with it. */

import { h, icon, setText } from "../core/dom.js";
import { session } from "../core/session.js";
import { duration, nearTime } from "../pure/format.js";
import { now } from "../core/clock.js";

/** @param {{onzoom: () => void, ondownload: () => void, ondelete: () => void, onclear: () => void}} acts */
export function selectionBar({ onzoom, ondownload, ondelete, onclear }) {
    const text = h("span", { class: "num", role: "status" });
    const button = (label, act, className = "") => h("button", { class: `button ${className}`, type: "button", onclick: act }, label);
    const remove = session.canOperate ? button("Delete", ondelete) : null;
    const element = h("div", { class: "selection-bar", hidden: true }, text, h("span", { class: "spacer" }), button("Zoom in", onzoom, "primary"), button("Download", ondownload), remove,
        h("button", { class: "button quiet icon-only", type: "button", "aria-label": "Clear the selection", title: "Clear the selection", onclick: onclear }, icon("close")));
    return {
        element,
        /** @param {{from: number, to: number}|null} selection @param {boolean} canDelete whether its times are those of the device, as in a deletion */
        update(selection, canDelete) {
            if (remove) remove.hidden = !canDelete;
            element.hidden = selection === null;
            if (selection) setText(text, `Selected: ${nearTime(selection.from, now())} – ${nearTime(selection.to, now())}, Δt ${duration((selection.to - selection.from) / 1e6)}`);
        },
    };
}
