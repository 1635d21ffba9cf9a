/** Choices of the person that survive a reload, kept in the browser. */

const PREFIX = "lockstep.";

/** @template T @param {string} name @param {T} fallback @returns {T} */
export function stored(name, fallback) {
    try {
        const text = localStorage.getItem(PREFIX + name);
        return text === null ? fallback : JSON.parse(text);
    } catch {
        return fallback;
    }
}

/** @param {string} name @param {unknown} value */
export function store(name, value) {
    try {
        localStorage.setItem(PREFIX + name, JSON.stringify(value));
    } catch {
        // Without storage, for example in a private window, the choice lasts until the reload.
    }
}
