/** Metric or imperial units, as the person chose them, for all views. */

import { store, stored } from "./settings.js";

const listeners = new Set();

/** @returns {"metric"|"imperial"} */
export function units() {
    return stored("units", "metric") === "imperial" ? "imperial" : "metric";
}

/** @param {string} value */
export function setUnits(value) {
    store("units", value);
    for (const listener of listeners) listener();
}

/** Calls `listener` after each change; returns a function that ends this. @param {() => void} listener */
export function onUnitsChange(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}
