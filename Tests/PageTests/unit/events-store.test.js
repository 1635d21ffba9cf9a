import { settled, withFakes } from "./fakes.js";
import { equal, nodeTest as test } from "./harness.js";

const assets = "../../../Sources/LockstepServe/Page/assets/core";
const { link } = await import(`${assets}/link.js`);
const { parts } = await import(`${assets}/parts.js`);
const { ruleEvents } = await import(`${assets}/events-store.js`);

const events = (from, count) => Array.from({ length: count }, (_, i) => ({ id: from + i, rule: "high", device: "lab/left", t: from + i, at: from + i, text: "high", late: false }));

await test("a change while the open events are counted asks again, and loaded ones are counted once", () => {
    let answers = [];
    const asked = [];
    const fetch = (url) => new Promise((resolve) => {
        asked.push(url.pathname + url.search);
        answers.push((body) => resolve({ status: 200, ok: true, json: async () => body }));
    });
    const answer = async (body) => {
        const [first, ...others] = answers;
        answers = others;
        first(body);
        await settled();
    };
    const receive = (detail) => link.dispatchEvent(new CustomEvent("events", { detail }));
    return withFakes(async ({ pass }) => {
        ruleEvents.start();
        receive({ events: events(1000, 1000), loaded: true });
        pass(300);
        await answer({ open: 1500 });
        equal([ruleEvents.openCount, ruleEvents.openBeyond], [1500, 500]);

        // The answer was counted before the acknowledgement, and arrives after it.
        const [one, two] = ruleEvents.events.values();
        receive({ acknowledged: { ...one, acknowledged: 1 } });
        pass(300);
        receive({ acknowledged: { ...two, acknowledged: 1 } });
        await answer({ open: 1499 });
        equal([ruleEvents.openCount, ruleEvents.openBeyond], [1498, 500]);
        pass(300);
        await answer({ open: 1498 });
        equal([ruleEvents.openCount, asked.length], [1498, 3]);

        const loading = ruleEvents.loadOlder();
        await answer({ events: events(500, 500), next: null });
        await loading;
        equal([ruleEvents.openCount, ruleEvents.openBeyond], [1498, 0]);
        pass(300);
        await answer({ open: 1498 });
        equal(ruleEvents.openCount, 1498);

        // The older events of each choice begin with the newest.
        for (const before of [undefined, 7]) {
            const filtered = ruleEvents.loadOlder({ severity: "critical" });
            equal(asked.at(-1), `/api/v1/events?limit=1000${before ? `&before=${before}` : ""}&severity=critical`);
            await answer({ events: events(before ? 1 : 7, 1), next: 7 });
            equal(await filtered, true);
        }

        // Nobody is asked while there is no store that could answer.
        pass(300);
        await answer({ open: 1498 });
        const count = asked.length;
        for (const store of ["none", "away"]) {
            parts.value = { ...parts.value, store };
            receive({ acknowledged: { rule: "high", device: "lab/left", t: 1, acknowledged: 1 } });
            pass(300);
            await settled();
            equal(asked.length, count);
        }
        parts.value = { ...parts.value, store: "ok" };
        pass(5000);
        equal(asked.slice(count), ["/api/v1/events/count"]);
    }, { location: { origin: "http://host" }, fetch });
});
