import { settled, withFakes } from "./fakes.js";
import { equal, nodeTest as test } from "./harness.js";

const { PastSource } = await import("../../../Sources/LockstepServe/Page/assets/plot/past-source.js");

await test("past samples that could not be loaded are asked for again after a while", () => withFakes(async ({ pass, server }) => {
    const view = { from: 1e12, to: 2e12 };
    const source = new PastSource({ group: "lab", device: "left", stream: "steps", rate: null }, () => source.show(view, 400));
    server.status = 503;
    source.show(view, 400);
    for (let i = 0; i < 10; i += 1) {
        pass(150);
        await settled();
    }
    equal([server.asked.length, source.isLoading, Boolean(source.problem)], [1, false, true]);
    server.status = 200;
    server.body = { kind: "samples", step: null, columns: ["steps"], units: ["1"], rows: [] };
    for (let i = 0; i < 10; i += 1) {
        pass(150);
        await settled();
    }
    equal([server.asked.length, source.problem], [2, null]);
    source.close();
}, { location: { origin: "http://host" } }));
