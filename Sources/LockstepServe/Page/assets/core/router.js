/** Views by the fragment of the address. */

/**
 * @typedef {object} Route
 * @property {"fleet"|"map"|"device"|"events"|"bouncer"|"system"|"unknown"} view
 * @property {string} [group] @property {string} [device]
 */

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
    const parts = hash.replace(/^#\/?/, "").split("?")[0].split("/").filter(Boolean).map(decode);
    if (parts.length === 0) return { view: "fleet" };
    if (parts.length === 1 && ["map", "events", "bouncer", "system"].includes(parts[0])) return { view: /** @type {any} */ (parts[0]) };
    if (parts.length === 3 && (parts[0] === "device" || parts[0] === "bouncer")) {
        return { view: parts[0], group: parts[1], device: parts[2] };
    }
    return { view: "unknown" };
}

/** @param {string} view @param {string} [group] @param {string} [device] */
export function routeTo(view, group, device) {
    if (view === "fleet") return "#/";
    return group && device ? `#/${view}/${encodeURIComponent(group)}/${encodeURIComponent(device)}` : `#/${view}`;
}

/** @param {string} part */
function decode(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
