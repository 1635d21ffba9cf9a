/** Two sessions in the same plots: the second one is moved in time. Pure functions; times in µs. */

/**
 * @typedef {Pick<import("./recording.js").Recording, "start"|"devices"|"markers">} Compared
 * @typedef {{group: string, id: string}} Key
 */

/** Returns the session that an address names as `GROUP/ID`; null if it names none. @param {URLSearchParams} query @returns {Key|null} */
export function otherOf(query) {
    const [group, id, more] = (query.get("with") ?? "").split("/");
    return group && id && more === undefined ? { group, id } : null;
}

/** The times of the first marker of each text. @param {Compared} session @returns {Map<string, number>} */
function markerTimes({ markers }) {
    return new Map([...markers].reverse().map(({ text, t }) => [text, t]));
}

/** Returns the texts of markers that both sessions have, in the order of the first one. @param {Compared} first @param {Compared} second */
export function commonMarkers(first, second) {
    const others = markerTimes(second);
    return [...new Set(first.markers.map(({ text }) => text))].filter((text) => others.has(text));
}

/**
 * Returns how much later the second session is than the first one: at a marker that both have, or else at their starts.
 * @param {Compared} first @param {Compared} second @param {string} marker its text; empty for the starts
 * @returns {{shift: number, marker: string}} the marker is empty if one of them does not have it
 */
export function alignment(first, second, marker) {
    const [a, b] = [first, second].map((session) => markerTimes(session).get(marker));
    if (marker && a !== undefined && b !== undefined) return { shift: b - a, marker };
    return { shift: (second.start ?? 0) - (first.start ?? 0), marker: "" };
}

/**
 * Returns the device of the second session for each one of the first: that of the same name, or else the next one that is left.
 * @param {string[]} devices @param {string[]} others @returns {Map<string, string>}
 */
export function pairsOf(devices, others) {
    const left = others.filter((device) => !devices.includes(device));
    return new Map(devices.flatMap((device) => {
        const other = others.includes(device) ? device : left.shift();
        return other === undefined ? [] : [/** @type {[string, string]} */ ([device, other])];
    }));
}

/** Returns the markers of both sessions on the time of the first one, in order. @param {Compared["markers"]} markers @param {Compared["markers"]} others @param {{id: string, shift: number}} other */
export function bothMarkers(markers, others, { id, shift }) {
    const moved = others.map((marker) => ({ ...marker, t: marker.t - shift, text: `${marker.text} (${id})` }));
    return [...markers, ...moved].sort((a, b) => a.t - b.t);
}

/** What a name has after it, if it is of the second session. @param {{session?: string}} source */
export function ofSession({ session }) {
    return session ? ` of ${session}` : "";
}
