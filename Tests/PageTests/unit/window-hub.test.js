import { settled, withFakes } from "./fakes.js";
import { check, equal, nodeTest as test } from "./harness.js";

const { WindowHub } = await import("../../../Sources/LockstepServe/Page/assets/core/window-hub.js");

/** Broadcast channels whose messages arrive with `deliver`, and are lost with `lose`. */
function bus() {
    const channels = new Set();
    let waiting = [];
    return {
        Channel: class {
            constructor() { channels.add(this); }
            postMessage(message) { for (const other of channels) if (other !== this) waiting.push([other, structuredClone(message)]); }
            close() { channels.delete(this); }
        },
        deliver() {
            while (waiting.length) {
                const [to, data] = waiting.shift();
                if (channels.has(to)) to.onmessage({ data });
            }
        },
        lose() { waiting = []; },
    };
}

/** Runs `body` with a function that opens windows. @param {(tools: any) => Promise<void>} body */
function withWindows(body) {
    const { Channel, deliver, lose } = bus();
    const document = new EventTarget();
    document.hidden = false;
    return withFakes(async (fakes) => {
        const ports = [];
        const open = () => {
            const window = { port: new WindowHub("name"), messages: [], changes: 0 };
            window.port.onmessage = ({ data }) => window.messages.push(data);
            window.port.onchange = () => {
                window.changes += 1;
                window.port.postMessage({ kind: "state", visible: true, wants: [], replay: [], hasSession: true });
            };
            window.port.start();
            ports.push(window.port);
            return window;
        };
        const follows = () => fakes.sources.filter(({ isClosed, url }) => !isClosed && url.startsWith("/api/v1/fleet")).length;
        try {
            await body({ ...fakes, document, open, deliver, lose, follows });
        } finally {
            for (const port of ports) port.close();
            // What the hubs have asked is answered while the network is not the real one.
            await settled();
        }
    }, { window: { addEventListener() {}, removeEventListener() {} }, document, BroadcastChannel: Channel });
}

await test("the second window uses the connection of the first one", () => withWindows(async ({ open, deliver, pass, follows }) => {
    const first = open();
    pass(400);
    equal([first.changes, follows()], [1, 1]);
    const second = open();
    deliver();
    pass(400);
    deliver();
    await settled();
    equal([second.changes, follows()], [1, 1]);
    check(second.messages.some(({ kind }) => kind === "status"), "the second window hears of the connection");
    check(first.messages.some(({ kind }) => kind === "status"), "so does the first one");
}));

await test("of two windows that have begun at the same time, one keeps the connection", () => withWindows(async ({ open, deliver, lose, pass, follows }) => {
    open();
    open();
    lose();
    pass(400);
    lose();
    equal(follows(), 2);
    pass(1_100);
    deliver();
    equal(follows(), 1);
}));

/** Runs `body` at a later time of both clocks. @param {number} ms @param {() => void} body */
function later(ms, body) {
    const [now, date] = [performance.now, Date.now];
    const [began, begin] = [now.call(performance), date()];
    try {
        performance.now = () => began + ms;
        Date.now = () => begin + ms;
        body();
    } finally {
        performance.now = now;
        Date.now = date;
    }
}

await test("another window has the connection when the first one leaves, or is not heard of; one window keeps it", () => withWindows(async ({ open, deliver, lose, pass, follows }) => {
    const first = open();
    pass(400);
    const second = open();
    deliver();
    pass(400);
    deliver();
    first.port.close();
    equal(follows(), 0);
    deliver();
    pass(400);
    equal([second.changes, follows()], [2, 1]);
    const third = open();
    deliver();
    equal([third.changes, follows()], [1, 1]);
    later(5_000, () => {
        pass(1_100);
        lose();
        equal([third.changes, follows()], [2, 2]);
        // The window that had the connection is heard of again.
        pass(1_100);
        deliver();
        equal([second.changes, third.changes, follows()], [3, 2, 1]);
    });
}));

await test("hidden windows, whose timers run once a minute, leave the connection where it is", () => withWindows(async ({ document, open, deliver, pass, follows }) => {
    const first = open();
    pass(400);
    const second = open();
    deliver();
    document.hidden = true;
    later(60_000, () => {
        // The timer of the second window runs before the sign of life arrives.
        pass(1_100);
        deliver();
        equal([first.changes, second.changes, follows()], [1, 1, 1]);
    });
    later(212_000, () => {
        pass(1_100);
        deliver();
        equal([first.changes, second.changes, follows()], [2, 2, 1]);
    });
}));

await test("a visible window takes the connection of a hidden one that is not heard of", () => withWindows(async ({ open, deliver, pass, follows }) => {
    open();
    pass(400);
    const second = open();
    deliver();
    later(4_000, () => {
        pass(1_100);
        deliver();
        equal([second.changes, follows()], [2, 1]);
    });
}));

await test("a window that is frozen leaves the connection to another one", () => withWindows(async ({ document, open, deliver, pass, follows }) => {
    const first = open();
    pass(400);
    equal(follows(), 1);
    document.dispatchEvent(new Event("freeze"));
    equal(follows(), 0);
    const second = open();
    deliver();
    pass(400);
    equal(follows(), 1);
    document.dispatchEvent(new Event("resume"));
    deliver();
    pass(400);
    deliver();
    equal([first.changes, second.changes, follows()], [2, 1, 1]);
}));
