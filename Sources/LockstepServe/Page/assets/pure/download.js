/** Links to what is shown, for downloads. Pure functions; times in µs. */

/** The formats by their extension. */
const FORMATS = [
    { value: "csv", text: "CSV table" },
    { value: "ndjson", text: "NDJSON, one object a line" },
    { value: "mcap", text: "MCAP, for Foxglove" },
    { value: "gpx", text: "GPX track", needsPositions: true },
    { value: "geojson", text: "GeoJSON track", needsPositions: true },
];

/** Returns the formats of a stream. @param {string} stream */
export function formatsOf(stream) {
    return FORMATS.filter(({ needsPositions }) => !needsPositions || stream === "location");
}

/**
 * Returns the address of the samples of a stream in a range.
 * @param {string} origin @param {string} path of the stream below /api/v1
 * @param {{from: number, to: number}} range @param {string} format @param {boolean} isOnCollectorTime
 */
export function downloadAddress(origin, path, { from, to }, format, isOnCollectorTime) {
    const query = new URLSearchParams({ from: String(Math.round(from)), to: String(Math.round(to)), format, ...(isOnCollectorTime ? { time: "collector" } : {}) });
    return `${origin}/api/v1${path}?${query}`;
}

/** Returns the name of the file. @param {{device: string, stream: string}} source @param {number} from @param {string} extension */
export function fileName({ device, stream }, from, extension) {
    const time = new Date(from / 1000).toISOString().slice(0, 19).replaceAll(":", "-");
    return `${device}-${stream.split("/").pop()}-${time}Z.${extension}`;
}

/** Returns the command that downloads the same. @param {string} address @param {string} name @param {boolean} needsToken */
export function curlCommand(address, name, needsToken) {
    return `curl --compressed ${needsToken ? "-H 'Authorization: Bearer TOKEN' " : ""}-o '${name}' '${address}'`;
}
