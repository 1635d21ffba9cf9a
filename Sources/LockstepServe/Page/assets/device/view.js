/** One device: everything that is known about it. */

import { devicePath, isAbort, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { emptyState, h } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { LiveSamples } from "../core/live.js";
import { stored } from "../core/settings.js";
import { plottable } from "../pure/columns.js";
import { PlotPanel } from "../plot/panel.js";
import { attitudeCard } from "./attitude.js";
import { controlCard } from "./control.js";
import { deviceHeader } from "./header.js";
import { healthCard } from "./health.js";
import { levelerCard } from "./leveler.js";
import { Moment } from "./moment.js";
import { pedometerCard } from "./pedometer.js";
import { streamsCard } from "./streams.js";
import { timelineCard } from "./timeline.js";
import { trackCard } from "./track.js";

/** The newest values of the streams are asked for this often while they are in view, in ms. */
const EVERY = 2_000;
/** New streams of a device are looked for this often, in ms. */
const SLOWLY = 10_000;
/** Plots that are shown without a choice. */
const FIRST_PLOTS = 2;

/** @param {HTMLElement} main @param {{group: string, device: string, query: URLSearchParams}} route */
export function show(main, { group, device, query }) {
    const address = { group, device };
    const live = new LiveSamples();
    const moment = new Moment(live);
    const abort = new AbortController();
    const header = deviceHeader(address);
    const panel = new PlotPanel({ live, moment, group, device, query });
    // The plots of the link, or else those that this person has chosen before.
    const choices = [query.has("plot") && query.getAll("plot"), stored(`plots ${group}/${device}`, null)].filter(Array.isArray);
    const hasRange = query.has("span") || query.has("from");
    panel.picker.setDevice(`${group}/${device}`);
    const grid = h("div", { class: "device-grid" });
    main.append(h("div", { class: "view view-device" }, header.element, grid));
    /** @type {{element: HTMLElement, close?: () => void, update?: (device: any) => void, setStreams?: (streams: any[]) => void, isVisible?: boolean}[]} */
    let parts = [];
    let names = "";
    let timer = 0;
    let streamCount = -1;
    let isOver = false;

    async function load() {
        try {
            const detail = await request(devicePath(group, device), { signal: abort.signal });
            if (isOver) return;
            header.setStreams(detail.streams);
            for (const part of parts) part.setStreams?.(detail.streams);
            const next = detail.streams.map(({ stream }) => stream).join();
            if (!parts.length || next !== names) {
                names = next;
                build(detail);
            }
        } catch (error) {
            if (isAbort(error) || isOver) return;
            if (!parts.length) grid.replaceChildren(failure(error));
        }
        if (!isOver) timer = setTimeout(load, !parts.length || (!document.hidden && parts.some(({ isVisible }) => isVisible)) ? EVERY : SLOWLY);
    }

    function build(detail) {
        for (const part of parts) part.close?.();
        showPlots(detail);
        const has = (stream) => detail.streams.some((entry) => entry.stream === stream);
        const gravity = has("motion/device") ? "motion/device" : has("motion/accelerometer") ? "motion/accelerometer" : null;
        // Three cards that say that there is nothing would only be in the way.
        const motion = gravity === null && !has("steps") ? [] : [
            levelerCard(address, moment, gravity),
            attitudeCard(address, moment, has("motion/device")),
            pedometerCard(address, live, has("steps")),
        ];
        parts = [
            timelineCard(address, moment, has("activity")),
            ...motion,
            { element: panel.element },
            trackCard(address, moment, has("location")),
            streamsCard(address, { onplot: (source) => panel.addChosen(source), onshow: loadSoon }),
            healthCard(address),
            controlCard(address, detail.streams),
        ];
        grid.replaceChildren(...parts.map(({ element }) => element));
        for (const part of parts) part.setStreams?.(detail.streams);
        update();
    }

    function loadSoon() {
        clearTimeout(timer);
        timer = setTimeout(load, 200);
    }

    /** A link may have a stream that is not there. */
    async function showPlots(detail) {
        while (choices.length) {
            if (await panel.restore(choices[0], new Map([[`${group}/${device}`, Promise.resolve(detail)]]), abort.signal)) return;
            choices.shift();
        }
        if (!isOver) showFirstPlots(detail);
    }

    /** The plots stay as the reader has arranged them when further streams appear. */
    function showFirstPlots(detail) {
        if (panel.charts.length >= FIRST_PLOTS || panel.isArranged) return;
        const shown = panel.charts.map((chart) => chart.source.stream);
        for (const entry of firstPlots(detail.streams).filter(({ stream }) => !shown.includes(stream)).slice(0, FIRST_PLOTS - shown.length)) panel.add({ group, device, stream: entry.stream, rate: entry.rate, columns: plottable(entry) });
        if (!hasRange && detail.last_sample !== null && now() - detail.last_sample > 30e6) panel.showUntil(detail.last_sample);
        panel.empty.hidden = panel.charts.length > 0;
    }

    function update() {
        const current = fleet.get(group, device);
        if (!current) return;
        header.update(current);
        const known = current.streams.length;
        if (parts.length && known !== streamCount) {
            streamCount = known;
            loadSoon();
        }
        for (const part of parts) part.update?.(current);
    }

    fleet.addEventListener("change", update);
    fleet.addEventListener("tick", update);
    update();
    load();
    return { title: device, leave() {
        isOver = true;
        clearTimeout(timer);
        abort.abort();
        fleet.removeEventListener("change", update);
        fleet.removeEventListener("tick", update);
        for (const part of parts) part.close?.();
        panel.close();
        moment.close();
        panel.picker.close();
        live.close();
    } };
}

/** The streams whose plots are shown at first: two of the most telling ones. */
function firstPlots(streams) {
    const order = ["motion/accelerometer", "motion/gyroscope", "motion/device", "motion/magnetometer", "pressure", "altitude"];
    const rank = ({ stream }) => (order.includes(stream) ? order.indexOf(stream) : stream.startsWith("x/") ? 3.5 : 9);
    return streams.filter((entry) => plottable(entry).length > 0).sort((a, b) => rank(a) - rank(b)).slice(0, FIRST_PLOTS);
}

function failure(error) {
    const fleetLink = h("a", { class: "button", href: "#/" }, "Show the fleet");
    if (error.status === 404) return emptyState({ symbol: "search", title: "Unknown device", text: "Nothing has been received from this device. Check the group and the name.", action: fleetLink });
    return emptyState({ symbol: "warning", title: error.status === 0 ? "The server does not answer" : error.title, text: error.detail || "The page tries again every two seconds.", action: fleetLink });
}
