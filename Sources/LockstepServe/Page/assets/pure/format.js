/** Texts of numbers, times and durations. Pure functions; unknown values become an en dash. */

export const UNKNOWN = "–";
const MINUS = "−";

/**
 * Returns a number with a fixed number of decimals and a true minus sign.
 * @param {number|null|undefined} value
 * @param {number} decimals
 */
export function fixed(value, decimals = 0) {
    if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
    const text = Math.abs(value).toFixed(decimals);
    return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** Returns a whole number with thin spaces between thousands. @param {number|null|undefined} value */
export function whole(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
    const digits = String(Math.abs(Math.round(value))).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return value < 0 ? MINUS + digits : digits;
}

/** Returns a count in at most four characters: 940, 12.4k, 3.1M. @param {number|null|undefined} value */
export function compact(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
    const units = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
    for (const [size, unit] of units) {
        if (value >= size * 0.9995) {
            const scaled = value / size;
            return (scaled < 99.95 ? scaled.toFixed(1) : scaled.toFixed(0)) + unit;
        }
    }
    return String(Math.round(value));
}

/**
 * Returns a duration with its largest unit or two: 0.4 s, 12 s, 4 min 05 s, 3 h 20 min, 12 d 4 h.
 * @param {number|null|undefined} seconds
 */
export function duration(seconds) {
    if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
    const s = Math.max(0, seconds);
    if (s < 9.95) return `${s.toFixed(1)} s`;
    const whole = Math.round(s);
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
    const minutes = Math.round(s / 60);
    if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
    const hours = Math.round(s / 3600);
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The time by which a clock may be ahead so that something still counts as new, in s. */
const MAX_CLOCK_ERROR = 5;

/** Whether a time is so far in the future that its age is unknown. @param {number} seconds its age */
export function isAhead(seconds) {
    return seconds < -MAX_CLOCK_ERROR;
}

/** Returns the age of something in one unit, which fits a table: now, 4 s, 12 min, 3 h, 9 d. That of a time in the future is unknown. @param {number|null|undefined} seconds */
export function age(seconds) {
    if (seconds === null || seconds === undefined || !Number.isFinite(seconds) || isAhead(seconds)) return UNKNOWN;
    const s = Math.max(0, seconds);
    if (s < 2) return "now";
    if (s < 100) return `${Math.round(s)} s`;
    if (s < 5400) return `${Math.round(s / 60)} min`;
    if (s < 129600) return `${Math.round(s / 3600)} h`;
    return `${Math.round(s / 86400)} d`;
}

/** Returns a rate: 100 Hz, 12.5 Hz, 0.2 Hz; below 0.1 Hz as samples a minute. @param {number|null|undefined} hz */
export function rate(hz) {
    if (hz === null || hz === undefined || !Number.isFinite(hz)) return UNKNOWN;
    if (hz === 0) return "0 Hz";
    if (hz < 0.095) return `${trim((hz * 60).toFixed(1))}/min`;
    return `${trim(hz < 9.95 ? hz.toFixed(1) : hz.toFixed(0))} Hz`;
}

/** Returns the number of samples of several streams in a second: 360 samples/s. They have no common rate in Hz. @param {number|null|undefined} sum */
export function sampleRate(sum) {
    return rate(sum).replace(" Hz", " samples/s").replace("/min", " samples/min");
}

/** Returns the same for a narrow column: 360/s. @param {number|null|undefined} sum */
export function shortSampleRate(sum) {
    return rate(sum).replace(" Hz", "/s");
}

/** Returns a share as a percentage. @param {number|null|undefined} share 0 to 1 */
export function percent(share) {
    return share === null || share === undefined || !Number.isFinite(share) ? UNKNOWN : `${Math.round(share * 100)} %`;
}

/** Returns a number of bytes: 27 MB. @param {number|null|undefined} value */
export function bytes(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
    const units = ["B", "kB", "MB", "GB", "TB"];
    let scaled = value;
    let unit = 0;
    while (scaled >= 999.5 && unit < units.length - 1) {
        scaled /= 1000;
        unit += 1;
    }
    return `${unit === 0 || scaled >= 99.95 ? scaled.toFixed(0) : scaled.toFixed(1)} ${units[unit]}`;
}

let isUTC = false;

/** Chooses the zone of all times in texts: UTC, or that of the browser. @param {boolean} value */
export function useUTC(value) {
    isUTC = value;
}

/** The offset of the chosen zone from UTC at a time. @param {number} micros µs since 1970 @returns {number} µs */
export function zoneOffset(micros) {
    return isUTC ? 0 : -new Date(micros / 1000).getTimezoneOffset() * 60e6;
}

/** A date whose fields in UTC are those of the chosen zone. @param {number} micros */
function inZone(micros) {
    return new Date((micros + zoneOffset(micros)) / 1000);
}

/** Returns a time in the form of an input field for date and time. @param {number} micros */
export function inputText(micros) {
    return inZone(micros).toISOString().slice(0, 19);
}

/** Returns the time of such a field in µs; NaN if it is empty. @param {string} text */
export function inputTime(text) {
    return new Date(isUTC ? `${text}Z` : text).getTime() * 1000;
}

/** Returns the midnight before a time, in µs. @param {number} micros */
export function midnight(micros) {
    return inputTime(`${inputText(micros).slice(0, 10)}T00:00:00`);
}

/** Returns the time of day. @param {number} micros µs since 1970 */
export function timeOfDay(micros, { seconds = true, millis = false } = {}) {
    const date = inZone(micros);
    let text = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}`;
    if (seconds || millis) text += `:${pad(date.getUTCSeconds())}`;
    if (millis) text += `.${String(date.getUTCMilliseconds()).padStart(3, "0")}`;
    return text;
}

/** Returns the date, as in 25 Nov 2026. @param {number} micros µs since 1970 */
export function day(micros, { year = true } = {}) {
    const date = inZone(micros);
    const text = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
    return year ? `${text} ${date.getUTCFullYear()}` : text;
}

/** Returns the date and time with the zone. @param {number|null|undefined} micros µs since 1970 */
export function dateTime(micros) {
    if (micros === null || micros === undefined) return UNKNOWN;
    return `${day(micros)}, ${timeOfDay(micros)} ${zone(micros)}`;
}

/** Returns a time for machines: ISO 8601 in UTC. @param {number} micros µs since 1970 */
export function isoTime(micros) {
    const date = new Date(micros / 1000);
    return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/** Returns the time, with the date if it is not today. @param {number} micros @param {number} now both in µs */
export function nearTime(micros, now, { seconds = true } = {}) {
    const time = timeOfDay(micros, { seconds });
    return day(micros) === day(now) ? time : `${day(micros, { year: false })}, ${time}`;
}

/** Returns the zone as its offset from UTC: UTC+1. @param {number} micros */
export function zone(micros) {
    const minutes = zoneOffset(micros) / 60e6;
    if (minutes === 0) return "UTC";
    const sign = minutes < 0 ? MINUS : "+";
    const rest = Math.abs(minutes) % 60;
    return `UTC${sign}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${pad(rest)}` : ""}`;
}

/** Returns a position in degrees with hemispheres. @param {number} lat @param {number} lon */
export function position(lat, lon, decimals = 5) {
    return `${latitude(lat, decimals)} ${longitude(lon, decimals)}`;
}

/** @param {number} lat @param {number} decimals */
export function latitude(lat, decimals) {
    return `${Math.abs(lat).toFixed(decimals)}°${lat === 0 ? "" : lat < 0 ? " S" : " N"}`;
}

/** @param {number} lon @param {number} decimals */
export function longitude(lon, decimals) {
    return `${Math.abs(lon).toFixed(decimals)}°${lon === 0 ? "" : lon < 0 ? " W" : " E"}`;
}

/** Returns a count and its noun: 1 batch, 3 batches. @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
    return `${whole(count)} ${count === 1 ? one : many}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {number} number */
function pad(number) {
    return String(number).padStart(2, "0");
}

/** @param {string} text */
function trim(text) {
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
