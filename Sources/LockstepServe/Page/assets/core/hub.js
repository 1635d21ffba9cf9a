/**
 * The connection to the server of all windows of a browser. Browsers allow six connections to a server without HTTP/2, so
 * windows share one set: the devices, the events of rules, the live samples that any window shows, and the state of the
 * parts of the system. It runs in a shared worker, or in one of the windows where there are none.
 *
 * A window sends `{kind: "state", visible, wants, replay, hasSession}`: whether it is visible, the streams it shows, those of
 * which it needs the recent samples, and whether it may read. It repeats this, because nothing reports a window that has
 * crashed. It sends `bye` when it leaves, `lock` when it has ended the session and leaves, and `reopen` with a new session.
 */

import { excess, keyOf } from "../pure/events.js";
import { RecentBatches, streamKey } from "../pure/recent.js";
import { openEvents } from "./event-stream.js";

/** The time between two questions for the state of the system, in ms. A change is seen within 5 s. */
const EVERY = 1_500;
/** A server that does not answer within this time is away, in ms. */
const ANSWER = 3_000;
/** A window that has not been heard of for this long is closed, in ms. Timers of hidden windows run once a minute. */
const GONE = 150_000;
/** Events that are kept for further windows. */
const KEPT = 2000;

/** Before the first connection. Without wanted samples there is none, and none is missed. */
const START = /** @type {const} */ ({ fleet: "connecting", events: "connecting", live: "open" });

const NOTHING = { kind: "system", system: null, isKnown: false };

/** @typedef {{port: MessagePort, visible: boolean, wants: string[], heard: number}} Client */

export class Hub {
    /** @type {Map<MessagePort, Client>} */
    #clients = new Map();
    /** @type {Record<string, {close: () => void, url: string}|null>} */
    #streams = { fleet: null, events: null, live: null };
    /** @type {Record<string, "connecting"|"open"|"lost">} */
    #status = { ...START };
    /** @type {Map<string, any>} */
    #devices = new Map();
    #hasDevices = false;
    /** @type {Map<string, any>} */
    #events = new Map();
    #hasEvents = false;
    #recent = new RecentBatches();
    /** @type {any} the last answer about the system, and whether it is the present one */
    #system = NOTHING;
    #poll = 0;
    #liveTimer = 0;
    /** Nothing is asked until there is a session, because wrong logins are counted. */
    #isLocked = true;
    #cleaning = setInterval(() => this.#removeGone(), GONE / 5);

    /** Takes a window in. @param {MessagePort} port */
    connect(port) {
        port.onmessage = ({ data }) => this.#receive(port, data);
        port.start();
    }

    /** Ends everything. */
    close() {
        clearInterval(this.#cleaning);
        this.#clients.clear();
        this.#closeAll();
    }

    #receive(port, data) {
        if (data.kind === "reopen") return this.#reopen();
        if (data.kind === "state") this.#update(port, data);
        else this.#clients.delete(port);
        if (data.kind === "lock") this.#lock();
        else this.#balance();
    }

    #update(port, { visible, wants, replay, hasSession }) {
        const before = this.#clients.get(port);
        if (!before && hasSession) this.#unlock();
        this.#clients.set(port, { port, visible, wants, heard: Date.now() });
        if (!before && this.#hasEvents) port.postMessage({ kind: "events", events: [...this.#events.values()], loaded: true });
        if (visible && !before?.visible) {
            if (this.#streams.fleet && this.#hasDevices) port.postMessage({ kind: "devices", at: null, isAll: true, devices: [...this.#devices.values()], forgotten: [] });
            port.postMessage(this.#system);
            port.postMessage({ kind: "status", ...this.#status });
        }
        // While it was hidden, it received none.
        const missed = visible && !before?.visible ? wants : replay;
        for (const key of missed) for (const batch of this.#recent.of(key)) port.postMessage({ kind: "samples", key, batch, isReplay: true });
    }

    /** Opens what some window needs, and closes the rest. */
    #balance() {
        if (!this.#isLocked) this.#followAll();
        if (this.#isVisible && !this.#poll) this.#ask();
    }

    /** Whether any window is visible. */
    get #isVisible() {
        return [...this.#clients.values()].some(({ visible }) => visible);
    }

    #followAll() {
        // Events are followed also while all windows are hidden, because they may notify.
        this.#follow("events", this.#clients.size > 0 ? "/api/v1/events" : null, {
            event: (event) => this.#addEvents([event]),
            // Of an event that the server no longer keeps.
            acknowledged: (confirmation) => {
                const known = this.#events.get(keyOf(confirmation));
                if (known) this.#events.set(keyOf(confirmation), { ...known, acknowledged: confirmation.acknowledged });
                this.#tell({ kind: "events", acknowledged: confirmation });
            },
            ready: () => {
                this.#hasEvents = true;
                this.#tell({ kind: "events", events: [...this.#events.values()], loaded: true });
            },
        });
        this.#follow("fleet", this.#isVisible ? "/api/v1/fleet?every=1s" : null, { devices: (data) => this.#takeDevices(data) });
        // Several subscriptions that change together need one connection.
        clearTimeout(this.#liveTimer);
        this.#liveTimer = setTimeout(() => this.#followSamples(), 30);
    }

    #followSamples() {
        const keys = new Set([...this.#clients.values()].filter(({ visible }) => visible).flatMap(({ wants }) => wants));
        this.#recent.keep(keys);
        const query = new URLSearchParams();
        const unique = (index) => [...new Set([...keys].map((key) => key.split(" ")[index]))].sort();
        for (const address of unique(0)) query.append("device", address);
        for (const stream of unique(1)) query.append("stream", stream);
        query.append("hz", "10");
        // Only a new connection begins with the recent samples: the fragment, which is not sent, makes one also for a stream whose
        // device and name other streams have.
        const fragment = encodeURIComponent([...keys].sort().join());
        this.#follow("live", keys.size > 0 ? `/api/v1/live?${query}#${fragment}` : null, {
            hello: ({ at }) => this.#tell({ kind: "time", at }),
            samples: (batch) => {
                const key = streamKey(batch);
                const clients = [...this.#clients.values()].filter(({ visible, wants }) => visible && wants.includes(key));
                if (clients.length && this.#recent.add(batch)) for (const { port } of clients) port.postMessage({ kind: "samples", key, batch });
            },
        });
    }

    /** @param {"fleet"|"events"|"live"} name @param {string|null} url null to close @param {Record<string, (data: any) => void>} handlers */
    #follow(name, url, handlers) {
        const stream = this.#streams[name];
        if ((stream?.url ?? null) === url) return;
        stream?.close();
        if (name === "fleet") this.#hasDevices = false;
        this.#streams[name] = null;
        if (url === null) return this.#setStatus(name, name === "live" ? "open" : "connecting");
        this.#streams[name] = { url, ...openEvents(url, handlers, (status) => {
            // The first devices and events after a new connection are all that there are.
            if (name === "fleet" && status === "connecting") this.#hasDevices = false;
            if (name === "events" && status === "connecting") this.#forgetEvents();
            this.#setStatus(name, status);
            // Events tell no status code. While all windows are hidden, nothing else finds out that the session has ended.
            if (name === "events" && status === "lost" && !this.#poll) this.#ask({ isHidden: true });
        }) };
    }

    #setStatus(name, status) {
        // While it retries, the connection is still lost for the reader.
        if (status === "connecting" && this.#status[name] === "lost") return;
        if (this.#status[name] === status) return;
        this.#status[name] = status;
        this.#show({ kind: "status", ...this.#status });
        // Also tells whether the server requires a token now: events tell no status code.
        if (name === "fleet") this.#ask();
    }

    /** Connects again, for example with a new session. */
    #reopen() {
        this.#closeAll();
        this.#unlock();
        this.#balance();
    }

    /** Closes everything until there is a session. */
    #lock() {
        this.#closeAll();
        this.#isLocked = true;
        this.#status = { fleet: "lost", events: "lost", live: "lost" };
        this.#system = NOTHING;
        this.#recent.keep(new Set());
        this.#show({ kind: "status", ...this.#status });
        this.#tell({ kind: "unauthorized" });
        this.#ask();
    }

    #unlock() {
        if (this.#isLocked) this.#status = { ...START };
        this.#isLocked = false;
    }

    #closeAll() {
        for (const name of ["fleet", "events", "live"]) {
            this.#streams[name]?.close();
            this.#streams[name] = null;
        }
        clearTimeout(this.#liveTimer);
        clearTimeout(this.#poll);
        this.#poll = 0;
        this.#hasDevices = false;
        this.#forgetEvents();
    }

    #forgetEvents() {
        this.#hasEvents = false;
        this.#events.clear();
    }

    #takeDevices({ at, devices, forgotten = [] }) {
        const isAll = !this.#hasDevices;
        this.#hasDevices = true;
        if (isAll) this.#devices.clear();
        for (const { group, device } of forgotten) this.#devices.delete(`${group}/${device}`);
        for (const device of devices) this.#devices.set(`${device.group}/${device.device}`, device);
        this.#show({ kind: "devices", at, isAll, devices, forgotten });
    }

    #addEvents(events) {
        for (const event of events) this.#events.set(keyOf(event), event);
        if (this.#events.size > KEPT * 1.1) for (const event of excess(this.#events.values(), KEPT)) this.#events.delete(keyOf(event));
        if (this.#hasEvents) this.#tell({ kind: "events", events });
    }

    /**
     * Asks for the state of the system, and again after a while. While it is locked, it only tells windows that it is there.
     * @param {{isHidden?: boolean}} [options] whether it asks also if all windows are hidden
     */
    async #ask({ isHidden = false } = {}) {
        clearTimeout(this.#poll);
        this.#poll = 0;
        if (!this.#isVisible && !isHidden) {
            // The answer grows old.
            this.#system = { ...this.#system, isKnown: false };
            return;
        }
        const poll = setTimeout(() => this.#ask(), EVERY + ANSWER);
        this.#poll = poll;
        const { status, system } = this.#isLocked ? NO_ANSWER : await askSystem();
        // A later question is on its way, or everything was closed.
        if (this.#poll !== poll) return;
        if (status === 401) return this.#lock();
        this.#system = { kind: "system", system: system ?? this.#system.system, isKnown: system !== null };
        this.#show(this.#system);
        clearTimeout(poll);
        this.#poll = setTimeout(() => this.#ask(), EVERY);
    }

    #removeGone() {
        const limit = Date.now() - GONE;
        for (const [port, { heard }] of this.#clients) if (heard < limit) this.#clients.delete(port);
        this.#balance();
    }

    /** Sends a message to all visible windows. */
    #show(message) {
        for (const { port, visible } of this.#clients.values()) if (visible) port.postMessage(message);
    }

    /** Sends a message to all windows. */
    #tell(message) {
        for (const port of this.#clients.keys()) port.postMessage(message);
    }
}

const NO_ANSWER = { status: 0, system: null };

/** Returns the state of the system, or null without a good answer. @returns {Promise<{status: number, system: any}>} */
async function askSystem() {
    try {
        const reply = await fetch("/api/v1/system", { signal: AbortSignal.timeout(ANSWER) });
        return { status: reply.status, system: reply.ok ? await reply.json() : null };
    } catch {
        return NO_ANSWER;
    }
}
