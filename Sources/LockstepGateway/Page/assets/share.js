/** A QR code with the address of the page and the settings of the form, for another phone. */

import { qrCode, qrPath } from "./pure/qr.js";

/** @param {string} id @returns {any} */
const element = (id) => document.getElementById(id);

/** The address for another phone: the name of the device only if the reader chose it. */
export function sharedAddress(origin, { device, group, token }, isNamed) {
    const names = new URLSearchParams();
    if (isNamed && device) names.set("device", device);
    if (group) names.set("group", group);
    if (token) names.set("token", token);
    return `${origin}/join${names.size ? `#${names}` : ""}`;
}

export function setUpSharing() {
    let isNamed = false;
    const draw = () => {
        if (!element("share").open) return;
        const values = Object.fromEntries(["device", "group", "token"].map((name) => [name, element(name).value.trim()]));
        const rows = qrCode(sharedAddress(location.origin, values, isNamed));
        const text = element("share-text");
        text.textContent = rows === null ? "The token is too long for a QR code."
            : /^(localhost|127\.|\[::1\])/.test(location.hostname) ? "This address works only on this machine. Open the page with the address that phones use."
                : values.token ? "The code contains the token: show it only to people who may send to this gateway." : "Point the camera of the other phone at the code.";
        if (rows === null) return element("code").replaceChildren();
        const size = rows.length + 8;
        const svg = (name, attributes) => {
            const result = document.createElementNS("http://www.w3.org/2000/svg", name);
            for (const [key, value] of Object.entries(attributes)) result.setAttribute(key, value);
            return result;
        };
        const image = svg("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "QR code of the address of this page", "shape-rendering": "crispEdges" });
        image.append(svg("rect", { width: String(size), height: String(size), fill: "#fff" }), svg("path", { d: qrPath(rows), fill: "#000" }));
        element("code").replaceChildren(image);
    };
    element("share").addEventListener("toggle", draw);
    element("device").addEventListener("input", () => { isNamed = true; });
    element("form").addEventListener("input", draw);
}
