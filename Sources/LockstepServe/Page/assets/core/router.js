/** Views by the fragment of the address. */

/**
 * @typedef {object} Route
 * @property {"fleet"|"map"|"device"|"sessions"|"events"|"bouncer"|"system"|"unknown"} view
 * @property {string} [group] @property {string} [device] @property {string} [id] of a session
 * @property {URLSearchParams} query what of the view is shown
 */

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
    const [path, text = ""] = hash.replace(/^#\/?/, "").split("?");
    const query = new URLSearchParams(text);
    const parts = path.split("/").filter(Boolean).map(decode);
    if (parts.length === 0) return { view: "fleet", query };
    if (parts.length === 1 && ["map", "sessions", "events", "bouncer", "system"].includes(parts[0])) return { view: /** @type {any} */ (parts[0]), query };
    if (parts.length === 3 && (parts[0] === "device" || parts[0] === "bouncer")) {
        return { view: parts[0], group: parts[1], device: parts[2], query };
    }
    if (parts.length === 3 && parts[0] === "sessions") return { view: "sessions", group: parts[1], id: parts[2], query };
    return { view: "unknown", query };
}

/**
 * Returns the address of what is shown, without the empty ones of the parameters. Slashes, colons and commas stay readable.
 * @param {string} path such as `#/device/lab/left` @param {[string, string][]} parameters
 */
export function addressOf(path, parameters) {
    const query = new URLSearchParams(parameters.filter(([, value]) => value !== ""));
    const text = String(query).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",");
    return text ? `${path}?${text}` : path;
}

/** Puts what is shown into the address, without a new view and without another step for "Back". @param {[string, string][]} parameters */
export function showInAddress(parameters) {
    const address = addressOf(location.hash.split("?")[0] || "#/", parameters);
    if (address !== location.hash) history.replaceState(history.state, "", address);
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
