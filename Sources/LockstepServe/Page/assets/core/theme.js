/** Light, dark, or as the system. */

import { store, stored } from "./settings.js";

const listeners = new Set();
const media = matchMedia("(prefers-color-scheme: dark)");

/** @returns {"system"|"light"|"dark"} */
export function theme() {
    return stored("theme", "system");
}

/** @param {"system"|"light"|"dark"} value */
export function setTheme(value) {
    store("theme", value);
    apply();
}

/** Calls `listener` after each change of the colours; returns a function that ends this. @param {() => void} listener */
export function onThemeChange(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/** Returns the value of a colour or size of the style sheet. @param {string} name with its two dashes */
export function token(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function apply() {
    const value = theme();
    const isDark = value === "dark" || (value === "system" && media.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    for (const listener of listeners) listener();
}

media.addEventListener("change", apply);
apply();

const motion = matchMedia("(prefers-reduced-motion: reduce)");

/** Whether animations that carry no information should be left out. */
export function prefersReducedMotion() {
    return motion.matches;
}
