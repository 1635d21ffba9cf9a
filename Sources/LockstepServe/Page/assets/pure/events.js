/** Events of rules: their identity, their order, and which are news. Pure functions. */

/**
 * @typedef {object} RuleEvent
 * @property {number} id @property {string} rule @property {string|null} device GROUP/DEVICE; null for the collector
 * @property {number} t µs @property {number} at µs @property {number} [value] @property {string} text
 * @property {boolean} late @property {"info"|"warning"|"critical"} severity @property {number} [acknowledged] µs
 */

/** An event that is older than this when it arrives was missed, for example because the server started later. */
const NEWS = 60e6;

/** What identifies an event: several collectors may use the same number. @param {Pick<RuleEvent, "device"|"rule"|"t">} event */
export function keyOf(event) {
    return `${event.device ?? ""} ${event.rule} ${event.t}`;
}

/** Newest first, by the time that is shown: a late event is among those of its time. @param {Iterable<RuleEvent>} events */
export function newestFirst(events) {
    return [...events].sort((a, b) => b.t - a.t || b.at - a.at || b.id - a.id);
}

/** In the order in which they arrived, the latest first. @param {Iterable<RuleEvent>} events */
function latestFirst(events) {
    return [...events].sort((a, b) => b.at - a.at || b.id - a.id);
}

/** @param {Iterable<RuleEvent>} events */
export function unacknowledged(events) {
    return [...events].filter(({ acknowledged }) => !acknowledged);
}

/**
 * Returns the events that filters choose.
 * @param {Iterable<RuleEvent>} events @param {{rule: string, device: string, severity: string, span: string}} filter empty for all; `span` in s
 * @param {number} now µs
 */
export function filtered(events, { rule, device, severity, span }, now) {
    const since = span ? now - Number(span) * 1e6 : -Infinity;
    return [...events].filter((event) => (!rule || event.rule === rule) && (!device || event.device === device) && event.t >= since && (!severity || event.severity === severity));
}

/** Returns the events of each rule and device, in the order of the first ones. @param {RuleEvent[]} events in their order */
export function grouped(events) {
    /** @type {Map<string, RuleEvent[]>} */
    const groups = new Map();
    for (const event of events) {
        const key = `${event.device} ${event.rule}`;
        const group = groups.get(key);
        if (group) group.push(event);
        else groups.set(key, [event]);
    }
    return [...groups.values()];
}

/** Returns the rules that occur, in order. @param {RuleEvent[]} events */
export function rulesOf(events) {
    return [...new Set(events.map(({ rule }) => rule))].sort();
}

/** Returns the devices that occur, in order. @param {RuleEvent[]} events */
export function devicesOf(events) {
    return [...new Set(events.flatMap(({ device }) => device ?? []))].sort();
}

/**
 * What collectors report of their rules.
 * @typedef {{collectors: {group: string, groups: string[]|null, rules?: Record<string, string>}[]}|null} System
 */

/** Returns the stream that the rule of an event watches; null if it has none, or is not known. @param {Pick<RuleEvent, "device"|"rule">} event @param {System} system */
export function streamOf({ device, rule }, system) {
    const group = (device ?? "").split("/")[0];
    // An event without a device is about the machine of a collector, whichever groups it has.
    const collectors = (system?.collectors ?? []).filter(({ groups }) => !device || !groups || groups.includes(group));
    return collectors.find(({ rules }) => Object.hasOwn(rules ?? {}, rule))?.rules?.[rule] ?? null;
}

/** The oldest events beyond a number. @param {Iterable<RuleEvent>} events @param {number} limit */
export function excess(events, limit) {
    const all = [...events];
    return all.length > limit ? latestFirst(all).slice(limit) : [];
}

/** Whether someone should be told about an event that has just arrived. @param {RuleEvent} event @param {number} now µs */
export function isNews(event, now) {
    return !event.acknowledged && now - event.at < NEWS;
}

/** The short text of a number of events in a badge. @param {number} count */
export function badge(count) {
    return count > 99 ? "99+" : String(count);
}
