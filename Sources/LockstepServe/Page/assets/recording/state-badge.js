/** The state of a session as a word with a mark. */

import { h } from "../core/dom.js";

const MARKS = { preparing: "inactive", armed: "resumed", recording: "active", stopping: "background", complete: "terminated", incomplete: "unknown" };

/** @param {string} state */
export function stateBadge(state) {
    return h("span", { class: "state", data: { state: MARKS[state] ?? "unknown" } }, h("span", { class: "state-dot", "aria-hidden": "true" }), h("span", { class: "session-word", data: { state } }, state.charAt(0).toUpperCase() + state.slice(1)));
}
