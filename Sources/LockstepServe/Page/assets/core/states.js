/** How life-cycle states are shown: always a colour, a shape and a word. */

import { h, setText } from "./dom.js";

export const STATES = ["active", "inactive", "background", "resumed", "terminated"];

const WORDS = {
    active: "Active",
    inactive: "Inactive",
    background: "Background",
    resumed: "Resumed",
    terminated: "Terminated",
};

/** @param {string|null|undefined} state */
export function stateWord(state) {
    return WORDS[state ?? ""] ?? "Unknown";
}

/** A badge for a state; `update` changes it. @param {string|null} [state] */
export function stateBadge(state = null) {
    const text = h("span", { class: "state-word" });
    const element = h("span", { class: "state" }, h("span", { class: "state-dot", "aria-hidden": "true" }), text);
    function update(next) {
        const key = next ?? "unknown";
        if (element.dataset.state === key) return;
        element.dataset.state = key;
        setText(text, stateWord(next));
    }
    update(state);
    return { element, update };
}
