/** Requests about sessions. */

import { request } from "../core/api.js";

/** @param {string} group @param {string} id */
export function sessionPath(group, id) {
    return `/sessions/${encodeURIComponent(group)}/${encodeURIComponent(id)}`;
}

/** @param {{group: string, id: string}} session @param {"mark"|"stop"|"edit"|"delete"} verb @param {unknown} [body] */
export function ask({ group, id }, verb, body = {}) {
    return request(`${sessionPath(group, id)}/${verb}`, { method: "POST", body });
}

/** The address of a session on the page. @param {{group: string, id: string}} session */
export function sessionAddress({ group, id }) {
    return `#/sessions/${encodeURIComponent(group)}/${encodeURIComponent(id)}`;
}

/** The session that this page has started last: its collector may need a moment. */
export const started = { address: "", at: 0 };

/**
 * Calls a function at once and then again and again, until it is stopped. Nothing is asked while the page is hidden.
 * @param {(signal: AbortSignal) => Promise<void>} load @param {number} every ms
 */
export function repeat(load, every) {
    const abort = new AbortController();
    let timer = 0;
    async function run() {
        clearTimeout(timer);
        if (!document.hidden) await load(abort.signal).catch((error) => abort.signal.aborted || console.error(error));
        if (!abort.signal.aborted) timer = setTimeout(run, every);
    }
    run();
    return { now: run, stop() {
        clearTimeout(timer);
        abort.abort();
    } };
}
