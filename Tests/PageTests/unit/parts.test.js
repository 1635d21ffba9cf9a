import { asKnown, noticeOf, partsOf, seenReports, stateWords, storing, storingAll, withSilent } from "../../../Sources/LockstepServe/Page/assets/pure/parts.js";
import { RecentBatches } from "../../../Sources/LockstepServe/Page/assets/pure/recent.js";
import { SampleRing } from "../../../Sources/LockstepServe/Page/assets/pure/ring.js";
import { check, equal, test } from "./harness.js";

const NOW = 1e15;
const OPEN = { fleet: "open", events: "open", live: "open" };
const collector = (change = {}) => ({ group: "default", collector: "main", status: "online", at: NOW - 46e6, problem: null, groups: null, ...change });
const system = (change = {}) => ({ broker: { connected: true, address: "mqtt://b", problem: null }, store: { configured: true, readable: true, problem: null }, collectors: [collector()], ...change });
const seen = (change = {}) => partsOf({ status: OPEN, lostFor: 0, system: system(), isKnown: true, ...change });
const page = (change = {}) => ({ groups: ["lab"], lostFor: 0, now: NOW, ...change });

test("all parts are there", () => {
    const parts = seen();
    equal([parts.server, parts.broker, parts.store, storing(parts, "lab"), noticeOf(parts, page())], ["ok", "ok", "ok", "ok", null]);
    equal(stateWords(parts, ["lab"]), { status: "open", text: "Live" });
});

test("a collector that is away is reported with its time", () => {
    const parts = seen({ system: system({ collectors: [collector({ status: "offline" })] }) });
    const notice = noticeOf(parts, page());
    check(/^Nothing new is stored: collector main is offline since [0-9:]{8}\. Agents keep their samples until a collector is back\.$/.test(notice.text) && notice.kind === "warn", notice.text);
    equal(stateWords(parts, ["lab"]), { status: "warn", text: "Not stored" });
    const full = seen({ system: system({ collectors: [collector({ status: "stalled", problem: "the disk is full" })] }) });
    check(noticeOf(full, page()).text.includes("cannot store: the disk is full"));
    check(noticeOf(seen({ system: system({ collectors: [] }) }), page()).text.includes("no collector has reported"));
});

test("a group is stored if one collector is there for it", () => {
    const parts = seen({ system: system({ collectors: [collector({ collector: "old", status: "offline" }), collector({ groups: ["lab"] })] }) });
    equal([storing(parts, "lab"), storing(parts, "north"), storingAll(parts, ["lab"]), storingAll(parts, ["lab", "north"])], ["ok", "away", "ok", "away"]);
    equal(storingAll(parts, []), "ok");
    check(noticeOf(parts, page({ groups: ["lab", "north"] })).text.startsWith("Nothing new of north is stored: "));
    check(noticeOf(parts, page({ groups: ["a", "b", "c", "d", "lab"] })).text.startsWith("Nothing new of a, b, c and 1 other group is stored: "));
    check(noticeOf(parts, page({ groups: ["north"] })).text.startsWith("Nothing new is stored: "));
});

test("only a collector that is for a group is the reason why it is not stored", () => {
    const reason = (collectors, groups) => /: (.*?)\. Agents/.exec(noticeOf(seen({ system: system({ collectors }) }), page({ groups })).text)[1].replace(/ since [0-9:]*/g, "");
    const one = collector({ collector: "one", groups: ["lab"], status: "offline" });
    equal(reason([one], ["north"]), "no collector collects it");
    equal(reason([one], ["north", "south"]), "no collector collects them");
    equal(reason([one], ["lab", "north"]), "collector one is offline, no collector collects north");
    equal(reason([one, collector({ collector: "two", groups: ["north"] })], ["lab", "north"]), "collector one is offline");
    equal(reason([one, collector({ status: "silent" })], ["north"]), "collector main is silent");
    equal(reason([one], []), "collector one is offline");
});

test("a divided group is known to be stored only if all collectors that name it are there", () => {
    for (const status of ["stalled", "silent", "offline"]) {
        const parts = seen({ system: system({ collectors: [collector({ groups: ["lab"] }), collector({ collector: "b", groups: ["lab", "south"], status }), collector({ collector: "c", groups: ["north"] })] }) });
        equal(["lab", "north", "south"].map((group) => storing(parts, group)), ["unknown", "ok", "away"]);
        equal([storingAll(parts, ["lab", "north"]), storingAll(parts, ["lab", "south"])], ["unknown", "away"]);
    }
});

test("a collector that has stopped without a word is silent", () => {
    let reports = seenReports(new Map(), [collector()], 0);
    equal(withSilent([collector()], reports, 20_000)[0].status, "online");
    reports = seenReports(reports, [collector()], 20_000);
    const silent = withSilent([collector()], reports, 26_000);
    equal([silent[0].status, storing(seen({ system: system({ collectors: silent }) }), "lab")], ["silent", "away"]);
    // Its next report counts, whatever its clock says.
    reports = seenReports(reports, [collector({ at: 5 })], 26_000);
    equal(withSilent([collector({ at: 5 })], reports, 27_000)[0].status, "online");
});

test("without the broker, states and collectors are not known", () => {
    const parts = seen({ system: system({ broker: { connected: false, address: "mqtt://b", problem: "refused" } }) });
    equal([parts.broker, storing(parts, "lab"), stateWords(parts, ["lab"]).text], ["away", "away", "No broker"]);
    check(noticeOf(parts, page()).text.startsWith("The server has no connection to the broker mqtt://b: refused."));
    const device = { group: "lab", state: "active", since: 5, reason: "start", rates: { steps: 1 }, missing: 0, stored: 7 };
    const known = asKnown(device, parts);
    equal([known.state, known.since, known.rates, known.isStale, known.stored], [null, null, {}, true, 7]);
    equal(asKnown(device, seen()).state, "active");
    // A collector derives states. Samples of the device arrive without it.
    const derived = asKnown(device, seen({ system: system({ collectors: [collector({ status: "offline" })] }) }));
    equal([derived.state, derived.rates, derived.stored], [null, { steps: 1 }, 7]);
});

test("what a server that is away would report is not known", () => {
    const status = { ...OPEN, fleet: "lost" };
    equal(stateWords(seen({ status, lostFor: 1 }), []).text, "Connecting");
    const parts = seen({ status, lostFor: 3 });
    equal([parts.server, parts.broker, parts.store, storing(parts, "lab")], ["away", "unknown", "unknown", "unknown"]);
    equal(noticeOf(parts, page({ lostFor: 3.4 })).kind, "bad");
    equal(seen({ isKnown: false }).store, "unknown");
});

test("a store that cannot be read, none, and streams that are refused", () => {
    const away = seen({ system: system({ store: { configured: true, readable: false, problem: "no file" } }) });
    equal(noticeOf(away, page()).text, "The server cannot read the store: no file. Past values are not available.");
    equal(asKnown({ group: "lab", missing: 0, stored: 3, on_its_way: 0 }, away).missing, null);
    const none = seen({ system: system({ store: { configured: false, readable: false, problem: "none" } }) });
    equal([none.store, noticeOf(none, page())], ["none", null]);
    const unread = seen({ system: system({ store: { configured: true, readable: null, problem: null } }) });
    equal([unread.store, noticeOf(unread, page()), stateWords(unread, ["lab"]).text], ["unknown", null, "Live"]);
    check(noticeOf(seen({ status: { ...OPEN, live: "lost" } }), page()).text.includes("Live samples do not arrive"));
});

test("recent batches are kept for a further window, each once", () => {
    const recent = new RecentBatches();
    const batch = (t) => ({ group: "lab", device: "left", stream: "pressure", t, dt: 1e6, pressure: [1, 2] });
    equal([recent.add(batch(0)), recent.add(batch(0)), recent.add(batch(2e6)), recent.add({ group: "lab", device: "left", stream: "pressure", t: 5 })], [true, false, true, false]);
    equal(recent.of("lab/left pressure").map(({ t }) => t), [0, 2e6]);
    recent.add(batch(40e6));
    equal(recent.of("lab/left pressure").map(({ t }) => t), [40e6]);
    recent.keep(new Set());
    equal(recent.of("lab/left pressure"), []);
});

test("the value under the cursor of a live plot is a sample, not a value between two", () => {
    const ring = new SampleRing(1, 16);
    ring.append(1e6, [359]);
    ring.append(2e6, [1]);
    equal([ring.nearest(1.4e6, 1e6), ring.nearest(1.6e6, 1e6), ring.nearest(9e6, 1e6)], [[359], [1], null]);
});
