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

/** Lets time pass, and the answers arrive. @param {(ms: number) => void} pass @param {number} ms */
async function wait(pass, ms) {
    for (let passed = 0; passed < ms; passed += 150) {
        pass(150);
        await settled();
    }
}

await test("the mean of a selection stays until that of other buckets has arrived, and ends with the selection", () => withFakes(async ({ pass, server }) => {
    let changes = 0;
    const source = new PastSource({ group: "lab", device: "left", stream: "pressure", rate: null }, () => { changes += 1; });
    source.series = { times: [5e12, 15e12], step: 10e12 };
    const answer = (mean) => { server.body = { columns: ["pressure"], rows: [[0, 9, mean]] }; };
    const selection = { from: 2, to: 9 };
    answer(1000);
    equal(source.measuredIn({ from: 0, to: 10 }, selection), null);
    await wait(pass, 300);
    equal([source.measuredIn({ from: 0, to: 10 }, selection).means, changes], [{ pressure: 1000 }, 1]);
    // The range has moved on, and other buckets cover the selection.
    answer(1001);
    equal(source.measuredIn({ from: 0, to: 12 }, selection).means, { pressure: 1000 });
    await wait(pass, 300);
    equal([source.measuredIn({ from: 0, to: 12 }, selection).means, changes], [{ pressure: 1001 }, 2]);
    // Samples are deleted.
    const { series } = source;
    source.forget();
    equal(source.series, null);
    source.series = series;
    equal(source.measuredIn({ from: 0, to: 12 }, selection), null);
    equal(source.measuredIn({ from: 0, to: 20 }, { from: 2, to: 15 }), null);
    source.close();
    equal(source.meansAt(0, 5e12), null);
    await wait(pass, 300);
    equal([source.meansAt(0, 5e12), source.meansAt(0, 6e12), source.meansAt(1, 15e12)], [{ pressure: 1001 }, { pressure: 1001 }, null]);
    source.close();
}, { location: { origin: "http://host" } }));

await test("a mean that could not be loaded is asked for again after a while", () => withFakes(async ({ pass, server }) => {
    const source = new PastSource({ group: "lab", device: "left", stream: "pressure", rate: null }, () => ask());
    source.series = { times: [5e12], step: 10e12 };
    const ask = () => source.measuredIn({ from: 0, to: 10 }, { from: 2, to: 9 });
    server.status = 503;
    ask();
    await wait(pass, 1500);
    equal([server.asked.length, ask()], [1, null]);
    server.status = 200;
    server.body = { columns: ["pressure"], rows: [[0, 9, 1000]] };
    await wait(pass, 1500);
    equal([server.asked.length, ask().means], [2, { pressure: 1000 }]);
    source.close();
}, { location: { origin: "http://host" } }));

await test("samples of another session are asked for at their own times, and shown at those of the first one", () => withFakes(async ({ pass, server }) => {
    const view = { from: 1e12, to: 2e12 };
    const shift = 5e12;
    const source = new PastSource({ group: "lab", device: "left", stream: "steps", rate: null, shift }, () => {});
    server.body = { kind: "samples", step: null, columns: ["steps"], units: ["1"], rows: [[6e12, 1], [6.5e12, 2]] };
    source.show(view, 400);
    await wait(pass, 600);
    const asked = new URL(server.asked[0].split(" ")[1], "http://host").searchParams;
    equal([Number(asked.get("from")), Number(asked.get("to"))], [shift + 0.5e12, shift + 2.5e12]);
    equal([[...source.series.times], source.series.from], [[1e12, 1.5e12], 0.5e12]);

    // The sessions are aligned at another moment.
    source.setShift(4e12);
    equal(source.series, null);
    source.show(view, 400);
    await wait(pass, 600);
    const moved = new URL(server.asked[1].split(" ")[1], "http://host").searchParams;
    equal([Number(moved.get("from")), [...source.series.times]], [4.5e12, [2e12, 2.5e12]]);
    source.setShift(4e12);
    equal(source.series === null, false, "the same");
    source.close();
}, { location: { origin: "http://host" } }));

await test("nothing is asked about a range that another session has not reached", () => withFakes(async ({ pass, server }) => {
    // At present, it shows 0.5e12.
    const source = new PastSource({ group: "lab", device: "left", stream: "steps", rate: null, shift: Date.now() * 1000 - 0.5e12 }, () => {});
    server.body = { kind: "samples", step: null, columns: ["steps"], units: ["1"], rows: [] };
    source.show({ from: 1e12, to: 2e12 }, 400);
    await wait(pass, 600);
    equal([server.asked, source.isAhead, source.isLoading, source.problem], [[], true, false, null]);
    source.show({ from: 0.1e12, to: 2e12 }, 400);
    await wait(pass, 600);
    equal([server.asked.length, source.isAhead], [1, false]);
    source.close();
}, { location: { origin: "http://host" } }));
