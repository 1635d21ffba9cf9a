/** What is known of the parts between a device and this page: server, broker, collectors and store. Pure functions. */

import { counted, duration, nearTime } from "./format.js";

/**
 * @typedef {"ok"|"away"|"unknown"} Known
 * @typedef {object} Parts
 * @property {Known} server @property {Known} broker @property {Known|"none"} store
 * @property {Known} events whether the events of rules arrive @property {Known} live whether live samples arrive
 * @property {any[]} collectors those that reported; empty if unknown
 * @property {any} system the last answer about the system, which may be old
 */

/** A lost connection is reported only after this time, because most are over by then. In s. */
export const PATIENCE = 2;

/**
 * Returns what is known at present. What only a lost part could tell is unknown.
 * @param {{status: Record<string, string>, lostFor: number, system: any, isKnown: boolean}} seen the states of the streams,
 *   the time in s for which that of devices is lost, the last answer about the system, and whether it is the present one
 * @returns {Parts}
 */
export function partsOf({ status, lostFor, system, isKnown }) {
    const stream = (name) => (status[name] === "open" ? "ok" : status[name] === "lost" ? "away" : "unknown");
    // A server that answers questions, but refuses the stream, is as good as away for the reader.
    const server = stream("fleet") === "away" && lostFor <= PATIENCE ? "unknown" : stream("fleet");
    const answers = isKnown && system !== null && server !== "away";
    const broker = !answers ? "unknown" : system.broker.connected ? "ok" : "away";
    return {
        server, broker, events: stream("events"), live: stream("live"), system,
        store: answers ? storeOf(system.store) : "unknown",
        // Their reports come by the broker.
        collectors: broker === "ok" ? system.collectors : [],
    };
}

/** @param {{configured: boolean, readable: boolean|null}} store null before the server has read it @returns {Known|"none"} */
function storeOf({ configured, readable }) {
    if (!configured) return "none";
    return readable === null ? "unknown" : readable ? "ok" : "away";
}

/** Collectors report every 10 s. After this time without a report, one has stopped without a word. In ms. */
const SILENT = 25_000;

/** @typedef {Map<string, {at: number, seen: number}>} Reports the last report of each collector, and when it was seen first */

/**
 * Returns the reports that have been seen now, by the clock of the page: those of the collectors may be wrong.
 * @param {Reports} reports @param {any[]} collectors @param {number} time ms @returns {Reports}
 */
export function seenReports(reports, collectors, time) {
    return new Map(collectors.map(({ group, collector, at }) => {
        const key = `${group}/${collector}`;
        const known = reports.get(key);
        return [key, known?.at === at ? known : { at, seen: time }];
    }));
}

/** Returns the collectors, with the status `silent` for those that should have reported again. @param {any[]} collectors @param {Reports} reports @param {number} time ms */
export function withSilent(collectors, reports, time) {
    return collectors.map((collector) => {
        const report = reports.get(`${collector.group}/${collector.collector}`);
        const isSilent = collector.status === "online" && report && time - report.seen > SILENT;
        return isSilent ? { ...collector, status: "silent" } : collector;
    });
}

/** Whether states and rates are the present ones: false if a part is away that reports them. @param {Parts} parts */
export function isLive({ server, broker }) {
    return server !== "away" && broker !== "away";
}

/**
 * Returns a device without what is not known at present: its state while the collector that derives it is away, also its
 * rates while the server or the broker is, and what is stored of it while the store cannot be read.
 * @param {import("../core/api.js").Device} device @param {Parts} parts @returns {import("../core/api.js").Device}
 */
export function asKnown(device, parts) {
    const isDerived = isLive(parts) && storing(parts, device.group) !== "away";
    const state = isDerived ? {} : { state: null, since: null, reason: null, isStale: true };
    const rates = isLive(parts) ? {} : { rates: {} };
    const stored = parts.store === "away" ? { stored: null, missing: null, on_its_way: null, duplicates: null, conflicts: null } : {};
    return { ...device, ...state, ...rates, ...stored };
}

/** Whether a collector is there for a group: without a list, it is for all. @param {any} collector @param {string} group */
function collects({ groups }, group) {
    return !groups || groups.includes(group);
}

/** Whether collectors store the samples of a group: "unknown" if perhaps of a part of its devices only. @param {Parts} parts @param {string} group @returns {Known} */
export function storing({ broker, collectors }, group) {
    if (broker === "unknown") return "unknown";
    const responsible = collectors.filter((collector) => collects(collector, group));
    if (!responsible.some(({ status }) => status === "online")) return "away";
    // Those that name the group may each store a part of its devices.
    return responsible.some(({ groups, status }) => groups && status !== "online") ? "unknown" : "ok";
}

/** The same for all groups: "away" if samples of one of them are not stored, then "unknown". @param {Parts} parts @param {string[]} groups */
export function storingAll(parts, groups) {
    const known = groups.map((group) => storing(parts, group));
    if (!known.length) return parts.broker === "unknown" ? "unknown" : parts.collectors.some(({ status }) => status === "online") ? "ok" : "away";
    return /** @type {const} */ (["away", "unknown"]).find((value) => known.includes(value)) ?? "ok";
}

/** Why samples of some groups are not stored; without any, why none would be. @param {Parts} parts @param {number} now µs @param {string[]} groups */
export function storingProblem({ broker, collectors }, now, groups) {
    if (broker === "away") return "the broker is away";
    if (!collectors.length) return "no collector has reported";
    const isResponsible = (collector) => !groups.length || groups.some((group) => collects(collector, group));
    const texts = collectors.filter((collector) => collector.status !== "online" && isResponsible(collector)).map(({ collector, status, problem, at }) => {
        if (status === "stalled") return `collector ${collector} cannot store${problem ? `: ${problem}` : ""}`;
        return `collector ${collector} is ${status}${at ? ` since ${nearTime(at, now)}` : ""}`;
    });
    const others = groups.filter((group) => !collectors.some((collector) => collects(collector, group)));
    if (others.length) texts.push(`no collector collects ${others.length < groups.length ? namesOf(others) : others.length > 1 ? "them" : "it"}`);
    return texts.join(", ");
}

/**
 * Returns what the reader must know on every view, or null.
 * @param {Parts} parts @param {{groups: string[], lostFor: number, now: number}} page
 * @returns {{kind: "bad"|"warn", text: string}|null}
 */
export function noticeOf(parts, { groups, lostFor, now }) {
    const { server, broker, store, live, events, system } = parts;
    const reason = (part) => (part?.problem ? `: ${part.problem}` : "");
    if (server === "away") return { kind: "bad", text: `Connection to the server lost for ${duration(Math.floor(lostFor))}. Values are the last known ones; reconnecting.` };
    if (broker === "away") return { kind: "warn", text: `The server has no connection to the broker ${system.broker.address}${reason(system.broker)}. States, live values and what is stored are not known.` };
    const texts = [];
    if (storingAll(parts, groups) === "away") {
        const some = groups.filter((group) => storing(parts, group) === "away");
        texts.push(`Nothing new ${some.length < groups.length ? `of ${namesOf(some)} ` : ""}is stored: ${storingProblem(parts, now, some)}. Agents keep their samples until a collector is back.`);
    }
    if (store === "away") texts.push(`The server cannot read the store${reason(system.store)}. Past values are not available.`);
    if (server === "ok" && live === "away") texts.push("Live samples do not arrive; reconnecting.");
    if (server === "ok" && events === "away") texts.push("New events do not arrive; reconnecting.");
    return texts.length ? { kind: "warn", text: texts.join(" ") } : null;
}

/** @param {string[]} groups */
function namesOf(groups) {
    return `${groups.slice(0, 3).join(", ")}${groups.length > 3 ? ` and ${counted(groups.length - 3, "other group")}` : ""}`;
}

/** Returns the state in one or two words for the header. @param {Parts} parts @param {string[]} groups */
export function stateWords(parts, groups) {
    if (parts.server === "away") return { status: "lost", text: "Offline" };
    if (parts.server === "unknown") return { status: "connecting", text: "Connecting" };
    if (parts.broker === "away") return { status: "warn", text: "No broker" };
    if (parts.broker === "ok" && storingAll(parts, groups) === "away") return { status: "warn", text: "Not stored" };
    if (parts.store === "away") return { status: "warn", text: "No store" };
    return { status: "open", text: "Live" };
}
