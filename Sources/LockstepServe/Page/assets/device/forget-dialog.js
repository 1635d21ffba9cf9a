/** Forgetting a device that no longer exists, after a preview of what goes and what stays. */

import { devicePath, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { formDialog } from "../core/dialog.js";
import { h } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { stateWord } from "../core/states.js";
import { age, dateTime, UNKNOWN, whole } from "../pure/format.js";

/** @param {{group: string, device: string}} address */
export function askForget({ group, device }) {
    const known = fleet.get(group, device);
    const facts = known ? [["State", stateWord(known.state)], ["Last sample", known.last_sample === null ? "none" : `${dateTime(known.last_sample)} (${age((now() - known.last_sample) / 1e6)})`], ["Stored samples, which stay", known.stored === null ? UNKNOWN : whole(known.stored)],
        ["Batches on the way", whole(known.on_its_way)]] : [];
    formDialog({ id: "forget-title", title: `Forget ${group}/${device}`, action: "Forget", waiting: "Asking the collectors, which takes up to 20 s",
        text: "The device leaves this page, all lists, metrics and Home Assistant. Its samples stay in the store. If it sends again, it is listed again.",
        facts: h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
        async send() {
            await request(`${devicePath(group, device)}/forget`, { method: "POST" });
            location.hash = "#/";
        } });
}
