/** Stand-ins for the network and the clock of a browser. */

globalThis.self ??= globalThis;

/** Files of tests run side by side in a browser, which has one of each global. */
let turn = Promise.resolve();

/**
 * Runs `body` with a fake EventSource, a fake clock and a fake server.
 * @param {(fakes: {sources: any[], pass: (ms: number) => void, intervals: Set<number>, server: {status: number, body: any, asked: string[]}}) => any} body
 * @param {Record<string, any>} [more] further globals
 */
export function withFakes(body, more = {}) {
    const run = turn.then(() => replaced(body, more));
    turn = run.catch(() => {});
    return run;
}

async function replaced(body, more) {
    /** @type {Map<string, PropertyDescriptor|undefined>} */
    const originals = new Map();
    const replace = (name, value) => {
        originals.set(name, Object.getOwnPropertyDescriptor(globalThis, name));
        Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    };
    const sources = [];
    const timers = new Map();
    const intervals = new Set();
    const server = { status: 200, body: {}, asked: [] };
    let time = 0;
    replace("EventSource", class {
        constructor(url) {
            this.url = url;
            this.listeners = {};
            sources.push(this);
        }

        addEventListener(name, listener) { this.listeners[name] = listener; }
        close() { this.isClosed = true; }
        send(name, data = {}) { this.listeners[name]?.({ data: JSON.stringify(data), lastEventId: "" }); }
    });
    replace("setTimeout", (act, delay) => {
        const id = timers.size + 1;
        timers.set(id, { act, at: time + delay });
        return id;
    });
    replace("clearTimeout", (id) => { if (timers.has(id)) timers.get(id).at = Infinity; });
    let number = 0;
    replace("setInterval", () => {
        number += 1;
        intervals.add(number);
        return number;
    });
    replace("clearInterval", (id) => intervals.delete(id));
    replace("addEventListener", () => {});
    replace("removeEventListener", () => {});
    replace("fetch", async (url, { method = "GET" } = {}) => {
        server.asked.push(`${method} ${String(url).replace(/^https?:\/\/[^/]*/, "")}`);
        const { status, body: answer } = server;
        return { status, ok: status < 400, json: async () => structuredClone(answer) };
    });
    for (const [name, value] of Object.entries(more)) replace(name, value);
    const pass = (ms) => {
        time += ms;
        for (const timer of [...timers.values()]) {
            if (timer.at > time) continue;
            timer.at = Infinity;
            timer.act();
        }
    };
    try {
        await body({ sources, pass, intervals, server });
    } finally {
        for (const [name, original] of originals) {
            if (original) Object.defineProperty(globalThis, name, original);
            else delete globalThis[name];
        }
    }
}

/** Waits until all answers of the fake server have arrived. */
export async function settled() {
    for (let i = 0; i < 20; i += 1) await null;
}
