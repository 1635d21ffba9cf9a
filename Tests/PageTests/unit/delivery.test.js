import { deliveryText, deliveryVerdict, promiseOf } from "../../../Sources/LockstepServe/Page/assets/pure/delivery.js";
import { equal, test } from "./harness.js";

const health = (change = {}) => ({ samples: 10, missing: 0, on_its_way: 0, dropped_batches: 0, dropped_samples: 0, ...change });

test("the figure tells missing batches from those on the way", () => {
    equal(deliveryText(health()), "none");
    equal(deliveryText(health({ on_its_way: 922 })), "922 batches on the way");
    equal(deliveryText(health({ missing: 1, on_its_way: 2 })), "1 batch, 2 batches on the way");
});

test("a device that catches up is no problem, and a missing batch is one", () => {
    equal(deliveryVerdict(health())[0], "ok");
    equal(deliveryVerdict(health({ on_its_way: 3 })), ["0", "info", "3 batches are on the way: the device still has them, as far as it has reported"]);
    equal(deliveryVerdict(health({ on_its_way: 3, missing: 1 })), ["2", "alert", "1 batch is missing: not in the store, and the device no longer has it"]);
    equal(deliveryVerdict(health({ on_its_way: 3, dropped_samples: 5 }))[0], "2");
    equal(deliveryVerdict(health({ samples: 0 }))[2], "No samples are stored yet");
});

test("what the store has says nothing about what it does not receive", () => {
    const away = { storing: "away", reason: "collector main is offline since 46 s" };
    equal(deliveryVerdict(health(), away), ["1", "warning", "New samples are not stored: collector main is offline since 46 s. The device keeps them"]);
    equal(deliveryVerdict(health(), { storing: "unknown", reason: "" })[2], "Whether new samples are stored is not known");
    equal(deliveryVerdict(health({ missing: 1 }), away)[0], "2");
});

test("what is not known is shown as not known", () => {
    equal(deliveryText(health({ missing: null, on_its_way: null })), "–");
});

test("the promise has what is stored and what is on its way, and is amber while nothing is stored", () => {
    const [of, away] = [() => "ok", () => "away"];
    const devices = [{ stored: 8_432_000, on_its_way: 400 }, { stored: 819, on_its_way: 2 }, { stored: null, on_its_way: null }];
    equal(promiseOf(devices, "ok", of), { kind: "ok", text: "8\u202f432\u202f819 samples stored, 402 batches on the way", short: "8.4M stored, 402 on the way" });
    equal(promiseOf([{ stored: 5, on_its_way: 0 }], "ok", of).text, "5 samples stored, none on the way");
    equal(promiseOf([{ stored: 5, on_its_way: 0 }], "away", away), { kind: "warn", text: "5 samples stored, new ones wait on the devices", short: "5 stored, new ones wait" });
    equal(promiseOf([{ stored: 5, on_its_way: 402 }], "away", away), { kind: "warn", text: "5 samples stored, 402 batches and new samples wait on the devices", short: "5 stored, 402+ wait" });
    equal(promiseOf([{ stored: 5, on_its_way: 0 }], "unknown", of).kind, "warn");
    equal(promiseOf([{ stored: null, on_its_way: null }], "away", away), { kind: "warn", text: "Stored samples not known", short: "Not known" });
});

test("batches of a group that is stored do not wait for the collector of another group", () => {
    const devices = [{ group: "lab", stored: 5, on_its_way: 402 }, { group: "home", stored: 5, on_its_way: 3 }];
    equal(promiseOf(devices, "away", (group) => (group === "home" ? "away" : "ok")).text, "10 samples stored, 3 batches and new samples wait on the devices");
});
