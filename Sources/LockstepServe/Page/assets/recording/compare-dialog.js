/** The choice of a second session that is laid over the first one in the plots. */

import { request } from "../core/api.js";
import { now } from "../core/clock.js";
import { formDialog } from "../core/dialog.js";
import { h } from "../core/dom.js";
import { addressOf } from "../core/router.js";
import { commonMarkers } from "../pure/comparison.js";
import { nearTime } from "../pure/format.js";
import { sessionAddress, sessionPath } from "./requests.js";

/** @param {import("../pure/recording.js").Recording} first */
export async function askComparison(first) {
    const { sessions } = await request("/sessions");
    const others = sessions.filter((session) => session.start !== undefined && sessionAddress(session) !== sessionAddress(first));
    if (!others.length) throw new Error("There is no other session that has started");
    const option = (value, text) => h("option", { value }, text);
    const second = h("select", { onchange: loadMarkers }, ...others.map((session, i) => option(String(i), `${session.name}${session.group === first.group ? "" : ` in ${session.group}`}, ${nearTime(session.start, now())}`)));
    const marker = h("select", null);
    const wrap = (text, field) => h("label", null, text, h("span", { class: "select" }, field));
    const chosen = () => others[Number(second.value)];
    let loads = 0;

    async function loadMarkers() {
        loads += 1;
        const load = loads;
        offer([]);
        const { group, id } = chosen();
        const session = await request(sessionPath(group, id)).catch(() => null);
        if (session && load === loads) offer(commonMarkers(first, session));
    }

    /** @param {string[]} texts of markers */
    function offer(texts) {
        marker.replaceChildren(option("", "Their starts"), ...texts.map((text) => option(text, `The marker ${text}`)));
    }

    formDialog({ id: "compare-title", title: "Compare with another session", text: "Its samples are drawn in the same plots, moved in time.", action: "Compare", fields: [wrap("Session", second), wrap("Aligned at", marker)],
        async send() {
            location.hash = addressOf(sessionAddress(first), [["with", `${chosen().group}/${chosen().id}`], ["align", marker.value]]);
        } });
    await loadMarkers();
}
