/** What follows from the reply to a batch. Pure functions. */

const FIRST_DELAY = 1000;
const LONGEST_DELAY = 30_000;

/**
 * @typedef {{kind: "stored"} | {kind: "refused"|"stopped", detail: string, status: number} | {kind: "later", detail: string, status: number, delay: number}} Outcome
 */

/**
 * @param {number} status of HTTP, 0 without a reply @param {string} detail of the problem document
 * @param {string|null} retryAfter @param {number} failures before this one, in a row @param {number} random 0 to 1
 * @returns {Outcome}
 */
export function outcome(status, detail, retryAfter, failures, random = Math.random()) {
    if (status >= 200 && status < 300) return { kind: "stored" };
    if (status === 400 || status === 413 || status === 422) return { kind: "refused", status, detail: detail || `The gateway refused the batch (${status}).` };
    if (status === 401 || status === 403 || status === 409) return { kind: "stopped", status, detail: status === 401 ? STOPPED[401] : detail || STOPPED[status] };
    const seconds = retryAfter !== null && /^\d+$/.test(retryAfter.trim()) ? Number(retryAfter) : null;
    const delay = seconds !== null ? Math.min(seconds * 1000, 600_000) : Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(failures, 10)) * (0.75 + random / 2);
    return { kind: "later", status, delay, detail: detail || (status === 0 ? "The gateway does not answer." : `The gateway answered with ${status}.`) };
}

/**
 * Whether a batch must make way for those behind it: nothing that the person can change here makes the gateway accept it, because it
 * was taken under an earlier name.
 * @param {Outcome} result @param {{group: string, device: string}} batch @param {{group: string, device: string}} present
 */
export function isObstacle(result, batch, present) {
    if (result.kind === "refused") return true;
    return result.kind === "stopped" && result.status !== 401 && (batch.group !== present.group || batch.device !== present.device);
}

/** Why a batch was taken out of the queue. @param {{detail: string}} result @param {{group: string, device: string}} batch @param {{group: string, device: string}} present */
export function refusalText({ detail }, batch, present) {
    return batch.group === present.group && batch.device === present.device ? detail : `${detail} (taken as ${batch.group}/${batch.device})`;
}

/** That of 401 is for programs, which send a header; people enter a token. */
const STOPPED = {
    401: "The token is wrong. Ask the operator of the gateway for a token.",
    403: "The gateway does not accept this device.",
    409: "Another sender uses this name.",
};
