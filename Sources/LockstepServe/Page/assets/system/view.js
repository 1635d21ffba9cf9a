/** The programs behind the page: server, broker, store and collectors. */

import { now } from "../core/clock.js";
import { card, emptyState, h, icon } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { parts } from "../core/parts.js";
import { session } from "../core/session.js";
import { sizesCard } from "./sizes.js";
import { bytes, dateTime, day, duration, UNKNOWN, whole } from "../pure/format.js";

/** @param {HTMLElement} main */
export function show(main) {
    const grid = h("div", { class: "system-grid" });
    const sizes = sizesCard();
    main.append(h("div", { class: "view" }, h("div", { class: "view-head" }, h("h1", null, "System")), grid, sizes));
    let drawn = "";
    function draw() {
        const { system } = parts.value;
        const cards = system ? cardsOf(parts.value) : [];
        const html = cards.map((element) => element.outerHTML).join("");
        if (html !== drawn) grid.replaceChildren(...cards);
        drawn = html;
        sizes.hidden = !["ok", "away"].includes(parts.value.store);
        if (!system && parts.value.server === "away") grid.replaceChildren(emptyState({ symbol: "warning", title: "The server does not answer", text: "The parts appear as soon as the connection is back." }));
    }
    parts.addEventListener("change", draw);
    const timer = setInterval(draw, 1000);
    draw();
    return { title: "System", leave() {
        clearInterval(timer);
        parts.removeEventListener("change", draw);
    } };
}

/** @param {import("../pure/parts.js").Parts} known */
function cardsOf({ server, broker, store, system }) {
    const isKnown = (part) => part !== "unknown";
    const cards = [
        factCard("server", "Server", server !== "away", { ok: "running", away: "not reached", unknown: "connecting" }[server], [["Version", system.version], ["Rights of this session", session.state.rights.join(", ") || "none"], ["Phones join at", system.join_url ?? "no address; see --join-url"], ["Map tiles", system.tiles ?? "none; the map shows coasts and borders"]]),
        factCard("broker", "Broker", broker === "ok", { ok: "connected", away: "not connected", unknown: "not known" }[broker], [["Address", system.broker.address], ...problemRow(isKnown(broker) && system.broker.problem)]),
        factCard("store", "Store", store === "ok" || store === "none", { ok: "readable", none: "none", away: "not readable", unknown: "not known" }[store], [["Past samples", store === "ok" ? "available" : isKnown(store) ? "not available" : "not known"], ["Delivery", fleet.hasLoaded ? parts.promise([...fleet.entries.values()].map(({ device }) => device)).text : UNKNOWN], ...problemRow(isKnown(store) && system.store.problem)]),
    ];
    for (const collector of system.collectors) {
        const isFine = broker === "ok" && collector.status === "online";
        cards.push(factCard(`collector-${collector.group}-${collector.collector}`, `Collector ${collector.collector}`, isFine, broker === "ok" ? collector.status : "not known", [
            ...problemRow(collector.problem),
            ["Devices", whole(collector.devices)], ["Samples stored", whole(collector.stored)], ["Duplicates", whole(collector.duplicates)],
            ["Conflicts", whole(collector.conflicts)], ["Messages rejected", whole(collector.rejected)], ["Samples dropped by devices", whole(collector.dropped)],
            ...spaceRows(collector.space),
            ["Running for", collector.started ? duration((now() - collector.started) / 1e6) : UNKNOWN],
            ["Memory", collector.memory ? `${bytes(collector.memory)}, peak ${bytes(collector.memory_peak)}` : UNKNOWN],
            ["Version", collector.version ?? UNKNOWN], ["Last report", dateTime(collector.at)],
        ]));
    }
    // Their reports come by the broker.
    if (broker === "ok" && !system.collectors.length) {
        const { element, body } = card({ title: "Collectors", id: "collectors" });
        body.append(emptyState({ symbol: "system", title: "No collector has reported", text: "Start lockstep-collector with the same broker: it stores samples and derives the states of devices." }));
        cards.push(element);
    }
    return cards;
}

/** The size of the store, and when the disk or the limit is reached at the present rate. */
function spaceRows(space) {
    if (!space) return [];
    const full = space.full_at === undefined ? "not foreseeable" : `in ${duration(Math.max(0, (space.full_at - now()) / 1e6))}, ${day(space.full_at)}`;
    return [["Store", `${bytes(space.file)}${space.limit === undefined ? "" : `, at most ${bytes(space.limit)}`}`], ["Full at the present rate", full], ["Samples expired", whole(space.expired)]];
}

function problemRow(problem) {
    return problem ? [["Problem", problem]] : [];
}

function factCard(id, title, isFine, word, facts) {
    const { element, body } = card({ title, id, tools: h("span", { class: "problem", data: { level: isFine ? "" : "2" } }, icon(isFine ? "check" : "alert"), word) });
    body.append(h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, String(value))])));
    return element;
}
