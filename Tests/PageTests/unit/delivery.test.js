import { deliveryText, deliveryVerdict } from "../../../Sources/LockstepServe/Page/assets/pure/delivery.js";
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
