/** The choice of a second session that is laid over the first one in the plots. */

import { request } from "../core/api.js";
import { h } from "../core/dom.js";
import { addressOf } from "../core/router.js";
import { commonMarkers } from "../pure/comparison.js";
import { nearTime } from "../pure/format.js";
import { now } from "../core/clock.js";
import { formDialog } from "./dialogs.js";
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

    async function loadMarkers() {
        marker.replaceChildren(option("", "Their starts"));
        const { group, id } = chosen();
        const session = await request(sessionPath(group, id)).catch(() => null);
        if (session && chosen().id === id && chosen().group === group) marker.append(...commonMarkers(first, session).map((text) => option(text, `The marker ${text}`)));
    }

    formDialog({ id: "compare-title", title: "Compare with another session", text: "Its samples are drawn in the same plots, moved in time.", action: "Compare", fields: [wrap("Session", second), wrap("Aligned at", marker)],
        async send() {
            location.hash = addressOf(sessionAddress(first), [["with", `${chosen().group}/${chosen().id}`], ["align", marker.value]]);
        } });
    await loadMarkers();
}
