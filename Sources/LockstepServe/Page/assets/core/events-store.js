/** The last events of rules, which also hidden windows receive. */

import { excess, isNews, keyOf, unacknowledged } from "../pure/events.js";
import { request } from "./api.js";
import { now } from "./clock.js";
import { link } from "./link.js";
import { parts } from "./parts.js";

/** A tab may be open for months: it keeps this number of events, and those that a person has loaded. */
const KEPT = 2000;
/** Events are removed in portions of at least this number, because finding the oldest ones sorts all. */
const PORTION = 100;
/** The server sends this number of events; the store may have more. */
export const SENT = 1000;
/** Time between a change and the question how many events are open, in ms. */
const SETTLE = 300;
/** Time until a question without an answer is repeated, in ms. */
const RETRY = 5_000;
/** The server answers within 10 s, also if no collector confirms the acknowledgement. In ms. */
const ANSWER = 20_000;

class EventStore extends EventTarget {
    /** @type {Map<string, import("../pure/events.js").RuleEvent>} */
    events = new Map();
    hasLoaded = false;
    /** The maximum number of events. */
    #limit = KEPT;
    /** Where the server continues with older events, by what chooses them. @type {Map<string, number>} */
    #next = new Map();
    /** Open events of the store that are not loaded here. */
    openBeyond = 0;
    #countTimer = 0;
    /** The number of the newest question how many events are open. */
    #question = 0;

    start() {
        link.addEventListener("events", (event) => this.#receive(/** @type {CustomEvent} */ (event).detail));
    }

    /** How many events nobody has acknowledged, also of those that are not loaded. */
    get openCount() {
        return unacknowledged(this.events.values()).length + this.openBeyond;
    }

    /** Asks how many events are open, if the server has more than it sends. @param {number} [delay] */
    #count(delay = SETTLE) {
        if (!this.hasLoaded || this.events.size < SENT || this.#countTimer) return;
        this.#question += 1;
        const question = this.#question;
        this.#countTimer = setTimeout(async () => {
            this.#countTimer = 0;
            // Only the store knows, and the server may have none.
            const canAnswer = !["none", "away"].includes(parts.value.store);
            const reply = canAnswer ? await request("/events/count").catch(() => null) : null;
            // After a change in the meantime, the answer does not fit what is loaded, and another question follows.
            if (question !== this.#question) return;
            if (!reply) return this.#count(RETRY);
            const beyond = Math.max(0, reply.open - unacknowledged(this.events.values()).length);
            if (beyond === this.openBeyond) return;
            this.openBeyond = beyond;
            this.dispatchEvent(new Event("change"));
        }, delay);
    }

    /** Acknowledges an event on the server. @param {import("../pure/events.js").RuleEvent} event */
    async acknowledge(event) {
        // The number alone may be that of another collector's event.
        const { device, rule, t } = event;
        const reply = await request(`/events/${event.id}/acknowledge`, {
            method: "POST", query: { device, rule, t }, signal: AbortSignal.timeout(ANSWER),
        });
        this.#receive({ acknowledged: { device, rule, t, acknowledged: reply.acknowledged } });
    }

    /** Loads older events from the store. Returns whether there are more. @param {{rule?: string, device?: string, severity?: string}} [filter] only these events */
    async loadOlder({ rule, device, severity } = {}) {
        const key = JSON.stringify([rule, device, severity]);
        for (;;) {
            const { events, next } = await request("/events", { query: { limit: 1000, before: this.#next.get(key), rule, device, severity } });
            const unknown = events.filter((event) => !this.events.has(keyOf(event)));
            this.#limit = Math.max(KEPT, this.events.size + unknown.length);
            this.openBeyond = Math.max(0, this.openBeyond - unacknowledged(unknown).length);
            this.#add(events);
            if (next === null) return false;
            this.#next.set(key, next);
            // The first pages have what the stream has sent.
            if (unknown.length) return true;
        }
    }

    #receive({ events = [], acknowledged = null, loaded = false }) {
        const known = acknowledged && this.events.get(keyOf(acknowledged));
        // One that is not loaded was open.
        if (acknowledged && !known) this.#count();
        this.#add(known ? [...events, { ...known, acknowledged: acknowledged.acknowledged }] : events, loaded);
    }

    /** @param {import("../pure/events.js").RuleEvent[]} events @param {boolean} [loaded] whether all events are there now */
    #add(events, loaded = false) {
        let isChanged = false;
        for (const event of events) {
            const key = keyOf(event);
            const known = this.events.get(key);
            if (known && (known.acknowledged || !event.acknowledged)) continue;
            this.events.set(key, event);
            isChanged = true;
            if (!known && this.hasLoaded && isNews(event, now())) this.dispatchEvent(new CustomEvent("news", { detail: event }));
        }
        if (this.events.size >= this.#limit + PORTION) {
            for (const event of excess(this.events.values(), this.#limit)) this.events.delete(keyOf(event));
            // They can be loaded again.
            this.#next.clear();
        }
        if (loaded && !this.hasLoaded) {
            this.hasLoaded = true;
            isChanged = true;
        }
        // Before the first events are complete, each would draw the list again.
        if (!isChanged || !this.hasLoaded) return;
        this.#count();
        this.dispatchEvent(new Event("change"));
    }
}

export const ruleEvents = new EventStore();
