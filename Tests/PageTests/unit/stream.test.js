import { withFakes } from "./fakes.js";
import { check, equal, test } from "./harness.js";

const { openEvents } = await import("../../../Sources/LockstepServe/Page/assets/core/event-stream.js");

await test("a quiet stream is not opened again while the server keeps it alive", () => withFakes(({ sources, pass }) => {
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
}));
