/** Names, and the part of the address that fills in the form. Pure functions. */

const ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** @param {string} text */
export function isID(text) {
    return ID.test(text);
}

/** Whether this is a browser of iOS: all of them have Apple's engine. */
export function isApple(vendor = globalThis.navigator?.vendor ?? "") {
    return vendor.startsWith("Apple");
}

/** A random id in hexadecimal. */
export function randomID(bytes = 8) {
    return [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The names in the part of the address after `#`. Unknown and invalid ones are left out.
 * @param {string} fragment @returns {{device?: string, group?: string, token?: string}}
 */
export function settingsOf(fragment) {
    const names = new URLSearchParams(fragment.replace(/^#/, ""));
    const result = {};
    for (const name of ["device", "group"]) {
        const value = names.get(name);
        if (value && isID(value)) result[name] = value;
    }
    const token = names.get("token");
    // Only characters that a header may have.
    if (token && /^[\x21-\x7e]{1,1024}$/.test(token)) result.token = token;
    return result;
}
