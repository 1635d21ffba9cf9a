import { check, equal, test } from "./harness.js";

globalThis.self ??= globalThis;
const { openEvents } = await import("../../../Sources/LockstepServe/Page/assets/core/event-stream.js");

/** Runs `body` with a fake EventSource and a fake clock. */
function withFakes(body) {
    const { EventSource, setTimeout, clearTimeout, addEventListener, removeEventListener } = globalThis;
    const sources = [];
    const timers = new Map();
    let time = 0;
    globalThis.EventSource = class {
        constructor() {
            this.listeners = {};
            sources.push(this);
        }

        addEventListener(name, listener) { this.listeners[name] = listener; }
        close() { this.isClosed = true; }
        send(name) { this.listeners[name]?.({ data: "{}", lastEventId: "" }); }
    };
    globalThis.setTimeout = (act, delay) => {
        const id = timers.size + 1;
        timers.set(id, { act, at: time + delay });
        return id;
    };
    globalThis.clearTimeout = (id) => { if (timers.has(id)) timers.get(id).at = Infinity; };
    globalThis.addEventListener = globalThis.removeEventListener = () => {};
    const pass = (ms) => {
        time += ms;
        for (const timer of [...timers.values()]) {
            if (timer.at > time) continue;
            timer.at = Infinity;
            timer.act();
        }
    };
    try {
        body(sources, pass);
    } finally {
        Object.assign(globalThis, { EventSource, setTimeout, clearTimeout, addEventListener, removeEventListener });
    }
}

test("a quiet stream is not opened again while the server keeps it alive", () => {
    withFakes((sources, pass) => {
        const states = [];
        openEvents("/x", {}, (status) => states.push(status));
        sources[0].onopen();
        for (let i = 0; i < 8; i += 1) {
            pass(15_000);
            sources[0].send("keep-alive");
        }
        equal([sources.length, states], [1, ["connecting", "open"]]);
        pass(41_000);
        check(sources[0].isClosed, "a silent stream is closed");
        pass(2_000);
        equal([sources.length, states.slice(2)], [2, ["lost", "connecting"]]);
    });
});
