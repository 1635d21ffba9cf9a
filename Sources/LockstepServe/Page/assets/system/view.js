/** The programs behind the page: server, broker, store and collectors. */

import { request } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, emptyState, h, icon } from "../core/dom.js";
import { session } from "../core/session.js";
import { age, bytes, dateTime, duration, UNKNOWN, whole } from "../pure/format.js";

const EVERY = 5000;

/** @param {HTMLElement} main */
export function show(main) {
    const grid = h("div", { class: "system-grid" });
    main.append(h("div", { class: "view" }, h("div", { class: "view-head" }, h("h1", null, "System")), grid));
    let timer = 0;
    let isOver = false;
    let drawn = "";
    async function update() {
        try {
            const system = await request("/system");
            if (isOver) return;
            session.setSystem(system);
            const cards = cardsOf(system);
            const html = cards.map((element) => element.outerHTML).join("");
            if (html !== drawn) grid.replaceChildren(...cards);
            drawn = html;
        } catch (error) {
            if (!isOver && !drawn) grid.replaceChildren(emptyState({ symbol: "warning", title: "The server does not answer", text: error.message }));
        }
        if (!isOver) timer = setTimeout(update, EVERY);
    }
    update();
    return { title: "System", leave() {
        isOver = true;
        clearTimeout(timer);
    } };
}

function cardsOf(system) {
    const cards = [
        factCard("server", "Server", true, "running", [["Version", system.version], ["Rights of this session", session.state.rights.join(", ") || "none"], ["Phones join at", system.join_url ?? "no address; see --join-url"], ["Map tiles", system.tiles ?? "none; the map shows a grid of coordinates"]]),
        factCard("broker", "Broker", system.broker.connected, system.broker.connected ? "connected" : "not connected", [["Address", system.broker.address], ...problemRow(system.broker.problem)]),
        factCard("store", "Store", system.store.readable, system.store.readable ? "readable" : "not readable", [["Past samples", system.store.readable ? "available" : "not available"], ...problemRow(system.store.problem)]),
    ];
    for (const collector of system.collectors) {
        const isFine = collector.status === "online";
        cards.push(factCard(`collector-${collector.group}-${collector.collector}`, `Collector ${collector.collector}`, isFine, collector.status, [
            ...problemRow(collector.problem),
            ["Devices", whole(collector.devices)], ["Samples stored", whole(collector.stored)], ["Duplicates", whole(collector.duplicates)],
            ["Conflicts", whole(collector.conflicts)], ["Messages rejected", whole(collector.rejected)], ["Samples dropped by devices", whole(collector.dropped)],
            ["Running for", collector.started ? duration((now() - collector.started) / 1e6) : UNKNOWN],
            ["Memory", collector.memory ? `${bytes(collector.memory)}, peak ${bytes(collector.memory_peak)}` : UNKNOWN],
            ["Version", collector.version ?? UNKNOWN], ["Last report", dateTime(collector.at)],
        ]));
    }
    if (!system.collectors.length) {
        const { element, body } = card({ title: "Collectors", id: "collectors" });
        body.append(emptyState({ symbol: "system", title: "No collector has reported", text: "Start lockstep-collector with the same broker: it stores samples and derives the states of devices." }));
        cards.push(element);
    }
    return cards;
}

function problemRow(problem) {
    return problem ? [["Problem", problem]] : [];
}

function factCard(id, title, isFine, word, facts) {
    const { element, body } = card({ title, id, tools: h("span", { class: "problem", data: { level: isFine ? "" : "2" } }, icon(isFine ? "check" : "alert"), word) });
    body.append(h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, String(value))])));
    return element;
}
