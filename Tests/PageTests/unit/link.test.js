import { settled, withFakes } from "./fakes.js";
import { equal, nodeTest as test } from "./harness.js";

const { link } = await import("../../../Sources/LockstepServe/Page/assets/core/link.js");
const { session } = await import("../../../Sources/LockstepServe/Page/assets/core/session.js");

/** An end of a channel that keeps what is sent. */
class Port {
    sent = [];
    postMessage(message) { this.sent.push(message); }
    start() {}
    close() { this.isClosed = true; }
}

/** What the page needs of a document. */
class Element extends EventTarget {
    dataset = {};
    append() {}
    setAttribute() {}
    showModal() { this.open = true; }
    close() { this.open = false; }
    remove() {}
    select() {}
}

const page = () => ({
    document: { hidden: false, addEventListener() {}, removeEventListener() {}, createElement: () => new Element(), body: new Element() },
    location: { origin: "http://host", reload() { this.isReloaded = true; } },
});

await test("a window says goodbye to a connection that it leaves, and ends its own", () => {
    const workers = [];
    const more = {
        ...page(),
        window: { addEventListener() {}, removeEventListener() {} },
        SharedWorker: class { port = new Port(); constructor() { workers.push(this); } },
        BroadcastChannel: class { postMessage() {} close() {} },
    };
    return withFakes(({ intervals, pass }) => {
        link.start("1", () => false);
        const before = intervals.size;
        workers[0].onerror();
        const { sent, isClosed } = workers[0].port;
        equal([sent.map(({ kind }) => kind), sent[0].hasSession, isClosed], [["state", "bye"], false, true]);
        // No other window answers: this one has the hub.
        pass(400);
        equal(intervals.size, before + 1);
        workers[0].onerror();
        equal(intervals.size, before, "the hub of before has ended");
        pass(400);
        equal(intervals.size, before + 1);
    }, more);
});

await test("a window resumes when another one has opened a session, and not before", () => withFakes(async ({ server }) => {
    const opened = [];
    session.addEventListener("opened", ({ detail }) => opened.push(detail.isNew));
    session.state = { token_required: true, authenticated: false, rights: [], version: "1" };
    let isReady = false;
    session.ready().then(() => { isReady = true; });
    server.body = { ...session.state };
    await session.resume();
    equal([opened, session.isOpen], [[], false]);
    server.body = { ...session.state, authenticated: true };
    await session.resume();
    await session.resume();
    await settled();
    equal([opened, session.isOpen, isReady], [[false], true, true]);
}, page()));

await test("the end of a session is told before the page is loaded again", () => {
    const more = page();
    return withFakes(async ({ server }) => {
        const told = [];
        session.addEventListener("closed", () => told.push([session.isOpen, Boolean(more.location.isReloaded)]));
        session.state = { token_required: true, authenticated: true, rights: ["read"], version: "1" };
        server.status = 204;
        await session.close();
        equal([told, server.asked, more.location.isReloaded], [[[false, false]], ["DELETE /api/v1/session"], true]);
    }, more);
});
