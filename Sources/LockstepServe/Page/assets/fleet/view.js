/** All devices: search, filters, order and the list. */

import { emptyState, h, icon, select as selectField, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { parts } from "../core/parts.js";
import { showInAddress } from "../core/router.js";
import { announce } from "../core/shell.js";
import { store, stored } from "../core/settings.js";
import { STATES, stateWord } from "../core/states.js";
import { countStates, select, SORTS } from "../pure/selection.js";
import { counted } from "../pure/format.js";
import { CHOSEN, DeviceList } from "./list.js";

/** Devices change places at most this often, in ms; otherwise nobody could click one. */
const REORDER_AFTER = 2500;

/** @param {HTMLElement} main @param {{query: URLSearchParams}} route */
export function show(main, { query }) {
    const sorted = query.get("sort") ?? stored("fleet.sort", "problems");
    const filter = { search: query.get("search") ?? "", group: query.get("group") ?? stored("fleet.group", ""), state: query.get("state") ?? "", sort: Object.hasOwn(SORTS, sorted) ? sorted : "problems", isReversed: query.get("order") === "reversed" };
    const search = h("input", { class: "field", type: "search", placeholder: "Search devices", "aria-label": "Search devices", spellcheck: false, autocomplete: "off", value: filter.search, data: { search: "" },
        oninput: () => changed({ search: search.value }),
        onkeydown: (event) => {
            if (event.key === "ArrowDown") { event.preventDefault(); list.focus(); }
            if (event.key === "Escape") { search.value = ""; changed({ search: "" }); }
        } });
    const chips = stateChips((state) => changed({ state: filter.state === state ? "" : state }));
    const groups = h("span");
    const sort = selectField({ label: "Order", value: filter.sort, options: Object.entries(SORTS).map(([value, text]) => ({ value, text })), onchange: (value) => changed({ sort: value, isReversed: false }) });
    const count = h("span", { class: "fleet-count num" });
    const list = new DeviceList({ onsort: (value) => {
        sort.querySelector("select").value = value;
        changed({ sort: value, isReversed: filter.sort === value && !filter.isReversed });
    } });
    const columns = columnChoice((hidden) => list.hide(hidden));
    const notice = h("div", { class: "overlay", hidden: true });
    list.element.append(notice);
    main.append(h("div", { class: "view view-fleet" },
        h("div", { class: "view-head" }, h("h1", null, "Fleet"), chips.element),
        h("div", { class: "fleet-tools" },
            h("div", { class: "search" }, icon("search"), search, h("kbd", { "aria-hidden": "true" }, "/")),
            groups, sort, columns, count),
        list.element));

    let orderedAt = 0;
    let groupNames = "";

    function changed(part) {
        Object.assign(filter, part);
        showInAddress([["search", filter.search], ["group", filter.group], ["state", filter.state], ["sort", filter.sort === "problems" ? "" : filter.sort], ["order", filter.isReversed ? "reversed" : ""]]);
        store("fleet.group", filter.group);
        store("fleet.sort", filter.sort);
        render(true);
        announce(counted(list.count, "device"));
    }

    function render(isForced = false) {
        const entries = fleet.sorted();
        chips.update(countStates(filter.group ? entries.filter((entry) => entry.device.group === filter.group) : entries), filter.state);
        updateGroups();
        const time = performance.now();
        if (isForced || time - orderedAt > REORDER_AFTER || list.count === 0) {
            orderedAt = time;
            list.setOrder(select(entries, filter).map(({ device }) => `${device.group}/${device.device}`), filter.sort, filter.isReversed);
            setText(count, list.count === entries.length ? counted(entries.length, "device") : `${list.count} of ${counted(entries.length, "device")}`);
        }
        list.refresh();
        updateNotice(entries.length);
    }

    function updateGroups() {
        const names = fleet.groups();
        if (names.join() === groupNames) return;
        groupNames = names.join();
        if (filter.group && !names.includes(filter.group)) filter.group = "";
        groups.replaceChildren(names.length < 2 ? "" : selectField({ label: "Group", value: filter.group,
            options: [{ value: "", text: "All groups" }, ...names.map((name) => ({ value: name, text: name }))], onchange: (value) => changed({ group: value }) }));
    }

    function updateNotice(total) {
        const kind = list.count > 0 ? "" : !fleet.hasLoaded ? (parts.value.server === "away" ? "lost" : "loading") : total === 0 ? "none" : "unmatched";
        if (notice.dataset.kind === kind) return;
        notice.dataset.kind = kind;
        notice.hidden = kind === "" || kind === "loading";
        list.setLoading(kind === "loading");
        if (!notice.hidden) notice.replaceChildren(noticeOf(kind, () => {
            search.value = "";
            groupNames = "";
            changed({ search: "", state: "", group: "" });
        }));
    }

    const onchange = () => render();
    fleet.addEventListener("change", onchange);
    fleet.addEventListener("tick", onchange);
    render(true);
    return { title: "Fleet", leave() {
        fleet.removeEventListener("change", onchange);
        fleet.removeEventListener("tick", onchange);
        list.close();
    } };
}

function noticeOf(kind, reset) {
    if (kind === "lost") return emptyState({ symbol: "warning", title: "The server does not answer", text: "The devices appear as soon as the connection is back." });
    if (kind === "unmatched") {
        return emptyState({ symbol: "search", title: "No device matches", text: "Change the search, the group or the state.",
            action: h("button", { class: "button", type: "button", onclick: reset }, "Show all devices") });
    }
    const address = parts.system?.broker.address ?? "ADDRESS";
    return emptyState({ symbol: "antenna", title: "No devices yet", text: `A device appears here as soon as its agent reaches the broker: lockstep-agent --device NAME --broker ${address}` });
}

/** Which columns are shown. @param {(hidden: string[]) => void} onchange */
function columnChoice(onchange) {
    const before = stored("fleet.hidden", []);
    let hidden = CHOSEN.map(({ cell }) => cell).filter((cell) => Array.isArray(before) && before.includes(cell));
    onchange(hidden);
    const box = ({ cell, text }) => h("label", null, h("input", { type: "checkbox", checked: !hidden.includes(cell), onchange: (event) => {
        hidden = event.target.checked ? hidden.filter((other) => other !== cell) : [...hidden, cell];
        store("fleet.hidden", hidden);
        onchange(hidden);
    } }), text);
    return h("details", { class: "columns", onkeydown: (event) => {
        if (event.key !== "Escape") return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary").focus();
    } }, h("summary", { class: "button" }, "Columns"), h("div", { class: "columns-list" }, ...CHOSEN.map(box)));
}

/** Filters by state, with the number of devices of each. */
function stateChips(onpick) {
    const parts = [["", "All"], ["problems", "Problems"], ...STATES.map((state) => [state, stateWord(state)]), ["unknown", "Unknown"]].map(([state, text]) => {
        const number = h("b", null, "0");
        const symbol = state === "" ? null : state === "problems" ? icon("alert") : h("span", { class: "state-dot", "aria-hidden": "true" });
        const button = h("button", { class: "chip", type: "button", "aria-pressed": "false", data: state === "problems" ? { kind: "problems" } : { state }, onclick: () => onpick(state) }, symbol, text, number);
        return { state, number, button };
    });
    return {
        element: h("div", { class: "chips", role: "group", "aria-label": "Filter by state" }, ...parts.map(({ button }) => button)),
        update(counts, chosen) {
            for (const { state, number, button } of parts) {
                const value = counts[state || "all"];
                setText(number, String(value));
                button.setAttribute("aria-pressed", String(chosen === state));
                if (state === "problems") button.toggleAttribute("data-any", value > 0);
                // States without devices would only take up room; the main ones stay so that nothing moves.
                if (state === "resumed" || state === "unknown" || state === "inactive") button.hidden = value === 0 && chosen !== state;
            }
        },
    };
}
