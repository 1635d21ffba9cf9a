/** The map of a device: track, accuracy, stale fixes. */

import { isAbort, request, streamPath } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, emptyState, h, select as selectField, setText } from "../core/dom.js";
import { onThemeChange } from "../core/theme.js";
import { store, stored } from "../core/settings.js";
import { onUnitsChange, units } from "../core/units.js";
import { columnsOf, lengthOf, timesOf } from "../pure/batch.js";
import { age, counted, nearTime, position, whole } from "../pure/format.js";
import { distanceFilter, isStale, segments, trackLength } from "../pure/geo.js";
import { lastAt } from "../pure/moment.js";
import { distanceIn, lengthIn, speedIn } from "../pure/walk.js";
import { createMap, loadLeaflet, mapColours, removeMap } from "../map/leaflet.js";

/** Fixes further apart than this are not connected, in µs. */
const GAP = 120e6;
/** The last fix is drawn grey after this, in µs. */
const OLD = 30e6;
const MOST_FIXES = 3000;
/** The distances of the filter, in m. */
const FILTERS = [0, 2, 5, 10, 25, 100];

/**
 * @param {{group: string, device: string}} address @param {import("./moment.js").Moment} moment @param {boolean} hasLocation
 * @param {{title?: string, id?: string, until?: number|null}} [options] of one of several; `until` is the end of the track, or null for the present
 */
export function trackCard({ group, device }, moment, hasLocation, { title = "Position", id = "track", until: end = null } = {}) {
    let filter = Number(stored("track.filter", 5));
    let span = Number(stored("track.span", 3600));
    const filters = selectField({ label: "Distance filter", value: String(filter), options: FILTERS.map((metres) => ({ value: String(metres), text: filterText(metres) })), onchange: (value) => {
        filter = Number(value);
        store("track.filter", filter);
        draw(true);
    } });
    const tools = h("span", { class: "plot-tools" },
        selectField({ label: "Time of the track", value: String(span), options: [["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "24 h"]].map(([value, text]) => ({ value, text })), onchange: (value) => {
            span = Number(value);
            store("track.span", span);
            load();
        } }),
        filters);
    const { element, body, note } = card({ title, id, className: "card-track", tools: hasLocation ? tools : null });
    if (!hasLocation) {
        body.append(emptyState({ symbol: "map", title: "No position", text: "The device has sent no location. It needs a location source, such as gpsd." }));
        return { element };
    }
    const mapElement = h("div", { class: "map-canvas", role: "region", "aria-label": `Map of the track of ${device}` });
    const notice = h("div", { class: "overlay", hidden: true });
    const caption = h("p", { class: "track-text num" });
    body.append(h("div", { class: "map-frame" }, mapElement, notice), caption);
    /** @type {import("../pure/geo.js").Fix[]} */
    let fixes = [];
    let lastReport = null;
    let map = null;
    let L = null;
    let layer = null;
    let isOver = false;
    let isLoaded = false;
    /** The end of what is loaded, in µs; null for the present. @type {number|null} */
    let until = end;
    let marker = null;
    let momentTimer = 0;
    const abort = new AbortController();
    const stopTheme = onThemeChange(() => draw(false));
    const stopUnits = onUnitsChange(() => {
        [...filters.querySelectorAll("option")].forEach((option, i) => setText(option, filterText(FILTERS[i])));
        draw(false);
    });

    loadLeaflet().then((library) => {
        if (isOver) return;
        L = library;
        map = createMap(L, mapElement);
        map.setView([0, 0], 2);
        layer = L.layerGroup().addTo(map);
        draw(true);
    }).catch(() => say("Map not available", "Leaflet is not installed on the server: install the Debian package libjs-leaflet there."));

    async function load() {
        const time = until ?? now();
        try {
            const reply = await request(streamPath(group, device, "location"), { query: { from: Math.round(time - span * 1e6), to: Math.round(time), points: MOST_FIXES, time: moment.isOnCollectorTime ? "collector" : undefined }, signal: abort.signal });
            const names = ["t", ...reply.columns];
            const rows = reply.rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
            lastReport = rows[rows.length - 1] ?? null;
            fixes = rows.filter(hasPosition);
            isLoaded = true;
            draw(true);
        } catch (error) {
            if (!isAbort(error)) say("The track could not be loaded", error.message);
        }
    }

    function onsamples({ detail }) {
        if (until !== null || detail.key !== `${group}/${device} location`) return;
        const { batch } = detail;
        const names = columnsOf(batch);
        timesOf(batch, lengthOf(batch)).forEach((t, i) => {
            const fix = { t, ...Object.fromEntries(names.map((name) => [name, batch[name][i]])) };
            if (lastReport && t <= lastReport.t) return;
            lastReport = fix;
            if (hasPosition(fix)) fixes.push(fix);
        });
        while (fixes.length && fixes[0].t < now() - span * 1e6) fixes.shift();
        if (isLoaded) draw(false);
    }

    /** Moves the marker to where the device was at the moment that the plots show. */
    function onmoment() {
        const { time } = moment;
        const isCovered = time === null ? until === end : time <= (until ?? now()) && time >= (until ?? now()) - span * 1e6;
        if (!isCovered && !momentTimer) {
            momentTimer = setTimeout(() => {
                momentTimer = 0;
                const at = moment.time;
                until = at === null ? end : at > now() - span * 1e6 ? null : Math.round(at + span * 0.5e6);
                load();
            }, 150);
        }
        drawMoment();
    }

    function fixAtMoment() {
        const fix = moment.time === null ? undefined : fixes[lastAt(fixes, moment.time)];
        return fix && moment.time - fix.t < GAP ? fix : null;
    }

    function drawMoment() {
        if (!layer) return;
        const fix = fixAtMoment();
        if (!fix) {
            marker?.remove();
            marker = null;
        } else {
            marker ??= L.circleMarker([fix.lat, fix.lon], { radius: 8, weight: 3, color: mapColours().bad, fill: false, interactive: false }).addTo(map);
            marker.setLatLng([fix.lat, fix.lon]);
            if (!map.getBounds().contains([fix.lat, fix.lon])) map.panTo([fix.lat, fix.lon], { animate: false });
        }
        element.toggleAttribute("data-moment", fix !== null);
        if (fix || moment.time === null) drawCaption();
    }

    function drawCaption() {
        const last = fixes[fixes.length - 1];
        const fix = fixAtMoment() ?? last;
        if (fix) setText(caption, captionOf(fix, fix === last ? lastReport : fix, trackLength(segments(distanceFilter(fixes, filter), GAP)), fix !== last));
    }

    function draw(fits) {
        const last = fixes[fixes.length - 1];
        if (isLoaded && !last) {
            say("No position in this period", lastReport ? "The receiver is searching: its last report had no fix." : "Choose a longer time, or check the location source of the device.");
            setText(caption, "");
            return;
        }
        if (!last) return;
        notice.hidden = true;
        const kept = distanceFilter(fixes, filter);
        const parts = segments(kept, GAP);
        setText(note, filter ? `${whole(kept.length)} of ${counted(fixes.length, "fix", "fixes")}` : counted(fixes.length, "fix", "fixes"));
        drawCaption();
        if (!layer) return;
        paint(parts, kept, last);
        if (fits) {
            const bounds = L.latLngBounds(fixes.map(({ lat, lon }) => [lat, lon]));
            map.fitBounds(bounds.pad(0.15), { maxZoom: 18, animate: false });
        } else if (moment.time === null && !map.getBounds().contains([last.lat, last.lon])) {
            map.panTo([last.lat, last.lon], { animate: false });
        }
        drawMoment();
    }

    function paint(parts, kept, last) {
        const colours = mapColours();
        const isOld = now() - last.t > OLD || isStale(last);
        const colour = isOld ? colours["text-3"] : colours.accent;
        layer.clearLayers();
        for (const { stale, fixes: part } of parts) {
            if (part.length > 1) L.polyline(part.map(({ lat, lon }) => [lat, lon]), { color: stale ? colours["text-3"] : colours.accent, weight: stale ? 2 : 3, opacity: stale ? 0.6 : 0.85, dashArray: stale ? "3 5" : null, interactive: false }).addTo(layer);
        }
        for (const fix of kept.filter(isStale).slice(-200)) L.circleMarker([fix.lat, fix.lon], { radius: 3, weight: 0, fillColor: colours["text-3"], fillOpacity: 0.8, interactive: false }).addTo(layer);
        if (filter) L.circle([kept[kept.length - 1].lat, kept[kept.length - 1].lon], { radius: filter, color: colours["text-3"], weight: 1.2, dashArray: "2 4", fill: false, interactive: false }).addTo(layer);
        if (last.hacc) L.circle([last.lat, last.lon], { radius: last.hacc, color: colour, weight: 1, fillColor: colour, fillOpacity: 0.13, interactive: false }).addTo(layer);
        L.circleMarker([last.lat, last.lon], { radius: 7, weight: 2.5, color: colours.surface, fillColor: colour, fillOpacity: 1, interactive: false }).addTo(layer);
    }

    function say(title, text) {
        notice.hidden = false;
        notice.replaceChildren(emptyState({ symbol: "map", title, text }));
    }

    moment.addEventListener("samples", onsamples);
    moment.addEventListener("change", onmoment);
    const release = moment.want(`${group}/${device}`, "location");
    load();
    const timer = setInterval(() => isLoaded && draw(false), 5000);
    return { element, close() {
        isOver = true;
        clearInterval(timer);
        abort.abort();
        release();
        moment.removeEventListener("samples", onsamples);
        moment.removeEventListener("change", onmoment);
        clearTimeout(momentTimer);
        stopTheme();
        stopUnits();
        if (map) removeMap(map);
    } };
}

function hasPosition(fix) {
    return Number.isFinite(fix.lat) && Number.isFinite(fix.lon) && fix.lat !== null;
}

/** @param {number} metres */
function filterText(metres) {
    return metres === 0 ? "All fixes" : `≥ ${lengthIn(metres, units())}`;
}

/** @param {any} fix @param {any} report @param {number} length @param {boolean} isPast whether the fix is that of a moment in the past */
function captionOf(fix, report, length, isPast) {
    const chosen = units();
    const time = now();
    const parts = [position(fix.lat, fix.lon, 6)];
    if (fix.hacc) parts.push(`± ${lengthIn(fix.hacc, chosen, fix.hacc < 10 ? 1 : 0)}`);
    if (fix.speed !== null && fix.speed !== undefined) parts.push(Object.values(speedIn(fix.speed, chosen)).join(" "));
    if (fix.alt !== null && fix.alt !== undefined) parts.push(`${lengthIn(fix.alt, chosen)} altitude`);
    parts.push(`track ${Object.values(distanceIn(length, chosen)).join(" ")}`);
    if (isPast) parts.unshift(nearTime(fix.t, time));
    else if (isStale(fix)) parts.push(`stale: fix is ${age((time - fix.at) / 1e6)} old`);
    else if (time - fix.t > OLD) parts.push(`last fix ${age((time - fix.t) / 1e6)} ago`);
    if (report && !hasPosition(report)) parts.push("no fix at the moment");
    return parts.join(" · ");
}
