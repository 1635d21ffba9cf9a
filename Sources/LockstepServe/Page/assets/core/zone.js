/** Whether times are shown in UTC or in the zone of the browser, as the person chose. */

import { useUTC } from "../pure/format.js";
import { store, stored } from "./settings.js";

const SETTING = "zone";

/** @returns {"utc"|"local"} */
export function timeZone() {
    return stored(SETTING, "local") === "utc" ? "utc" : "local";
}

/** @param {string} value */
export function setTimeZone(value) {
    store(SETTING, value);
    useUTC(value === "utc");
}

useUTC(timeZone() === "utc");
