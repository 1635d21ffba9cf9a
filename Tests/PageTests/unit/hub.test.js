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
const LOST = { kind: "status", fleet: "lost", events: "lost", live: "lost" };
const event = { id: 1, rule: "hot", device: "lab/left", t: 5, at: 6, text: "too hot", late: false };

/** Runs `body` with a hub, and with a window of it that shows nothing yet. */
const withHub = (body) => withFakes(async (fakes) => {
    const hub = new Hub();
    const window = new Window(hub);
    await body({ ...fakes, hub, window });
    hub.close();
});

await test("an answer is not the present one after all windows were hidden", () => withHub(async ({ hub, window, pass, server }) => {
    window.say();
    await settled();
    equal(window.last("system"), { kind: "system", system: {}, isKnown: true });
    window.say({ visible: false });
    pass(10_000);
    await settled();
    const count = server.asked.length;
    const other = new Window(hub);
    other.say();
    equal(other.last("system").isKnown, false);
    await settled();
    equal([other.last("system").isKnown, server.asked.length], [true, count + 1]);
}));

await test("without a session nothing is asked, and visible windows still hear of the hub", () => withHub(async ({ window, hub, pass, server, sources }) => {
    window.say({ hasSession: false, wants: ["lab/left steps"] });
    pass(100);
    equal([server.asked, sources.length], [[], 0]);
    window.messages = [];
    for (let i = 0; i < 6; i += 1) pass(1_500);
    check(window.all("system").length >= 5 && window.all("system").every(({ isKnown }) => !isKnown), "it is silent");
    new Window(hub).say({ hasSession: false });
    equal(server.asked, []);
    window.send("reopen");
    await settled();
    equal([open(sources), window.last("system").isKnown], [["/api/v1/events", "/api/v1/fleet?every=1s"], true]);
}));

await test("a session that has ended closes everything until there is another", () => withHub(async ({ hub, window, pass, server, sources }) => {
    window.say({ wants: ["lab/left steps"] });
    pass(50);
    for (const each of sources) each.onopen();
    source(sources, "events").send("event", event);
    source(sources, "events").send("ready");
    await settled();
    equal(window.last("status"), { kind: "status", fleet: "open", events: "open", live: "open" });
    server.status = 401;
    pass(1_600);
    await settled();
    equal([open(sources), window.last("status"), window.last("system").isKnown, window.all("unauthorized").length], [[], LOST, false, 1]);
    const count = server.asked.length;
    for (let i = 0; i < 10; i += 1) {
        pass(1_500);
        window.say({ hasSession: false });
    }
    const stranger = new Window(hub);
    stranger.say({ hasSession: false });
    await settled();
    equal([server.asked.length, open(sources), stranger.all("events"), stranger.last("status")], [count, [], [], LOST]);
    server.status = 200;
    // Another window has logged in and is loaded again; nothing is shown live.
    window.say({ wants: [] });
    new Window(hub).say();
    await settled();
    source(sources, "fleet").onopen();
    source(sources, "events").onopen();
    await settled();
    equal([window.last("system").isKnown, window.last("status")], [true, { kind: "status", fleet: "open", events: "open", live: "open" }]);
}));

await test("the end of a session reaches hidden windows", () => withHub(async ({ hub, window, sources, server }) => {
    const hidden = new Window(hub);
    hidden.say({ visible: false });
    window.say();
    await settled();
    server.status = 401;
    window.send("lock");
    equal([open(sources), hidden.all("unauthorized").length, window.all("unauthorized").length], [[], 1, 0]);
    // The window reports once more while it leaves.
    window.say({ visible: false, hasSession: false });
    equal(open(sources), []);
}));

await test("a lost stream of events tells hidden windows that the session has ended", () => withHub(async ({ window, pass, sources, server }) => {
    window.say({ visible: false });
    source(sources, "events").onopen();
    await settled();
    equal(server.asked, []);
    source(sources, "events").onerror();
    await settled();
    pass(500);
    source(sources, "events").onopen();
    for (let i = 0; i < 3; i += 1) pass(10_000);
    await settled();
    equal([server.asked.length, open(sources), window.all("unauthorized").length], [1, ["/api/v1/events"], 0]);
    server.status = 401;
    source(sources, "events").onerror();
    await settled();
    equal([server.asked.length, open(sources), window.all("unauthorized").length], [2, [], 1]);
}));

await test("an answer to an old question does not end a new session", () => withHub(async ({ window, server, sources }) => {
    server.status = 401;
    window.say();
    server.status = 200;
    window.send("reopen");
    await settled();
    equal([window.all("unauthorized").length, window.last("system").isKnown, open(sources).length], [0, true, 2]);
}));

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

await test("a hub that is closed leaves nothing", () => withFakes(async ({ sources, intervals, pass, server }) => {
    const hub = new Hub();
    new Window(hub).say({ wants: ["lab/left steps"] });
    await settled();
    pass(50);
    equal([open(sources).length, intervals.size], [3, 1]);
    hub.close();
    const count = server.asked.length;
    for (let i = 0; i < 5; i += 1) pass(5_000);
    await settled();
    equal([open(sources), intervals.size, server.asked.length], [[], 0, count]);
}));
