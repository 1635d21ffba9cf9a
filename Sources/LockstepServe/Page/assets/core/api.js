/** Requests to the HTTP API. */

/**
 * @typedef {object} Device
 * @property {string} group @property {string} device @property {string|null} state @property {number|null} since µs
 * @property {string|null} previous @property {string|null} reason @property {number} seq
 * @property {number|null} last_sample µs @property {number} samples @property {number|null} stored
 * @property {number|null} duplicates @property {number|null} conflicts @property {number|null} missing @property {number|null} on_its_way
 * @property {boolean} [isStale] whether its state is not known at present @property {number} dropped_batches @property {number} dropped_samples
 * @property {Record<string, number>} rates Hz @property {string|null} phase @property {Record<string, string>|null} sources
 * @property {{level: number|null, charging: boolean|null, t: number}|null} battery
 * @property {{lat: number, lon: number, hacc: number|null, alt: number|null, speed: number|null, course: number|null, t: number}|null} position
 * @property {string[]} streams @property {import("../pure/calibration.js").Calibration} [calibration]
 */

/** A failed request, with the server's problem document if there was one. */
export class ApiError extends Error {
    /** @param {number} status 0 if the server was not reached @param {string} title @param {string} detail */
    constructor(status, title, detail) {
        super(detail || title);
        this.status = status;
        this.title = title;
        this.detail = detail;
    }
}

const unauthorized = new EventTarget();

/** Calls `listener` when the server requires a token. @param {() => void} listener */
export function onUnauthorized(listener) {
    unauthorized.addEventListener("unauthorized", listener);
}

/**
 * @param {string} path below /api/v1
 * @param {{method?: string, body?: unknown, query?: Record<string, unknown>, signal?: AbortSignal, isStream?: boolean}} [options] `isStream`: returns the body as a stream
 */
export async function request(path, { method = "GET", body, query, signal, isStream } = {}) {
    const url = new URL(`/api/v1${path}`, location.origin);
    for (const [name, value] of Object.entries(query ?? {})) {
        if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
    }
    let response;
    try {
        response = await fetch(url, {
            method,
            signal,
            headers: body === undefined ? {} : { "Content-Type": "application/json" },
            body: body === undefined ? undefined : JSON.stringify(body),
        });
    } catch (error) {
        if (error instanceof DOMException && error.name === "AbortError") throw error;
        throw new ApiError(0, "No connection", "The server does not answer.");
    }
    if (response.ok) return isStream ? response.body : response.status === 204 ? null : response.json();
    const problem = await response.json().catch(() => ({}));
    if (response.status === 401 && path !== "/session") unauthorized.dispatchEvent(new Event("unauthorized"));
    throw new ApiError(response.status, problem.title ?? `Error ${response.status}`, problem.detail ?? "");
}

/** The path of a device. @param {string} group @param {string} device */
export function devicePath(group, device) {
    return `/devices/${encodeURIComponent(group)}/${encodeURIComponent(device)}`;
}

/** The path of a stream. @param {string} group @param {string} device @param {string} stream */
export function streamPath(group, device, stream) {
    return `${devicePath(group, device)}/streams/${stream.split("/").map(encodeURIComponent).join("/")}`;
}

/** Whether a request was cancelled by ourselves. @param {unknown} error */
export function isAbort(error) {
    return error instanceof DOMException && error.name === "AbortError";
}
