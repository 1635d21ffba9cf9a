/** Delivery, duplicates, conflicts and the clock of a device. */

import { devicePath, isAbort, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, h, icon } from "../core/dom.js";
import { parts } from "../core/parts.js";
import { driftText, offsetText } from "../pure/clock-texts.js";
import { deliveryVerdict } from "../pure/delivery.js";
import { age, dateTime, nearTime, UNKNOWN, whole } from "../pure/format.js";

const EVERY = 10_000;

/** @param {{group: string, device: string}} address */
export function healthCard({ group, device }) {
    const { element, body } = card({ title: "Health", id: "health", className: "card-health" });
    const abort = new AbortController();
    let timer = 0;
    let health = null;
    body.append(h("div", { class: "skeleton", style: { height: "150px" } }));

    async function load() {
        try {
            health = await request(`${devicePath(group, device)}/health`, { signal: abort.signal });
            draw();
        } catch (error) {
            if (isAbort(error)) return;
            health = null;
            body.replaceChildren(h("p", { class: "message", data: { kind: "bad" } }, error.message));
        }
        timer = setTimeout(load, EVERY);
    }

    function draw() {
        if (!health) return;
        const verdict = deliveryVerdict(health, parts.storing(group));
        const facts = [
            ["Samples stored", whole(health.samples)],
            ["Batches on the way", whole(health.on_its_way)],
            ["Batches missing", whole(health.missing), health.missing > 0],
            ["Dropped by the device", health.dropped_samples ? `${whole(health.dropped_samples)} samples, ${whole(health.dropped_batches)} batches` : "0", health.dropped_samples > 0],
            ["Duplicates", whole(health.duplicates)],
            ["Conflicts", whole(health.conflicts), health.conflicts > 0],
            ["Clock", offsetText(health.clock)],
            ["Clock drift", driftText(health.clock)],
            ["First seen", dateTime(health.first_seen)],
            ["Last seen", health.last_seen ? `${age((now() - health.last_seen) / 1e6)}${now() - health.last_seen < 2e6 ? "" : " ago"}` : UNKNOWN],
        ];
        const isOpen = [...body.querySelectorAll("details")].map((detail) => detail.open);
        const rows = [
            h("p", { class: "verdict problem", data: { level: verdict[0] } }, icon(verdict[1]), verdict[2]),
            h("dl", { class: "facts" }, ...facts.flatMap(([name, value, isBad]) => [h("dt", null, name), h("dd", isBad ? { class: "bad" } : null, value)])),
            log("Recent conflicts", ["Time", "Stream", "Stored", "Received"], (health.recent_conflicts ?? []).map((row) => [nearTime(row.t, now()), row.stream ?? UNKNOWN, valueText(row.stored), valueText(row.received)])),
            log("Recent rejections", ["Received", "Reason"], (health.recent_rejections ?? []).map((row) => [nearTime(row.received_at, now()), row.reason ?? UNKNOWN])),
        ];
        body.replaceChildren(...rows.filter((row) => row !== null));
        [...body.querySelectorAll("details")].forEach((detail, i) => { detail.open = isOpen[i] ?? false; });
    }

    load();
    parts.addEventListener("change", draw);
    return { element, close() {
        clearTimeout(timer);
        parts.removeEventListener("change", draw);
        abort.abort();
    } };
}

/** Values of a sample, which may be a text or an object. */
function valueText(value) {
    return value === null || value === undefined ? UNKNOWN : typeof value === "string" ? value : JSON.stringify(value);
}

function log(title, columns, rows) {
    if (!rows.length) return null;
    return h("details", { class: "log" }, h("summary", null, `${title} (${rows.length})`),
        h("div", { class: "table-scroll", tabIndex: 0, role: "region", "aria-label": title }, h("table", { class: "table" },
            h("thead", null, h("tr", null, ...columns.map((text) => h("th", { scope: "col" }, text)))),
            h("tbody", null, ...rows.map((row) => h("tr", null, ...row.map((text) => h("td", { class: "num" }, String(text)))))))));
}
