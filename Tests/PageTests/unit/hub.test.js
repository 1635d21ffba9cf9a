import { settled, withFakes } from "./fakes.js";
import { check, equal, test } from "./harness.js";

const { Hub } = await import("../../../Sources/LockstepServe/Page/assets/core/hub.js");

/** A window of a hub, with the messages that it receives. */
class Window {
    messages = [];
    state = { kind: "state", visible: true, wants: [], replay: [], hasSession: true };

    constructor(hub) {
        this.port = { postMessage: (message) => this.messages.push(structuredClone(message)), start() {} };
        hub.connect(this.port);
    }

    say(change = {}) {
        Object.assign(this.state, change);
        this.port.onmessage({ data: this.state });
    }

    send(kind) { this.port.onmessage({ data: { kind } }); }
    all(kind) { return this.messages.filter((message) => message.kind === kind); }
    last(kind) { return this.all(kind).at(-1); }
}

const open = (sources) => sources.filter(({ isClosed }) => !isClosed).map(({ url }) => url.replace(/#.*/, ""));
const source = (sources, name) => sources.findLast(({ url }) => url.startsWith(`/api/v1/${name}`));
const event = { id: 1, rule: "hot", device: "lab/left", t: 5, at: 6, text: "too hot", late: false };

/** Runs `body` with a hub, and with a window of it that shows nothing yet. */
const withHub = (body) => withFakes(async (fakes) => {
    const hub = new Hub();
    const window = new Window(hub);
    await body({ ...fakes, hub, window });
});

await test("a window that is opened later knows what was acknowledged", () => withHub(async ({ hub, window, pass, sources }) => {
    window.say();
    const events = source(sources, "events");
    events.onopen();
    events.send("event", event);
    events.send("ready");
    events.send("acknowledged", { device: "lab/left", rule: "hot", t: 5, acknowledged: 9 });
    events.send("acknowledged", { device: "lab/left", rule: "cold", t: 5, acknowledged: 9 });
    const later = new Window(hub);
    later.say();
    equal(later.last("events").events, [{ ...event, acknowledged: 9 }]);
    // A server that starts again may no longer have it.
    events.onerror();
    pass(2_000);
    source(sources, "events").send("ready");
    equal(later.last("events").events, []);
}));

await test("a stream that the present connection covers has a new one, for its recent samples", () => withHub(async ({ hub, window, pass, sources }) => {
    const live = () => sources.filter(({ url }) => url.startsWith("/api/v1/live"));
    window.say({ wants: ["lab/left steps", "lab/right pressure"] });
    pass(50);
    window.say();
    pass(50);
    equal(live().length, 1);
    new Window(hub).say({ wants: ["lab/left pressure"] });
    pass(50);
    equal([live().length, live()[0].isClosed], [2, true]);
    equal(new Set(live().map(({ url }) => url.split("#")[0])).size, 1);
}));
