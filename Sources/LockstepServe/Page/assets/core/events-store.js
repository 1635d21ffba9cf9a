/**
 * The last events of rules. All tabs of a browser share one connection, because browsers allow only six to a server: one
 * tab receives the events, also while it is hidden, and passes them on.
 */

import { excess, isNews, keyOf, unacknowledged } from "../pure/events.js";
import { request } from "./api.js";
import { now } from "./clock.js";
import { openEvents } from "./event-stream.js";

const NAME = "lockstep.events";
/** A tab may be open for months: it keeps this number of events, and those that a person has loaded. */
const KEPT = 2000;
/** Events are removed in portions of at least this number, because finding the oldest ones sorts all. */
const PORTION = 100;
/** The server answers within 10 s, also if no collector confirms the acknowledgement. In ms. */
const ANSWER = 20_000;

class EventStore extends EventTarget {
    /** @type {Map<string, import("../pure/events.js").RuleEvent>} */
    events = new Map();
    hasLoaded = false;
    /** Whether this tab receives the events from the server. */
    isLeader = false;
    /** The maximum number of events. */
    #limit = KEPT;
    /** Where the server continues with older events. @type {number|undefined} */
    #next;
    /** @type {BroadcastChannel|null} */
    #channel = null;
    /** @type {{close: () => void}|null} */
    #stream = null;

    /** Call it again after a new session. */
    start() {
        if (this.isLeader) {
            this.#open();
        } else if (!this.#channel) {
            // Without a secure context there are no locks: then each tab has its own connection.
            if (!navigator.locks) {
                this.#lead();
                return;
            }
            this.#channel = new BroadcastChannel(NAME);
            this.#channel.onmessage = ({ data }) => this.#hear(data);
            this.#channel.postMessage({ ask: true });
            // Held until the tab is closed; then another tab goes on.
            navigator.locks.request(NAME, () => {
                this.#lead();
                return new Promise(() => {});
            });
        }
    }

    get openCount() {
        return unacknowledged(this.events.values()).length;
    }

    /** Acknowledges an event on the server. @param {import("../pure/events.js").RuleEvent} event */
    async acknowledge(event) {
        // The number alone may be that of another collector's event.
        const { device, rule, t } = event;
        const reply = await request(`/events/${event.id}/acknowledge`, {
            method: "POST", query: { device, rule, t }, signal: AbortSignal.timeout(ANSWER),
        });
        this.#tell({ acknowledged: { device, rule, t, acknowledged: reply.acknowledged } });
    }

    /** Loads older events from the store. Returns whether there are more. */
    async loadOlder() {
        for (;;) {
            const { events, next } = await request("/events", { query: { limit: 1000, before: this.#next } });
            const unknown = events.filter((event) => !this.events.has(keyOf(event)));
            this.#limit = Math.max(KEPT, this.events.size + unknown.length);
            this.#add(events);
            if (next === null) return false;
            this.#next = next;
            // The first pages have what the stream has sent.
            if (unknown.length) return true;
        }
    }

    #lead() {
        this.isLeader = true;
        this.#open();
    }

    #open() {
        this.#stream?.close();
        this.#stream = openEvents("/api/v1/events", {
            event: (event) => this.#tell({ events: [event] }),
            // Of an event that the server no longer keeps.
            acknowledged: (confirmation) => this.#tell({ acknowledged: confirmation }),
            // All of them: another tab may have begun to listen meanwhile.
            ready: () => this.#tell({ events: [...this.events.values()], loaded: true }),
        }, undefined, { whileHidden: Boolean(this.#channel) });
    }

    /** Passes a message of the server on to all tabs. */
    #tell(message) {
        this.#channel?.postMessage(message);
        this.#hear(message);
    }

    /** Takes a message of another tab, or of this one. */
    #hear({ ask, events = [], acknowledged, loaded }) {
        if (ask) {
            if (this.isLeader && this.hasLoaded) this.#channel?.postMessage({ events: [...this.events.values()], loaded: true });
            return;
        }
        const known = acknowledged && this.events.get(keyOf(acknowledged));
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
            this.#next = undefined;
        }
        if (loaded && !this.hasLoaded) {
            this.hasLoaded = true;
            isChanged = true;
        }
        // Before the first events are complete, each would draw the list again.
        if (isChanged && this.hasLoaded) this.dispatchEvent(new Event("change"));
    }
}

export const ruleEvents = new EventStore();
